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
// in order. header=auto|yes|no (auto: the first row is a header if none of its cells is a number).
absl::StatusOr<DataSplits> open_csv(const Uri& uri, const std::vector<Field>& inputs);

// `npz:FILE`: arrays of NumPy's savez or savez_compressed, first axis the samples; f32, f64, u8, i8, bool, i32, i64, C order.
// Arrays of other kinds are left out: an error only if the model asks for one.
absl::StatusOr<DataSplits> open_npz(const Uri& uri, const std::vector<Field>& inputs);

// `images:DIR`: JPEG and PNG pictures, decoded when a batch wants them. DIR holds class folders, or `train` and perhaps `test` with
// class folders in them, or pictures alone; `images:LIST`: a list file (picture_list.h), its paths relative to it or to root=DIR.
// Fields: image (channels x height x width of the model's input, u8, scale 255) and label. Parameters:
//   size=HxW             the size, if the model's input is flat
//   resize=cover|stretch|N   so that it covers that size (default), to exactly it, or to a shorter side of N pixels
//   crop=center|random|area  what of it is taken in training; area: of 8 to 100 % of it, 3:4 to 4:3, resized; else the middle
//   pad=P                crop=random: with P pixels of black around
//   flip=yes|no          in training, half of the pictures are mirrored (default no)
//   mean=M, std=S        a floating input receives (pixel / scale - M) / S; one number, or one for each channel
//   threads=T            that decode (default: one per CPU); changes no bit
absl::StatusOr<DataSplits> open_images(const Uri& uri, const std::vector<Field>& inputs);

// `random:COUNT`: numbers that are functions of (seed, input, row): no file. Floating inputs are standard normal, integer ones
// uniform over the model's classes; INPUT=LOW:HIGH makes an input uniform in [LOW, HIGH). seed=K (default 0). To try and to measure.
absl::StatusOr<DataSplits> open_random(const Uri& uri, const std::vector<Field>& inputs);

// `text:FILE`: windows of a text, plain or gzip, one byte a number. Fields: text (the bytes of a window) and next (each one's
// successor), both as long as the model's first input of one axis. stride=N: from window to window (default: their length).
absl::StatusOr<DataSplits> open_text(const Uri& uri, const std::vector<Field>& inputs);

// Opens any of them by scheme. Error: an unknown scheme, with the list of known ones.
absl::StatusOr<DataSplits> open_data(const std::string& address, const std::vector<Field>& inputs);

}  // namespace mxc::io
