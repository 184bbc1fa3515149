// See initial_files.h.
#include "runtime/io/initial_files.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/dataset.h"
#include "runtime/io/npz.h"
#include "runtime/io/program_tensors.h"
#include "runtime/io/read_file.h"
#include "runtime/io/safetensors.h"

namespace mxc::io {
namespace {

// What a file holds, by name; an error stands for an array of a kind that is not read.
using SharedTensor = std::shared_ptr<const Tensor>;
using Tensors = std::map<std::string, absl::StatusOr<SharedTensor>>;

SharedTensor tensor_of(std::string name, NpyArray array) {
  return std::make_shared<Tensor>(Tensor{std::move(name), array.dtype, std::move(array.shape), std::move(array.bytes)});
}

absl::StatusOr<Tensors> read_tensors(const std::string& path) {
  Tensors tensors;
  if (absl::EndsWith(path, ".npy")) {
    auto bytes = read_file(path);
    if (!bytes.ok()) return bytes.status();
    auto array = parse_npy(*bytes, path);
    if (!array.ok()) return array.status();
    tensors.emplace("", tensor_of("", *std::move(array)));
  } else if (absl::EndsWith(path, ".npz")) {
    auto entries = read_npz_entries(path);
    if (!entries.ok()) return entries.status();
    for (NpzEntry& entry : *entries) {
      if (entry.array.ok()) tensors.emplace(entry.name, tensor_of(entry.name, *std::move(entry.array)));
      else tensors.emplace(entry.name, entry.array.status());
    }
  } else {
    auto file = read_safetensors(path);
    if (!file.ok()) return file.status();
    for (Tensor& tensor : file->tensors) {
      const std::string name = tensor.name;
      tensors.emplace(name, std::make_shared<Tensor>(std::move(tensor)));
    }
  }
  return tensors;
}

absl::StatusOr<SharedTensor> find(const plan::Buffer& buffer, const std::string& path, const std::string& tensor,
                                  const absl::StatusOr<Tensors>& tensors) {
  if (!tensors.ok()) return tensors.status();
  const auto found = tensors->find(tensor);
  if (found == tensors->end()) return absl::InvalidArgumentError(absl::StrCat(path, ": there is no tensor '", tensor, "' in it"));
  if (!found->second.ok()) return found->second.status();
  const Tensor& given = **found->second;
  const std::vector<int64_t> shape = shape_of(buffer);
  if (given.dtype != buffer.dtype || given.shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", tensor.empty() ? "the array" : absl::StrCat("tensor '", tensor, "'"), " is ",
                                                   described(given.dtype, given.shape), ", the parameter is ",
                                                   described(buffer.dtype, shape)));
  }
  return found->second;
}

}  // namespace

absl::StatusOr<std::vector<std::pair<uint32_t, SharedTensor>>> read_initial_files(const core::PlanView& view) {
  std::vector<std::pair<uint32_t, SharedTensor>> given;
  std::map<std::string, absl::StatusOr<Tensors>> files;
  for (uint32_t index : view.parameters()) {
    const plan::Buffer& buffer = view.buffer(index);
    const std::string name = view.text(buffer.name), path = program_fact(view, absl::StrCat("init_file:", name).c_str());
    if (path.empty()) continue;
    auto file = files.find(path);
    if (file == files.end()) file = files.emplace(path, read_tensors(path)).first;
    const bool single = absl::EndsWith(path, ".npy");
    const std::string tensor = single ? "" : program_fact(view, absl::StrCat("init_tensor:", name).c_str(), name.c_str());
    auto found = find(buffer, path, tensor, file->second);
    if (!found.ok()) {
      return absl::Status(found.status().code(),
                          absl::StrCat("parameter '", name, "' begins with a file: ", found.status().message()));
    }
    given.emplace_back(index, *std::move(found));
  }
  return given;
}

}  // namespace mxc::io
