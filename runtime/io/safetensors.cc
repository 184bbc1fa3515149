// See safetensors.h. JSON is nlohmann's, used without exceptions.
#include "runtime/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/atomic_file.h"
#include "runtime/io/printable.h"
#include "runtime/io/read_file.h"

namespace mxc::io {
namespace {

using nlohmann::json;
using plan::DType;

constexpr uint64_t kLongestHeader = 100'000'000;
constexpr uint64_t kLongestPiece = 1 << 20;
constexpr char kMetadata[] = "__metadata__";

struct TypeName {
  const char* name;
  DType dtype;
};
constexpr TypeName kTypeNames[] = {{"F32", DType::f32},   {"F64", DType::f64}, {"F16", DType::f16},
                                   {"BF16", DType::bf16}, {"I8", DType::i8},   {"U8", DType::u8},
                                   {"I32", DType::i32},   {"I64", DType::i64}, {"BOOL", DType::boolean}};

absl::Status fault(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

// Parses the header, refusing a name that appears twice (JSON itself would keep the last).
absl::StatusOr<json> parse_header(const std::string& path, const std::string& text) {
  std::set<std::string> seen;
  std::string doubled;
  const json header = json::parse(
      text,
      [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth == 1 && event == json::parse_event_t::key && !seen.insert(parsed.get<std::string>()).second) {
          doubled = parsed.get<std::string>();
        }
        return true;
      },
      /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) return fault(path, "byte 8: the header is no JSON object");
  if (!doubled.empty()) return fault(path, absl::StrCat("tensor '", doubled, "' is there twice"));
  return header;
}

absl::Status read_metadata(const std::string& path, const json& entry, TensorFile* file) {
  if (!entry.is_object()) return fault(path, "the metadata are no object");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return fault(path, absl::StrCat("metadata '", key, "' is no string"));
    file->metadata[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

// Dtype and shape of an entry, and its bytes by them.
absl::StatusOr<uint64_t> read_type(const std::string& place, const json& entry, Tensor* tensor) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry["dtype"].is_string() ||
      !entry["shape"].is_array()) {
    return fault(place, "dtype, shape or data_offsets are missing");
  }
  const std::string type = entry["dtype"].get<std::string>();
  const TypeName* found =
      std::find_if(std::begin(kTypeNames), std::end(kTypeNames), [&](const TypeName& t) { return type == t.name; });
  if (found == std::end(kTypeNames)) return absl::UnimplementedError(absl::StrCat(place, ": dtype ", type));
  tensor->dtype = found->dtype;
  uint64_t bytes = core::dtype_bytes(tensor->dtype);
  for (const json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned()) return fault(place, "the shape holds something that is no size");
    const uint64_t value = extent.get<uint64_t>();
    if (value != 0 && bytes > std::numeric_limits<int64_t>::max() / value) return fault(place, "the shape is impossible");
    bytes *= value;
    tensor->shape.push_back(static_cast<int64_t>(value));
  }
  return bytes;
}

struct Range {
  uint64_t begin, end;
  size_t tensor;
};

absl::StatusOr<Range> read_range(const std::string& place, const json& entry, uint64_t bytes, uint64_t data_bytes) {
  if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2 ||
      !entry["data_offsets"][0].is_number_unsigned() || !entry["data_offsets"][1].is_number_unsigned()) {
    return fault(place, "data_offsets must be two sizes");
  }
  const Range range{entry["data_offsets"][0].get<uint64_t>(), entry["data_offsets"][1].get<uint64_t>(), 0};
  if (range.begin > range.end || range.end - range.begin != bytes) {
    return fault(place, absl::StrCat("data_offsets [", range.begin, ", ", range.end, "] do not hold the ", bytes,
                                     " bytes of its dtype and shape"));
  }
  if (range.end > data_bytes) {
    return fault(place, absl::StrCat("its data end at byte ", range.end, ", the file has only ", data_bytes, " bytes of data"));
  }
  return range;
}

// The ranges, sorted, must follow each other without gap or overlap to the end of the file.
absl::Status check_cover(const std::string& path, const TensorFile& file, std::vector<Range> ranges, uint64_t data_bytes) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  uint64_t at = 0;
  for (const Range& range : ranges) {
    if (range.begin != at) {
      return fault(path, absl::StrCat("tensor '", file.tensors[range.tensor].name, "': its data start at byte ", range.begin,
                                      range.begin < at ? ", inside another tensor's" : ", after a gap", "; expected ", at));
    }
    at = range.end;
  }
  if (at != data_bytes)
    return fault(path, absl::StrCat("byte ", at, " of the data: ", data_bytes - at, " bytes belong to no tensor"));
  return absl::OkStatus();
}

