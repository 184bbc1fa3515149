// Who may connect, who may listen, and what strangers can do.
#include "runtime/kv/zeromq.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <fstream>
#include <random>

#include "tests/runtime/kv/transports.h"
#include "tests/runtime/temp_dir.h"

namespace mxc::kv {
namespace {

using std::chrono::milliseconds;
using test::say;

constexpr char kLoopback[] = "tcp://127.0.0.1:0";

JobKeys keys() {
  auto made = make_keys();
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

std::unique_ptr<Transport> endpoint(const ZeroMqOptions& options) { return test::zeromq(options)(); }

// Says something to a listener that has `server`'s keys; does it arrive? The connection is made with `client`'s.
bool is_heard(const JobKeys& server, const JobKeys& client) {
  auto listener = endpoint({.keys = server}), caller = endpoint({.keys = client});
  auto address = listener->listen(kLoopback);
  EXPECT_TRUE(address.ok()) << address.status();
  auto peer = caller->connect(*address);
  EXPECT_TRUE(say(*caller, *peer, {"hello"}).ok());
  auto arrival = listener->receive(milliseconds(50));
  for (int i = 0; i < 200 && arrival.ok() && arrival->kind == Arrival::Kind::nothing; ++i) {
    auto refused = caller->receive(milliseconds(10));
    if (!refused.ok() || refused->kind == Arrival::Kind::lost) break;
    arrival = listener->receive(milliseconds(50));
  }
  return arrival.ok() && arrival->kind == Arrival::Kind::message;
}

TEST(ZeroMqKeys, TheJobsOwnAreHeard) {
  const JobKeys own = keys();
  EXPECT_TRUE(is_heard(own, own));
}

TEST(ZeroMqKeys, WithoutKeysNobodyIsHeard) { EXPECT_FALSE(is_heard(keys(), {})); }

TEST(ZeroMqKeys, OfAnotherJobAreNotHeard) { EXPECT_FALSE(is_heard(keys(), keys())); }

// What a caller with these keys is told by a listener with those.
std::string told(const JobKeys& server, const JobKeys& client) {
  auto listener = endpoint({.keys = server}), caller = endpoint({.keys = client});
  auto address = listener->listen(kLoopback);
  EXPECT_TRUE(address.ok()) << address.status();
  EXPECT_TRUE(caller->connect(*address).ok());
  absl::StatusOr<Arrival> arrival = Arrival{};
  for (int i = 0; i < 6000 && arrival.ok(); ++i) {
    EXPECT_TRUE(listener->receive(milliseconds(5)).ok());
    arrival = caller->receive(milliseconds(5));
  }
  const std::string text(arrival.status().message());
  return text.starts_with(*address) ? text.substr(address->size()) : text;
}

TEST(ZeroMqKeys, WhoIsRefusedIsTold) {
  EXPECT_EQ(told(keys(), keys()), " refuses the keys of this process");
  EXPECT_EQ(told({}, keys()), " refuses the keys of this process");
  EXPECT_EQ(told(keys(), {}), " takes no connection without keys, or is not of this job");
}

// Knows the public key, as anybody may, and has a secret key of its own: CURVE alone would let it in.
TEST(ZeroMqKeys, TheServersKeyAloneOpensNothing) {
  const JobKeys own = keys();
  auto zmq_stranger = keys();
  auto listener = endpoint({.keys = own});
  auto address = listener->listen(kLoopback);
  ASSERT_TRUE(address.ok());
  // A caller of this library shows one key for both ends, so this one is made by hand.
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_DEALER);
  zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, own.public_key.c_str(), 41);
  zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, zmq_stranger.public_key.c_str(), 41);
  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, zmq_stranger.secret_key.c_str(), 41);
  const int none = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
  ASSERT_EQ(zmq_connect(socket, address->c_str()), 0);
  ASSERT_EQ(zmq_send(socket, "x", 1, 0), 1);
  auto arrival = listener->receive(milliseconds(500));
  ASSERT_TRUE(arrival.ok());
  EXPECT_NE(arrival->kind, Arrival::Kind::message);
  zmq_close(socket);
  zmq_ctx_term(context);
}

// What goes through memory needs no keys of the listener's, which over TCP would be refused; others still do.
TEST(ZeroMqContexts, EndpointsOfOneReachEachOtherWithinTheProcess) {
  const auto context = std::make_shared<ZeroMqContext>(**ZeroMq::load(), 1);
  const JobKeys own = keys(), other = keys();
  for (int life = 0; life < 2; ++life) {  // when all have closed, it can be used again
    auto listener = endpoint({.keys = own, .context = context}), caller = endpoint({.keys = other, .context = context}), stranger = endpoint({.keys = other});
    const auto address = listener->listen(kLoopback);
    ASSERT_TRUE(address.ok()) << address.status();
    const auto peer = caller->connect(*address);
    ASSERT_TRUE(peer.ok()) << peer.status();
    ASSERT_TRUE(say(*caller, *peer, {"hello", std::string(1 << 20, 'x')}).ok());
    const Arrival arrival = test::next(*listener);
    EXPECT_EQ(arrival.frames, (std::vector<Frame>{"hello", std::string(1 << 20, 'x')}));
    ASSERT_TRUE(say(*listener, arrival.peer, {"you too"}).ok());
    const Arrival answer = test::next(*caller);
    EXPECT_EQ(answer.peer, *peer);
    EXPECT_EQ(answer.frames, std::vector<Frame>{"you too"});
    EXPECT_TRUE(stranger->connect(*address).ok());
    absl::StatusOr<Arrival> refused = Arrival{};
    for (int i = 0; i < 6000 && refused.ok(); ++i) {
      EXPECT_TRUE(listener->receive(milliseconds(5)).ok());
      refused = stranger->receive(milliseconds(5));
    }
    EXPECT_EQ(refused.status().message(), *address + " refuses the keys of this process");
  }
}

