// The process's engine: chosen once, before anything uses it; and what it did, in a file.
#include "mxc/engine.h"

#include <gtest/gtest.h>

#include "runtime/engine/default_engine.h"
#include "runtime/io/atomic_file.h"
#include "runtime/io/read_file.h"
#include "tests/runtime/ndarray/expected.h"
#include "tests/runtime/temp_dir.h"

namespace mxc {
namespace {

using test::TempDir;

// One test, since there is one engine of a process.
TEST(ProcessEngine, IsChosenOnceAndTraced) {
  expect_here([] { set_engine({.threads = -1}); }, "set_engine: -1 threads: 0 to 256 are possible");
  expect_here([] { set_engine({.run_ahead = 0}); }, "set_engine: run_ahead is 0: at least 1");
  set_engine({.serial = true});
  const NDArray x = NDArray::ones({4});
  const NDArray y = x + 1;
  EXPECT_EQ(doubles(y), std::vector<double>(4, 2));
  expect_here([] { set_engine({}); }, "set_engine: the engine is at work already: choose it before anything uses it");

  TempDir dir;
  const std::string path = dir.file("trace.json");
  expect_here([&] { TraceFile(dir.file("no/such/trace.json")); },
              "TraceFile: " + std::string(io::check_writable(dir.file("no/such/trace.json")).message()));
  {
    TraceFile trace(path);
    expect_here([&] { TraceFile(dir.file("other.json")); }, "TraceFile: another one records");
    exp(y).wait();
  }
  const auto text = io::read_file(path);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find("\"exp\""), std::string::npos) << *text;
  EXPECT_NE(text->find("\"compute\""), std::string::npos) << *text;
  EXPECT_EQ(text->find("\"add\""), std::string::npos) << "that was before";
  TraceFile again(path);
  tanh(y).wait();
  again.finish();
  again.finish();
  EXPECT_NE(io::read_file(path)->find("\"tanh\""), std::string::npos);
  EXPECT_EQ(engine::default_engine().trace(), nullptr);
}

}  // namespace
}  // namespace mxc
