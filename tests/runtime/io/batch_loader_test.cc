#include "runtime/io/batch_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace mxc::io {
namespace {

// Sample i holds the numbers 10 i and 10 i + 1; reading row `bad` fails.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t count, int64_t bad = -1) : count_(count), bad_(bad) {}
  int64_t count() const override { return count_; }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::Status read(int, const int64_t* rows, int64_t n, void* out) const override {
    for (int64_t i = 0; i < n; ++i) {
      if (rows[i] == bad_) return absl::InvalidArgumentError("row is bad");
      static_cast<float*>(out)[2 * i] = static_cast<float>(10 * rows[i]);
      static_cast<float*>(out)[2 * i + 1] = static_cast<float>(10 * rows[i] + 1);
    }
    return absl::OkStatus();
  }

 private:
  int64_t count_, bad_;
  std::vector<Field> fields_ = {{"x", plan::DType::f32, {2}, 0, false}};
};

std::vector<int64_t> counting(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The rows of all batches, with a -1 after each batch.
std::vector<int64_t> drain(BatchLoader* loader) {
  std::vector<int64_t> rows;
  while (true) {
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok());
    if (*batch == nullptr) return rows;
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*batch)->fields[0]) % plan::kAlign, 0u);
    const float* x = static_cast<const float*>((*batch)->fields[0]);
    for (int64_t i = 0; i < (*batch)->n; ++i) {
      EXPECT_EQ(x[2 * i + 1], x[2 * i] + 1);
      rows.push_back(static_cast<int64_t>(x[2 * i]) / 10);
    }
    rows.push_back(-1);
  }
}

// With the threaded and the serial engine.
class BatchLoaderTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<engine::Engine> engine_ = *engine::Engine::create({.naive = GetParam()});
};
INSTANTIATE_TEST_SUITE_P(Naive, BatchLoaderTest, testing::Bool());

TEST_P(BatchLoaderTest, LastBatchIsShort) {
  Numbers data(7);
  BatchLoader loader(data, 3, engine_.get());
  EXPECT_EQ(*loader.next(), nullptr);  // nothing was started
  loader.start({6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(drain(&loader), (std::vector<int64_t>{6, 5, 4, -1, 3, 2, 1, -1, 0, -1}));
  EXPECT_EQ(*loader.next(), nullptr);
  loader.start(counting(7), 3);
  EXPECT_EQ(drain(&loader), (std::vector<int64_t>{3, 4, 5, -1, 6, -1}));
  loader.start({});
  EXPECT_EQ(*loader.next(), nullptr);
}

// Row r of a varied pass reads as seed * 1000 + epoch * 100 + r.
class Varied : public Numbers {
 public:
  using Numbers::Numbers;
  absl::Status read_varied(int, const int64_t* rows, int64_t n, const Variation& variation, void* out) const override {
    for (int64_t i = 0; i < 2 * n; ++i) {
      static_cast<float*>(out)[i] = static_cast<float>(variation.seed * 1000 + variation.epoch * 100 + rows[i / 2]);
    }
    return absl::OkStatus();
  }
};

TEST_P(BatchLoaderTest, OnlyPassesOfTrainingAreVaried) {
  Varied data(4);
  BatchLoader loader(data, 4, engine_.get());
  const auto third = [&] { return static_cast<float*>((*loader.next())->fields[0])[4]; };
  loader.start(counting(4), 0, Variation{7, 3});
  EXPECT_EQ(third(), 7302);
  loader.start(counting(4));
  EXPECT_EQ(third(), 20);
}

TEST_P(BatchLoaderTest, StartsOverAtAnyMoment) {
  Numbers data(1000);
  BatchLoader loader(data, 8, engine_.get());
  for (int round = 0; round < 300; ++round) {
    loader.start(counting(1000), round);
    for (int i = 0; i < round % 4; ++i) {
      auto batch = loader.next();
      ASSERT_TRUE(batch.ok());
      ASSERT_EQ(static_cast<float*>((*batch)->fields[0])[0], static_cast<float>(10 * (round + 8 * i)));
    }
  }
}

TEST_P(BatchLoaderTest, ErrorsReachTheConsumer) {
  Numbers data(10, 5);
  BatchLoader loader(data, 3, engine_.get());
  loader.start(counting(10));
  EXPECT_TRUE(loader.next().ok());
  const auto second = loader.next();
  EXPECT_EQ(second.status().message(), "load batch: row is bad");
  loader.start({1});
  EXPECT_EQ(drain(&loader), (std::vector<int64_t>{1, -1}));
}

}  // namespace
}  // namespace mxc::io
