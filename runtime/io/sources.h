// The kinds of file that data may lie in, one function each. `inputs` are the model's inputs; every source delivers exactly
// them (make_table in table.h says which field goes to which input). Parameters that all sources take:
//   INPUT=FIELD          the field for an input, where names differ
//   scale=S              floating inputs are divided by S
//   holdout=F            keeps the fraction F of the training samples for testing
//   holdout_seed=K       which ones (default 0; deliberately not the training seed, so that a later `eval` finds the same ones)
// Errors are one line: the file, the row and column or byte, what was found, what was expected.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/dataset.h"
#include "runtime/io/uri.h"

namespace mxc::io {

// `mnist:DIR`: the IDX files train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., each plain or `.gz`.
// Fields: image (1 x rows x columns, u8, scale 255) and label. The t10k files are the test part; they may be absent.
absl::StatusOr<DataSplits> open_mnist(const Uri& uri, const std::vector<Field>& inputs);

// `cifar10:DIR`: data_batch_1.bin .. data_batch_5.bin and test_batch.bin; `cifar100:DIR`: train.bin and test.bin.
// Fields: image (3x32x32, u8, scale 255), label, and for CIFAR-100 coarse_label.
absl::StatusOr<DataSplits> open_cifar(const Uri& uri, const std::vector<Field>& inputs);

// `csv:FILE`: numbers separated by commas, plain or gzip. INPUT=COLUMNS takes columns by number from 0 (`64`), range (`0-63`),
// name in the header (`label`) or a list of these (`0-3,7,area`). One input may be left without: it gets the remaining columns,
// in order. header=auto|yes|no (auto: the first row is a header if one of its cells is no number).
absl::StatusOr<DataSplits> open_csv(const Uri& uri, const std::vector<Field>& inputs);

// `npz:FILE`: arrays of NumPy's savez or savez_compressed, first axis the samples; f32, f64, u8, i8, bool, i32, i64, C order.
absl::StatusOr<DataSplits> open_npz(const Uri& uri, const std::vector<Field>& inputs);

// Opens any of them by scheme. Error: an unknown scheme, with the list of known ones.
absl::StatusOr<DataSplits> open_data(const std::string& address, const std::vector<Field>& inputs);

}  // namespace mxc::io
