// What every transport does: the same tests within a process, over TCP, and over TCP with keys.
#include "runtime/kv/transport.h"

#include <thread>

#include "tests/runtime/kv/transports.h"

namespace mxc::kv {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Endpoints;
using test::next;
using test::say;

constexpr char kAddress[] = "tcp://127.0.0.1:0";

class TransportTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    make_ = GetParam() == 0   ? test::in_process()
            : GetParam() == 1 ? test::zeromq({.largest_frame = 1 << 21})
                              : test::zeromq_with_keys();
  }

  // A listening endpoint, and one that is connected to it and has been heard.
  void connect() {
    server_ = make_();
    auto address = server_->listen(kAddress);
    ASSERT_TRUE(address.ok()) << address.status();
    address_ = *address;
    client_ = make_();
    auto peer = client_->connect(address_);
    ASSERT_TRUE(peer.ok()) << peer.status();
    to_server_ = *peer;
    ASSERT_TRUE(say(*client_, to_server_, {"hello"}).ok());
    const Arrival arrival = next(*server_);
    ASSERT_EQ(arrival.frames, std::vector<std::string>{"hello"});
    to_client_ = arrival.peer;
  }

  Endpoints make_;
  std::unique_ptr<Transport> server_, client_;
  std::string address_;
  Peer to_server_ = 0, to_client_ = 0;
};

std::string named(const testing::TestParamInfo<int>& info) {
  return std::vector<std::string>{"InProcess", "ZeroMq", "ZeroMqWithKeys"}[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::Values(0, 1, 2), named);

TEST_P(TransportTest, CarriesFramesBothWays) {
  connect();
  ASSERT_TRUE(say(*server_, to_client_, {"one", std::string("\0two\xff", 5), ""}).ok());
  const Arrival arrival = next(*client_);
  EXPECT_EQ(arrival.kind, Arrival::Kind::message);
  EXPECT_EQ(arrival.peer, to_server_);
  EXPECT_EQ(arrival.frames, (std::vector<std::string>{"one", std::string("\0two\xff", 5), ""}));
}

TEST_P(TransportTest, TellsWhereItListens) {
  auto one = make_(), two = make_();
  auto first = one->listen(kAddress), second = two->listen(kAddress);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_EQ(one->listen(kAddress).status().message(), "the endpoint listens already");
}

TEST_P(TransportTest, ATakenAddressIsAnError) {
  auto one = make_(), two = make_();
  auto address = one->listen(kAddress);
  ASSERT_TRUE(address.ok());
  const absl::Status status = two->listen(*address).status();
  EXPECT_EQ(std::string(status.message()).find("cannot listen at " + *address + ": "), 0u) << status;
}

TEST_P(TransportTest, KeepsTheOrderOfAConnection) {
  connect();
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(say(*client_, to_server_, {std::to_string(i), std::string(static_cast<size_t>(i), 'x')}).ok());
  for (int i = 0; i < 500; ++i) {
    const Arrival arrival = next(*server_);
    ASSERT_EQ(arrival.frames[0], std::to_string(i));
    ASSERT_EQ(arrival.peer, to_client_);
  }
}

TEST_P(TransportTest, CarriesAMebibyte) {
  connect();
  std::string large(1 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 24);
  ASSERT_TRUE(say(*client_, to_server_, {"large", large}).ok());
  EXPECT_EQ(next(*server_).frames, (std::vector<std::string>{"large", large}));
}

TEST_P(TransportTest, TellsConnectionsApart) {
  connect();
  auto other = make_();
  auto peer = other->connect(address_);
  ASSERT_TRUE(peer.ok());
  ASSERT_TRUE(say(*other, *peer, {"me too"}).ok());
  const Arrival arrival = next(*server_);
  EXPECT_NE(arrival.peer, to_client_);
  ASSERT_TRUE(say(*server_, arrival.peer, {"you"}).ok());
  EXPECT_EQ(next(*other).frames, std::vector<std::string>{"you"});
}

TEST_P(TransportTest, SaysWhenNothingComes) {
  connect();
  auto arrival = client_->receive(milliseconds(20));
  ASSERT_TRUE(arrival.ok());
  EXPECT_EQ(arrival->kind, Arrival::Kind::nothing);
}

TEST_P(TransportTest, IsWokenByAnotherThread) {
  connect();
  std::thread waker([&] { client_->wake(); });
  EXPECT_EQ(next(*client_).kind, Arrival::Kind::woken);
  waker.join();
}

TEST_P(TransportTest, SeesThatTheOtherSideHasGone) {
  connect();
  client_.reset();
  const Arrival arrival = next(*server_);
  EXPECT_EQ(arrival.kind, Arrival::Kind::lost);
  EXPECT_EQ(arrival.peer, to_client_);
  EXPECT_FALSE(say(*server_, to_client_, {"too late"}).ok());
}

TEST_P(TransportTest, WhatWasSaidBeforeTheEndComesFirst) {
  connect();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(say(*client_, to_server_, {std::to_string(i)}).ok());
  client_->close(seconds(5));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(next(*server_).frames, std::vector<std::string>{std::to_string(i)});
  EXPECT_EQ(next(*server_).kind, Arrival::Kind::lost);
}

TEST_P(TransportTest, OneThatConnectedTriesAgain) {
  connect();
  server_.reset();
  EXPECT_EQ(next(*client_).kind, Arrival::Kind::lost);
  server_ = make_();
  auto address = server_->listen(address_);
  ASSERT_TRUE(address.ok()) << address.status();
  ASSERT_TRUE(say(*client_, to_server_, {"again"}).ok());
  EXPECT_EQ(next(*server_).frames, std::vector<std::string>{"again"});
}

TEST_P(TransportTest, ADroppedConnectionEnds) {
  connect();
  server_->drop(to_client_);
  EXPECT_FALSE(say(*server_, to_client_, {"nobody"}).ok());
  EXPECT_EQ(next(*client_).kind, Arrival::Kind::lost);
}

TEST_P(TransportTest, SendingToNobodyIsAnError) {
  auto one = make_();
  EXPECT_EQ(say(*one, 77, {"x"}).message(), "the connection has ended");
}

}  // namespace
}  // namespace mxc::kv
