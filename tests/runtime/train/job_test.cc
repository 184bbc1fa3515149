// What the command line and the launcher's variables say together of a training's job.
#include "runtime/train/job.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace mxc::train {
namespace {

using Variables = std::map<std::string, std::string>;

Variables launched(int rank, int size) {
  return {{"MXC_JOB", "a1"}, {"MXC_ROLE", "worker"}, {"MXC_SIZE", std::to_string(size)}, {"MXC_RANK", std::to_string(rank)},
          {"MXC_SCHEDULER", "tcp://127.0.0.1:9"}};
}

absl::StatusOr<Job> job_of(const std::string& kind, int64_t shards, const Variables& variables, int64_t servers = 0, const std::string& local = "",
                           const std::string& compress = "") {
  Options options;
  options.local = local;
  options.compress = compress;
  options.servers = servers;
  options.kvstore = kind;
  options.shards = shards;
  return find_job(options, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const std::string& kind, int64_t shards, const Variables& variables, int64_t servers = 0) {
  const auto job = job_of(kind, shards, variables, servers);
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument) << job.status();
  return std::string(job.status().message());
}

TEST(Job, AloneWithoutALauncher) {
  for (const char* kind : {"", "local"}) {
    const auto job = job_of(kind, 4, {});
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->size, 1u);
    EXPECT_EQ(job->shards, 4);
    EXPECT_FALSE(job->identity.has_value());
  }
}

TEST(Job, OneOfSeveral) {
  Variables variables = launched(2, 3);
  variables["MXC_SHARDS"] = "6";
  const auto job = job_of("dist_bounded:2", 0, variables);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->rank, 2u);
  EXPECT_EQ(job->size, 3u);
  EXPECT_EQ(job->shards, 6);
  EXPECT_EQ(job->consistency.staleness, 2u);
  EXPECT_TRUE(job->identity.has_value());
}

TEST(Job, HowManyProcessesHoldParameters) {
  Variables variables = launched(2, 3);
  EXPECT_EQ(job_of("dist_sync", 0, variables)->servers, 3);
  EXPECT_EQ(job_of("dist_sync", 0, variables, 2)->servers, 2);
  EXPECT_EQ(error_of("dist_sync", 0, variables, 4), "--servers 4: the job has 3 processes");
  variables["MXC_SERVERS"] = "2";
  EXPECT_EQ(job_of("dist_sync", 0, variables)->servers, 2);
  EXPECT_EQ(error_of("dist_sync", 0, variables, 1), "--servers 1: the job was launched with --servers 2");
  variables["MXC_SERVERS"] = "9";
  EXPECT_EQ(error_of("dist_sync", 0, variables), "--servers 9: the job has 3 processes");
  EXPECT_EQ(job_of("", 0, {}, 1)->servers, 1);
  EXPECT_EQ(error_of("local", 0, {}, 2), "--servers 2: the job has 1 process");
}

TEST(Job, ModelsOfLevelOne) {
  EXPECT_TRUE(job_of("dist_async", 4, launched(0, 2), 0, "async")->consistency.each_shard);
  EXPECT_FALSE(job_of("dist_async", 4, launched(0, 2), 0, "sync")->consistency.each_shard);
  EXPECT_TRUE(job_of("dist_sync", 4, launched(0, 2), 0, "sync").ok());
  const std::string refused = "--kvstore-local: async is for dist_async: of the other kinds a step is one sum of all shards, and none can go before it";
  for (const char* kind : {"dist_sync", "dist_bounded:3"}) EXPECT_EQ(job_of(kind, 4, launched(0, 2), 0, "async").status().message(), refused);
  for (const char* kind : {"", "local"}) EXPECT_EQ(job_of(kind, 4, {}, 0, "async").status().message(), refused);
  EXPECT_EQ(job_of("dist_async", 4, launched(0, 2), 0, "async", "fp16").status().message(), "--kvstore-local async does not go with --compress");
}

