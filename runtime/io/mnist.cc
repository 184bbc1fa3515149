// MNIST and its kin (Fashion-MNIST, EMNIST digits): pairs of IDX files. An IDX file is a big-endian header (two zero bytes, a
// type code, the rank, then each extent as u32) followed by the numbers; here the type is always u8.
#include "absl/strings/str_cat.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/io/table.h"

namespace mxc::io {
namespace {

constexpr int64_t kLargestExtent = 1 << 15;  // rows or columns of a picture; keeps sizes far from overflow

uint32_t big_endian(const std::string& bytes, size_t at) {
  const unsigned char* p = reinterpret_cast<const unsigned char*>(bytes.data()) + at;
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

// The file `name` or `name.gz` in a directory; empty if neither is there.
std::string find_file(const std::string& directory, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    const std::string path = absl::StrCat(directory, "/", name, suffix);
    if (file_exists(path)) return path;
  }
  return "";
}

// Reads an IDX file of u8 numbers with a given rank; the first axis is the samples.
absl::StatusOr<Column> read_idx(const std::string& path, uint32_t rank, const char* field) {
  auto bytes = read_file_unpacked(path);
  if (!bytes.ok()) return bytes.status();
  const size_t header = 4 + 4 * rank;
  const uint32_t magic = 0x800 + rank;
  if (bytes->size() < 4 || big_endian(*bytes, 0) != magic) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": byte 0: wrong magic number, expected 0x", absl::Hex(magic, absl::kZeroPad8),
                     bytes->size() < 4 ? "" : absl::StrCat(", found 0x", absl::Hex(big_endian(*bytes, 0), absl::kZeroPad8))));
  }
  if (bytes->size() < header)
    return absl::InvalidArgumentError(absl::StrCat(path, ": byte ", bytes->size(), ": the header ends early"));
  std::vector<int64_t> shape;
  if (rank > 1) shape = {1, big_endian(*bytes, 8), big_endian(*bytes, 12)};
  for (int64_t extent : shape) {
    if (extent > kLargestExtent)
      return absl::InvalidArgumentError(absl::StrCat(path, ": byte 8: pictures of impossible size ", shape_text(shape)));
  }
  uint64_t expected = header + big_endian(*bytes, 4);
  if (rank > 1) expected = header + uint64_t{big_endian(*bytes, 4)} * static_cast<uint64_t>(shape[1] * shape[2]);
  if (bytes->size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": byte ", bytes->size(), ": the file should end at byte ", expected));
  }
  Column column;
  column.name = field;
  column.shape = shape;
  column.bytes = bytes->substr(header);
  const int64_t elements = column.elements();
  column.place = [path, header, elements](int64_t row, int64_t element) {
    return absl::StrCat(path, ": byte ", header + row * elements + element);
  };
  return column;
}

absl::StatusOr<std::unique_ptr<Dataset>> open_pair(const Uri& uri, const std::vector<Field>& inputs, const std::string& images,
                                                   const std::string& labels, double scale) {
  auto image = read_idx(images, 3, "image");
  if (!image.ok()) return image.status();
  auto label = read_idx(labels, 1, "label");
  if (!label.ok()) return label.status();
  image->divisor = scale;
  std::vector<Column> columns;
  columns.push_back(*std::move(image));
  columns.push_back(*std::move(label));
  return make_table(uri, {"scale", "holdout", "holdout_seed"}, inputs, std::move(columns));
}

}  // namespace

absl::StatusOr<DataSplits> open_mnist(const Uri& uri, const std::vector<Field>& inputs) {
  auto scale = scale_of(uri, 255);
  if (!scale.ok()) return scale.status();
  std::string paths[4];
  const char* const names[4] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                "t10k-labels-idx1-ubyte"};
  for (int i = 0; i < 4; ++i) {
    paths[i] = find_file(uri.path, names[i]);
    const bool needed = i < 2 || (i == 3 && !paths[2].empty());
    if (paths[i].empty() && needed) {
      return absl::InvalidArgumentError(absl::StrCat(uri.path, "/", names[i], ": no such file, with or without .gz"));
    }
  }
  auto train = open_pair(uri, inputs, paths[0], paths[1], *scale);
  if (!train.ok()) return train.status();
  auto splits = hold_out(uri, *std::move(train));
  if (!splits.ok() || splits->test != nullptr || paths[2].empty()) return splits;
  auto test = open_pair(uri, inputs, paths[2], paths[3], *scale);
  if (!test.ok()) return test.status();
  splits->test = *std::move(test);
  return splits;
}

}  // namespace mxc::io
