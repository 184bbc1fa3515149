// Arrays in files: NumPy's formats and safetensors, written whole or not at all.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/io/atomic_file.h"
#include "runtime/io/npz.h"
#include "runtime/io/read_file.h"
#include "runtime/io/safetensors.h"
#include "runtime/ndarray/copy.h"

namespace mxc {

using namespace ndarray;

namespace {

constexpr uint64_t kMostInArchive = uint64_t{1} << 32;

// The values of an array, row-major.
io::NpyArray values_of(const NDArray& array, Here here) {
  NDArray plain = as_run(array, "save", here);
  plain.wait(here);
  const Array& a = *Access::peek(plain);
  io::NpyArray values{a.dtype, a.shape.vector(), std::string()};
  const int64_t bytes = bytes_of(a.dtype);
  if (a.elements > 0) values.bytes.assign(static_cast<const char*>(a.chunk->memory) + a.offset * bytes, static_cast<size_t>(a.elements * bytes));
  return values;
}

void check_numpy_has(const std::string& path, const Array& array, Here here) {
  if (array.dtype != plan::DType::bf16) return;
  fail("save", absl::StrCat(path, ": NumPy's formats have no bf16: cast to f32, or save as .safetensors"), here);
}

NDArray array_of(const std::string& path, plan::DType dtype, const std::vector<int64_t>& extents, const std::string& bytes, Here here) {
  if (extents.size() > plan::kMaxRank) fail("load", absl::StrCat(path, ": an array has ", extents.size(), " axes: at most ", plan::kMaxRank), here);
  return new_filled("load", dtype, Dims(extents), bytes.data(), here);
}

template <typename T>
T value_or_throw(absl::StatusOr<T> value, Here here) {
  if (!value.ok()) fail("load", std::string(value.status().message()), here);
  return *std::move(value);
}

void write(const std::string& path, const std::string& bytes, Here here) {
  const absl::Status status = io::write_file_atomically(path, {{bytes.data(), bytes.size()}});
  if (!status.ok()) fail("save", std::string(status.message()), here);
}

void check_names(const std::string& path, const NamedArrays& arrays, Here here) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].first.empty()) fail("save", absl::StrCat(path, ": an array without a name"), here);
    for (size_t j = 0; j < i; ++j) {
      if (arrays[i].first == arrays[j].first) fail("save", absl::StrCat(path, ": two arrays are called '", arrays[i].first, "'"), here);
    }
  }
}

void save_npz(const std::string& path, const NamedArrays& arrays, Here here) {
  std::vector<std::pair<std::string, io::NpyArray>> entries;
  uint64_t bytes = 0;
  for (const auto& [name, array] : arrays) {
    check_numpy_has(path, get(array, "save", here), here);
    entries.emplace_back(name, values_of(array, here));
    bytes += entries.back().second.bytes.size() + 1024;
  }
  if (bytes >= kMostInArchive) fail("save", absl::StrCat(path, ": an .npz file holds less than 4 GiB: save as .safetensors"), here);
  const absl::StatusOr<std::string> archive = io::npz_bytes(entries, path);
  if (!archive.ok()) fail("save", std::string(archive.status().message()), here);
  write(path, *archive, here);
}

void save_safetensors(const std::string& path, const NamedArrays& arrays, Here here) {
  io::TensorFile file;
  for (const auto& [name, array] : arrays) {
    io::NpyArray values = values_of(array, here);
    file.tensors.push_back({name, values.dtype, std::move(values.shape), std::move(values.bytes)});
  }
  const absl::Status status = io::write_safetensors(path, file);
  if (!status.ok()) fail("save", std::string(status.message()), here);
}

}  // namespace

void save(const std::string& path, const NDArray& array, Here here) {
  if (!absl::EndsWith(path, ".npy")) fail("save", absl::StrCat(path, ": one array without a name is saved as .npy"), here);
  check_numpy_has(path, get(array, "save", here), here);
  write(path, io::npy_bytes(values_of(array, here)), here);
}

void save(const std::string& path, const NamedArrays& arrays, Here here) {
  check_names(path, arrays, here);
  if (absl::EndsWith(path, ".npz")) return save_npz(path, arrays, here);
  if (absl::EndsWith(path, ".safetensors")) return save_safetensors(path, arrays, here);
  fail("save", absl::StrCat(path, ": named arrays are saved as .npz or .safetensors"), here);
}

NamedArrays load_arrays(const std::string& path, Here here) {
  NamedArrays arrays;
  if (absl::EndsWith(path, ".npz")) {
    for (auto& [name, values] : value_or_throw(io::read_npz(path), here)) {
      arrays.emplace_back(name, array_of(path, values.dtype, values.shape, values.bytes, here));
    }
    return arrays;
  }
  if (absl::EndsWith(path, ".safetensors")) {
    io::TensorFile file = value_or_throw(io::read_safetensors(path), here);
    for (io::Tensor& tensor : file.tensors) {
      if (const absl::Status status = tensor.hold(); !status.ok()) fail("load", std::string(status.message()), here);
      arrays.emplace_back(tensor.name, array_of(path, tensor.dtype, tensor.shape, tensor.bytes, here));
    }
    return arrays;
  }
  fail("load", absl::StrCat(path, ": the name must end with .npz or .safetensors (.npy: NDArray::load)"), here);
}

NDArray NDArray::load(const std::string& path, const std::string& name, Here here) {
  if (absl::EndsWith(path, ".npy")) {
    if (!name.empty()) fail("load", absl::StrCat(path, ": its array has no name, such as '", name, "'"), here);
    const io::NpyArray values = value_or_throw(io::parse_npy(value_or_throw(io::read_file(path), here), path), here);
    return array_of(path, values.dtype, values.shape, values.bytes, here);
  }
  NamedArrays arrays = load_arrays(path, here);
  if (name.empty() && arrays.size() == 1) return arrays[0].second;
  std::vector<std::string> names;
  for (const auto& [found, array] : arrays) {
    if (found == name) return array;
    names.push_back(absl::StrCat("'", found, "'"));
  }
  const std::string asked = name.empty() ? "several arrays, and no name was given" : absl::StrCat("no array '", name, "'");
  fail("load", absl::StrCat(path, ": ", asked, "; there are ", names.empty() ? "none" : absl::StrJoin(names, ", ")), here);
}

}  // namespace mxc
