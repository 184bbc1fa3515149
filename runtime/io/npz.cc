// See npz.h. The zip part reads the central directory at the end of the file, which holds the true sizes (zip64 included).
#include "runtime/io/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/dataset.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/printable.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/io/table.h"

namespace mxc::io {
namespace {

using plan::DType;

constexpr char kNpyMagic[] = "\x93NUMPY";
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndOfDirectory = 0x06054b50;
constexpr uint32_t kZip64End = 0x06064b50, kZip64Locator = 0x07064b50;

template <typename T>
T load(const std::string& bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void store(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

absl::Status damaged(const std::string& place, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

struct TypeCode {
  const char* code;
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {{"<f4", DType::f32}, {"<f8", DType::f64},     {"<f2", DType::f16}, {"|u1", DType::u8},
                                   {"|i1", DType::i8},  {"|b1", DType::boolean}, {"<i4", DType::i32}, {"<i8", DType::i64}};

// How the numbers lie in the file.
struct Stored {
  bool fortran = false, big_endian = false;
};

// The text after `'key':` in the header's dictionary, from the first character that is no blank.
std::string value_after(const std::string& header, const std::string& key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) return "";
  at = header.find(':', at);
  if (at == std::string::npos) return "";
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? "" : header.substr(at);
}

absl::Status parse_header(const std::string& header, const std::string& place, NpyArray* array, Stored* stored) {
  const std::string type = value_after(header, "descr");
  if (!type.empty() && type[0] == '[') {
    const std::string fields = type.substr(0, type.find(']') + 1);
    return absl::UnimplementedError(
        absl::StrCat(place, ": NumPy type ", printable(fields, kMostShown), ", a record; save its fields as arrays of their own"));
  }
  const std::string order = value_after(header, "fortran_order"), shape = value_after(header, "shape");
  const size_t close = shape.find(')');
  if (type.size() < 3 || order.empty() || shape.empty() || shape[0] != '(' || close == std::string::npos) {
    return damaged(place, "the NPY header is damaged");
  }
  std::string code = type[0] == '\'' ? type.substr(1, type.find('\'', 1) - 1) : type.substr(0, type.find(','));
  const std::string as_given = code;
  stored->big_endian = code[0] == '>';
  if (stored->big_endian) code[0] = '<';
  bool known = false;
  for (const TypeCode& entry : kTypeCodes) {
    if (code != entry.code) continue;
    array->dtype = entry.dtype;
    known = true;
  }
  if (!known)
    return absl::UnimplementedError(
        absl::StrCat(place, ": NumPy type '", printable(as_given, kMostShown), "'; supported: f4 f8 f2 u1 i1 b1 i4 i8"));
  stored->fortran = order.rfind("True", 0) == 0;

  uint64_t elements = 1;
  size_t at = 1;
  while (at < close) {
    const size_t stop = std::min(shape.find(',', at), close);
    const std::string part = shape.substr(at, stop - at);
    at = stop + 1;
    if (part.find_first_not_of(' ') == std::string::npos) continue;
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0)
      return damaged(place, absl::StrCat("the NPY header has a bad shape '", printable(part, kMostShown), "'"));
    array->shape.push_back(extent);
    // An extent of 0 counts as 1: the other extents alone must make a size that can be.
    const uint64_t factor = std::max<uint64_t>(1, static_cast<uint64_t>(extent));
    if (elements > std::numeric_limits<int64_t>::max() / 16 / factor)
      return damaged(place, "the NPY header has an impossible shape");
    elements *= factor;
  }
  return absl::OkStatus();
}

// The elements of `array`, row-major, from those in Fortran's order: the first axis runs fastest.
void order_by_rows(NpyArray* array) {
  const size_t bytes = static_cast<size_t>(core::dtype_bytes(array->dtype)), rank = array->shape.size();
  std::string rows(array->bytes.size(), '\0');
  std::vector<int64_t> at(rank, 0);  // the indices of the element that comes next in the file
  for (size_t source = 0; source < rows.size(); source += bytes) {
    int64_t place = 0;
    for (size_t axis = 0; axis < rank; ++axis) place = place * array->shape[axis] + at[axis];
    std::memcpy(&rows[static_cast<size_t>(place) * bytes], &array->bytes[source], bytes);
    for (size_t axis = 0; axis < rank && ++at[axis] == array->shape[axis]; ++axis) at[axis] = 0;
  }
  array->bytes = std::move(rows);
}

void swap_bytes(NpyArray* array) {
  const auto bytes = static_cast<int64_t>(core::dtype_bytes(array->dtype));
  for (auto element = array->bytes.begin(); element != array->bytes.end(); element += bytes) std::reverse(element, element + bytes);
}

struct Entry {
  std::string name;
  uint16_t method;
  uint32_t crc;
  uint64_t packed, unpacked, header;
};

// Where the central directory starts and how many entries it has.
absl::Status find_directory(const std::string& file, const std::string& path, uint64_t* start, uint64_t* count) {
  const uint32_t magic = file.size() < 22 ? 0 : load<uint32_t>(file, 0);
  // An archive without entries is its end alone.
  if (magic != kLocalHeader && magic != kEndOfDirectory) return damaged(path, "byte 0: this is not an NPZ (zip) file");
  uint64_t end = file.size() - 22;
  while (load<uint32_t>(file, end) != kEndOfDirectory) {
    if (end == 0 || file.size() - end > 22 + 65535)
      return damaged(path, absl::StrCat("byte ", file.size(), ": the archive ends early"));
    --end;
  }
  *count = load<uint16_t>(file, end + 10);
  *start = load<uint32_t>(file, end + 16);
  if (end < 20 || load<uint32_t>(file, end - 20) != kZip64Locator) return absl::OkStatus();
  const uint64_t wide = load<uint64_t>(file, end - 20 + 8);
  if (file.size() < 56 || wide > file.size() - 56 || load<uint32_t>(file, wide) != kZip64End)
    return damaged(path, "the zip64 directory is damaged");
  *count = load<uint64_t>(file, wide + 32);
  *start = load<uint64_t>(file, wide + 48);
  return absl::OkStatus();
}

// Takes the 64-bit values from the extra field for those that the record gives as 0xffffffff.
void widen(const std::string& file, uint64_t at, uint64_t end, Entry* entry) {
  while (at + 4 <= end) {
    const uint16_t id = load<uint16_t>(file, at), size = load<uint16_t>(file, at + 2);
    uint64_t value = at + 4;
    at = value + size;
    if (id != 1 || at > end) continue;
    for (uint64_t* field : {&entry->unpacked, &entry->packed, &entry->header}) {
      if (*field != 0xffffffffu || value + 8 > at) continue;
      *field = load<uint64_t>(file, value);
      value += 8;
    }
  }
}

absl::StatusOr<std::vector<Entry>> read_directory(const std::string& file, const std::string& path) {
  uint64_t at = 0, count = 0;
  if (absl::Status status = find_directory(file, path, &at, &count); !status.ok()) return status;
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    if (at > file.size() || file.size() - at < 46 || load<uint32_t>(file, at) != kCentralHeader) {
      return damaged(path, absl::StrCat("byte ", at, ": the zip directory is damaged"));
    }
    const uint64_t name = at + 46, extra = name + load<uint16_t>(file, at + 28), comment = extra + load<uint16_t>(file, at + 30);
    const uint64_t next = comment + load<uint16_t>(file, at + 32);
    if (next > file.size()) return damaged(path, absl::StrCat("byte ", at, ": the zip directory is damaged"));
    Entry entry{file.substr(name, extra - name), load<uint16_t>(file, at + 10), load<uint32_t>(file, at + 16),
                load<uint32_t>(file, at + 20),   load<uint32_t>(file, at + 24), load<uint32_t>(file, at + 42)};
    widen(file, extra, comment, &entry);
    entries.push_back(std::move(entry));
    at = next;
  }
  return entries;
}

absl::StatusOr<std::string> read_entry(const std::string& file, const Entry& entry, const std::string& place) {
  if (entry.header > file.size() || file.size() - entry.header < 30 || load<uint32_t>(file, entry.header) != kLocalHeader) {
    return damaged(place, absl::StrCat("byte ", entry.header, ": the entry's header is damaged"));
  }
  const uint64_t data = entry.header + 30 + load<uint16_t>(file, entry.header + 26) + load<uint16_t>(file, entry.header + 28);
  if (data > file.size() || entry.packed > file.size() - data)
    return damaged(place, absl::StrCat("byte ", file.size(), ": the entry ends early"));
  std::string out;
  if (entry.method == 0) {
    if (entry.packed != entry.unpacked) return damaged(place, "the entry's sizes contradict each other");
    out = file.substr(data, entry.packed);
  } else if (entry.method == 8) {
    auto unpacked = inflate_raw(file.data() + data, entry.packed, entry.unpacked, place);
    if (!unpacked.ok()) return unpacked.status();
    out = *std::move(unpacked);
  } else {
    return absl::UnimplementedError(absl::StrCat(place, ": zip compression method ", entry.method, "; supported: stored, deflate"));
  }
  if (crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) != entry.crc)
    return damaged(place, "the checksum is wrong");
  return out;
}

}  // namespace

absl::StatusOr<NpyArray> parse_npy(const std::string& bytes, const std::string& place) {
  if (bytes.size() < 12 || std::memcmp(bytes.data(), kNpyMagic, 6) != 0)
    return damaged(place, "byte 0: wrong magic, this is no NPY array");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) return absl::UnimplementedError(absl::StrCat(place, ": NPY version ", version));
  const uint64_t text = version == 1 ? 10 : 12;
  const uint64_t length = version == 1 ? load<uint16_t>(bytes, 8) : load<uint32_t>(bytes, 8);
  if (length > bytes.size() - text) return damaged(place, absl::StrCat("byte ", bytes.size(), ": the NPY header ends early"));
  NpyArray array;
  Stored stored;
  if (absl::Status status = parse_header(bytes.substr(text, length), place, &array, &stored); !status.ok()) return status;
  uint64_t expected = core::dtype_bytes(array.dtype);
  for (int64_t extent : array.shape) expected *= static_cast<uint64_t>(extent);
  if (bytes.size() - text - length != expected) {
    return damaged(place, absl::StrCat("byte ", bytes.size(), ": the array should end at byte ", text + length + expected));
  }
  array.bytes = bytes.substr(text + length);
  if (stored.fortran && array.shape.size() > 1) order_by_rows(&array);
  if (stored.big_endian) swap_bytes(&array);
  return array;
}

