// Who may connect, who may listen, what strangers can do, and where large frames are received.
#include "runtime/kv/tcp.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "runtime/kv/reach.h"
#include "runtime/kv/tcp_address.h"
#include "runtime/kv/tcp_connection.h"
#include "tests/runtime/kv/transports.h"

namespace mxc::kv {
namespace {

using std::chrono::milliseconds;
using test::next;
using test::say;

constexpr char kLoopback[] = "tcp://127.0.0.1:0";

std::unique_ptr<Transport> endpoint(const TcpOptions& options = {}) {
  auto made = make_tcp_transport(options);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// An arrival at one of two, while both go on.
absl::StatusOr<Arrival> next_at(Transport& one, Transport& other, int tries = 2000) {
  absl::StatusOr<Arrival> arrival = Arrival{};
  for (int i = 0; i < tries && arrival.ok() && arrival->kind == Arrival::Kind::nothing; ++i) {
    EXPECT_TRUE(other.receive(milliseconds(1)).ok());
    arrival = one.receive(milliseconds(4));
  }
  return arrival;
}

// A plain connection to a listener, made by hand.
class Stranger {
 public:
  explicit Stranger(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(parse_host_port(without_token(address))->port);
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const timeval most = {0, 5000};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  }
  ~Stranger() { ::close(socket_); }
  void say(std::string_view bytes) { [[maybe_unused]] const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Has the listener hung up, within two seconds?
  bool is_hung_up_on(Transport& listener) {
    for (int i = 0; i < 400; ++i) {
      auto arrival = listener.receive(Duration(0));
      EXPECT_TRUE(arrival.ok());
      EXPECT_EQ(arrival->kind, Arrival::Kind::nothing) << "a stranger is heard";
      char byte;
      const ssize_t count = ::recv(socket_, &byte, 1, 0);
      if (count == 0 || (count < 0 && errno == ECONNRESET)) return true;
    }
    return false;
  }

 private:
  const int socket_;
};

TEST(Tcp, AnotherTokenIsRefused) {
  auto listener = endpoint(), caller = endpoint();
  const std::string address = *listener->listen(kLoopback);
  EXPECT_EQ(address.size() - address.find('#') - 1, 32u);
  ASSERT_TRUE(caller->connect(without_token(address) + "#0123456789abcdef0123456789abcdef").ok());
  absl::StatusOr<Arrival> refused = Arrival{};
  for (int i = 0; i < 2000 && refused.ok(); ++i) refused = next_at(*caller, *listener, 1);
  EXPECT_EQ(refused.status().message(), without_token(address) + " refuses this process, or is not of this job");
}

TEST(Tcp, WithoutATokenNobodyIsHeard) {
  auto listener = endpoint();
  const std::string address = *listener->listen(kLoopback);
  const std::string token = token_of(address);
  const std::string_view other[] = {"mxc tcp 2", token}, more[] = {"mxc tcp 1", token, "x"}, less[] = {"mxc tcp 1"}, early[] = {"hello"};
  std::vector<std::string> said = {"GET / HTTP/1.1\r\n\r\n", std::string(4, '\0'), "\x02" + std::string(3, '\0') + std::string(8, '\xff')};
  for (std::span<const std::string_view> frames : {std::span<const std::string_view>(other), {more}, {less}, {early}}) said.push_back(TcpConnection::encoded(frames));
  for (const std::string& bytes : said) {
    Stranger stranger(address);
    stranger.say(bytes);
    EXPECT_TRUE(stranger.is_hung_up_on(*listener)) << bytes;
  }
}

TEST(Tcp, RandomBytesReachNobody) {
  auto listener = endpoint();
  const std::string address = *listener->listen(kLoopback);
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Stranger stranger(address);
    std::string bytes(random() % 3000 + 100, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    stranger.say(bytes);
    EXPECT_TRUE(stranger.is_hung_up_on(*listener));
  }
}

TEST(Tcp, WhoSaysNothingIsHungUpOn) {
  auto listener = endpoint({.patience = milliseconds(50)});
  const std::string address = *listener->listen(kLoopback);
  Stranger silent(address), slow(address);
  slow.say("\x02");
  EXPECT_TRUE(silent.is_hung_up_on(*listener));
  EXPECT_TRUE(slow.is_hung_up_on(*listener));
}

// The oldest strangers give way to those who know the token.
TEST(Tcp, ManyStrangersKeepNobodyOut) {
  auto listener = endpoint({.patience = std::chrono::minutes(1)}), caller = endpoint();
  const std::string address = *listener->listen(kLoopback);
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 400; ++i) {
    strangers.push_back(std::make_unique<Stranger>(address));
    EXPECT_EQ(listener->receive(Duration(0))->kind, Arrival::Kind::nothing);
  }
  EXPECT_TRUE(strangers.front()->is_hung_up_on(*listener));
  auto peer = caller->connect(address);
  ASSERT_TRUE(say(*caller, *peer, {"hello"}).ok());
  EXPECT_EQ(next_at(*listener, *caller)->frames, std::vector<Frame>{"hello"});
}

TEST(Tcp, AFrameThatIsTooLargeEndsTheConnection) {
  auto listener = endpoint({.largest_frame = 1000}), caller = endpoint();
  const std::string address = *listener->listen(kLoopback);
  auto peer = caller->connect(address);
  ASSERT_TRUE(say(*caller, *peer, {"x", std::string(1000, 'x')}).ok());
  EXPECT_EQ(next_at(*listener, *caller)->kind, Arrival::Kind::message);
  ASSERT_TRUE(say(*caller, *peer, {"x", std::string(1001, 'x')}).ok());
  EXPECT_EQ(next_at(*listener, *caller)->kind, Arrival::Kind::lost);
  EXPECT_EQ(next_at(*caller, *listener)->kind, Arrival::Kind::lost);
}

TEST(Tcp, BeyondLoopbackTheTokenHasToBeSecret) {
  EXPECT_EQ(endpoint()->listen("tcp://0.0.0.0:0").status().message(),
            "refusing to listen at tcp://0.0.0.0:0, where other machines can connect, without keys");
  EXPECT_TRUE(endpoint({.secret = true})->listen("tcp://0.0.0.0:0").ok());
}

TEST(Tcp, AddressesThatAreNone) {
  for (const char* address : {"mpi:", "tcp://", "tcp://nobody:80", "tcp://127.0.0.1", "tcp://127.0.0.1:x#token"}) {
    const std::string shown = without_token(address);
    EXPECT_EQ(endpoint()->connect(address).status().message(), "'" + shown + "' is no tcp://HOST:PORT with a numeric host");
    EXPECT_EQ(endpoint()->listen(address).status().message(), "'" + shown + "' is no tcp://HOST:PORT with a numeric host");
  }
}

TEST(Tcp, WhoConnectsFirstIsHeardWhenSomebodyListens) {
  const std::string address = [] { return *endpoint()->listen(kLoopback); }();
  auto caller = endpoint();
  auto peer = caller->connect(address);
  ASSERT_TRUE(peer.ok());
  ASSERT_TRUE(say(*caller, *peer, {"early"}).ok());
  EXPECT_EQ(caller->receive(milliseconds(60))->kind, Arrival::Kind::nothing);
  auto listener = endpoint();
  ASSERT_TRUE(listener->listen(address).ok());
  EXPECT_EQ(next_at(*listener, *caller)->frames, std::vector<Frame>{"early"});
}

class TcpDestinations : public testing::Test {
 protected:
  void SetUp() override {
    address_ = *listener_->listen(kLoopback);
    peer_ = *caller_->connect(address_);
    listener_->receive_into([this](std::span<const Frame> before, size_t size) -> char* {
      return before.size() == 1 && before[0] == Frame("here") && size <= place_.size() ? place_.data() : nullptr;
    });
  }

  std::string place_ = std::string(1 << 20, '.');
  std::unique_ptr<Transport> listener_ = endpoint({.largest_frame = 1 << 21}), caller_ = endpoint();
  std::string address_;
  Peer peer_ = 0;
};

TEST_F(TcpDestinations, AFrameIsReceivedWhereItBelongs) {
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(say(*caller_, peer_, {"here", large}).ok());
  ASSERT_TRUE(say(*caller_, peer_, {"there", large}).ok());
  const Arrival here = *next_at(*listener_, *caller_);
  ASSERT_EQ(here.frames.size(), 2u);
  EXPECT_EQ(here.frames[1].data(), place_.data());
  EXPECT_EQ(here.frames[1].owner(), nullptr);
  EXPECT_EQ(place_, large);
  place_.assign(place_.size(), '.');
  const Arrival there = *next_at(*listener_, *caller_);
  EXPECT_EQ(there.frames, (std::vector<Frame>{"there", large}));
  EXPECT_EQ(place_, std::string(1 << 20, '.'));
}

// The message comes whole, elsewhere.
TEST_F(TcpDestinations, OneThatIsLeftIsNotWrittenTo) {
  std::string large(1 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 26);
  const std::string token = token_of(address_);
  const std::string_view greeting[] = {"mxc tcp 1", token}, message[] = {"here", large};
  const std::string bytes = TcpConnection::encoded(greeting) + TcpConnection::encoded(message);
  Stranger by_hand(address_);
  by_hand.say(bytes.substr(0, 100'000));
  for (int i = 0; i < 2000 && place_[0] == '.'; ++i) ASSERT_EQ(listener_->receive(milliseconds(1))->kind, Arrival::Kind::nothing);
  EXPECT_EQ(place_[0], 'a');
  listener_->leave_destinations();
  place_.assign(place_.size(), '-');
  std::jthread rest([&] { by_hand.say(bytes.substr(100'000)); });
  const Arrival arrival = next(*listener_);
  EXPECT_EQ(arrival.frames, (std::vector<Frame>{"here", large}));
  EXPECT_EQ(place_, std::string(1 << 20, '-'));
}

}  // namespace
}  // namespace mxc::kv
