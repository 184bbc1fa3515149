// Contexts of embedded libraries on hand-written plans: values against plain loops, and every refusal.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/embed/context.h"
#include "runtime/embed/create.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::embed {
namespace {

using namespace mxc::test;
using plan::DType;
using plan::GraphKind;
using plan::Role;
using plan::Space;

constexpr uint64_t kBuild = 77;
constexpr int64_t kBatch = 6;

// y[i] = x[i] * w, a cell a sample of 2 numbers
void scale(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *x = static_cast<float*>(args[0]), *w = static_cast<float*>(args[1]);
  float* y = static_cast<float*>(args[2]);
  for (int64_t i = begin * 2; i < end * 2; ++i) y[i] = x[i] * *w;
}
// y = x + 1, one number
void plus_one(void* const* args, int64_t, int64_t, int64_t) { *static_cast<float*>(args[1]) = *static_cast<float*>(args[0]) + 1; }
// y = 0, one number
void clear(void* const* args, int64_t, int64_t, int64_t) { *static_cast<float*>(args[0]) = 0; }

struct Made {
  Made(const PlanBuilder& builder, const void* weights)
      : built(builder.build()), library{built.program(), weights, 0, kBuild}, bytes(places(sets).end) {
    // Not a byte more: sanitizers see what goes beyond.
    memory.reset(std::aligned_alloc(plan::kAlign, bytes));
  }
  Context* context() {
    Context* context = nullptr;
    EXPECT_EQ(open(sets, memory.get(), bytes, kBuild, &context), Status::ok);
    return context;
  }

  BuiltPlan built;
  plan::Library library;
  const plan::Library* const sets[2] = {&library, nullptr};
  uint64_t bytes;
  std::unique_ptr<void, decltype(&std::free)> memory{nullptr, std::free};
};

alignas(plan::kAlign) const float kWeight[16] = {3};

// z = (x * w) * w through the arena; a second output is the first product.
PlanBuilder two_steps() {
  PlanBuilder b;
  BufferSpec tensor = {.name = "x", .dims = {kBatch, 2}, .space = Space::io, .batch_axis = 0};
  uint32_t x = b.buffer(tensor), w = b.parameter({.name = "w", .dims = {1}}), y = b.buffer({.dims = {kBatch, 2}, .batch_axis = 0});
  uint32_t z = b.buffer(tensor), copy = b.buffer(tensor);
  b.begin_graph("infer", GraphKind::infer, kBatch);
  b.step({.kernel = scale, .args = {in(x), in(w), out(y)}, .batch_unit = 1});
  b.step({.kernel = scale, .args = {in(y), in(w), out(z)}, .batch_unit = 1});
  b.step({.args = {in(y), out(copy)}});
  b.input(x);
  b.output(z);
  b.output(copy);
  b.end_graph();
  return b;
}

TEST(Embed, RunsAnyBatchAndTouchesNoOtherSample) {
  Made made(two_steps(), kWeight);
  Context* context = made.context();
  for (int64_t n = 1; n <= kBatch; ++n) {
    std::vector<float> x(n * 2), z(n * 2), copy(n * 2);  // sanitizers see a sample too many
    for (int64_t i = 0; i < n * 2; ++i) x[i] = static_cast<float>(i + n);
    const void* inputs[] = {x.data()};
    void* outputs[] = {z.data(), copy.data()};
    ASSERT_EQ(run(made.sets, context, inputs, outputs, n), Status::ok);
    for (int64_t i = 0; i < n * 2; ++i) {
      EXPECT_EQ(z[i], x[i] * 9);
      EXPECT_EQ(copy[i], x[i] * 3);
    }
    outputs[1] = nullptr;  // lies in the context
    z.assign(z.size(), 0);
    ASSERT_EQ(run(made.sets, context, inputs, outputs, n), Status::ok);
    EXPECT_EQ(z[n * 2 - 1], x[n * 2 - 1] * 9);
  }
}

// A pool that makes a thread a task.
struct Threads {
  std::vector<std::thread> running;
  int count;

