// Training in embedded libraries, on a hand-written plan: values against plain arithmetic, what a context has for itself, states, refusals.
#include "runtime/embed/train.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/embed/state.h"
#include "runtime/embed/weights.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::embed {
namespace {

using namespace mxc::test;
using plan::DType;
using plan::GraphKind;
using plan::OutputKind;
using plan::Space;

constexpr uint64_t kBuild = 9, kLayout = 21;
constexpr int64_t kBatch = 4;

// y[i] = a * x[i] + w
void line(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *x = static_cast<float*>(args[0]), *a = static_cast<float*>(args[1]), *w = static_cast<float*>(args[2]);
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(args[3])[i] = *a * x[i] + *w;
}
// loss = mean(x); v = momentum * v + loss + step + seed; w -= lr * v
void learn(void* const* args, int64_t n, int64_t, int64_t) {
  const float* x = static_cast<float*>(args[0]);
  float *w = static_cast<float*>(args[1]), *v = static_cast<float*>(args[2]), *loss = static_cast<float*>(args[7]);
  const float lr = *static_cast<float*>(args[3]), momentum = static_cast<float>(*static_cast<double*>(args[4]));
  *loss = 0;
  for (int64_t i = 0; i < n; ++i) *loss += x[i] / static_cast<float>(n);
  *v = momentum * *v + *loss + static_cast<float>(*static_cast<int64_t*>(args[5]) + *static_cast<int32_t*>(args[6]));
  *w -= lr * *v;
}

// y = a x + w, of which w is trained. `more`: another model.
BuiltPlan line_plan(int64_t more = 0) {
  PlanBuilder b;
  BufferSpec tensor = {.name = "x", .dims = {kBatch}, .space = Space::io, .batch_axis = 0};
  uint32_t x = b.buffer(tensor), y = b.buffer(tensor), loss = b.buffer({.name = "loss", .space = Space::io});
  uint32_t a = b.parameter({.name = "a", .dims = {1}}), w = b.parameter({.name = "w", .dims = {1 + 20 * more}});
  uint32_t v = b.optimizer_slot({.name = "w/momentum", .dims = {1}});
  uint32_t lr = b.hyper("lr", 0.5), momentum = b.hyper("momentum", 0.25, DType::f64), step = b.hyper("step", 0, DType::i64),
           seed = b.hyper("seed", 0, DType::i32);
  b.begin_graph("infer", GraphKind::infer, kBatch);
  b.step({.kernel = line, .args = {in(x), in(a), in(w), out(y)}, .batch_unit = 1});
  b.input(x);
  b.output(y);
  b.end_graph();
  b.begin_graph("train", GraphKind::train, kBatch);
  b.step({.kernel = learn, .args = {in(x), inout(w), inout(v), in(lr), in(momentum), in(step), in(seed), out(loss)}});
  b.input(x);
  b.output(loss, OutputKind::loss);
  b.output(w, OutputKind::parameter);
  b.output(v, OutputKind::state);
  b.end_graph();
  return b.build();
}

class Train : public testing::Test {
 protected:
  Train() : built_(line_plan()), library_{built_.program(), image_, kLayout, kBuild}, parts_(persistent(plan_of(library_))) {
    image_[0] = 2;    // a
    image_[16] = 10;  // w
  }

  struct Arena {
    explicit Arena(Sets sets) : bytes(places(sets).end), memory(std::aligned_alloc(plan::kAlign, bytes), std::free) {
      std::memset(memory.get(), 0xa5, bytes);
      EXPECT_EQ(open(sets, memory.get(), bytes, kBuild, &context), Status::ok);
    }
    uint64_t bytes;
    std::unique_ptr<void, decltype(&std::free)> memory;
    Context* context = nullptr;
  };

  float infer(Context* context, float x) {
    float y = 0;
    const void* inputs[] = {&x};
    void* outputs[] = {&y};
    EXPECT_EQ(run(sets_, context, inputs, outputs, 1), Status::ok);
    return y;
  }
  float train(Context* context, std::vector<float> x) {
    float loss = -1;
    const void* inputs[] = {x.data()};
    void* outputs[] = {&loss};
    EXPECT_EQ(train_step(sets_, context, inputs, outputs, static_cast<int64_t>(x.size())), Status::ok);
    return loss;
  }
  std::vector<unsigned char> saved(Context* context) {
    std::vector<unsigned char> state(state_bytes(plan_of(library_)));
    EXPECT_EQ(save(sets_, context, state.data(), state.size()), Status::ok);
    return state;
  }

