// Data sets for imperative code, over runtime/io's. Each batch gets arrays of its own, filled by the engine's io lane: so a batch may be
// kept, and what waits for one field waits for nothing else.
#include "mxc/data.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/default_engine.h"
#include "runtime/executor/state.h"
#include "runtime/io/shuffle.h"
#include "runtime/io/sources.h"
#include "runtime/ndarray/array.h"

namespace mxc {

namespace data {

struct Source {
  std::shared_ptr<const io::Dataset> samples;
  std::shared_ptr<const Source> test;  // null: none

  static DataSet set_of(std::shared_ptr<const Source> source) {
    DataSet set;
    set.source_ = std::move(source);
    return set;
  }
};

namespace {

// A path as a part of an address.
std::string escaped(const std::string& path) {
  std::string text;
  for (char c : path) {
    if (c == '%') text += "%25";
    else if (c == '?') text += "%3F";
    else text += c;
  }
  return text;
}

const std::vector<Field> kDigits = {{"image", {1, 28, 28}, f32, 0}, {"label", {}, i32, 10}};
const std::vector<Field> kSmallPictures = {{"image", {3, 32, 32}, f32, 0}, {"label", {}, i32, 10}};

}  // namespace

DataSet open(const std::string& address, const std::vector<Field>& fields, Here here) {
  std::vector<io::Field> wanted;
  for (const Field& field : fields) wanted.push_back({field.name, ndarray::to_plan(field.dtype), field.shape, field.classes, false});
  auto splits = io::open_data(address, wanted);
  if (!splits.ok()) throw Error(absl::StrCat("data: ", splits.status().message()), here);
  auto source = std::make_shared<Source>();
  source->samples = std::move(splits->train);
  if (splits->test != nullptr) {
    auto test = std::make_shared<Source>();
    test->samples = std::move(splits->test);
    source->test = std::move(test);
  }
  return Source::set_of(std::move(source));
}

DataSet mnist(const std::string& folder, Here here) { return open("mnist:" + escaped(folder), kDigits, here); }
DataSet cifar10(const std::string& folder, Here here) { return open("cifar10:" + escaped(folder), kSmallPictures, here); }
DataSet csv(const std::string& path, const std::vector<Field>& fields, Here here) { return open("csv:" + path, fields, here); }
DataSet npz(const std::string& path, const std::vector<Field>& fields, Here here) { return open("npz:" + path, fields, here); }
DataSet images(const std::string& path, const std::vector<Field>& fields, Here here) { return open("images:" + path, fields, here); }

}  // namespace data

const NDArray& Batch::operator[](const TensorName& name) const& {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name.text) return arrays_[i];
  }
  throw Error(absl::StrCat("batch: there is no field '", name.text, "'; there are ", executor::quoted_list(names_)), name.where);
}

const data::Source& DataSet::source(const char* op, Here here) const {
  if (source_ == nullptr) throw Error(absl::StrCat(op, ": the data set is empty: nothing was assigned to it, or it was moved from"), here);
  return *source_;
}

DataSet DataSet::batches(int64_t size, Here here) const {
  source("batches", here);
  if (size < 1) throw Error(absl::StrCat("batches: a batch of ", size, " samples"), here);
  DataSet set = *this;
  set.batch_ = size;
  return set;
}

DataSet DataSet::shuffled(uint64_t seed, Here here) const {
  source("shuffled", here);
  DataSet set = *this;
  set.seed_ = seed;
  set.shuffled_ = true;
  return set;
}

DataSet DataSet::epoch(int64_t number, Here here) const {
  source("epoch", here);
  if (number < 0 || number > std::numeric_limits<uint32_t>::max()) throw Error(absl::StrCat("epoch: there is no epoch ", number), here);
  DataSet set = *this;
  set.epoch_ = number;
  return set;
}

DataSet DataSet::test(Here here) const {
  if (source("test", here).test == nullptr) throw Error("test: the data set has no part held out for testing", here);
  DataSet set = *this;
  set.source_ = source_->test;
  return set;
}

int64_t DataSet::size(Here here) const { return source("size", here).samples->count(); }

