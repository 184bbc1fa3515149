// Who shares a machine, what follows for the plan, and what users may ask for.
#include "runtime/kv/machines.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/kv/machine_sums.h"
#include "runtime/kv/plan.h"

namespace mxc::kv {
namespace {

CommunicationPlan plan_of(const std::vector<std::string>& machines, int64_t shards, int64_t servers) {
  const PlanRules rules = {.servers = servers, .workers = static_cast<int64_t>(machines.size()), .shards = shards, .cut_above = 4000, .smallest_piece = 1000, .largest_piece = 1000};
  CommunicationPlan plan = *make_plan({{"a", {5000}, plan::DType::f32}, {"b", {5000}, plan::DType::f32, 0}}, rules);
  plan.machines = Machines(machines);
  return plan;
}

TEST(Machines, PlacesAreReadAsTheyAreWritten) {
  for (const Place& place : {Place{"tcp://1.2.3.4:5;memory=x", "", ""}, Place{"", "", ""}, Place{"tcp://a:1", "tcp://a:2", "m"}, Place{"", "tcp://a:2", "m"}})
    EXPECT_EQ(parse_place(to_string(place)), place);
  EXPECT_EQ(machine_names({"tcp://a:1 tcp://a:2 m", "tcp://b:1", " tcp://a:3 m"}), (std::vector<std::string>{"m", "", "m"}));
}

TEST(Machines, AreThoseThatSeveralShareAndOthersAreNotOn) {
  EXPECT_TRUE(Machines({"a", "a", "a"}).empty());
  EXPECT_TRUE(Machines({"a", "b", "", ""}).empty());
  const Machines machines({"a", "b", "a", "", ""});
  ASSERT_FALSE(machines.empty());
  EXPECT_EQ(machines.members(0), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(machines.members(3), std::vector<uint32_t>{3});
  EXPECT_TRUE(machines.share(2, 0));
  EXPECT_FALSE(machines.share(3, 4));
}

TEST(Machines, WhatLeavesOneIsTheLargestNodesOfItsShards) {
  EXPECT_EQ(plan_of({"a", "a", "b", "b"}, 8, 4).parts_of_machine(3), (std::vector<Node>{{4, 8}}));
  EXPECT_EQ(plan_of({"a", "b", "a", "b"}, 8, 4).parts_of_machine(0), (std::vector<Node>{{0, 2}, {4, 6}}));
  EXPECT_EQ(plan_of({"a", "a", "a", "b"}, 8, 4).parts_of_machine(1), (std::vector<Node>{{0, 4}, {4, 6}}));
  EXPECT_EQ(plan_of({"a", "b", "b", "c"}, 4, 4).parts_of_machine(1), (std::vector<Node>{{1, 2}, {2, 3}}));
}

// Of each chunk, the parts of those who speak to its server are all shards, each once.
TEST(Machines, SpeakersHaveEachShardOnce) {
  for (const std::vector<std::string>& machines : std::vector<std::vector<std::string>>{{"a", "a", "b", "b"}, {"a", "b", "b", ""}, {"a", "b", "a", "b"}, {"a", "a", "b", "c"}}) {
    const CommunicationPlan plan = plan_of(machines, 7, 2);
    std::set<uint32_t> level1;
    for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
      std::vector<int> times(7);
      for (uint32_t speaker = 0; speaker < plan.speakers(); ++speaker)
        for (Node part : plan.parts_of_speaker(chunk, speaker))
          for (int64_t shard = part.first; shard < part.end; ++shard) ++times[static_cast<size_t>(shard)];
      EXPECT_EQ(times, std::vector<int>(7, 1)) << chunk;
      for (uint32_t rank = 0; rank < 4; ++rank) {
        const uint32_t server = plan.server_for(chunk, rank), at = plan.rank_of_server(server);
        EXPECT_TRUE(!plan.is_level1(server) || plan.machines.share(rank, at));
        if (plan.is_level1(server)) level1.insert(at);
        else EXPECT_EQ(server, plan.chunks[chunk].server);
        if (plan.keys[plan.chunks[chunk].pieces[0].key].beside != plan::kNone) EXPECT_EQ(server, plan.chunks[chunk].server);
      }
    }
    EXPECT_GE(level1.size(), 2u);  // they share the work
  }
}

TEST(MachineSums, AreMadeWhereTheJobCan) {
  const absl::StatusOr<std::string> machine = machine_to_add_in({});
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->size(), 16u);
  EXPECT_EQ(*machine_to_add_in({.asked = "on"}), *machine);
  EXPECT_EQ(*machine_to_add_in({.asked = "off"}), "");
  EXPECT_EQ(machine_to_add_in({.asked = "maybe"}).status().message(), "'maybe' is none of auto, on, off");
  const std::string refused = "on: a machine's processes do not add up ";
  for (auto [job, why] : std::vector<std::pair<MachineSums, std::string>>{
           {{.async = true}, "in dist_async, where each push is an update of its own"},
           {{.compresses = true}, "with compression, which is of each shard by itself"},
           {{.waits = true}, "in a job that goes on when processes die: what one had added up for others would be gone with it"},
           {{.shares_memory = false}, "without shared memory"},
           {{.transport = "mpi"}, "over MPI, which moves between processes of a machine what it likes"}}) {
    EXPECT_EQ(*machine_to_add_in(job), "") << why;
    job.asked = "on";
    EXPECT_EQ(machine_to_add_in(job).status().message(), refused + why);
  }
}

}  // namespace
}  // namespace mxc::kv