  alignas(plan::kAlign) float image_[32] = {};
  BuiltPlan built_;
  plan::Library library_;
  const plan::Library* const sets_[2] = {&library_, nullptr};
  Persistent parts_;
};

TEST_F(Train, WhatIsSharedAndWhatIsNot) {
  EXPECT_EQ(parts_.own, 64u);
  EXPECT_EQ(parts_.fresh, 128u);
  EXPECT_EQ(parts_.end, 128u + 5 * 64);
}

TEST_F(Train, StepsChangeTheContextAlone) {
  Arena arena(sets_), other(sets_);
  float w = 10, v = 0;
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(infer(arena.context, 3), 2 * 3 + w);
    std::vector<float> x(1 + step % kBatch, static_cast<float>(step));
    EXPECT_EQ(train(arena.context, x), static_cast<float>(step));
    v = 0.25f * v + static_cast<float>(step) + static_cast<float>(step);
    w -= 0.5f * v;
  }
  EXPECT_EQ(infer(arena.context, 3), 2 * 3 + w);
  EXPECT_EQ(infer(other.context, 3), 2 * 3 + 10);
  EXPECT_EQ(image_[16], 10);
  int64_t steps = 0;
  EXPECT_EQ(count_steps(sets_, arena.context, &steps), Status::ok);
  EXPECT_EQ(steps, 5);
}

TEST_F(Train, AStepOfASetThatIsNamed) {
  Arena arena(sets_), other(sets_);
  float x = 1, loss = -1;
  const void* inputs[] = {&x};
  void* outputs[] = {&loss};
  EXPECT_EQ(train_step_set(sets_, arena.context, 0, inputs, outputs, 1), Status::ok);
  train(other.context, {1});
  EXPECT_EQ(loss, 1);
  EXPECT_EQ(infer(arena.context, 3), infer(other.context, 3));
  EXPECT_EQ(train_step_set(sets_, arena.context, 1, inputs, outputs, 1), Status::no_set);
  EXPECT_EQ(train_step_set(sets_, arena.context, -1, inputs, outputs, 1), Status::no_set);
  EXPECT_EQ(train_step_set(sets_, nullptr, 0, inputs, outputs, 1), Status::null_pointer);
  int64_t steps = 0;
  EXPECT_EQ(count_steps(sets_, arena.context, &steps), Status::ok);
  EXPECT_EQ(steps, 1);
}

TEST_F(Train, ALossThatIsNotWanted) {
  Arena arena(sets_);
  float x = 1;
  const void* inputs[] = {&x};
  void* outputs[] = {nullptr};
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, 1), Status::ok);
  EXPECT_EQ(infer(arena.context, 0), 9.5f);
}

TEST_F(Train, HyperParametersAndSeed) {
  Arena arena(sets_);
  double values[2] = {};
  ASSERT_EQ(get_hypers(sets_, arena.context, values), Status::ok);
  EXPECT_EQ(values[0], 0.5);
  EXPECT_EQ(values[1], 0.25);
  const double given[] = {0.125, 0.75};
  ASSERT_EQ(set_hypers(sets_, arena.context, given), Status::ok);
  ASSERT_EQ(get_hypers(sets_, arena.context, values), Status::ok);
  EXPECT_EQ(std::memcmp(values, given, sizeof given), 0);
  ASSERT_EQ(set_seed(sets_, arena.context, (uint64_t{5} << 32) + 3), Status::ok);  // the low half, as the type has it
  train(arena.context, {1});
  EXPECT_EQ(infer(arena.context, 0), 10 - 0.125f * (1 + 0 + 3));
  for (auto [which, value] : std::vector<std::pair<int, double>>{{0, -1}, {0, NAN}, {0, INFINITY}, {0, 1e60}, {1, 1}, {1, -0.5}}) {
    double wrong[] = {0.25, 0.5};
    wrong[which] = value;
    EXPECT_EQ(set_hypers(sets_, arena.context, wrong), Status::bad_hyper) << value;
    ASSERT_EQ(get_hypers(sets_, arena.context, values), Status::ok);
    EXPECT_EQ(values[0], 0.125);
    EXPECT_EQ(values[1], 0.75);
  }
}

