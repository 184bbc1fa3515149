// CIFAR-10 and CIFAR-100, binary version: records of one label byte (CIFAR-100: coarse, then fine) and 3072 bytes of a picture,
// channel by channel, row by row.
#include "absl/strings/str_cat.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/io/table.h"

namespace mxc::io {
namespace {

constexpr int64_t kPictureBytes = 3 * 32 * 32;

// One record byte or picture of every record, taken out of the files' bytes. `at`: its first byte in a record.
Column make_column(const char* name, std::vector<int64_t> shape, const std::vector<std::string>& paths,
                   const std::vector<std::string>& files, int64_t record, int64_t at) {
  Column column;
  column.name = name;
  column.shape = std::move(shape);
  const int64_t elements = column.elements();
  std::vector<int64_t> first_rows;
  int64_t rows = 0;
  for (const std::string& file : files) {
    first_rows.push_back(rows);
    const int64_t count = static_cast<int64_t>(file.size()) / record;
    for (int64_t i = 0; i < count; ++i) column.bytes.append(file, i * record + at, elements);
    rows += count;
  }
  column.place = [=](int64_t row, int64_t element) {
    size_t file = 0;
    while (file + 1 < first_rows.size() && first_rows[file + 1] <= row) ++file;
    return absl::StrCat(paths[file], ": byte ", (row - first_rows[file]) * record + at + element);
  };
  return column;
}

absl::StatusOr<std::unique_ptr<Dataset>> open_files(const Uri& uri, const std::vector<Field>& inputs,
                                                    std::vector<std::string> paths, bool fine, double scale) {
  const int64_t labels = fine ? 2 : 1;
  const int64_t record = labels + kPictureBytes;
  std::vector<std::string> files;
  for (std::string& path : paths) {
    if (!file_exists(path) && file_exists(path + ".gz")) path += ".gz";
    auto bytes = read_file_unpacked(path);
    if (!bytes.ok()) return bytes.status();
    if (bytes->empty() || bytes->size() % record != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": byte ", bytes->size(), ": the file ends inside a record; records have ", record, " bytes"));
    }
    files.push_back(*std::move(bytes));
  }
  std::vector<Column> columns;
  columns.push_back(make_column("image", {3, 32, 32}, paths, files, record, labels));
  columns.back().divisor = scale;
  columns.push_back(make_column("label", {}, paths, files, record, labels - 1));
  // Left out unless asked for, so that `label` stays the only candidate for an input of another name.
  bool coarse = false;
  for (const auto& [key, value] : uri.parameters) coarse |= value == "coarse_label";
  for (const Field& input : inputs) coarse |= input.name == "coarse_label";
  if (fine && coarse) columns.push_back(make_column("coarse_label", {}, paths, files, record, 0));
  return make_table(uri, {"scale", "holdout", "holdout_seed"}, inputs, std::move(columns));
}

}  // namespace

absl::StatusOr<DataSplits> open_cifar(const Uri& uri, const std::vector<Field>& inputs) {
  auto scale = scale_of(uri, 255);
  if (!scale.ok()) return scale.status();
  const bool fine = uri.scheme == "cifar100";
  std::vector<std::string> train_paths, test_paths;
  if (fine) {
    train_paths = {uri.path + "/train.bin"};
    test_paths = {uri.path + "/test.bin"};
  } else {
    for (int i = 1; i <= 5; ++i) train_paths.push_back(absl::StrCat(uri.path, "/data_batch_", i, ".bin"));
    test_paths = {uri.path + "/test_batch.bin"};
  }
  auto train = open_files(uri, inputs, train_paths, fine, *scale);
  if (!train.ok()) return train.status();
  auto splits = hold_out(uri, *std::move(train));
  if (!splits.ok() || splits->test != nullptr) return splits;
  if (!file_exists(test_paths[0]) && !file_exists(test_paths[0] + ".gz")) return splits;
  auto test = open_files(uri, inputs, test_paths, fine, *scale);
  if (!test.ok()) return test.status();
  splits->test = *std::move(test);
  return splits;
}

}  // namespace mxc::io
