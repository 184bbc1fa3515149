// The engines that tests of this folder run on: the naive one, and engines with some threads a lane.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "runtime/engine/engine.h"

namespace mxc::engine {

inline std::unique_ptr<Engine> make_engine(int threads, size_t run_ahead = 4096) {  // 0: naive
  Engine::Options options;
  options.naive = threads == 0;
  for (int& count : options.threads) count = threads == 0 ? 1 : threads;
  options.run_ahead = run_ahead;
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::create(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

inline absl::Status ok() { return absl::OkStatus(); }

// The parameter is the number of threads.
class OnEngine : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Engine> engine_ = make_engine(GetParam());
};

}  // namespace mxc::engine
