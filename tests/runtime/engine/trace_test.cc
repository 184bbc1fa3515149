// The trace's text: escaping, order, times relative to the first event, the bound on its size.
#include "runtime/engine/trace.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace mxc::engine {
namespace {

TEST(Trace, WritesChromesFormat) {
  Trace trace;
  pthread_setname_np(pthread_self(), "a \"thread\"");
  trace.add("second\n", "step", 5'000, 7'500);
  trace.add("first", "compute", 1'000, 9'000, {.read = 12, .written = 34});
  EXPECT_EQ(trace.json(),
            "{\"traceEvents\": [\n"
            "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": \"a \\\"thread\\\"\"}},\n"
            "{\"name\": \"first\", \"cat\": \"compute\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": 0.000, \"dur\": 8.000, "
            "\"args\": {\"bytes read\": 12, \"bytes written\": 34}},\n"
            "{\"name\": \"second\\u000a\", \"cat\": \"step\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": 4.000, \"dur\": 2.500}\n"
            "], \"otherData\": {\"dropped_events\": 0}}\n");
}

TEST(Trace, CountsWhatItHasNoRoomFor) {
  Trace trace(1);
  trace.add("a", "step", 0, 1);
  trace.add("b", "step", 1, 2);
  std::string json = trace.json();
  EXPECT_NE(json.find("\"dropped_events\": 1"), std::string::npos);
  EXPECT_EQ(json.find("\"b\""), std::string::npos);
}

}  // namespace
}  // namespace mxc::engine
