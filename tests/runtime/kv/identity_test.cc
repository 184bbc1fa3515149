// Which member of which job a process is.
#include "runtime/kv/identity.h"

#include <gtest/gtest.h>

#include <map>

namespace mxc::kv {
namespace {

using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<Identity>> detect(const Variables& variables) {
  return detect_identity([&](const char* name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) { return std::string(detect(variables).status().message()); }

const Variables kWorker = {
    {"MXC_JOB", "1f"}, {"MXC_ROLE", "worker"}, {"MXC_RANK", "2"}, {"MXC_SIZE", "4"}, {"MXC_SCHEDULER", "tcp://127.0.0.1:5"},
    {"MXC_KEYS", "k"}, {"MXC_SHARDS", "8"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(Identity, OfAProcessThatIsAlone) {
  auto identity = detect({});
  ASSERT_TRUE(identity.ok());
  EXPECT_FALSE(identity->has_value());
}

TEST(Identity, OfAWorker) {
  auto identity = detect(kWorker);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ((*identity)->job, 0x1fu);
  EXPECT_EQ((*identity)->rank, 2u);
  EXPECT_EQ((*identity)->size, 4u);
  EXPECT_EQ((*identity)->scheduler, "tcp://127.0.0.1:5");
  EXPECT_EQ((*identity)->keys_file, "k");
  EXPECT_EQ((*identity)->shards, 8);
  EXPECT_FALSE((*identity)->is_scheduler);
}

TEST(Identity, OfTheScheduler) {
  auto identity = detect({{"MXC_JOB", "1f"},
                          {"MXC_ROLE", "scheduler"},
                          {"MXC_SIZE", "4"},
                          {"MXC_SCHEDULER", "tcp://127.0.0.1:*"},
                          {"MXC_PUBLISH", "7"}});
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_TRUE((*identity)->is_scheduler);
  EXPECT_EQ((*identity)->publish, 7);
}

TEST(Identity, SaysWhatIsMissingOrWrong) {
  EXPECT_EQ(refusal(with(kWorker, "MXC_JOB", "xyz")), "MXC_JOB=xyz: a hexadecimal number is expected");
  EXPECT_EQ(refusal(with(kWorker, "MXC_ROLE", "server")), "MXC_ROLE=server: worker or scheduler is expected");
  EXPECT_EQ(refusal(without(kWorker, "MXC_RANK")), "MXC_JOB is set, and MXC_RANK is not");
  EXPECT_EQ(refusal(without(kWorker, "MXC_SIZE")), "MXC_JOB is set, and MXC_SIZE is not");
  EXPECT_EQ(refusal(without(kWorker, "MXC_SCHEDULER")), "MXC_JOB is set, and MXC_SCHEDULER is not");
  EXPECT_EQ(refusal(with(kWorker, "MXC_RANK", "two")), "MXC_RANK=two: a whole number up to 65536 is expected");
  EXPECT_EQ(refusal(with(kWorker, "MXC_RANK", "4")), "MXC_RANK=4 and MXC_SIZE=4 contradict each other");
}

// Each of four processes would train alone and take itself for the job.
TEST(Identity, OtherLaunchersAreNamed) {
  EXPECT_EQ(refusal({{"OMPI_COMM_WORLD_SIZE", "4"}}),
            "this process is one of 4 that Open MPI has started (OMPI_COMM_WORLD_SIZE), which is not understood: start it with mxc "
            "launch");
  EXPECT_TRUE(detect({{"OMPI_COMM_WORLD_SIZE", "1"}}).ok());
  EXPECT_TRUE(detect(with(kWorker, "OMPI_COMM_WORLD_SIZE", "4")).ok());
}

}  // namespace
}  // namespace mxc::kv
