// Learning-rate schedules: a factor on the base rate that is a pure function of the step, so that a resumed run continues
// exactly. With t = steps done, T = steps of the whole training, W = warm-up steps, E = steps of an epoch:
//     constant           1
//     step:EVERY:FACTOR  FACTOR ^ floor(t / (EVERY * E))           EVERY in epochs
//     exp:FACTOR         FACTOR ^ (t / E)
//     cosine[:FLOOR]     FLOOR + (1 - FLOOR) * (1 + cos(pi * p)) / 2,   p = (t - W) / (T - W)
//     poly[:POWER]       (1 - p) ^ POWER                                POWER default 1
// During warm-up (t < W) the factor is (t + 1) / W times the schedule's value at t = W.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::train {

struct Schedule {
  enum class Kind { constant, step, exp, cosine, poly };
  Kind kind = Kind::constant;
  double first = 0, second = 0;  // the numbers after the colons

  double factor(int64_t step, int64_t warmup, int64_t steps_per_epoch, int64_t total_steps) const;
};

// Error: an unknown name, a wrong number of numbers, a number that makes no sense. It says "expected ...", not where the text is from.
absl::StatusOr<Schedule> parse_schedule(const std::string& text);

}  // namespace mxc::train
