// Data sets for imperative code: the files that the trainer reads, in the same order and with the same bytes.
//
//     for (const Batch& batch : data::mnist("mnist").batches(64).shuffled(7)) ...  // the last batch is as short as it comes out
//
// A data set is a description; files are read where it is made, and a loop over it reads samples. The batch after the present one is
// already on its way while the loop's body runs; its arrays are new ones, which may be kept.
// Errors: mxc::Error with the line where the data set was made; a sample that cannot be read is thrown where its array is read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mxc/dtype.h"
#include "mxc/error.h"
#include "mxc/ndarray.h"

namespace mxc {

// The name of a tensor and the place where it was written.
struct TensorName {
  TensorName(const char* text, Here where = Here::current()) : text(text), where(where) {}
  TensorName(std::string text, Here where = Here::current()) : text(std::move(text)), where(where) {}
  std::string text;
  Here where;
};

// One field of a data set, or one input of a model.
struct Field {
  std::string name;
  Extents shape = {};   // of one sample
  DType dtype = f32;
  int64_t classes = 0;  // integers lie in [0, classes); 0: any
};

// Samples, one after another along the first axis of each field.
class Batch {
 public:
  NDArray image, label;  // the fields of these names, or empty
  int64_t rows() const { return rows_; }
  // Throws: no such field, with those that there are.
  const NDArray& operator[](const TensorName& name) const&;
  NDArray operator[](const TensorName& name) && { return static_cast<const Batch&>(*this)[name]; }

 private:
  friend class DataIterator;
  int64_t rows_ = 0;
  std::vector<std::string> names_;
  std::vector<NDArray> arrays_;
};

namespace data {
struct Source;  // an open data set
}

// A pass over a data set, which it may outlive. At the end its batch is empty, and to go on is an error; so it is for one that belongs to no data set.
// Threads: one at a time.
class DataIterator {
 public:
  const Batch& operator*() const& { return batch_; }
  Batch operator*() && { return std::move(batch_); }  // const Batch& first = *set.begin(); lives as long as its name
  const Batch* operator->() const { return &batch_; }
  DataIterator& operator++();
  bool operator==(const DataIterator& other) const { return pass_ == other.pass_; }

 private:
  friend class DataSet;
  struct Pass;
  std::shared_ptr<Pass> pass_;  // null: at the end
  Here where_ = {};             // of the loop
  Batch batch_;
};

// One that nothing was assigned to, or that was moved from, can be assigned to and destroyed; all else throws.
class DataSet {
 public:
  DataSet batches(int64_t size, Here here = Here::current()) const;  // up to so many samples a batch; at first 1
  // In the order that the trainer takes in epoch `epoch()` with this seed, and with what it varies at random. At first: as stored.
  DataSet shuffled(uint64_t seed, Here here = Here::current()) const;
  DataSet epoch(int64_t number, Here here = Here::current()) const;  // counted from 0
  DataSet test(Here here = Here::current()) const;  // the part held out for testing. Throws: there is none.
  int64_t size(Here here = Here::current()) const;  // samples
  std::vector<Field> fields(Here here = Here::current()) const;

  DataIterator begin(Here here = Here::current()) const;
  DataIterator end() const { return {}; }

 private:
  friend struct data::Source;
  const data::Source& source(const char* op, Here here) const;  // throws if there is none

  std::shared_ptr<const data::Source> source_;
  int64_t batch_ = 1, epoch_ = 0;
  uint64_t seed_ = 0;
  bool shuffled_ = false;
};

namespace data {

// `address` is written as for the trainer: "csv:digits.csv.gz?label=64&scale=16". `fields` are what is wanted of it (Executor::inputs).
DataSet open(const std::string& address, const std::vector<Field>& fields, Here here = Here::current());

// A folder of IDX files: image {1, 28, 28} in 0 .. 1, label in 0 .. 9.
DataSet mnist(const std::string& folder, Here here = Here::current());
// A folder of CIFAR-10's binary files: image {3, 32, 32} in 0 .. 1, label in 0 .. 9.
DataSet cifar10(const std::string& folder, Here here = Here::current());
// Files with the fields given; parameters of the address may follow the path ("digits.csv?label=64").
DataSet csv(const std::string& path, const std::vector<Field>& fields, Here here = Here::current());
DataSet npz(const std::string& path, const std::vector<Field>& fields, Here here = Here::current());
DataSet images(const std::string& path, const std::vector<Field>& fields, Here here = Here::current());

}  // namespace data
}  // namespace mxc
