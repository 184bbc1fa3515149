// Areas are zeroed, aligned and writable to the last byte; scalars keep their value in every dtype.
#include "runtime/core/storage.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/runtime/plan_builder.h"

namespace mxc::core {
namespace {

using namespace mxc::test;
using plan::DType;
using plan::Space;

TEST(Storage, AreasAreZeroedAndAligned) {
  PlanBuilder b;
  uint32_t small = b.buffer({.dims = {5}, .space = Space::io});
  uint32_t large = b.buffer({.dims = {3 << 20}});  // 12 MiB: huge pages
  uint32_t tail = b.buffer({.dims = {16}});
  BuiltPlan built = b.build();
  PlanView view;
  ASSERT_TRUE(PlanView::open(built.program(), &view).ok());
  Storage storage;
  ASSERT_TRUE(Storage::create(view, &storage).ok());
  EXPECT_EQ(storage.base(Space::persistent, 0), nullptr);  // nothing lies there
  EXPECT_EQ(reinterpret_cast<uintptr_t>(storage.base(Space::arena, 0)) % (2 << 20), 0u);
  for (uint32_t index : {small, large, tail}) {
    const plan::Buffer& buffer = view.buffer(index);
    float* first = static_cast<float*>(storage.address(buffer));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % plan::kAlign, 0u);
    for (int64_t i = 0; i < elements(buffer); i += 1000) EXPECT_EQ(first[i], 0);
    first[elements(buffer) - 1] = 1;
  }
  Storage moved = std::move(storage);
  EXPECT_EQ(static_cast<float*>(moved.address(view.buffer(tail)))[15], 1);
}

TEST(Storage, HyperParameters) {
  PlanBuilder b;
  b.hyper("lr", 0.25, DType::f32);
  b.hyper("decay", 1e-300, DType::f64);
  b.hyper("step", 7, DType::i64);
  b.hyper("flag", 1, DType::boolean);
  BuiltPlan built = b.build();
  PlanView view;
  ASSERT_TRUE(PlanView::open(built.program(), &view).ok());
  Storage storage;
  ASSERT_TRUE(Storage::create(view, &storage).ok());
  storage.set_default_hypers(view);
  EXPECT_EQ(storage.get_hyper(view, 0), 0.25);
  EXPECT_EQ(storage.get_hyper(view, 1), 1e-300);
  EXPECT_EQ(storage.get_hyper(view, 3), 1);
  storage.set_hyper(view, 2, 123456789012);
  EXPECT_EQ(*static_cast<int64_t*>(storage.address(view.buffer(view.hypers()[2].buffer))), 123456789012);
}

TEST(Storage, IntegersArriveExactly) {
  PlanBuilder b;
  b.hyper("seed", 0, DType::i64);
  b.hyper("low", 0, DType::i32);
  b.hyper("real", 0, DType::f64);
  BuiltPlan built = b.build();
  PlanView view;
  ASSERT_TRUE(PlanView::open(built.program(), &view).ok());
  Storage storage;
  ASSERT_TRUE(Storage::create(view, &storage).ok());
  const uint64_t seed = 0xfedcba9876543211u;
  for (uint32_t hyper = 0; hyper < 3; ++hyper) storage.set_hyper_integer(view, hyper, seed);
  const auto at = [&](uint32_t hyper) { return storage.address(view.buffer(view.hypers()[hyper].buffer)); };
  EXPECT_EQ(*static_cast<uint64_t*>(at(0)), seed);
  EXPECT_EQ(*static_cast<uint32_t*>(at(1)), 0x76543211u);
  EXPECT_EQ(*static_cast<double*>(at(2)), static_cast<double>(seed));
}

TEST(Storage, ScalarsOfEveryDtype) {
  for (DType dtype : {DType::f32, DType::f64, DType::i8, DType::u8, DType::i32, DType::i64}) {
    double bytes;
    write_scalar(dtype, &bytes, 100);
    EXPECT_EQ(read_scalar(dtype, &bytes), 100) << dtype_name(dtype);
  }
  int32_t integer;
  write_scalar(DType::i32, &integer, -2.75);
  EXPECT_EQ(integer, -2);
}

// What only a training by several shards needs costs others nothing, be it more than there is.
TEST(Storage, IsAsLargeAsItsGraphsNeed) {
  constexpr int64_t kTooMuch = int64_t{1} << 45;  // numbers: 2^47 bytes
  PlanBuilder b;
  const uint32_t x = b.buffer({.dims = {20}, .space = Space::io}), inner = b.buffer({.dims = {16}});
  const auto graph = [&](const char* name, plan::GraphKind kind, uint32_t given, uint32_t made) {
    b.begin_graph(name, kind, 0);
    b.input(given);
    b.output(made);
    b.end_graph();
  };
  graph("train", plan::GraphKind::train, x, x);
  const uint32_t part = b.buffer({.dims = {32}, .space = Space::io});
  b.buffer({.dims = {16}});
  graph("update", plan::GraphKind::update, part, part);
  const uint32_t gradient = b.buffer({.dims = {kTooMuch}, .space = Space::io}), scratch = b.buffer({.dims = {16}});
  graph("gradients", plan::GraphKind::user, x, gradient);
  const BuiltPlan built = b.build();
  PlanView view;
  ASSERT_TRUE(PlanView::open(built.program(), &view).ok());
  const AreaBytes alone = area_bytes(view, 0, Graphs::alone), updates = area_bytes(view, 0, Graphs::updates), all = area_bytes(view, 0, Graphs::all);
  EXPECT_EQ(alone.arena, 64u);
  EXPECT_EQ(alone.io, 128u);
  EXPECT_EQ(updates.arena, 128u);
  EXPECT_EQ(updates.io, 256u);
  EXPECT_EQ(all.arena, 192u);
  EXPECT_EQ(all.io, 256u + 4 * kTooMuch);

  Storage storage;
  const Status status = Storage::create(view, &storage);
  EXPECT_EQ(status.code, Code::out_of_memory);
  EXPECT_STREQ(status.text, "device 0: no memory for 140737488355584 bytes");
  ASSERT_TRUE(Storage::create(view, &storage, Arenas::own, Graphs::updates).ok());
  ASSERT_TRUE(Storage::create(view, &storage, Arenas::own, Graphs::alone).ok());
  for (uint32_t held : {x, inner}) {
    ASSERT_TRUE(storage.holds(view.buffer(held)));
    static_cast<float*>(storage.address(view.buffer(held)))[15] = 1;
  }
  for (uint32_t other : {part, gradient, scratch}) EXPECT_FALSE(storage.holds(view.buffer(other))) << other;
  Storage lent;
  ASSERT_TRUE(Storage::create(view, &lent, Arenas::lent, Graphs::alone).ok());
  EXPECT_TRUE(lent.holds(view.buffer(scratch)));  // whoever lends it knows how much
  EXPECT_FALSE(lent.holds(view.buffer(part)));
}

TEST(Storage, RefusesOtherDevices) {
  PlanBuilder b;
  b.device(plan::DeviceKind::cuda);
  BuiltPlan built = b.build();
  PlanView view;
  ASSERT_TRUE(PlanView::open(built.program(), &view).ok());
  Storage storage;
  Status status = Storage::create(view, &storage);
  EXPECT_EQ(status.code, Code::unsupported);
  EXPECT_STREQ(status.text, "device 1 is no CPU: this runtime has CPU storage only");
}

}  // namespace
}  // namespace mxc::core
