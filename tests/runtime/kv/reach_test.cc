// Names of machines, as far as a machine alone can tell.
#include "runtime/kv/reach.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <tuple>

#include "runtime/kv/join.h"
#include "runtime/kv/reach_probe.h"
#include "runtime/kv/zeromq.h"

namespace mxc::kv {
namespace {

TEST(Reach, HostsAndPorts) {
  for (const auto& [text, host, port] : {std::tuple("alpha:5000", "alpha", 5000), std::tuple("tcp://10.0.0.7:1", "10.0.0.7", 1),
                                         std::tuple("[fd00::7]:65535", "fd00::7", 65535)}) {
    const auto parsed = parse_host_port(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
  }
  for (const char* text : {"", "alpha", "alpha:", ":5000", "alpha:0", "alpha:65536", "alpha:x"})
    EXPECT_EQ(parse_host_port(text).status().message(), std::string("'") + text + "' is no HOST:PORT");
  EXPECT_EQ(tcp_address("10.0.0.7", "5"), "tcp://10.0.0.7:5");
  EXPECT_EQ(tcp_address("fd00::7", "*"), "tcp://[fd00::7]:*");
}

TEST(Reach, NamesThatEveryMachineHas) {
  for (const char* host : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) EXPECT_TRUE(is_own_name(host)) << host;
  for (const char* host : {"10.0.0.7", "alpha", "127", "fd00::7"}) EXPECT_FALSE(is_own_name(host)) << host;
}

TEST(Reach, Addresses) {
  EXPECT_EQ(*resolve("10.0.0.7", Duration(0)), "10.0.0.7");
  EXPECT_EQ(*resolve("localhost", Duration(0)), "127.0.0.1");
  EXPECT_EQ(*local_address("127.0.0.1"), "127.0.0.1");
  // No name may be so long: nobody is asked.
  const std::string name(100, 'x');
  const std::string begins = "there is no machine " + std::string(60, 'x') + "...: ";
  EXPECT_EQ(std::string(resolve(name, Duration(0)).status().message()).substr(0, begins.size()), begins);
}

TEST(Reach, WhereSomethingListens) {
  ZeroMqOptions options;
  auto transport = make_zeromq_transport(options);
  ASSERT_TRUE(transport.ok()) << transport.status();
  const auto address = (*transport)->listen("tcp://127.0.0.1:*");
  ASSERT_TRUE(address.ok()) << address.status();
  const uint16_t port = parse_host_port(*address)->port;
  const Duration each = std::chrono::seconds(20);
  EXPECT_EQ(*first_that_answers({"not an address", "::1", "127.0.0.1"}, port, each), "127.0.0.1");
  (*transport)->close(Duration(0));
  EXPECT_EQ(first_that_answers({"127.0.0.2", "127.0.0.3"}, port, each).status().message(), "nothing answers at port " + std::to_string(port) + " of 127.0.0.2, 127.0.0.3");
  for (const std::string& own : own_addresses()) EXPECT_FALSE(is_own_name(own)) << own;
}

// Of two servers, one after the other.
TEST(ReachProbe, SaysWhoCanBeReached) {
  auto transport = make_zeromq_transport({});
  ASSERT_TRUE(transport.ok());
  const std::string address = *(*transport)->listen("tcp://127.0.0.1:0");
  std::promise<void> done;
  ReachProbe probe([&] { done.set_value(); });
  EXPECT_FALSE(probe.answer().has_value());
  const std::string near = address + "#token;memory=name", nobody = "tcp://127.0.0.2:1", by_mpi = "mpi:0/1";
  for (const auto& [server, at, is_reached] : {std::tuple(3u, near, true), std::tuple(4u, nobody, false), std::tuple(5u, by_mpi, true)}) {
    done = {};
    std::future<void> end = done.get_future();
    probe.begin(server, at);
    EXPECT_TRUE(probe.is_busy());
    end.wait();
    const std::optional<ReachProbe::Answer> answer = probe.answer();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->server, server);
    EXPECT_EQ(answer->is_reached, is_reached) << at;
    EXPECT_FALSE(probe.answer().has_value());
    EXPECT_FALSE(probe.is_busy());
  }
}

TEST(Join, ASchedulerListensToOthersWithKeysAlone) {
  EXPECT_EQ(*listening_address("tcp://127.0.0.1:5000", ""), "tcp://127.0.0.1:5000");
  EXPECT_EQ(*listening_address("tcp://localhost:5000", ""), "tcp://127.0.0.1:5000");
  EXPECT_EQ(*listening_address("tcp://[::1]:5000", ""), "tcp://[::1]:5000");
  EXPECT_EQ(*listening_address("tcp://alpha:5000", "keys"), "tcp://0.0.0.0:5000");
  EXPECT_EQ(*listening_address("tcp://[fd00::7]:5000", "keys"), "tcp://[::]:5000");
  EXPECT_EQ(*listening_address("tcp://alpha:5000", "", true), "tcp://0.0.0.0:5000");
  EXPECT_EQ(listening_address("tcp://alpha:5000", "").status().message(),
            "refusing to meet at alpha:5000, where other machines can connect, without keys: make some with mxc keygen FILE, and give all processes "
            "MXC_KEYS=FILE (or MXC_INSECURE=1: whoever can connect may take part)");
}

TEST(Join, AMemberBeyondThisMachineNeedsKeysAndAWay) {
  Identity identity;
  identity.size = 2;
  identity.rank = 1;
  identity.scheduler = "tcp://10.0.0.7:5000";
  EXPECT_EQ(process_options(identity, {}, true).status().message(),
            "refusing to meet at 10.0.0.7:5000, where other machines can connect, without keys: make some with mxc keygen FILE, and give all processes "
            "MXC_KEYS=FILE (or MXC_INSECURE=1: whoever can connect may take part)");
  identity.keys_file = "/nowhere";
  EXPECT_EQ(process_options(identity, {}, true).status().message(), "cannot read the keys in /nowhere: No such file or directory");
  identity = {};
  identity.size = 2;
  identity.scheduler = "tcp://127.0.0.1:5000";
  const auto options = process_options(identity, {}, true);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->listen, "tcp://127.0.0.1:*");
  EXPECT_EQ(options->scheduler, "tcp://127.0.0.1:5000");
}

}  // namespace
}  // namespace mxc::kv
