#include "runtime/train/event_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/temp_dir.h"

namespace mxc::train {
namespace {

TEST(EventLog, Lines) {
  EXPECT_EQ(
      Event("x").add("i", int64_t{3}).add("d", 0.5).add("s", std::string("a\"\\\n")).add("m", {"loss", "acc"}, {1, NAN}).line(),
      "{\"event\":\"x\",\"i\":3,\"d\":0.5,\"s\":\"a\\\"\\\\\\u000a\",\"m\":{\"loss\":1,\"acc\":null}}\n");
}

TEST(EventLog, CreatesAppendsAndReports) {
  test::TempDir dir;
  const std::string path = dir.write("log", "old\n");
  {
    EventLog log;
    ASSERT_TRUE(log.open(path, false).ok());
    log.write(Event("a"));
  }
  {
    EventLog log;
    ASSERT_TRUE(log.open(path, true).ok());
    log.write(Event("b"));
  }
  EXPECT_EQ(test::contents_of(path), "{\"event\":\"a\"}\n{\"event\":\"b\"}\n");
  EventLog full;
  ASSERT_TRUE(full.open("/dev/full", false).ok());
  full.write(Event("a"));
  full.flush();
  EXPECT_EQ(full.status().message(), "/dev/full: the log could not be written whole");
  EventLog none;
  none.write(Event("a"));
  EXPECT_FALSE(none.active());
  EXPECT_TRUE(none.status().ok());
}

}  // namespace
}  // namespace mxc::train