TEST_F(Train, AStateGoesOnWhereItWasSaved) {
  Arena first(sets_);
  const double rates[] = {0.125, 0.5};
  ASSERT_EQ(set_hypers(sets_, first.context, rates), Status::ok);
  ASSERT_EQ(set_seed(sets_, first.context, 2), Status::ok);
  train(first.context, {1, 2});
  std::vector<unsigned char> state = saved(first.context), moved(state.size() + 1);
  std::memcpy(moved.data() + 1, state.data(), state.size());  // of any alignment
  Arena second(sets_);
  ASSERT_EQ(load(sets_, second.context, moved.data() + 1, state.size()), Status::ok);
  EXPECT_EQ(saved(second.context), state);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(train(first.context, {3}), train(second.context, {3}));
  EXPECT_EQ(infer(first.context, 1), infer(second.context, 1));
  EXPECT_EQ(saved(second.context), saved(first.context));
}

TEST_F(Train, EveryFlippedBitOfAStateIsSeen) {
  Arena arena(sets_), target(sets_);
  train(arena.context, {1});
  std::vector<unsigned char> state = saved(arena.context), before = saved(target.context);
  for (size_t bit = 0; bit < state.size() * 8; ++bit) {
    state[bit / 8] ^= 1 << bit % 8;
    size_t byte = bit / 8;
    Status expected = byte < 8 ? Status::state_other_version : byte < 32 ? Status::state_other_model : Status::state_damaged;
    ASSERT_EQ(load(sets_, target.context, state.data(), state.size()), expected) << "bit " << bit;
    state[bit / 8] ^= 1 << bit % 8;
  }
  EXPECT_EQ(saved(target.context), before);
  EXPECT_EQ(load(sets_, target.context, state.data(), state.size()), Status::ok);
}

TEST_F(Train, StatesThatEndEarlyOrAreOfOthers) {
  Arena arena(sets_);
  std::vector<unsigned char> state = saved(arena.context);
  for (uint64_t bytes : {uint64_t{0}, uint64_t{63}, uint64_t{64}, state.size() - 1}) {
    std::vector<unsigned char> part(state.begin(), state.begin() + static_cast<int64_t>(bytes));  // sanitizers see what is read beyond
    part.reserve(1);
    EXPECT_EQ(load(sets_, arena.context, part.data(), bytes), Status::state_truncated) << bytes;
    EXPECT_EQ(save(sets_, arena.context, part.data(), bytes), Status::state_truncated) << bytes;
  }
  BuiltPlan larger = line_plan(1);
  alignas(plan::kAlign) float image[64] = {};
  plan::Library library{larger.program(), image, kLayout, kBuild};
  const plan::Library* const others[] = {&library, nullptr};
  Arena of_other(others);
  EXPECT_EQ(load(others, of_other.context, state.data(), state.size()), Status::state_other_model);
  library_.weights_layout = kLayout + 1;
  EXPECT_EQ(load(sets_, arena.context, state.data(), state.size()), Status::state_other_model);
  library_.weights_layout = kLayout;
  image_[0] = 2.5;  // a, which is not trained
  EXPECT_EQ(load(sets_, arena.context, state.data(), state.size()), Status::state_other_model);
  image_[0] = 2;
  image_[16] = 11;  // w, which is
  EXPECT_EQ(load(sets_, arena.context, state.data(), state.size()), Status::ok);
  EXPECT_EQ(infer(arena.context, 0), 10);
}

