// What is particular to connections through shared memory (transport_test.cc tests what all have): when there is one, what becomes of it when the other process
// is gone, and what the other side may not do.
#include "runtime/kv/memory_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "runtime/kv/memory_connection.h"
#include "runtime/kv/zeromq_context.h"
#include "tests/runtime/kv/transports.h"

namespace mxc::kv {
namespace {

using test::next;
using test::say;

constexpr char kAnywhere[] = "tcp://127.0.0.1:0";

// A client that has reached a server. Returns its peer.
Peer reach(Transport& client, Transport& server, const std::string& address) {
  const auto peer = client.connect(address);
  EXPECT_TRUE(peer.ok()) << peer.status();
  EXPECT_TRUE(say(client, *peer, {"hello"}).ok());
  EXPECT_EQ(next(server).frames, std::vector<Frame>{"hello"});
  return *peer;
}

TEST(MemoryTransport, GoesThroughMemoryOnOneMachine) {
  auto server = test::shared_memory()(), client = test::shared_memory()();
  const std::string address = *server->listen(kAnywhere);
  EXPECT_TRUE(client->shares_memory(reach(*client, *server, address)));
  EXPECT_FALSE(client->shares_memory(4711));
}

TEST(MemoryTransport, GoesOverTcpWhereItIsNotWanted) {
  auto server = test::shared_memory()(), client = test::shared_memory(4096, false)(), off = test::shared_memory(4096, false)();
  EXPECT_FALSE(client->shares_memory(reach(*client, *server, *server->listen(kAnywhere))));
  EXPECT_FALSE(server->shares_memory(reach(*server, *off, *off->listen(kAnywhere))));
}

// What a process says to itself is left to the other transport, which needs no copy for it.
TEST(MemoryTransport, LeavesTheProcessItselfToTheOther) {
  const auto context = std::make_shared<ZeroMqContext>(**ZeroMq::load(), 1);
  const auto make = [&](bool on) {
    return *make_memory_transport({.on = on, .largest_frame = 1 << 21, .other = [&](int descriptor) {
      return make_zeromq_transport({.largest_frame = 1 << 21, .also = descriptor, .context = context});
    }, .is_within = [&](const std::string& address) { return context->has(address); }});
  };
  for (bool on : {true, false}) {
    auto server = make(on), client = make(on);
    const Peer peer = reach(*client, *server, *server->listen(kAnywhere));
    EXPECT_EQ(client->shares_memory(peer), on);
    const auto bytes = std::make_shared<const std::string>(1 << 20, 'x');
    const std::string_view frames[] = {"large", *bytes};
    ASSERT_TRUE(client->send(peer, frames, bytes).ok());
    EXPECT_EQ(next(*server).frames[1].data(), bytes->data());
  }
}

// As if the server were on another machine: nobody has the name there.
TEST(MemoryTransport, GoesOverTcpWhereTheNameIsNobodys) {
  auto server = test::shared_memory()(), client = test::shared_memory()();
  const std::string address = *server->listen(kAnywhere);
  EXPECT_FALSE(client->shares_memory(reach(*client, *server, address + "0")));
}

// A process that is killed: its connection ends, after all that it has written, and the one that had connected goes on over TCP with whoever listens there then.
TEST(MemoryTransport, SeesAProcessThatIsKilled) {
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto server = test::shared_memory()();
    const auto address = server->listen(kAnywhere);
    if (::write(said[1], address->data(), address->size()) < 0) ::_exit(1);
    const Arrival hello = next(*server);
    const std::string large(100'000, 'x');  // much more than its ring has room for: it is killed while it waits for room
    (void)say(*server, hello.peer, {"first"});
    (void)say(*server, hello.peer, {large});
    while (true) (void)server->receive(std::chrono::seconds(1));
  }
  char text[256] = {};
  ASSERT_GT(::read(said[0], text, sizeof text - 1), 0);
  auto client = test::shared_memory()();
  const Peer peer = *client->connect(text);
  ASSERT_TRUE(client->shares_memory(peer));
  ASSERT_TRUE(say(*client, peer, {"hello"}).ok());
  EXPECT_EQ(next(*client).frames, std::vector<Frame>{"first"});
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  Arrival arrival = next(*client);
  if (arrival.kind == Arrival::Kind::message) arrival = next(*client);  // all of it may have had room in time
  EXPECT_EQ(arrival.kind, Arrival::Kind::lost);
  EXPECT_EQ(arrival.peer, peer);
  EXPECT_FALSE(client->shares_memory(peer));

  auto other = test::shared_memory()();
  ASSERT_TRUE(other->listen(text).ok());
  ASSERT_TRUE(say(*client, peer, {"again"}).ok());
  const Arrival again = next(*other);
  EXPECT_EQ(again.frames, std::vector<Frame>{"again"});
  ASSERT_TRUE(say(*other, again.peer, {"yes"}).ok());
  const Arrival answer = next(*client);
  EXPECT_EQ(answer.peer, peer);
  EXPECT_EQ(answer.frames, std::vector<Frame>{"yes"});
  ::close(said[0]);
  ::close(said[1]);
}

// Both sides send more than fits, and neither waits for the other.
TEST(MemoryTransport, BothMaySendAtOnce) {
  auto server = test::shared_memory()(), client = test::shared_memory()();
  const Peer to_server = *client->connect(*server->listen(kAnywhere));
  ASSERT_TRUE(say(*client, to_server, {"hello"}).ok());
  const Peer to_client = next(*server).peer;
  constexpr int kMessages = 40;
  auto talk = [](Transport& transport, Peer peer) {
    for (int i = 0; i < kMessages; ++i) ASSERT_TRUE(say(transport, peer, {std::to_string(i), std::string(10'000 + static_cast<size_t>(i), 'x')}).ok());
    for (int i = 0; i < kMessages; ++i) {
      const Arrival arrival = next(transport);
      ASSERT_EQ(arrival.frames.size(), 2u);
      ASSERT_EQ(arrival.frames[0], Frame(std::to_string(i)));
      ASSERT_EQ(arrival.frames[1].size(), 10'000u + static_cast<size_t>(i));
    }
    transport.close(std::chrono::seconds(10));
  };
  std::thread other([&] { talk(*server, to_client); });
  talk(*client, to_server);
  other.join();
}

// Strangers on the socket, by hand.
class Stranger {
 public:
  explicit Stranger(const std::string& address) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    const std::string name = address.substr(address.find(";memory=") + 8);
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path + 1, name.data(), name.size());
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())), 0);
  }
  ~Stranger() { ::close(socket_); }

  void say(const std::string& bytes, int descriptor = -1) const {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    std::string copy = bytes;
    iovec vector = {copy.data(), copy.size()};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      *head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
      std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    }
    EXPECT_EQ(::sendmsg(socket_, &message, 0), static_cast<ssize_t>(bytes.size()));
  }
  // Has the other side hung up?
  bool is_refused() const {
    char byte;
    return ::recv(socket_, &byte, 1, 0) <= 0;
  }

