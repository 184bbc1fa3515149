// Weight files: what is refused, that every flipped bit is seen, and contexts that share.
#include "runtime/embed/weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/embed/create.h"
#include "runtime/embed/weights_file.h"
#include "tests/runtime/plan_builder.h"
#include "tests/runtime/temp_dir.h"

namespace mxc::embed {
namespace {

using namespace mxc::test;
using plan::GraphKind;
using plan::Space;

constexpr uint64_t kBuild = 5, kLayout = 11;
constexpr int64_t kBatch = 8;

void add_weight(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *x = static_cast<float*>(args[0]), *w = static_cast<float*>(args[1]);
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(args[2])[i] = x[i] + w[i % 40];
}

// y = x + w, through the arena; w has 40 numbers.
BuiltPlan sum_plan() {
  PlanBuilder b;
  BufferSpec tensor = {.name = "x", .dims = {kBatch}, .space = Space::io, .batch_axis = 0};
  uint32_t x = b.buffer(tensor), w = b.parameter({.name = "w", .dims = {40}}), sum = b.buffer({.dims = {kBatch}, .batch_axis = 0});
  uint32_t y = b.buffer(tensor);
  b.begin_graph("infer", GraphKind::infer, kBatch);
  b.step({.kernel = add_weight, .args = {in(x), in(w), out(sum)}, .batch_unit = 1});
  b.step({.args = {in(sum), out(y)}});
  b.input(x);
  b.output(y);
  b.end_graph();
  return b.build();
}

class Weights : public testing::Test {
 protected:
  Weights() : built_(sum_plan()), library_{built_.program(), nullptr, kLayout, kBuild} {
    WeightHeader& header = *reinterpret_cast<WeightHeader*>(file_);
    for (int i = 0; i < 40; ++i) image()[i] = static_cast<float>(i + 1);
    header = {kWeightMagic, kWeightVersion, kImage, kLayout, checksum(image(), kImage), {}};
  }
  float* image() { return reinterpret_cast<float*>(file_ + sizeof(WeightHeader)); }
  Status check_file(uint64_t bytes = sizeof(WeightHeader) + kImage) { return check_weights(library_, file_, bytes); }
  Context* context() {
    Context* made = nullptr;
    EXPECT_EQ(create(sets_, kBuild, &made), Status::ok);
    return made;
  }
  Status run_ones(Context* context, float* results) {
    float x[kBatch];
    for (float& value : x) value = 1;
    const void* inputs[] = {x};
    void* outputs[] = {results};
    return run(sets_, context, inputs, outputs, kBatch);
  }

  static constexpr uint64_t kImage = 192;  // 40 numbers, up to a multiple of 64
  BuiltPlan built_;
  plan::Library library_;
  const plan::Library* const sets_[2] = {&library_, nullptr};
  alignas(plan::kAlign) unsigned char file_[sizeof(WeightHeader) + kImage] = {};
};

TEST_F(Weights, AreCheckedInEveryPart) {
  EXPECT_EQ(check_file(), Status::ok);
  EXPECT_EQ(check_file(sizeof file_ + 9), Status::ok) << "what lies behind does not matter";
  EXPECT_EQ(check_weights(library_, nullptr, 1000), Status::null_pointer);
  EXPECT_EQ(check_weights(library_, file_ + 8, sizeof file_ - 8), Status::misaligned);
  EXPECT_EQ(check_file(0), Status::weights_truncated);
  EXPECT_EQ(check_file(sizeof file_ - 1), Status::weights_truncated);
  for (uint64_t bit = 0; bit < sizeof file_ * 8; ++bit) {
    file_[bit / 8] ^= 1 << bit % 8;
    Status status = check_file();
    uint64_t byte = bit / 8;
    Status expected = byte < 8 ? Status::weights_other_version : byte < 24 ? Status::weights_other_model : Status::weights_damaged;
    ASSERT_EQ(status, expected) << "bit " << bit;
    file_[bit / 8] ^= 1 << bit % 8;
  }
  EXPECT_EQ(check_file(), Status::ok);
}

TEST_F(Weights, ChangeWithTheOrderOfWords) {
  uint64_t before = checksum(image(), kImage);
  std::swap(image()[0], image()[8]);  // the same lane
  uint64_t after = checksum(image(), kImage);
  EXPECT_NE(before, after);
  std::swap(image()[0], image()[8]);
  std::swap(image()[0], image()[2]);  // neighbouring lanes
  EXPECT_NE(before, checksum(image(), kImage));
}

TEST_F(Weights, OfAFileAreMapped) {
  TempDir folder;
  std::string path = folder.file("w");
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char*>(file_), sizeof file_);
  const void* mapped = nullptr;
  uint64_t bytes = 0;
  ASSERT_EQ(map_weights(library_, path.c_str(), &mapped, &bytes), Status::ok);
  EXPECT_EQ(bytes, sizeof file_);
  EXPECT_EQ(std::memcmp(mapped, file_, sizeof file_), 0);
  unmap_weights(mapped, bytes);
  EXPECT_EQ(map_weights(library_, nullptr, &mapped, &bytes), Status::null_pointer);
  EXPECT_EQ(map_weights(library_, path.c_str(), nullptr, &bytes), Status::null_pointer);
  EXPECT_EQ(map_weights(library_, path.c_str(), &mapped, nullptr), Status::null_pointer);
  EXPECT_EQ(map_weights(library_, (path + "x").c_str(), &mapped, &bytes), Status::weights_unreadable);
  std::ofstream(path, std::ios::binary | std::ios::trunc);
  EXPECT_EQ(map_weights(library_, path.c_str(), &mapped, &bytes), Status::weights_truncated);
  EXPECT_EQ(mapped, nullptr);
}

TEST_F(Weights, AreSharedByContextsOnManyThreads) {
  Context* first = context();
  float expected[kBatch], results[kBatch];
  EXPECT_EQ(run_ones(first, results), Status::no_weights);
  Context* second = context();
  EXPECT_EQ(share_weights(sets_, second, first), Status::no_weights);
  EXPECT_EQ(share_weights(sets_, second, nullptr), Status::null_pointer);
  EXPECT_EQ(set_weights(sets_, first, file_, 3), Status::weights_truncated);
  EXPECT_EQ(run_ones(first, results), Status::no_weights) << "refused weights are not used";
  ASSERT_EQ(set_weights(sets_, first, file_, sizeof file_), Status::ok);
  ASSERT_EQ(run_ones(first, expected), Status::ok);
  for (int i = 0; i < kBatch; ++i) EXPECT_EQ(expected[i], static_cast<float>(i + 2));
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      Context* own = context();
      EXPECT_EQ(share_weights(sets_, own, first), Status::ok);
      for (int turn = 0; turn < 20; ++turn) {
        float mine[kBatch];
        EXPECT_EQ(run_ones(own, mine), Status::ok);
        EXPECT_EQ(std::memcmp(mine, expected, sizeof mine), 0);
      }
      destroy(sets_, own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  destroy(sets_, first);
  destroy(sets_, second);
}

}  // namespace
}  // namespace mxc::embed