TEST(ZeroMqListening, BeyondLoopbackNeedsKeys) {
  EXPECT_EQ(endpoint({})->listen("tcp://0.0.0.0:0").status().message(),
            "refusing to listen at tcp://0.0.0.0:0, where other machines can connect, without keys");
  EXPECT_TRUE(endpoint({.keys = keys()})->listen("tcp://0.0.0.0:0").ok());
  EXPECT_TRUE(endpoint({.insecure = true})->listen("tcp://0.0.0.0:0").ok());
}

TEST(ZeroMqListening, WhatIsLoopback) {
  for (const char* address : {"tcp://127.0.0.1:0", "tcp://127.1.2.3:80", "tcp://[::1]:5", "tcp://localhost:1", "ipc://x"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address :
       {"tcp://0.0.0.0:0", "tcp://*:0", "tcp://127.example.org:80", "tcp://10.127.0.1:1", "tcp://[::]:1", "tcp://eth0:1"})
    EXPECT_FALSE(is_loopback(address)) << address;
}

TEST(ZeroMqListening, WrongAddressesAreErrors) {
  auto one = endpoint({});
  EXPECT_EQ(one->connect("nonsense").status().message(), "cannot connect to nonsense: Invalid argument");
}

// CURVE makes frames larger on their way.
TEST(ZeroMqLimits, AFrameOfTheLargestSizeArrives) {
  for (const JobKeys& own : {JobKeys{}, keys()}) {
    auto listener = endpoint({.keys = own, .largest_frame = 1000}), caller = endpoint({.keys = own, .largest_frame = 1000});
    auto address = listener->listen(kLoopback);
    ASSERT_TRUE(address.ok());
    auto peer = caller->connect(*address);
    ASSERT_TRUE(say(*caller, *peer, {std::string(1000, 'x')}).ok());
    EXPECT_EQ(test::next(*listener).frames, std::vector<Frame>{std::string(1000, 'x')});
  }
}

// A frame above the limit costs its sender the connection, and no memory.
TEST(ZeroMqLimits, AFrameThatIsTooLargeIsNotTaken) {
  auto listener = endpoint({.largest_frame = 1000}), caller = endpoint({});
  auto address = listener->listen(kLoopback);
  ASSERT_TRUE(address.ok());
  auto peer = caller->connect(*address);
  ASSERT_TRUE(say(*caller, *peer, {std::string(1100, 'x')}).ok());
  auto arrival = caller->receive(milliseconds(3000));
  ASSERT_TRUE(arrival.ok());
  EXPECT_EQ(arrival->kind, Arrival::Kind::lost);
  auto heard = listener->receive(Duration(0));
  ASSERT_TRUE(heard.ok());
  EXPECT_NE(heard->kind, Arrival::Kind::message);
}

int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

// Connections that speak no ZeroMQ at all.
TEST(ZeroMqLimits, RawBytesReachNobody) {
  const JobKeys own = keys();
  auto listener = endpoint({.keys = own}), caller = endpoint({.keys = own});
  auto address = listener->listen(kLoopback);
  ASSERT_TRUE(address.ok());
  std::mt19937_64 random(5);
  for (int i = 0; i < 100; ++i) {
    const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(port_of(*address)));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 2 == 0) bytes = std::string("\xff\0\0\0\0\0\0\0\1\x7f\3", 11) + bytes;  // the greeting's beginning
    EXPECT_GE(::send(stranger, bytes.data(), bytes.size(), MSG_NOSIGNAL), -1);
    ::close(stranger);
  }
  auto peer = caller->connect(*address);
  ASSERT_TRUE(say(*caller, *peer, {"hello"}).ok());
  const Arrival arrival = test::next(*listener);
  EXPECT_EQ(arrival.frames, std::vector<Frame>{"hello"});
}

TEST(KeyFile, IsReadBack) {
  mxc::test::TempDir folder;
  const JobKeys own = keys();
  const std::string path = folder.file("keys");
  ASSERT_TRUE(write_keys(path, own).ok());
  auto read = read_keys(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->public_key, own.public_key);
  EXPECT_EQ(read->secret_key, own.secret_key);
  EXPECT_EQ(own.public_key.size(), 40u);
  EXPECT_NE(keys().secret_key, own.secret_key);
}

TEST(KeyFile, SaysWhatIsWrong) {
  mxc::test::TempDir folder;
  const std::string path = folder.file("keys");
  EXPECT_EQ(read_keys(path).status().message(), "cannot read the keys in " + path + ": No such file or directory");
  ASSERT_TRUE(write_keys(path, keys()).ok());
  EXPECT_EQ(write_keys(path, keys()).message(), "cannot write the keys in " + path + ": File exists");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(read_keys(path).status().message(), "the keys in " + path + " may be read by others than their owner: chmod 600 it");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path, std::ios::trunc) << "public short\n";
  EXPECT_EQ(read_keys(path).status().message(), path + " is no file of keys: it has no line 'public KEY' and 'secret KEY'");
}

}  // namespace
}  // namespace mxc::kv
