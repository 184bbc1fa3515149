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