absl::StatusOr<std::vector<NpzEntry>> read_npz_entries(const std::string& path) {
  auto file = read_file(path);
  if (!file.ok()) return file.status();
  auto entries = read_directory(*file, path);
  if (!entries.ok()) return entries.status();
  std::vector<NpzEntry> arrays;
  std::set<std::string> names;
  for (const Entry& entry : *entries) {
    const std::string name = entry.name.substr(0, entry.name.rfind(".npy"));
    const std::string place = absl::StrCat(path, ": array '", printable(name, kMostShown), "'");
    auto bytes = read_entry(*file, entry, place);
    if (!absl::EndsWith(entry.name, ".npy") && !(bytes.ok() && absl::StartsWith(*bytes, kNpyMagic))) continue;  // another file
    if (!names.insert(name).second) return damaged(path, absl::StrCat("two arrays are called '", printable(name, kMostShown), "'"));
    auto array = bytes.ok() ? parse_npy(*bytes, place) : bytes.status();
    if (!array.ok() && array.status().code() != absl::StatusCode::kUnimplemented) return array.status();
    arrays.push_back({name, std::move(array)});
  }
  return arrays;
}

absl::StatusOr<std::vector<std::pair<std::string, NpyArray>>> read_npz(const std::string& path) {
  auto entries = read_npz_entries(path);
  if (!entries.ok()) return entries.status();
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (NpzEntry& entry : *entries) {
    if (!entry.array.ok()) return entry.array.status();
    arrays.emplace_back(entry.name, *std::move(entry.array));
  }
  return arrays;
}

