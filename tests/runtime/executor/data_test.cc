// Data sets for imperative code: the trainer's order and bytes, batch by batch.
#include "mxc/data.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/engine/default_engine.h"
#include "runtime/io/batch_loader.h"
#include "runtime/io/shuffle.h"
#include "runtime/io/sources.h"
#include "tests/runtime/executor/executor_models.h"
#include "tests/runtime/temp_dir.h"

namespace mxc {
namespace {

using namespace mxc::test;

const std::string kDigits = MXC_SOURCE_DIR "/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2";
const std::vector<Field> kFields = {{"image", {1, 8, 8}}, {"label", {}, i32, 10}};

TEST(Data, TheTrainersOrderAndBytes) {
  auto splits = io::open_data("csv:" + kDigits, {{"image", plan::DType::f32, {1, 8, 8}}, {"label", plan::DType::i32, {}, 10}});
  ASSERT_TRUE(splits.ok());
  const DataSet digits = data::csv(kDigits, kFields).batches(64).shuffled(7);
  for (int64_t epoch : {0, 3}) {
    io::BatchLoader loader(*splits->train, 64, &engine::default_engine());
    loader.start(io::shuffled(splits->train->count(), 7, static_cast<uint32_t>(epoch)));
    int64_t rows = 0;
    for (const Batch& batch : digits.epoch(epoch)) {
      auto expected = loader.next();
      ASSERT_TRUE(expected.ok() && *expected != nullptr);
      ASSERT_EQ(batch.rows(), (*expected)->n);
      EXPECT_EQ(batch.image.shape(), (Extents{batch.rows(), 1, 8, 8}));
      EXPECT_EQ(std::memcmp(batch.image.data<float>(), (*expected)->fields[0], static_cast<size_t>(batch.rows()) * 256), 0);
      EXPECT_EQ(std::memcmp(batch["label"].data<int32_t>(), (*expected)->fields[1], static_cast<size_t>(batch.rows()) * 4), 0);
      rows += batch.rows();
    }
    EXPECT_EQ(rows, digits.size());
    EXPECT_EQ(*loader.next(), nullptr);
  }
}

TEST(Data, AsStoredAndTheLastBatchIsShort) {
  TempDir dir;
  std::string text;
  for (int i = 0; i < 10; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  const std::string path = dir.file("t.csv");
  FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(text.c_str(), file);
  std::fclose(file);
  std::vector<float> seen;
  std::vector<int64_t> rows;
  std::vector<NDArray> kept;
  for (const Batch& batch : data::csv(path + "?label=1", {{"x", {1}}, {"label", {}, i32, 3}}).batches(4)) {
    rows.push_back(batch.rows());
    kept.push_back(batch["x"]);
    EXPECT_TRUE(batch.image.empty());
  }
  // Batches may be kept.
  for (const NDArray& x : kept) {
    for (float value : floats(x)) seen.push_back(value);
  }
  EXPECT_EQ(rows, (std::vector<int64_t>{4, 4, 2}));
  EXPECT_EQ(seen, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Data, TestPart) {
  const DataSet digits = data::csv(kDigits, kFields).batches(100);
  const DataSet test = digits.test();
  EXPECT_EQ(digits.size() + test.size(), 1797);
  int64_t rows = 0;
  for (const Batch& batch : test) rows += batch.rows();
  EXPECT_EQ(rows, test.size());
  EXPECT_EQ(digits.fields()[0].name, "image");
}

TEST(Data, LeftInTheMiddle) {
  const DataSet digits = data::csv(kDigits, kFields).batches(10);
  for (int i = 0; i < 3; ++i) {
    for (const Batch& batch : digits) {
      if (batch.rows() == 10) break;
    }
  }
}

// Batches and iterators own what they show.
TEST(Data, BatchesOutliveTheirDataSet) {
  const Batch& first = *data::csv(kDigits, kFields).batches(3).begin();
  const NDArray& label = (*data::csv(kDigits, kFields).batches(3).begin())["label"];
  DataIterator later;
  {
    const DataSet digits = data::csv(kDigits, kFields).batches(3);
    later = digits.begin();
  }
  ++later;
  EXPECT_EQ(first.rows(), 3);
  EXPECT_EQ(label.to_vector<int32_t>(), first.label.to_vector<int32_t>());
  const DataSet digits = data::csv(kDigits, kFields).batches(6);
  EXPECT_EQ(later->label.to_vector<int32_t>(), digits.begin()->label.slice(0, 3, 6).to_vector<int32_t>());
  int64_t rows = 0;
  for (const Batch& batch : data::csv(kDigits, kFields).batches(500)) rows += batch.rows();
  EXPECT_EQ(rows, digits.size());
}

TEST(Data, WrongUse) {
  EXPECT_EQ(message_of([] { data::csv("/nowhere.csv", kFields); }), "data: /nowhere.csv: No such file or directory");
  const DataSet digits = data::csv(kDigits, kFields);
  EXPECT_EQ(message_of([&] { digits.batches(0); }), "batches: a batch of 0 samples");
  EXPECT_EQ(message_of([&] { (*digits.begin())["picture"]; }), "batch: there is no field 'picture'; there are 'image', 'label'");
  EXPECT_EQ(message_of([&] { digits.epoch(-1); }), "epoch: there is no epoch -1");
  const std::string empty = ": the data set is empty: nothing was assigned to it, or it was moved from";
  const DataSet none;
  EXPECT_EQ(message_of([&] { none.batches(2); }), "batches" + empty);
  EXPECT_EQ(message_of([&] { none.shuffled(2); }), "shuffled" + empty);
  EXPECT_EQ(message_of([&] { none.epoch(2); }), "epoch" + empty);
  EXPECT_EQ(message_of([&] { none.test(); }), "test" + empty);
  EXPECT_EQ(message_of([&] { none.size(); }), "size" + empty);
  EXPECT_EQ(message_of([&] { none.fields(); }), "fields" + empty);
  EXPECT_EQ(message_of([&] {
              for (const Batch& batch : none) batch.rows();
            }),
            "a loop" + empty);
  DataIterator end = digits.batches(2000).begin();
  ++end;
  EXPECT_TRUE(end == digits.end());
  EXPECT_EQ(end->rows(), 0);
  EXPECT_EQ(message_of([&] { ++end; }), "++: the iterator is at the end of its data set");
  EXPECT_EQ(message_of([] { ++DataIterator(); }), "++: the iterator is at the end of its data set");
  EXPECT_EQ(message_of([&] { digits.test().test(); }), "test: the data set has no part held out for testing");
}

}  // namespace
}  // namespace mxc
