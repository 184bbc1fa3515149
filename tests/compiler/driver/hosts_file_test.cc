// Files of hosts, and what goes to other machines.
#include "driver/hosts_file.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "driver/remote.h"

namespace mxc::driver {
namespace {

std::string refusal(const std::string& text) { return std::string(parse_hosts("hosts", text).status().message()); }

TEST(HostsFile, NamesAndSlots) {
  const auto hosts = parse_hosts("hosts", "# the job's\nalpha slots=2\n\n  beta  # one\nuser@10.0.0.7\tslots=3\r\n");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0].name, "alpha");
  EXPECT_EQ((*hosts)[0].slots, 2);
  EXPECT_EQ((*hosts)[1].name, "beta");
  EXPECT_EQ((*hosts)[1].slots, 1);
  EXPECT_EQ((*hosts)[2].name, "user@10.0.0.7");
  EXPECT_EQ((*hosts)[2].slots, 3);
}

TEST(HostsFile, SaysWhatIsWrongAndWhere) {
  const std::string expected = "': a line is HOST or HOST slots=N, with up to 1024 slots";
  EXPECT_EQ(refusal("alpha\nbeta slots=none\n"), "hosts:2: 'beta slots=none" + expected);
  for (const std::string line : {"alpha slots=0", "alpha slots=1025", "alpha 2", "alpha slots=2 more", "-oProxyCommand=reboot", "al;pha", "a$b"})
    EXPECT_EQ(refusal(line), "hosts:1: '" + line + expected);
  EXPECT_EQ(refusal("# nothing\n\n"), "hosts: there is no host in it");
}

TEST(HostsFile, TheSlotsOfTheFirstFirst) {
  const std::vector<Host> hosts = {{"alpha", 2}, {"beta", 1}};
  EXPECT_EQ(*spread("hosts", hosts, 0), (std::vector<std::string>{"alpha", "alpha", "beta"}));
  EXPECT_EQ(*spread("hosts", hosts, 2), (std::vector<std::string>{"alpha", "alpha"}));
  EXPECT_EQ(spread("hosts", hosts, 4).status().message(), "-n 4: the hosts of hosts have 3 slots");
  EXPECT_EQ(spread("hosts", {{"alpha", 1}}, 2).status().message(), "-n 2: the hosts of hosts have 1 slot");
}

TEST(Remote, WhatSshReads) {
  const kv::JobKeys keys = {std::string(40, 'p'), std::string(40, 's')};
  EXPECT_EQ(keys_line(keys), std::string(40, 'p') + " " + std::string(40, 's') + "\n");
  EXPECT_EQ(signal_line(SIGINT), "INT\n");
  EXPECT_EQ(signal_line(SIGTERM), "TERM\n");
  EXPECT_EQ(signal_line(SIGKILL), "KILL\n");
}

TEST(Remote, AJobOnThisMachineAloneStaysThere) {
  EXPECT_EQ(*addresses_to({"localhost", "127.0.0.1", "me@localhost", "[::1]"}), std::vector<std::string>(4, "127.0.0.1"));
  const std::string name(100, 'x');  // of no machine
  const std::string message(addresses_to({"localhost", name}).status().message());
  EXPECT_EQ(message.substr(0, 30), "there is no machine xxxxxxxxxx");
  EXPECT_NE(message.find("; --address says by which address the hosts reach this machine"), std::string::npos);
}

}  // namespace
}  // namespace mxc::driver
