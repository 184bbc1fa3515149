// Links against arithmetic on paper. Segments are of 4096 bytes at these rates, 4.096 ms each.
#include "runtime/kv/simulated_links.h"

#include <gtest/gtest.h>

namespace mxc::kv {
namespace {

constexpr double kBandwidth = 1e6, kSegment = 4096;

class LinksTest : public testing::Test {
 protected:
  // When a message that is sent now has come.
  const double& send(SimulatedLinks& links, uint32_t from, uint32_t to, int connection, double bytes) {
    double& there = times_.emplace_back(-1);
    links.send(from, to, connection, bytes, [this, &there] { there = agenda_.now(); });
    return there;
  }
  void run() {
    while (agenda_.next()) {}
  }

  Agenda agenda_;
  std::deque<double> times_;
};

// Ten segments each, in turns; the first connection begins alone and so has two before the other's first: its tenth is the 18th, what follows on it the 20th, and
// the other's tenth the 21st.
TEST_F(LinksTest, ConnectionsTakeTurns) {
  SimulatedLinks links(agenda_, 3, kBandwidth, 0.5, 0);
  const double& first = send(links, 0, 1, 0, 10 * kSegment);
  const double& other = send(links, 0, 2, 0, 10 * kSegment);
  const double& behind = send(links, 0, 1, 0, kSegment);
  const double& back = send(links, 1, 0, 0, kSegment);  // the other way there is nothing else
  run();
  EXPECT_NEAR(first, 0.5 + 18 * 4.096e-3, 1e-9);
  EXPECT_NEAR(other, 0.5 + 21 * 4.096e-3, 1e-9);
  EXPECT_NEAR(behind, 0.5 + 20 * 4.096e-3, 1e-9);
  EXPECT_NEAR(back, 0.5 + 4.096e-3, 1e-9);
}

TEST_F(LinksTest, WhatComesFromSeveralSharesTheReceiversLink) {
  SimulatedLinks links(agenda_, 3, kBandwidth, 0, 0);
  const double& first = send(links, 0, 2, 0, 10 * kSegment);
  const double& other = send(links, 1, 2, 0, 10 * kSegment);
  links.measure(0, true);
  send(links, 0, 2, 0, 1000);
  run();
  EXPECT_NEAR(std::max(first, other), 20 * 4.096e-3, 1e-9);
  EXPECT_NEAR(std::min(first, other), 19 * 4.096e-3, 1e-9);
  EXPECT_EQ(links.carried(0).sent, 1000);
  EXPECT_EQ(links.carried(0).messages, 1);
  EXPECT_EQ(links.carried(2).received, 1000);
  EXPECT_NEAR(links.carried(2).in_busy, 1e-3, 1e-12);
}

// What 40,960 bytes take is saved once the link was idle as long, and never more.
TEST_F(LinksTest, AnIdleLinkSavesABurst) {
  SimulatedLinks links(agenda_, 2, kBandwidth, 0, 10 * kSegment);
  double small = -1, large = -1;
  agenda_.at(1, [&] { links.send(0, 1, 0, 8 * kSegment, [&] { small = agenda_.now(); }); });
  agenda_.at(2, [&] { links.send(0, 1, 0, 1e5, [&] { large = agenda_.now(); }); });
  run();
  EXPECT_NEAR(small, 1, 1e-9);
  EXPECT_NEAR(large, 2 + 0.1 - 0.04096, 1e-9);
}

// What carries nothing overtakes nothing on its connection.
TEST_F(LinksTest, EmptyMessagesKeepTheirPlace) {
  SimulatedLinks links(agenda_, 2, kBandwidth, 0, 0);
  send(links, 0, 1, 0, kSegment);
  const double& empty = send(links, 0, 1, 0, 0);
  run();
  EXPECT_NEAR(empty, 4.096e-3, 1e-9);
}

}  // namespace
}  // namespace mxc::kv