std::string npy_bytes(const NpyArray& array) {
  const char* code = "<f4";
  for (const TypeCode& entry : kTypeCodes) {
    if (entry.dtype == array.dtype) code = entry.code;
  }
  std::string header = absl::StrCat("{'descr': '", code, "', 'fortran_order': False, 'shape': (", absl::StrJoin(array.shape, ", "),
                                    array.shape.size() == 1 ? ",), }" : "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');  // the numbers start at a multiple of 64
  header += '\n';
  std::string out(kNpyMagic, 6);
  out += '\x01';
  out += '\x00';
  store(&out, static_cast<uint16_t>(header.size()));
  return out + header + array.bytes;
}

absl::StatusOr<std::string> npz_bytes(const std::vector<std::pair<std::string, NpyArray>>& arrays, const std::string& path) {
  constexpr uint16_t kVersion = 20, kDate = (0 << 9) | (1 << 5) | 1, kNamesAreUtf8 = 1 << 11;
  constexpr size_t kMostNameBytes = 65535 - 4, kMostArrays = 65534;
  if (arrays.size() > kMostArrays) return damaged(path, absl::StrCat(arrays.size(), " arrays: an .npz file holds at most ", kMostArrays));
  std::string out, directory;
  for (const auto& [name, array] : arrays) {
    const std::string shown = printable(name, kMostShown);
    if (!is_utf8(name)) return damaged(path, absl::StrCat("the name '", shown, "' is no UTF-8"));
    if (name.size() > kMostNameBytes) {
      return damaged(path, absl::StrCat("the name '", shown, "' has ", name.size(), " bytes: an .npz file takes at most ", kMostNameBytes));
    }
    const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    const std::string entry = name + ".npy", data = npy_bytes(array);
    std::string facts;  // what the local and the central header share
    for (uint16_t value : {kVersion, ascii ? uint16_t{0} : kNamesAreUtf8, uint16_t{0}, uint16_t{0}, kDate}) store(&facts, value);
    store(&facts, static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size())));
    store(&facts, static_cast<uint32_t>(data.size()));
    store(&facts, static_cast<uint32_t>(data.size()));
    store(&facts, static_cast<uint16_t>(entry.size()));
    store(&facts, uint16_t{0});
    store(&directory, kCentralHeader);
    store(&directory, kVersion);
    directory += facts;
    directory.append(10, '\0');  // comment, disk, attributes
    store(&directory, static_cast<uint32_t>(out.size()));
    directory += entry;
    store(&out, kLocalHeader);
    out += facts + entry + data;
  }
  const uint32_t start = static_cast<uint32_t>(out.size());
  out += directory;
  store(&out, kEndOfDirectory);
  store(&out, uint32_t{0});
  store(&out, static_cast<uint16_t>(arrays.size()));
  store(&out, static_cast<uint16_t>(arrays.size()));
  store(&out, static_cast<uint32_t>(directory.size()));
  store(&out, start);
  store(&out, uint16_t{0});
  return out;
}