TEST_F(Train, WeightsBeside) {
  library_.weights = nullptr;
  Arena arena(sets_);
  float x = 1, loss = 0;
  const void* inputs[] = {&x};
  void* outputs[] = {&loss};
  double values[2] = {0.5, 0.25};
  std::vector<unsigned char> state(state_bytes(plan_of(library_)));
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, 1), Status::no_weights);
  EXPECT_EQ(get_hypers(sets_, arena.context, values), Status::no_weights);
  EXPECT_EQ(set_hypers(sets_, arena.context, values), Status::no_weights);
  EXPECT_EQ(set_seed(sets_, arena.context, 1), Status::no_weights);
  EXPECT_EQ(save(sets_, arena.context, state.data(), state.size()), Status::no_weights);
  EXPECT_EQ(load(sets_, arena.context, state.data(), state.size()), Status::no_weights);
  alignas(plan::kAlign) unsigned char file[sizeof(WeightHeader) + 128];
  WeightHeader header = {kWeightMagic, kWeightVersion, parts_.fresh, kLayout, checksum(image_, parts_.fresh), {}};
  std::memcpy(file, &header, sizeof header);
  std::memcpy(file + sizeof header, image_, parts_.fresh);
  ASSERT_EQ(set_weights(sets_, arena.context, file, sizeof file), Status::ok);
  EXPECT_EQ(train(arena.context, {1}), 1);
  EXPECT_EQ(infer(arena.context, 0), 9.5f);
  Arena shares(sets_);
  ASSERT_EQ(share_weights(sets_, shares.context, arena.context), Status::ok);
  EXPECT_EQ(infer(shares.context, 0), 10) << "training begins with the weights";
  ASSERT_EQ(set_weights(sets_, arena.context, file, sizeof file), Status::ok);
  EXPECT_EQ(infer(arena.context, 0), 10);
  int64_t steps = -1;
  EXPECT_EQ(count_steps(sets_, arena.context, &steps), Status::ok);
  EXPECT_EQ(steps, 0);
}

TEST_F(Train, WrongUse) {
  Arena arena(sets_);
  float x[kBatch + 1] = {1}, loss = 0;
  const void* inputs[] = {x};
  void* outputs[] = {&loss};
  double values[2] = {0.5, 0.25};
  std::vector<unsigned char> state = saved(arena.context);
  alignas(plan::kAlign) unsigned char foreign[256] = {};
  Context *none = nullptr, *wrong = reinterpret_cast<Context*>(foreign);
  EXPECT_EQ(train_step(sets_, none, inputs, outputs, 1), Status::null_pointer);
  EXPECT_EQ(train_step(sets_, wrong, inputs, outputs, 1), Status::no_context);
  EXPECT_EQ(train_step(sets_, arena.context, nullptr, outputs, 1), Status::null_pointer);
  EXPECT_EQ(train_step(sets_, arena.context, inputs, nullptr, 1), Status::null_pointer);
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, 0), Status::wrong_batch);
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, kBatch + 1), Status::wrong_batch);
  inputs[0] = nullptr;
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, 1), Status::null_pointer);
  inputs[0] = reinterpret_cast<char*>(x) + 1;
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, 1), Status::misaligned);
  inputs[0] = x;
  outputs[0] = reinterpret_cast<char*>(&loss) + 2;
  EXPECT_EQ(train_step(sets_, arena.context, inputs, outputs, 1), Status::misaligned);
  for (Context* context : {none, wrong}) {
    Status expected = context == none ? Status::null_pointer : Status::no_context;
    int64_t steps;
    EXPECT_EQ(get_hypers(sets_, context, values), expected);
    EXPECT_EQ(set_hypers(sets_, context, values), expected);
    EXPECT_EQ(set_seed(sets_, context, 1), expected);
    EXPECT_EQ(count_steps(sets_, context, &steps), expected);
    EXPECT_EQ(save(sets_, context, state.data(), state.size()), expected);
    EXPECT_EQ(load(sets_, context, state.data(), state.size()), expected);
  }
  EXPECT_EQ(get_hypers(sets_, arena.context, nullptr), Status::null_pointer);
  EXPECT_EQ(set_hypers(sets_, arena.context, nullptr), Status::null_pointer);
  EXPECT_EQ(count_steps(sets_, arena.context, nullptr), Status::null_pointer);
  EXPECT_EQ(save(sets_, arena.context, nullptr, state.size()), Status::null_pointer);
  EXPECT_EQ(load(sets_, arena.context, nullptr, state.size()), Status::null_pointer);
  EXPECT_EQ(saved(arena.context), state) << "nothing has changed";
}

}  // namespace
}  // namespace mxc::embed