  Pool pool() {
    return {this, [](void* self) { return static_cast<Threads*>(self)->count; },
            [](void* self, void (*task)(void*), void* argument) { static_cast<Threads*>(self)->running.emplace_back(task, argument); },
            [](void* self) {
              for (std::thread& thread : static_cast<Threads*>(self)->running) thread.join();
              static_cast<Threads*>(self)->running.clear();
            }};
  }
};

TEST(Embed, APoolChangesNothing) {
  for (int count : {0, 1, 2, 5, 100}) {
    Made made(two_steps(), kWeight);
    Context* context = made.context();
    Threads threads{{}, count};
    context->pool = threads.pool();
    float x[kBatch * 2], z[kBatch * 2], copy[kBatch * 2];
    for (int i = 0; i < kBatch * 2; ++i) x[i] = static_cast<float>(i);
    const void* inputs[] = {x};
    void* outputs[] = {z, copy};
    ASSERT_EQ(run(made.sets, context, inputs, outputs, kBatch), Status::ok);
    for (int i = 0; i < kBatch * 2; ++i) EXPECT_EQ(z[i], x[i] * 9) << count;
  }
}

TEST(Embed, LoopsCarryAndMove) {
  // total = 0; five times: total = total + 1, history[i] = total
  PlanBuilder b;
  uint32_t total = b.buffer({.dims = {1}}), next = b.buffer({.dims = {1}});
  uint32_t x = b.buffer({.name = "x", .dims = {1}, .space = Space::io}), trips = b.buffer({.dims = {1}, .dtype = DType::i64});
  uint32_t history = b.buffer({.name = "history", .dims = {5}, .space = Space::io}), given = b.parameter({.dims = {1}, .dtype = DType::i64});
  b.begin_graph("infer", GraphKind::infer, 0);
  b.step({.kernel = clear, .args = {out(total)}});
  b.step({.args = {in(given), out(trips)}});
  b.begin_loop(0, trips);
  b.step({.kernel = plus_one, .args = {in(total), out(next)}});
  b.begin_sequence();
  b.step({.args = {in(next), out(history, sizeof(float))}});
  b.end_block();
  b.carry(next, total);
  b.end_block();
  b.input(x);
  b.output(history);
  b.end_graph();
  for (int64_t count : {0, 1, 5}) {
    alignas(plan::kAlign) int64_t weights[8] = {count};
    Made made(b, weights);
    // Copies are of as many bytes as the smaller of the two: `next` is one number, a moving place has room for one at its end.
    float one = 1, values[5] = {-1, -1, -1, -1, -1};
    const void* inputs[] = {&one};
    void* outputs[] = {values};
    ASSERT_EQ(run(made.sets, made.context(), inputs, outputs, 1), Status::ok);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(values[i], i < count ? static_cast<float>(i + 1) : -1);
  }
}

TEST(Embed, WithoutABatchThereIsOneSample) {
  auto graph = [](PlanBuilder& b, uint32_t x, uint32_t y, const char* name, GraphKind kind, int64_t batch) {
    b.begin_graph(name, kind, batch);
    b.step({.kernel = plus_one, .args = {in(x), out(y)}});
    b.input(x);
    b.output(y);
    b.end_graph();
  };
  for (int64_t trained : {0, 3}) {  // the batch of a second graph, which trains; 0: there is none
    PlanBuilder b;
    uint32_t x = b.buffer({.name = "x", .dims = {1}, .space = Space::io}), y = b.buffer({.name = "y", .dims = {1}, .space = Space::io});
    graph(b, x, y, "infer", GraphKind::infer, 0);
    if (trained > 0) graph(b, x, y, "train", GraphKind::train, trained);
    Made made(b, kWeight);
    float one = 1, two = 0;
    const void* inputs[] = {&one};
    void* outputs[] = {&two};
    const int64_t most = trained > 0 ? trained : 1;
    EXPECT_EQ(most_samples(plan_of(made.library)), most);
    EXPECT_EQ(run(made.sets, made.context(), inputs, outputs, 0), Status::wrong_batch);
    EXPECT_EQ(run(made.sets, made.context(), inputs, outputs, most + 1), Status::wrong_batch);
    EXPECT_EQ(two, 0);
    EXPECT_EQ(run(made.sets, made.context(), inputs, outputs, most), Status::ok);
    EXPECT_EQ(two, 2);
  }
}

TEST(Embed, IntegersOutsideTheBoundAreRefusedAndNothingRuns) {
  for (DType dtype : {DType::i8, DType::u8, DType::i32, DType::i64}) {
    PlanBuilder b;
    uint32_t x = b.buffer({.name = "x", .dims = {2, kBatch}, .dtype = dtype, .space = Space::io, .batch_axis = 1, .upper_bound = 3});
    uint32_t y = b.buffer({.name = "y", .dims = {2, kBatch}, .dtype = dtype, .space = Space::io, .batch_axis = 1});
    b.begin_graph("infer", GraphKind::infer, kBatch);
    b.step({.args = {in(x), out(y)}});
    b.input(x);
    b.output(y);
    b.end_graph();
    Made made(b, nullptr);
    Context* context = made.context();
    int64_t size = core::dtype_bytes(dtype);
    auto run_with = [&](int at, int value) {
      alignas(8) unsigned char values[2 * kBatch * 8] = {}, result[sizeof values];
      int64_t wide = value;
      std::memcpy(values + at * size, &wide, size);  // little-endian
      const void* inputs[] = {values};
      void* outputs[] = {result};
      std::memset(result, 0xee, sizeof result);
      Status status = run(made.sets, context, inputs, outputs, 2);
      EXPECT_EQ(result[0] == 0xee, status != Status::ok);
      return status;
    };
    EXPECT_EQ(run_with(0, 2), Status::ok);
    EXPECT_EQ(run_with(0, 3), Status::out_of_range);
    EXPECT_EQ(run_with(kBatch + 1, 3), Status::out_of_range);
    EXPECT_EQ(run_with(2, 3), Status::ok) << "the third sample does not run";
    EXPECT_EQ(run_with(kBatch + 2, 3), Status::ok);
    if (dtype != DType::u8) EXPECT_EQ(run_with(1, -1), Status::out_of_range);
  }
}

TEST(Embed, WrongUse) {
  Made made(two_steps(), kWeight);
  Context* context = reinterpret_cast<Context*>(1);
  auto* memory = static_cast<unsigned char*>(made.memory.get());
  EXPECT_EQ(open(made.sets, nullptr, made.bytes, kBuild, &context), Status::null_pointer);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(open(made.sets, memory + 8, made.bytes, kBuild, &context), Status::misaligned);
  EXPECT_EQ(open(made.sets, memory, made.bytes - 1, kBuild, &context), Status::arena_too_small);
  EXPECT_EQ(open(made.sets, memory, made.bytes, kBuild + 1, &context), Status::other_build);
  EXPECT_EQ(create(made.sets, kBuild + 1, &context), Status::other_build);
  EXPECT_EQ(create(made.sets, kBuild, nullptr), Status::null_pointer);

  float x[2] = {}, z[2];
  const void* inputs[] = {x};
  void* outputs[] = {z, nullptr};
  context = made.context();
  EXPECT_EQ(run(made.sets, nullptr, inputs, outputs, 1), Status::null_pointer);
  EXPECT_EQ(run(made.sets, context, inputs, outputs, 0), Status::wrong_batch);
  EXPECT_EQ(run(made.sets, context, inputs, outputs, kBatch + 1), Status::wrong_batch);
  Made other(two_steps(), kWeight);
  EXPECT_EQ(run(other.sets, context, inputs, outputs, 1), Status::no_context);
  Made without(two_steps(), nullptr);
  EXPECT_EQ(run(without.sets, without.context(), inputs, outputs, 1), Status::no_weights);
}

TEST(Embed, CreatedContextsAreGivenBack) {
  Made made(two_steps(), kWeight);
  Context *first = nullptr, *second = nullptr;
  ASSERT_EQ(create(made.sets, kBuild, &first), Status::ok);
  ASSERT_EQ(create(made.sets, kBuild, &second), Status::ok);
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % plan::kAlign, 0u);
  destroy(made.sets, first);  // leaks show under AddressSanitizer
  destroy(made.sets, second);
  destroy(made.sets, nullptr);
}

TEST(Embed, EveryStatusHasANameAndAText) {
  EXPECT_STREQ(status_text(static_cast<int>(Status::weights_damaged)), "the weights are damaged: they do not match their checksum");
  EXPECT_STREQ(kStatusNames[static_cast<int>(Status::other_build)].name, "OTHER_BUILD");
  EXPECT_STREQ(status_text(kStatusCount), "there is no such status");
}

}  // namespace
}  // namespace mxc::embed
