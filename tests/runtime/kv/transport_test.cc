// What every transport does: the same tests within a process, over ZeroMQ, over ZeroMQ with keys, over TCP, through shared memory, and over MPI: what stands in for MPI here moves bytes from
// this process to itself; if the program gets a plug-in as its argument, that is tested in its place.
#include "runtime/kv/transport.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "runtime/kv/data_transport.h"
#include "tests/runtime/kv/transports.h"

namespace mxc::kv {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Endpoints;
using test::next;
using test::say;

// Rank 0 of 1, whose messages arrive where they were sent.
std::deque<std::string>& to_itself() {
  static std::deque<std::string> messages;
  return messages;
}
constexpr mxc_mpi kToItself = {
    MXC_MPI_VERSION,
    [](int* rank, int* size) -> const char* { return *rank = 0, *size = 1, nullptr; },
    [](int, const void* bytes, uint64_t size, void** sending) -> const char* {
      to_itself().emplace_back(static_cast<const char*>(bytes), size);
      return *sending = &to_itself(), nullptr;
    },
    [](void*, int* done) -> const char* { return *done = 1, nullptr; },
    [](int* rank, int64_t* size) -> const char* {
      *rank = 0;
      *size = to_itself().empty() ? -1 : static_cast<int64_t>(to_itself().front().size());
      return nullptr;
    },
    [](void* bytes) -> const char* {
      std::memcpy(bytes, to_itself().front().data(), to_itself().front().size());
      return to_itself().pop_front(), nullptr;
    },
};
const mxc_mpi* plugin = &kToItself;

// Receives on an endpoint, to which nothing is sent, as its user would go on doing.
class Attending {
 public:
  explicit Attending(Transport& transport)
      : thread_([this, &transport] {
          while (!over_) EXPECT_EQ(transport.receive(milliseconds(2))->kind, Arrival::Kind::nothing);
        }) {}
  ~Attending() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

class TransportTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    make_ = GetParam() == 0   ? test::in_process()
            : GetParam() == 1 ? test::zeromq({.largest_frame = 1 << 21})
            : GetParam() == 2 ? test::zeromq_with_keys()
            : GetParam() == 3 ? test::mpi(plugin)
            : GetParam() == 4 ? test::shared_memory()
            : GetParam() == 5 ? test::shared_memory(1 << 20)
            : GetParam() == 6 ? test::tcp()
                              : test::tcp(/*within=*/true);
    anywhere_ = GetParam() == 3 ? "mpi:" : "tcp://127.0.0.1:0";
  }

  // A listening endpoint, and one that is connected to it and has been heard.
  void connect() {
    server_ = make_();
    auto address = server_->listen(anywhere_);
    ASSERT_TRUE(address.ok()) << address.status();
    address_ = *address;
    client_ = make_();
    auto peer = client_->connect(address_);
    ASSERT_TRUE(peer.ok()) << peer.status();
    to_server_ = *peer;
    ASSERT_TRUE(say(*client_, to_server_, {"hello"}).ok());
    const Attending client(*client_);
    const Arrival arrival = next(*server_);
    ASSERT_EQ(arrival.frames, std::vector<Frame>{"hello"});
    to_client_ = arrival.peer;
  }

  Endpoints make_;
  std::unique_ptr<Transport> server_, client_;
  std::string anywhere_, address_;
  Peer to_server_ = 0, to_client_ = 0;
};