 private:
  const int socket_;
};

const std::string kGreeting("mxc rings 1", 12);

// A server that looks at what comes until it is asked to stop.
class Listening {
 public:
  Listening() : server_(test::shared_memory()()), address_(*server_->listen(kAnywhere)), thread_([this] { run(); }) {}
  ~Listening() {
    server_->wake();
    thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void run() {
    while (true) {
      const auto arrival = server_->receive(std::chrono::seconds(1));
      ASSERT_TRUE(arrival.ok());
      ASSERT_NE(arrival->kind, Arrival::Kind::message);
      if (arrival->kind == Arrival::Kind::woken) return;
    }
  }
  std::unique_ptr<Transport> server_;
  const std::string address_;
  std::thread thread_;
};

TEST(MemoryTransport, RefusesWhatIsNoMemory) {
  const Listening server;
  Stranger nothing(server.address()), wrong(server.address()), unsealed(server.address()), a_file(server.address());
  nothing.say(kGreeting);
  EXPECT_TRUE(nothing.is_refused());
  int descriptor = -1;
  auto rings = SharedRings::make(4096, descriptor);
  ASSERT_TRUE(rings.ok());
  wrong.say("something else!", descriptor);
  EXPECT_TRUE(wrong.is_refused());
  ::close(descriptor);
  // One whose size could still change below the server.
  const int loose = ::memfd_create("test", MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(loose, 3 * 4096), 0);
  unsealed.say(kGreeting, loose);
  EXPECT_TRUE(unsealed.is_refused());
  ::close(loose);
  a_file.say(kGreeting, STDIN_FILENO);
  EXPECT_TRUE(a_file.is_refused());
}

// Rings whose other side writes what it should not.
class Rings {
 public:
  Rings() {
    memory_ = ::memfd_create("test", MFD_ALLOW_SEALING);
    EXPECT_EQ(::ftruncate(memory_, 3 * 4096), 0);
    EXPECT_EQ(::fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  }
  ~Rings() { ::close(memory_); }
  int memory() const { return memory_; }
  void write(off_t at, std::span<const uint64_t> numbers) const {
    EXPECT_EQ(::pwrite(memory_, numbers.data(), numbers.size_bytes(), at), static_cast<ssize_t>(numbers.size_bytes()));
  }

 private:
  int memory_;
};

TEST(MemoryTransport, ABrokenRingEndsTheConnection) {
  const Listening server;
  for (const auto& [bytes, written] : std::vector<std::pair<std::vector<uint64_t>, uint64_t>>{
           {{}, 4097},                   // more than it holds
           {{0}, 8},                     // a message of no frames
           {{9}, 8},                     // of too many
           {{1, (1 << 21) + 1}, 16},     // a frame that is too large
           {{1, UINT64_MAX}, 16}}) {
    const Rings rings;
    rings.write(4096, bytes);
    rings.write(0, std::vector<uint64_t>{written});
    Stranger stranger(server.address());
    stranger.say(kGreeting, rings.memory());
    EXPECT_TRUE(stranger.is_refused()) << written;
  }
}

TEST(MemoryTransport, ATakenNameIsAnError) {
  auto one = test::shared_memory()(), two = test::shared_memory()();
  const std::string address = *one->listen(kAnywhere), name = address.substr(address.find(';'));
  const absl::Status status = two->listen(kAnywhere + name).status();
  EXPECT_EQ(std::string(status.message()), "cannot listen at " + (kAnywhere + name) + ": Address already in use");
}

TEST(MemoryTransport, ManyProcessesHaveSmallerRings) {
  EXPECT_EQ(memory_capacity(2), 2 << 20);
  EXPECT_EQ(memory_capacity(16), 1 << 20);
  EXPECT_EQ(memory_capacity(64), 64 << 10);
  EXPECT_EQ(memory_capacity(1024), 64 << 10);
}

}  // namespace
}  // namespace mxc::kv
