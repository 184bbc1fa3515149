// Libraries with several sets of sizes: which one a run takes, and that one context serves them all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/embed/context.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::embed {
namespace {

using namespace mxc::test;
using plan::GraphKind;
using plan::Space;

// y[i] = x[i] + 1000 * what follows the sample's numbers
template <int kMark>
void mark(void* const* args, int64_t n, int64_t begin, int64_t end) {
  const float* x = static_cast<float*>(args[0]);
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(args[1])[i] = x[i] + 1000 * kMark;
  (void)n;
}

// y = x + 1000 * kMark for `batch` samples of `width` numbers, through the arena.
template <int kMark>
BuiltPlan marked(int64_t batch, int64_t width) {
  PlanBuilder b;
  BufferSpec tensor = {.name = "x", .dims = {batch, width}, .space = Space::io, .batch_axis = 0};
  uint32_t x = b.buffer(tensor), sum = b.buffer({.dims = {batch, width}, .batch_axis = 0}), y = b.buffer(tensor);
  b.begin_graph("infer", GraphKind::infer, batch);
  b.step({.kernel = mark<kMark>, .args = {in(x), out(sum)}, .cells = width, .batch_unit = 1});
  b.step({.args = {in(sum), out(y)}});
  b.input(x);
  b.output(y);
  b.end_graph();
  return b.build();
}

class SeveralSets : public testing::Test {
 protected:
  SeveralSets() {
    plans_.push_back(marked<0>(8, 3));
    plans_.push_back(marked<1>(1, 3));
    plans_.push_back(marked<2>(32, 3));
    plans_.push_back(marked<3>(2, 5));  // another width
    for (const BuiltPlan& plan : plans_) libraries_.push_back({plan.program(), nullptr, 0, 1});
    for (const plan::Library& library : libraries_) list_.push_back(&library);
    list_.push_back(nullptr);
    bytes_ = places(sets()).end;
    memory_.reset(std::aligned_alloc(plan::kAlign, bytes_));  // not a byte more
    EXPECT_EQ(open(sets(), memory_.get(), bytes_, 1, &context_), Status::ok);
  }
  Sets sets() const { return list_.data(); }

  std::vector<BuiltPlan> plans_;
  std::deque<plan::Library> libraries_;
  std::vector<const plan::Library*> list_;
  uint64_t bytes_ = 0;
  std::unique_ptr<void, decltype(&std::free)> memory_{nullptr, std::free};
  Context* context_ = nullptr;
};

TEST_F(SeveralSets, ARunTakesTheSmallestThatFits) {
  const std::pair<int64_t, float> expected[] = {{1, 1000}, {2, 0}, {8, 0}, {9, 2000}, {32, 2000}, {1, 1000}};
  for (auto [n, mark] : expected) {
    std::vector<float> x(n * 3), y(n * 3);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data()};
    ASSERT_EQ(run(sets(), context_, inputs, outputs, n), Status::ok);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] + mark) << n;
    outputs[0] = nullptr;  // lies in the context
    EXPECT_EQ(run(sets(), context_, inputs, outputs, n), Status::ok);
  }
}

// y = x, both of the shape that is given; the batch is at `axis`. `sizes`: what else tells the set from others.
BuiltPlan copied(std::vector<int64_t> shape, int axis, const std::string& sizes = "", plan::DType dtype = plan::DType::f32) {
  PlanBuilder b;
  BufferSpec tensor = {.name = "x", .dims = shape, .dtype = dtype, .space = Space::io, .batch_axis = axis};
  uint32_t x = b.buffer(tensor), y = b.buffer(tensor);
  if (!sizes.empty()) b.fact("sizes", sizes);
  b.begin_graph("infer", GraphKind::infer, axis < 0 ? 0 : shape[axis]);
  b.step({.args = {in(x), out(y)}});
  b.input(x);
  b.output(y);
  b.end_graph();
  return b.build();
}

bool alike(const BuiltPlan& a, const BuiltPlan& b) { return is_alike(PlanRecords(a.program().plan), PlanRecords(b.program().plan)); }

TEST(AlikeSets, AreThoseInWhichSamplesLieAlike) {
  BuiltPlan first = copied({4, 3}, 0);
  EXPECT_TRUE(alike(first, copied({8, 3}, 0)));
  EXPECT_FALSE(alike(first, copied({8, 5}, 0)));
  EXPECT_FALSE(alike(first, copied({8, 3}, 0, "", plan::DType::i32)));
  EXPECT_FALSE(alike(first, copied({8, 3, 1}, 0)));
  EXPECT_FALSE(alike(copied({3, 4}, 1), copied({3, 8}, 1))) << "rows are as long as the batch";
  EXPECT_TRUE(alike(copied({3, 4}, 1), copied({3, 4}, 1)));
  EXPECT_FALSE(alike(copied({3, 4}, -1), copied({3, 8}, -1)));
}

TEST(AlikeSets, AreThoseOfTheSameSizesButForTheBatch) {
  BuiltPlan first = copied({4, 3}, 0, "length=5");
  EXPECT_TRUE(alike(first, copied({8, 3}, 0, "length=5")));
  EXPECT_FALSE(alike(first, copied({8, 3}, 0, "length=6"))) << "a size that no input shows may change what is computed";
  EXPECT_FALSE(alike(first, copied({8, 3}, 0)));
}

TEST(AlikeSets, AnOutputTellsThemApartToo) {
  auto summed = [](int64_t batch, int64_t width) {
    PlanBuilder b;
    uint32_t x = b.buffer({.name = "x", .dims = {batch}, .space = Space::io, .batch_axis = 0});
    uint32_t y = b.buffer({.name = "y", .dims = {batch, width}, .space = Space::io, .batch_axis = 0});
    b.begin_graph("infer", GraphKind::infer, batch);
    b.step({.args = {in(x), out(y)}});
    b.input(x);
    b.output(y);
    b.end_graph();
    return b.build();
  };
  EXPECT_TRUE(alike(summed(4, 2), summed(8, 2)));
  EXPECT_FALSE(alike(summed(4, 2), summed(8, 3)));
}

TEST_F(SeveralSets, OneIsNamed) {
  std::vector<float> x(10, 7), y(10);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  ASSERT_EQ(run_set(sets(), context_, 3, inputs, outputs, 2), Status::ok);
  EXPECT_EQ(y[9], 3007);
  ASSERT_EQ(run_set(sets(), context_, 0, inputs, outputs, 1), Status::ok);
  EXPECT_EQ(y[0], 7);
}

TEST_F(SeveralSets, WrongUse) {
  std::vector<float> x(33 * 3), y(33 * 3);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  EXPECT_EQ(run(sets(), context_, inputs, outputs, 33), Status::wrong_batch);
  EXPECT_EQ(run(sets(), context_, inputs, outputs, 0), Status::wrong_batch);
  EXPECT_EQ(run_set(sets(), context_, 3, inputs, outputs, 3), Status::wrong_batch);
  EXPECT_EQ(run_set(sets(), context_, 4, inputs, outputs, 1), Status::no_set);
  EXPECT_EQ(run_set(sets(), context_, -1, inputs, outputs, 1), Status::no_set);
  EXPECT_EQ(run_set(sets(), nullptr, 0, inputs, outputs, 1), Status::null_pointer);
  Context* none = nullptr;
  EXPECT_EQ(open(sets(), memory_.get(), bytes_ - 1, 1, &none), Status::arena_too_small);
}

}  // namespace
}  // namespace mxc::embed