std::string named(const testing::TestParamInfo<int>& info) {
  return std::vector<std::string>{"InProcess", "ZeroMq", "ZeroMqWithKeys", "Mpi", "SmallMemory", "Memory", "Tcp", "TcpWithin"}[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::Range(0, 8), named);

TEST_P(TransportTest, CarriesFramesBothWays) {
  connect();
  ASSERT_TRUE(say(*server_, to_client_, {"one", std::string("\0two\xff", 5), ""}).ok());
  const Attending server(*server_);
  const Arrival arrival = next(*client_);
  EXPECT_EQ(arrival.kind, Arrival::Kind::message);
  EXPECT_EQ(arrival.peer, to_server_);
  EXPECT_EQ(arrival.frames, (std::vector<Frame>{"one", std::string("\0two\xff", 5), ""}));
}

TEST_P(TransportTest, TellsWhereItListens) {
  auto one = make_(), two = make_();
  auto first = one->listen(anywhere_), second = two->listen(anywhere_);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_EQ(one->listen(anywhere_).status().message(), "the endpoint listens already");
}

TEST_P(TransportTest, ATakenAddressIsAnError) {
  auto one = make_(), two = make_();
  auto address = one->listen(anywhere_);
  ASSERT_TRUE(address.ok());
  const absl::Status status = two->listen(*address).status();
  const std::string shown = address->substr(0, address->find('#'));  // a token is secret
  EXPECT_EQ(std::string(status.message()).find("cannot listen at " + shown + ": "), 0u) << status;
}

TEST_P(TransportTest, KeepsTheOrderOfAConnection) {
  connect();
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(say(*client_, to_server_, {std::to_string(i), std::string(static_cast<size_t>(i), 'x')}).ok());
  const Attending client(*client_);
  for (int i = 0; i < 500; ++i) {
    const Arrival arrival = next(*server_);
    ASSERT_EQ(arrival.frames[0], Frame(std::to_string(i)));
    ASSERT_EQ(arrival.peer, to_client_);
  }
}

TEST_P(TransportTest, CarriesAMebibyte) {
  connect();
  std::string large(1 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 24);
  ASSERT_TRUE(say(*client_, to_server_, {"large", large}).ok());
  const Attending client(*client_);
  EXPECT_EQ(next(*server_).frames, (std::vector<Frame>{"large", large}));
}

// What is sent from memory that is handed over stays there until it has left, and is let go then.
TEST_P(TransportTest, HandedMemoryIsKeptWhileItIsNeeded) {
  connect();
  auto large = std::make_shared<const std::string>(1 << 20, 'x');
  const std::weak_ptr<const std::string> watched = large;
  const std::string_view frames[] = {"large", *large};
  ASSERT_TRUE(client_->send(to_server_, frames, std::move(large)).ok());
  const Attending client(*client_);
  EXPECT_EQ(next(*server_).frames, (std::vector<Frame>{"large", std::string(1 << 20, 'x')}));
  for (int i = 0; i < 2000 && !watched.expired(); ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(watched.expired());
}

TEST_P(TransportTest, TellsConnectionsApart) {
  connect();
  auto other = make_();
  auto peer = other->connect(address_);
  ASSERT_TRUE(peer.ok());
  ASSERT_TRUE(say(*other, *peer, {"me too"}).ok());
  Arrival arrival;
  {
    const Attending attending(*other);
    arrival = next(*server_);
  }
  EXPECT_NE(arrival.peer, to_client_);
  ASSERT_TRUE(say(*server_, arrival.peer, {"you"}).ok());
  const Attending server(*server_);
  EXPECT_EQ(next(*other).frames, std::vector<Frame>{"you"});
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
  for (int i = 0; i < 50; ++i) ASSERT_EQ(next(*server_).frames, std::vector<Frame>{std::to_string(i)});
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
  const Attending client(*client_);
  EXPECT_EQ(next(*server_).frames, std::vector<Frame>{"again"});
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

TEST(Mpi, WhatComesTooEarlyIsKept) {
  auto make = test::mpi(plugin);
  auto client = make(), server = make();
  auto peer = client->connect("mpi:0/1000");
  ASSERT_TRUE(peer.ok()) << peer.status();
  ASSERT_TRUE(say(*client, *peer, {"first"}).ok());
  ASSERT_TRUE(server->listen("mpi:0/1000").ok());
  ASSERT_TRUE(say(*client, *peer, {"second"}).ok());
  EXPECT_EQ(next(*server).frames, std::vector<Frame>{"first"});
  EXPECT_EQ(next(*server).frames, std::vector<Frame>{"second"});
}

TEST(Mpi, AFrameThatIsTooLargeEndsTheConnection) {
  auto make = test::mpi(plugin);
  auto client = make(), server = make();
  auto address = server->listen("mpi:");
  ASSERT_TRUE(address.ok());
  auto peer = client->connect(*address);
  ASSERT_TRUE(peer.ok());
  ASSERT_TRUE(say(*client, *peer, {std::string((1 << 21) + 1, 'x')}).ok());
  EXPECT_EQ(next(*client).kind, Arrival::Kind::lost);
  EXPECT_EQ(next(*server).kind, Arrival::Kind::lost);
}

TEST(Mpi, AddressesThatAreNone) {
  auto make = test::mpi(plugin);
  auto one = make();
  EXPECT_EQ(one->connect("tcp://127.0.0.1:80").status().message(), "'tcp://127.0.0.1:80' is no address of MPI's job of 1");
  EXPECT_EQ(one->connect("mpi:1/1").status().message(), "'mpi:1/1' is no address of MPI's job of 1");
  EXPECT_EQ(one->listen("mpi:0").status().message(), "'mpi:0' is no address of MPI's: mpi:, or mpi:RANK/NUMBER");
  EXPECT_EQ(one->listen("mpi:1/1").status().message(), "cannot listen at mpi:1/1: this is another rank");
}

TEST(Mpi, AFaultOfMpisEndsAllThatWaits) {
  mxc_mpi faulty = kToItself;
  faulty.send = [](int, const void*, uint64_t, void**) -> const char* { return "no link"; };
  auto make = test::mpi(&faulty);
  auto client = make(), server = make();
  auto address = server->listen("mpi:");
  auto peer = client->connect(*address);
  ASSERT_TRUE(say(*client, *peer, {"x"}).ok());
  EXPECT_EQ(client->receive(std::chrono::seconds(10)).status().message(), "MPI: no link");
  EXPECT_EQ(server->receive(std::chrono::seconds(10)).status().message(), "MPI: no link");
  faulty.start = [](int*, int*) -> const char* { return "nobody has started this job"; };
  EXPECT_EQ(join_mpi(&faulty, 1).status().message(), "MPI: nobody has started this job");
}

TEST(Mpi, AJobOfAnotherSize) {
  EXPECT_EQ(join_mpi(plugin, 4).status().message(), "MPI's job has 1 ranks, and this one 4: was it started by mpirun?");
}

TEST(Mpi, NamesOfTransports) {
  for (const char* name : {"", "zeromq", "tcp", "mpi", "mpi:/x/libmxc_mpi.so"}) EXPECT_TRUE(check_data_transport(name).ok()) << name;
  for (const char* name : {"udp", "mpi:", "MPI"})
    EXPECT_EQ(std::string(check_data_transport(name).message()), "'" + std::string(name) + "' is no transport: zeromq, tcp, mpi or mpi:FILE");
  ProcessOptions options;
  EXPECT_EQ(std::string(use_data_transport("mpi:libc.so.6", options).message()), "MPI: libc.so.6 is no plug-in of this version of mxc");
}

TEST(Mpi, APluginThatIsNone) {
  EXPECT_EQ(std::string(load_mpi("/nowhere/libmxc_mpi.so").status().message()),
            "MPI: /nowhere/libmxc_mpi.so: cannot open shared object file: No such file or directory");
  EXPECT_EQ(std::string(load_mpi("libc.so.6").status().message()), "MPI: libc.so.6 is no plug-in of this version of mxc");
}

}  // namespace
}  // namespace mxc::kv

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    auto loaded = mxc::kv::load_mpi(argv[1]);
    if (!loaded.ok()) return std::fprintf(stderr, "%s\n", loaded.status().ToString().c_str()), 1;
    mxc::kv::plugin = *loaded;
  }
  return RUN_ALL_TESTS();
}