// As few pieces as keep a piece below kLongestPiece, or one if its bytes are there.
void add_pieces(const Tensor& tensor, std::vector<Piece>* pieces) {
  const uint64_t bytes = tensor.size(), step = std::max<uint64_t>(1, kLongestPiece / tensor.part) * tensor.part;
  if (tensor.read == nullptr) return pieces->push_back({tensor.bytes.data(), bytes});
  for (uint64_t begin = 0; begin < bytes; begin += step) {
    const uint64_t size = std::min(step, bytes - begin);
    pieces->push_back({nullptr, size, [&tensor, begin, size](void* out) { return tensor.read(begin, size, out); }});
  }
}

}  // namespace

const Tensor* TensorFile::find(const std::string& name) const {
  for (const Tensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::StatusOr<TensorFile> read_safetensors(const std::string& path) {
  auto opened = OpenFile::open(path);
  if (!opened.ok()) return opened.status();
  const std::shared_ptr<const OpenFile> source = *std::move(opened);
  uint64_t length = 0;
  if (source->size() < 8) return fault(path, absl::StrCat("byte ", source->size(), ": the file ends early"));
  if (absl::Status status = source->read(0, 8, &length); !status.ok()) return status;
  if (length > kLongestHeader) return fault(path, "byte 0: this is no safetensors file");
  if (length > source->size() - 8) return fault(path, absl::StrCat("byte ", source->size(), ": the header ends early"));
  std::string text(length, '\0');
  if (absl::Status status = source->read(8, length, text.data()); !status.ok()) return status;
  auto header = parse_header(path, text);
  if (!header.ok()) return header.status();

  const uint64_t data = 8 + length, data_bytes = source->size() - data;
  TensorFile file;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header->items()) {
    if (name == kMetadata) {
      if (absl::Status status = read_metadata(path, entry, &file); !status.ok()) return status;
      continue;
    }
    const std::string place = absl::StrCat(path, ": tensor '", name, "'");
    Tensor tensor;
    tensor.name = name;
    auto size = read_type(place, entry, &tensor);
    if (!size.ok()) return size.status();
    auto range = read_range(place, entry, *size, data_bytes);
    if (!range.ok()) return range.status();
    tensor.read = [source, at = data + range->begin](uint64_t begin, uint64_t size, void* out) { return source->read(at + begin, size, out); };
    range->tensor = file.tensors.size();
    ranges.push_back(*range);
    file.tensors.push_back(std::move(tensor));
  }
  if (absl::Status status = check_cover(path, file, std::move(ranges), data_bytes); !status.ok()) return status;
  return file;
}

absl::Status Tensor::get(uint64_t begin, uint64_t size, void* out) const {
  if (read != nullptr) return read(begin, size, out);
  std::memcpy(out, bytes.data() + begin, size);
  return absl::OkStatus();
}

absl::Status Tensor::hold() {
  if (read == nullptr) return absl::OkStatus();
  bytes.resize(size());
  if (absl::Status status = read(0, bytes.size(), bytes.data()); !status.ok()) return status;
  read = nullptr;
  return absl::OkStatus();
}

uint64_t Tensor::size() const {
  uint64_t size = core::dtype_bytes(dtype);
  for (int64_t extent : shape) size *= static_cast<uint64_t>(extent);
  return size;
}

absl::Status write_safetensors(const std::string& path, const TensorFile& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::vector<Piece> pieces(2);
  uint64_t at = 0;
  for (const Tensor& tensor : file.tensors) {
    if (!is_utf8(tensor.name)) return fault(path, absl::StrCat("the name '", printable(tensor.name, kMostShown), "' is no UTF-8"));
    if (tensor.name == kMetadata) return fault(path, absl::StrCat("a tensor cannot be called '", kMetadata, "'"));
    if (header.contains(tensor.name)) return fault(path, absl::StrCat("two tensors are called '", tensor.name, "'"));
    const char* type = "";
    for (const TypeName& entry : kTypeNames) {
      if (entry.dtype == tensor.dtype) type = entry.name;
    }
    header[tensor.name] = {{"dtype", type}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.size()}}};
    at += tensor.size();
    add_pieces(tensor, &pieces);
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // the data start at a multiple of 8
  const uint64_t length = text.size();
  pieces[0] = {&length, 8};
  pieces[1] = {text.data(), text.size()};
  return write_file_atomically(path, pieces);
}

}  // namespace mxc::io