TEST(Job, OneThatWaitsForItsDead) {
  Variables variables = launched(1, 2);
  variables["MXC_ON_DEATH"] = "wait";
  variables["MXC_STATE"] = "/there";
  EXPECT_TRUE(job_of("dist_sync", 0, variables)->waits());
  EXPECT_EQ(error_of("dist_bounded:2", 0, variables), "--kvstore dist_bounded:2: the job was launched with --on-death=wait, which is for dist_sync");
  EXPECT_FALSE(job_of("dist_sync", 0, launched(1, 2))->waits());
}

TEST(Job, OneThatShrinks) {
  Variables variables = launched(0, 2);
  for (const auto& [name, value] : Variables{{"MXC_ON_DEATH", "shrink"}, {"MXC_STATE", "/there"}, {"MXC_BEGAN_WITH", "3"}}) variables[name] = value;
  EXPECT_TRUE(job_of("dist_sync", 0, variables)->waits());
  EXPECT_EQ(job_of("dist_sync", 0, variables)->began_with, 3);
  EXPECT_EQ(error_of("dist_async", 0, variables), "--kvstore dist_async: the job was launched with --on-death=shrink, which is for dist_sync");
  EXPECT_EQ(error_of("dist_sync", 0, variables, 1), "--servers 1: with --on-death=shrink it is mxc launch that must know: mxc launch --servers 1");
  variables["MXC_SERVERS"] = "1";
  EXPECT_EQ(job_of("dist_sync", 0, variables)->servers, 1);
  variables["MXC_SIZE"] = "1";
  EXPECT_FALSE(job_of("dist_sync", 0, variables)->identity.has_value());
  variables["MXC_STATE_BEFORE"] = "/before";
  variables["MXC_SIZE_BEFORE"] = variables["MXC_SERVERS_BEFORE"] = "2";
  EXPECT_TRUE(job_of("dist_sync", 0, variables)->identity.has_value());  // the last one serves what there was
}

TEST(Job, OneThatIsLaunchedAsTheOnlyOneIsAlone) {
  const auto job = job_of("dist_sync", 0, launched(0, 1));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->identity.has_value());
}

TEST(Job, OfAnotherLauncher) {
  const Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"MXC_RENDEZVOUS", "127.0.0.1:9"}, {"MXC_SHARDS", "8"}};
  const auto job = job_of("dist_sync", 0, variables);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->rank, 1u);
  EXPECT_EQ(job->size, 4u);
  EXPECT_EQ(job->shards, 8);
  EXPECT_EQ(by_launcher(*job->identity), " (Open MPI)");
  EXPECT_EQ(by_launcher(*job_of("dist_sync", 0, launched(0, 4))->identity), "");
  EXPECT_EQ(error_of("", 0, variables),
            "this process is one of 4 of a job (Open MPI): --kvstore dist_sync, dist_bounded:STEPS or dist_async says how they train together");
}

TEST(Job, Contradictions) {
  EXPECT_EQ(error_of("dist_sync", 0, {}),
            "--kvstore dist_sync: no launcher has started this process as one of several; try: mxc launch -n 2 PROGRAM train ...");
  EXPECT_EQ(error_of("", 0, launched(0, 4)),
            "this process is one of 4 of a job: --kvstore dist_sync, dist_bounded:STEPS or dist_async says how they train together");
  EXPECT_EQ(error_of("local", 0, launched(0, 4)),
            "this process is one of 4 of a job, which --kvstore local leaves out: --kvstore dist_sync, dist_bounded:STEPS or dist_async says how they "
            "train together");
  EXPECT_EQ(error_of("dist_sync", 2, launched(0, 3)), "--shards 2: there are 3 processes, and each has at least one shard");
  Variables variables = launched(0, 3);
  variables["MXC_SHARDS"] = "6";
  EXPECT_EQ(error_of("dist_sync", 3, variables), "--shards 3: the job was launched with --shards 6");
}

}  // namespace
}  // namespace mxc::train