namespace {

// Is the array of this name one that an input takes? An optional input takes it only if the address says so.
bool is_asked_for(const Uri& uri, const std::vector<Field>& inputs, const std::string& name) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Field& input) {
    const std::string* field = uri.find(input.name);
    return field == nullptr ? input.name == name && !input.optional : *field == name;
  });
}

Column make_column(const std::string& path, const std::string& name, NpyArray array, double scale) {
  Column column;
  column.name = name;
  column.shape.assign(array.shape.begin() + 1, array.shape.end());
  column.stored = array.dtype;
  column.bytes = std::move(array.bytes);
  column.divisor = scale;
  column.place = [place = absl::StrCat(path, ": array '", name, "'")](int64_t row, int64_t) {
    return absl::StrCat(place, ", row ", row);
  };
  return column;
}

}  // namespace

absl::StatusOr<DataSplits> open_npz(const Uri& uri, const std::vector<Field>& inputs) {
  auto scale = scale_of(uri, 1);
  if (!scale.ok()) return scale.status();
  auto entries = read_npz_entries(uri.path);
  if (!entries.ok()) return entries.status();
  std::vector<Column> columns;
  std::string left_out;
  for (NpzEntry& entry : *entries) {
    if (!entry.array.ok()) {
      if (is_asked_for(uri, inputs, entry.name)) return entry.array.status();
      absl::StrAppend(&left_out, "; left out: ", entry.array.status().message());
    } else if (!entry.array->shape.empty()) {  // a scalar holds no samples
      columns.push_back(make_column(uri.path, entry.name, *std::move(entry.array), *scale));
    }
  }
  auto whole = make_table(uri, {"scale", "holdout", "holdout_seed"}, inputs, std::move(columns));
  if (!whole.ok()) return absl::Status(whole.status().code(), absl::StrCat(whole.status().message(), left_out));
  return hold_out(uri, *std::move(whole));
}

}  // namespace mxc::io
