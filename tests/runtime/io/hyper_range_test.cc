#include "runtime/io/hyper_range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mxc::io {
namespace {

std::string fault(const std::string& name, double value, plan::DType dtype = plan::DType::f64) {
  return hyper_fault(name, dtype, /*compiled=*/-7, value);
}

TEST(HyperRange, WhatMeansSomething) {
  for (const char* name : {"lr", "weight_decay", "clip", "clip_norm", "l1", "beta", "eta"}) {
    EXPECT_EQ(fault(name, 0), "");
    EXPECT_EQ(fault(name, 1e30), "");
    EXPECT_EQ(fault(name, -1e-9), "expected a number of at least 0, not -1e-09");
  }
  for (const char* name : {"momentum", "beta1", "beta2", "rho"}) {
    EXPECT_EQ(fault(name, 0), "");
    EXPECT_EQ(fault(name, 0.999), "");
    EXPECT_EQ(fault(name, 1), "expected a number of at least 0 and below 1, not 1");
    EXPECT_EQ(fault(name, -0.1), "expected a number of at least 0 and below 1, not -0.1");
  }
  EXPECT_EQ(fault("epsilon", 1e-12), "");
  EXPECT_EQ(fault("epsilon", 0), "expected a number above 0, not 0");
  EXPECT_EQ(fault("loss_scale", 1024), "");
  EXPECT_EQ(fault("loss_scale", 0), "expected a number above 0, not 0");
}

TEST(HyperRange, NeverWhatIsNoNumber) {
  EXPECT_EQ(fault("lr", NAN), "expected a number of at least 0, not nan");
  EXPECT_EQ(fault("lr", INFINITY), "expected a number of at least 0, not inf");
  EXPECT_EQ(fault("rescale", -3), "");  // unknown here: any number
  EXPECT_EQ(fault("rescale", NAN), "expected a finite number, not nan");
  EXPECT_EQ(fault("rescale", -INFINITY), "expected a finite number, not -inf");
}

TEST(HyperRange, AsTheProgramHoldsIt) {
  EXPECT_EQ(fault("lr", 1e60), "");
  EXPECT_EQ(fault("lr", 1e60, plan::DType::f32), "expected a number of at least 0, not 1e+60 (in f32)");
  EXPECT_EQ(fault("epsilon", 1e-60, plan::DType::f32), "expected a number above 0, not 1e-60 (in f32)");
  EXPECT_EQ(fault("lr", 0.1, plan::DType::f32), "");
  EXPECT_EQ(fault("lr", -0.1, plan::DType::f32), "expected a number of at least 0, not -0.1");  // it would be none in f64 either
}

TEST(HyperRange, WhatWasCompiledIsAccepted) { EXPECT_EQ(fault("momentum", -7), ""); }

}  // namespace
}  // namespace mxc::io
