// What a program says of itself.
#include "runtime/train/info.h"

#include <nlohmann/json.hpp>

#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;
using nlohmann::json;

TEST_F(Trainer, Info) {
  last_ = run_trainer(plan_, {"info"});
  ASSERT_EQ(last_.code, 0);
  for (const char* part :
       {"softmax", "sgd", "dense0.weight", "layout 1/16,0", "650 numbers", "momentum 0.9", "reads image f32 32x1x8x8"}) {
    EXPECT_NE(last_.out.find(part), std::string::npos) << part << "\n" << last_.out;
  }
  // What the trainer itself counts is no flag.
  for (const char* name : {"step 0", "seed 0"}) EXPECT_EQ(last_.out.find(name), std::string::npos) << last_.out;
  const json info = json::parse(run_trainer(plan_, {"info", "--json"}).out);
  EXPECT_EQ(info["facts"]["model"], "softmax");
  EXPECT_EQ(info["parameters"][0]["shape"], json({10, 64}));
  EXPECT_EQ(info["parameters"][0]["bytes"], 2560);
  EXPECT_EQ(info["graphs"][1]["outputs"][1]["kind"], "metric");
  EXPECT_EQ(info["hypers"][0]["default"], 0.05);
  EXPECT_EQ(info["hypers"].size(), 2u);
}

}  // namespace
}  // namespace mxc::train
