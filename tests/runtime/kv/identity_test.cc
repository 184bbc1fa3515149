// Which member of which job a process is.
#include "runtime/kv/identity.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/kv/launchers.h"

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

// ---- Launchers of others

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"PMIX_NAMESPACE", "446300161"}};
const Variables kSlurm = {{"SLURM_PROCID", "1"},        {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_NUM_NODES", "3"}, {"SLURM_STEP_NODELIST", "node[07-09]"},
                          {"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "0"}};
const Variables kTorchrun = {{"RANK", "1"},           {"WORLD_SIZE", "4"},      {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "10.0.0.7"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "none"}};
const Variables kDmlc = {{"DMLC_ROLE", "worker"},           {"DMLC_WORKER_ID", "1"},       {"DMLC_NUM_WORKER", "4"}, {"DMLC_NUM_SERVER", "2"},
                         {"DMLC_PS_ROOT_URI", "10.0.0.7"}, {"DMLC_PS_ROOT_PORT", "9091"}};
const Variables kKubernetes = {{"JOB_COMPLETION_INDEX", "1"}, {"MXC_SIZE", "4"}, {"MXC_RENDEZVOUS", "lenet-0.lenet:5000"}};

Variables both(Variables variables, const Variables& others) {
  variables.insert(others.begin(), others.end());
  return variables;
}

struct Case {
  const char* name;
  Variables variables;
  const char* launcher;
  uint32_t rank, size;
  std::string scheduler;  // empty: a meeting
};

// An address of Slurm's has the port that follows from "4711.0" (FNV-1a modulo 10000).
uint64_t port_of(const std::string& step) {
  uint64_t hash = 14695981039346656037u;
  for (char c : step) hash = (hash ^ static_cast<uint64_t>(c)) * 1099511628211u;
  return 20000 + hash % 10000;
}

TEST(Identity, OfOtherLaunchers) {
  const Case cases[] = {
      {"Open MPI on one machine", kOpenMpi, "Open MPI", 1, 4, ""},
      {"Open MPI on several", both(with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"), {{"MXC_RENDEZVOUS", "a:5000"}}), "Open MPI", 1, 4, "tcp://a:5000"},
      {"Open MPI's daemons started by Slurm", both(with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "4"), kSlurm), "Open MPI", 1, 4, ""},
      {"Slurm on several machines", kSlurm, "Slurm", 1, 3, "tcp://node07:" + std::to_string(port_of("4711.0"))},
      {"Slurm on one", with(with(kSlurm, "SLURM_STEP_NUM_NODES", "1"), "SLURM_STEP_NODELIST", "node07"), "Slurm", 1, 3, ""},
      {"Slurm with PMI, which says the same", both(kSlurm, {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}), "Slurm", 1, 3,
       "tcp://node07:" + std::to_string(port_of("4711.0"))},
      {"a shell in a step of one, and mpirun there", both(kOpenMpi, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "Open MPI", 1, 4, ""},
      {"PMI", {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MXC_RENDEZVOUS", "10.0.0.7:5000"}}, "PMI", 2, 3, "tcp://10.0.0.7:5000"},
      {"Kubernetes", kKubernetes, "Kubernetes", 1, 4, "tcp://lenet-0.lenet:5000"},
      {"torchrun on several machines", kTorchrun, "torchrun", 1, 4, "tcp://10.0.0.7:29500"},
      {"torchrun with its agent's store", with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True"), "torchrun", 1, 4, "tcp://10.0.0.7:29501"},
      {"torchrun on one machine", with(kTorchrun, "LOCAL_WORLD_SIZE", "4"), "torchrun", 1, 4, ""},
      {"DMLC", kDmlc, "DMLC", 1, 4, "tcp://10.0.0.7:9091"},
      {"DMLC, by task", both(without(kDmlc, "DMLC_WORKER_ID"), {{"DMLC_TASK_ID", "3"}}), "DMLC", 3, 4, "tcp://10.0.0.7:9091"},
      {"by hand", {{"MXC_RANK", "2"}, {"MXC_SIZE", "3"}, {"MXC_RENDEZVOUS", "[fd00::7]:5000"}}, "MXC_RANK", 2, 3, "tcp://[fd00::7]:5000"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    auto identity = detect(one.variables);
    ASSERT_TRUE(identity.ok()) << identity.status();
    ASSERT_TRUE(identity->has_value());
    EXPECT_EQ((*identity)->launcher, one.launcher);
    EXPECT_EQ((*identity)->rank, one.rank);
    EXPECT_EQ((*identity)->size, one.size);
    EXPECT_EQ((*identity)->scheduler, one.scheduler);
    EXPECT_EQ((*identity)->meeting.empty(), !one.scheduler.empty());
    EXPECT_FALSE((*identity)->is_scheduler || (*identity)->is_idle || (*identity)->starts_scheduler);
  }
}

TEST(Identity, OfOneThatOthersStartAlone) {
  for (const Variables& variables : {Variables{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}, Variables{{"WORLD_SIZE", "1"}},
                                     Variables{{"DMLC_ROLE", "worker"}, {"DMLC_NUM_WORKER", "1"}},
                                     Variables{{"JOB_COMPLETION_INDEX", "3"}}}) {  // one of many trainings
    auto identity = detect(variables);
    ASSERT_TRUE(identity.ok()) << identity.status();
    EXPECT_FALSE(identity->has_value());
  }
}

// All agree on what the job is and where they meet; rank 0 alone starts a scheduler; another job is another one.
TEST(Identity, RanksOfAJobAgree) {
  const Variables jobs[] = {kOpenMpi, kSlurm, kTorchrun};
  const char* ranks[] = {"OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "RANK"};
  const char* names[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "MASTER_PORT"};
  for (size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(ranks[i]);
    auto first = detect(with(jobs[i], ranks[i], "0")), other = detect(jobs[i]), stranger = detect(with(jobs[i], names[i], "5"));
    ASSERT_TRUE(first.ok() && other.ok() && stranger.ok());
    EXPECT_TRUE((*first)->starts_scheduler);
    EXPECT_FALSE((*other)->starts_scheduler);
    EXPECT_EQ((*first)->job, (*other)->job);
    EXPECT_EQ((*first)->meeting, (*other)->meeting);
    EXPECT_EQ((*first)->scheduler, (*other)->scheduler);
    EXPECT_NE((*first)->job, (*stranger)->job);
    EXPECT_NE((*first)->meeting + (*first)->scheduler, (*stranger)->meeting + (*stranger)->scheduler);
  }
}

TEST(Identity, KeysAndCountsWithAnyLauncher) {
  auto identity = detect(both(kKubernetes, {{"MXC_KEYS", "/keys/job"}, {"MXC_SHARDS", "8"}, {"MXC_SERVERS", "3"}}));
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ((*identity)->keys_file, "/keys/job");
  EXPECT_EQ((*identity)->shards, 8);
  EXPECT_EQ((*identity)->servers, 3);
}

TEST(Identity, WithoutKeysIfThatIsSaid) {
  for (const Variables& job : {kWorker, kKubernetes}) {
    auto unsaid = detect(job), no = detect(with(job, "MXC_INSECURE", "0")), yes = detect(with(job, "MXC_INSECURE", "1"));
    ASSERT_TRUE(unsaid.ok() && no.ok() && yes.ok());
    EXPECT_FALSE((*unsaid)->insecure);
    EXPECT_FALSE((*no)->insecure);
    EXPECT_TRUE((*yes)->insecure);
    EXPECT_EQ(detect(with(job, "MXC_INSECURE", "yes")).status().message(), "MXC_INSECURE=yes: a whole number up to 1 is expected");
  }
}

TEST(Identity, RolesOfDmlc) {
  auto scheduler = detect(with(kDmlc, "DMLC_ROLE", "scheduler")), server = detect(with(kDmlc, "DMLC_ROLE", "server"));
  auto lonely = detect(with(with(kDmlc, "DMLC_ROLE", "scheduler"), "DMLC_NUM_WORKER", "1"));
  ASSERT_TRUE(scheduler.ok() && server.ok() && lonely.ok());
  EXPECT_TRUE((*scheduler)->is_scheduler);
  EXPECT_EQ((*scheduler)->scheduler, "tcp://10.0.0.7:9091");
  EXPECT_EQ((*scheduler)->size, 4u);
  EXPECT_EQ((*scheduler)->job, (*detect(kDmlc))->job);
  EXPECT_FALSE((*detect(with(kDmlc, "DMLC_WORKER_ID", "0")))->starts_scheduler);  // its launcher starts one
  EXPECT_TRUE((*server)->is_idle);
  EXPECT_TRUE((*lonely)->is_idle);
  EXPECT_EQ(refusal(with(kDmlc, "DMLC_ROLE", "boss")), "DMLC_ROLE=boss: worker, server or scheduler is expected");
}

TEST(Identity, ContradictionsNameBoth) {
  EXPECT_EQ(refusal(both(kTorchrun, {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}})),
            "PMI and torchrun contradict each other: PMI_RANK=2 of PMI_SIZE=4, RANK=1 of WORLD_SIZE=4; unset the variables of the one that has not started "
            "this process");
  EXPECT_EQ(refusal(both(kOpenMpi, with(kSlurm, "SLURM_STEP_NUM_TASKS", "4"))), "");  // alike
  EXPECT_EQ(refusal(both(kOpenMpi, with(kSlurm, "SLURM_STEP_NUM_TASKS", "6"))),
            "Open MPI and Slurm contradict each other: OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=4, SLURM_PROCID=1 of SLURM_STEP_NUM_TASKS=6; unset the "
            "variables of the one that has not started this process");
  EXPECT_EQ(refusal(both(kWorker, kOpenMpi)),
            "mxc launch and Open MPI contradict each other: MXC_RANK=2 of MXC_SIZE=4, OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=4; unset the variables of "
            "the one that has not started this process");
  EXPECT_TRUE(detect(both(kWorker, with(kOpenMpi, "OMPI_COMM_WORLD_RANK", "2"))).ok());
  // What mxc launch or a worker of rank 0 starts as the scheduler has the variables of its parent.
  EXPECT_TRUE(detect(both(with(both(kWorker, {{"MXC_PUBLISH", "7"}}), "MXC_ROLE", "scheduler"), kOpenMpi)).ok());
}

TEST(Identity, OpenMpiItselfTellsOnSeveralMachines) {
  const auto identity = detect(with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"));
  ASSERT_TRUE(identity.ok() && identity->has_value()) << identity.status();
  EXPECT_EQ((*identity)->scheduler + (*identity)->meeting, "");
}

TEST(Identity, OtherLaunchersSayWhatIsMissingOrWrong) {
  EXPECT_EQ(refusal(without(kOpenMpi, "OMPI_COMM_WORLD_RANK")), "OMPI_COMM_WORLD_SIZE is set, and OMPI_COMM_WORLD_RANK is not");
  EXPECT_EQ(refusal(with(kOpenMpi, "OMPI_COMM_WORLD_RANK", "4")), "OMPI_COMM_WORLD_RANK=4 and OMPI_COMM_WORLD_SIZE=4 contradict each other");
  EXPECT_EQ(refusal(with(kSlurm, "SLURM_PROCID", "x")), "SLURM_PROCID=x: a whole number up to 65536 is expected");
  EXPECT_EQ(refusal({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}),
            "this process is one of 4 that PMI has started (PMI_SIZE), and nothing says where they meet: set MXC_RENDEZVOUS=HOST:PORT, the "
            "machine of rank 0 and a free port there");
  EXPECT_EQ(refusal(without(kTorchrun, "MASTER_PORT")), "MASTER_ADDR is set, and MASTER_PORT is not");
  EXPECT_EQ(refusal(without(kDmlc, "DMLC_PS_ROOT_URI")), "DMLC_PS_ROOT_PORT is set, and DMLC_PS_ROOT_URI is not");
  EXPECT_EQ(refusal(with(kTorchrun, "MASTER_PORT", "65536")), "MASTER_PORT=65536: a whole number up to 65535 is expected");
  EXPECT_EQ(refusal(without(kKubernetes, "MXC_SIZE")), "JOB_COMPLETION_INDEX is set, and MXC_SIZE is not");
  EXPECT_EQ(refusal({{"MXC_RANK", "1"}}), "MXC_RANK is set, and MXC_SIZE is not");
  EXPECT_EQ(refusal(both(kKubernetes, {{"MXC_SHARDS", "many"}})), "MXC_SHARDS=many: a whole number up to 1048576 is expected");
  EXPECT_EQ(refusal(with(kWorker, "MXC_SERVERS", "few")), "MXC_SERVERS=few: a whole number up to 1048576 is expected");
}

TEST(Identity, HowPatientTheJobIs) {
  EXPECT_EQ((*detect(kWorker))->patience, 30);
  EXPECT_EQ((*detect(with(kWorker, "MXC_PATIENCE", "0")))->patience, 0);
  EXPECT_EQ((*detect(both(kKubernetes, {{"MXC_PATIENCE", "5"}})))->patience, 5);
  EXPECT_EQ(refusal(with(kWorker, "MXC_PATIENCE", "-1")), "MXC_PATIENCE=-1: a whole number up to 1000000 is expected");
}

TEST(Launchers, FirstHostOfASlurmList) {
  for (const auto& [list, host] : Variables{{"alpha", "alpha"}, {"alpha,beta", "alpha"}, {"node[3-5,9]", "node3"}, {"node[03,7],x", "node03"},
                                            {"rack1-node[07-09]-ib,rack2", "rack1-node07-ib"}, {"a,b[1-2]", "a"}, {"", ""}, {"broken[1-", ""}}) {
    EXPECT_EQ(first_host(list), host) << list;
  }
}

TEST(Identity, OfAJobThatWaitsForItsDead) {
  auto identity = detect(with(with(with(kWorker, "MXC_ON_DEATH", "wait"), "MXC_STATE", "/there"), "MXC_RETURNS", "3"));
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_TRUE((*identity)->waits);
  EXPECT_EQ((*identity)->state_dir, "/there");
  EXPECT_EQ((*identity)->returns, 3);
  EXPECT_FALSE((*detect(with(kWorker, "MXC_ON_DEATH", "abort")))->waits);
  EXPECT_EQ(refusal(with(kWorker, "MXC_ON_DEATH", "wait")), "MXC_ON_DEATH=wait, and no MXC_STATE says where servers keep their state");
  EXPECT_EQ(refusal(with(kWorker, "MXC_ON_DEATH", "foo")), "MXC_ON_DEATH=foo: abort, wait or shrink is expected");
}

TEST(Identity, OfAJobThatShrinks) {
  const Variables began = both(kWorker, {{"MXC_ON_DEATH", "shrink"}, {"MXC_STATE", "/there/1"}, {"MXC_BEGAN_WITH", "9"}});
  auto identity = detect(began);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_TRUE((*identity)->waits);
  EXPECT_TRUE((*identity)->shrinks);
  EXPECT_EQ((*identity)->began_with, 9u);
  EXPECT_EQ((*identity)->before.size, 0u);
  const Variables goes_on = both(began, {{"MXC_STATE_BEFORE", "/there/0"}, {"MXC_SIZE_BEFORE", "8"}, {"MXC_SERVERS_BEFORE", "2"}, {"MXC_GONE", "rank 7"}});
  identity = detect(goes_on);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ((*identity)->before.size, 8u);
  EXPECT_EQ((*identity)->before.servers, 2u);
  EXPECT_EQ((*identity)->before.state_dir, "/there/0");
  EXPECT_EQ((*identity)->gone, "rank 7");
  EXPECT_EQ(refusal(without(began, "MXC_STATE")), "MXC_ON_DEATH=shrink, and no MXC_STATE says where servers keep their state");
  EXPECT_EQ(refusal(without(began, "MXC_BEGAN_WITH")), "MXC_JOB is set, and MXC_BEGAN_WITH is not");
  EXPECT_EQ(refusal(without(goes_on, "MXC_SIZE_BEFORE")), "MXC_JOB is set, and MXC_SIZE_BEFORE is not");
  EXPECT_EQ(refusal(without(goes_on, "MXC_SERVERS_BEFORE")), "MXC_JOB is set, and MXC_SERVERS_BEFORE is not");
  EXPECT_EQ(refusal(with(goes_on, "MXC_SERVERS_BEFORE", "0")), "MXC_SERVERS_BEFORE=0: at least 1 is expected");
}

}  // namespace
}  // namespace mxc::kv
