// Faults of the network within a process: each happens, as often as asked, and the same with the same seed.
#include "runtime/kv/in_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/runtime/kv/transports.h"

namespace mxc::kv {
namespace {

// The numbers that arrive of 0 to 999, in order.
std::vector<int> arrivals(const Faults& faults) {
  auto network = InProcessNetwork::create(faults);
  auto server = network->endpoint(), client = network->endpoint();
  const std::string address = *server->listen("a:0");
  const Peer peer = *client->connect(address);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(test::say(*client, peer, {std::to_string(i)}).ok());
  std::vector<int> numbers;
  while (true) {
    auto arrival = server->receive(2 * faults.longest);
    if (!arrival.ok() || arrival->kind != Arrival::Kind::message) return numbers;
    numbers.push_back(std::stoi(std::string(arrival->frames[0])));
  }
}

std::vector<int> all() {
  std::vector<int> numbers(1000);
  for (int i = 0; i < 1000; ++i) numbers[static_cast<size_t>(i)] = i;
  return numbers;
}

TEST(InProcess, WithoutFaultsAllArriveInOrder) { EXPECT_EQ(arrivals({}), all()); }

TEST(InProcess, DropsSome) {
  const std::vector<int> numbers = arrivals({.seed = 1, .drop = 100});
  EXPECT_NEAR(static_cast<double>(numbers.size()), 900, 50);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(InProcess, DuplicatesSome) {
  const std::vector<int> numbers = arrivals({.seed = 2, .duplicate = 100});
  EXPECT_NEAR(static_cast<double>(numbers.size()), 1100, 50);
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), 1000u);
}

TEST(InProcess, DelaysAndReorders) {
  std::vector<int> numbers = arrivals({.seed = 3, .delay = 300});
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, all());
}

TEST(InProcess, TheSeedDecides) {
  EXPECT_EQ(arrivals({.seed = 4, .drop = 300}), arrivals({.seed = 4, .drop = 300}));
  EXPECT_NE(arrivals({.seed = 4, .drop = 300}), arrivals({.seed = 5, .drop = 300}));
}

TEST(InProcess, TheDeadHearAndSayNothing) {
  auto network = InProcessNetwork::create();
  auto server = network->endpoint(), client = network->endpoint();
  const std::string address = *server->listen("a:0");
  const Peer peer = *client->connect(address);
  ASSERT_TRUE(test::say(*client, peer, {"hello"}).ok());
  network->kill(address);
  EXPECT_EQ(server->receive(Duration(0)).status().message(), "the endpoint is dead");
  EXPECT_EQ(test::next(*client).kind, Arrival::Kind::lost);
  ASSERT_TRUE(test::say(*client, peer, {"into the void"}).ok());
  auto reborn = network->endpoint();
  ASSERT_TRUE(reborn->listen(address).ok());
  ASSERT_TRUE(test::say(*client, peer, {"again"}).ok());
  EXPECT_EQ(test::next(*reborn).frames, std::vector<Frame>{"again"});
}

}  // namespace
}  // namespace mxc::kv