std::vector<Field> DataSet::fields(Here here) const {
  std::vector<Field> fields;
  for (const io::Field& field : source("fields", here).samples->fields()) {
    fields.push_back({field.name, field.shape, ndarray::from_plan(field.dtype), field.upper_bound});
  }
  return fields;
}

struct DataIterator::Pass {
  // What queued readings refer to.
  struct Plan {
    std::shared_ptr<const io::Dataset> samples;
    std::vector<int64_t> order;
    std::optional<io::Variation> variation;
  };

  std::shared_ptr<const Plan> plan;
  int64_t batch = 1, position = 0;           // of the next reading
  Batch ahead;                               // on its way; no rows: the pass is at its end
  std::vector<ndarray::ChunkRef> before;     // of the batch before the present one

  Batch read() {
    Batch made;
    const auto& fields = plan->samples->fields();
    made.rows_ = std::min<int64_t>(batch, static_cast<int64_t>(plan->order.size()) - position);
    for (size_t f = 0; f < fields.size() && made.rows_ > 0; ++f) {
      made.names_.push_back(fields[f].name);
      made.arrays_.push_back(read(static_cast<int>(f), made.rows_));
      if (fields[f].name == "image") made.image = made.arrays_.back();
      if (fields[f].name == "label") made.label = made.arrays_.back();
    }
    position += made.rows_;
    return made;
  }

  NDArray read(int field, int64_t rows) {
    const io::Field& what = plan->samples->fields()[static_cast<size_t>(field)];
    ndarray::Dims shape = {rows};
    for (int64_t extent : what.shape) shape.push_back(extent);
    engine::Engine& engine = engine::default_engine();
    NDArray array = ndarray::new_result(engine, cpu(), what.dtype, shape, Here::current());
    ndarray::ChunkRef chunk = ndarray::view_of(array).chunk;
    ndarray::begin_write(*chunk);
    engine.push({.name = "read batch", .lane = engine::Lane::io}, {}, {chunk->variable},
                [plan = plan, chunk, field, rows, first = position]() -> absl::Status {
                  void* out = chunk->ensure();
                  if (out == nullptr) return absl::ResourceExhaustedError("no memory for a batch");
                  const int64_t* order = plan->order.data() + first;
                  return plan->variation.has_value() ? plan->samples->read_varied(field, order, rows, *plan->variation, out)
                                                     : plan->samples->read(field, order, rows, out);
                });
    return array;
  }
};

DataIterator DataSet::begin(Here here) const {
  auto plan = std::make_shared<DataIterator::Pass::Plan>();
  plan->samples = source("a loop", here).samples;
  if (shuffled_) {
    plan->order = io::shuffled(size(), seed_, static_cast<uint32_t>(epoch_));
    plan->variation = io::Variation{seed_, static_cast<uint32_t>(epoch_)};
  } else {
    plan->order.resize(static_cast<size_t>(size()));
    std::iota(plan->order.begin(), plan->order.end(), int64_t{0});
  }
  DataIterator iterator;
  iterator.where_ = here;
  iterator.pass_ = std::make_shared<DataIterator::Pass>();
  iterator.pass_->plan = std::move(plan);
  iterator.pass_->batch = batch_;
  iterator.pass_->ahead = iterator.pass_->read();
  return ++iterator;
}

// Before another batch is read, all that was queued with the batch before the present one has ended: a loop runs ahead of its
// computation by two batches, not by as many as memory holds.
DataIterator& DataIterator::operator++() {
  if (pass_ == nullptr) throw Error("++: the iterator is at the end of its data set", where_);
  Pass& pass = *pass_;
  for (const ndarray::ChunkRef& chunk : pass.before) chunk->engine->wait_idle(chunk->variable, /*tells=*/false).IgnoreError();
  pass.before.clear();
  for (const NDArray& array : batch_.arrays_) pass.before.push_back(ndarray::view_of(array).chunk);
  batch_ = std::move(pass.ahead);
  if (batch_.rows_ == 0) {
    pass_ = nullptr;
    return *this;
  }
  pass.ahead = pass.read();
  return *this;
}

}  // namespace mxc
