// See copy.h; and the members of NDArray that copy.
#include "runtime/ndarray/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/packed.h"
#include "runtime/ndarray/pointwise.h"
#include "runtime/ndarray/share.h"
#include "runtime/ndarray/strided.h"

namespace mxc::ndarray {
namespace {

constexpr int64_t kCheapBytes = 4096;
constexpr int64_t kSharedBytes = 4;  // of a run of bytes, that count as an element when work is shared

absl::Status copy_failed(const Chunk& from, const Chunk& to) {
  return from.memory == nullptr ? absl::FailedPreconditionError("the array was never computed") : no_memory(to);
}

struct Region {
  int64_t at;  // bytes
  Dims strides;
};

struct StridedCopy {
  Dims extents;  // one at least: a single element is a run of bytes
  int64_t element_bytes;
  ChunkRef from, to;
  Region source, target;

  absl::Status run() const {
    void* out = to->ensure();
    if (from->memory == nullptr || out == nullptr) return copy_failed(*from, *to);
    const int axis = static_cast<int>(std::max_element(extents.begin(), extents.end()) - extents.begin());
    share(*to, count(extents), extents[axis], [&](int64_t begin, int64_t end) {
      Dims part = extents;
      part[axis] = end - begin;
      const char* a = static_cast<char*>(from->memory) + source.at + begin * source.strides[axis] * element_bytes;
      char* b = static_cast<char*>(out) + target.at + begin * target.strides[axis] * element_bytes;
      copy_strided(part, element_bytes, a, source.strides, b, target.strides);
    });
    return absl::OkStatus();
  }
};

// Are so many bytes all of the chunk's memory? Then an error that it carries goes.
bool is_all(const Array& target, int64_t bytes) { return static_cast<uint64_t>(bytes) >= target.chunk->bytes; }

void copy_run_of_bytes(const char* op, const Array& target, const Array& values, int64_t bytes) {
  begin_write(*target.chunk);
  const engine::Traits traits{.name = op, .cheap = bytes <= kCheapBytes, .anew = is_all(target, bytes)};
  target.chunk->engine->push(traits, {values.chunk->variable}, {target.chunk->variable},
                             [from = values.chunk, to = target.chunk, source = values.offset * bytes_of(values.dtype),
                              place = target.offset * bytes_of(target.dtype), bytes]() -> absl::Status {
                               void* out = to->ensure();
                               if (from->memory == nullptr || out == nullptr) return copy_failed(*from, *to);
                               char *a = static_cast<char*>(from->memory) + source, *b = static_cast<char*>(out) + place;
                               if (from == to) {  // the runs may overlap
                                 std::memmove(b, a, static_cast<size_t>(bytes));
                               } else {
                                 share(*to, bytes / kSharedBytes, bytes, [&](int64_t begin, int64_t end) {
                                   std::memcpy(b + begin, a + begin, static_cast<size_t>(end - begin));
                                 });
                               }
                               return absl::OkStatus();
                             });
}

void fill_run(const Chunk& chunk, char* to, uint64_t bits, int64_t element_bytes, int64_t n) {
  const Dims zero{0}, one{1};
  share(chunk, n, n, [&](int64_t begin, int64_t end) { copy_strided({end - begin}, element_bytes, &bits, zero, to + begin * element_bytes, one); });
}

}  // namespace

NDArray as_plain(const NDArray& array, const char* op, Here here) {
  get(array, op, here);
  return unpacked(op, array, here);
}

NDArray as_run(const NDArray& array, const char* op, Here here) {
  NDArray plain = as_plain(array, op, here);
  return Access::peek(plain)->contiguous ? plain : copy_of(op, plain, here);
}

void copy_into(const char* op, const NDArray& target, const NDArray& values, Here here) {
  const Array& to = *Access::peek(target);
  if (to.elements == 0) return;
  const Array& from = *Access::peek(values);
  if (to.packed != nullptr || from.packed != nullptr) {
    if (is_whole(to) && is_whole(from) && same_layout(*to.packed, *from.packed)) {
      return copy_run_of_bytes(op, to, from, static_cast<int64_t>(to.packed->bytes));
    }
    NDArray plain = unpacked(op, values, here);
    if (to.packed == nullptr) return copy_into(op, target, plain, here);
    if (!(Access::peek(plain)->shape == to.shape)) plain = copy_of(op, plain.broadcast_to(to.shape.vector(), here), here);
    return write_packed(op, target, plain, here);
  }
  if (to.contiguous && from.contiguous && to.elements == from.elements) {
    return copy_run_of_bytes(op, to, from, to.elements * bytes_of(to.dtype));
  }
  if (to.chunk == from.chunk) return copy_into(op, target, copy_of(op, values, here), here);
  auto body = std::make_unique<StridedCopy>();
  body->extents = to.shape;
  body->element_bytes = bytes_of(to.dtype);
  body->from = from.chunk;
  body->to = to.chunk;
  body->source = {from.offset * body->element_bytes, spread_strides(from.shape, from.strides, to.shape)};
  body->target = {to.offset * body->element_bytes, to.strides};
  const int64_t bytes = to.elements * body->element_bytes;
  begin_write(*to.chunk);
  to.chunk->engine->push({.name = op, .cheap = bytes <= kCheapBytes, .anew = is_all(to, bytes)}, {from.chunk->variable},
                         {to.chunk->variable}, [body = std::move(body)] { return body->run(); });
}

void fill_with(const char* op, const NDArray& target, uint64_t bits, Here here) {
  const Array& to = *Access::peek(target);
  if (to.elements == 0) return;
  if (to.packed != nullptr) {
    NDArray values = new_result(to, to.dtype, to.shape, here);
    fill_with(op, values, bits, here);
    return write_packed(op, target, values, here);
  }
  const int64_t element_bytes = bytes_of(to.dtype), bytes = to.elements * element_bytes;
  begin_write(*to.chunk);
  const engine::Traits traits{.name = op, .cheap = bytes <= kCheapBytes, .anew = is_all(to, bytes)};
  const int64_t at = to.offset * element_bytes;
  if (to.contiguous) {
    to.chunk->engine->push(traits, {}, {to.chunk->variable}, [chunk = to.chunk, bits, element_bytes, at, n = to.elements]() -> absl::Status {
      void* memory = chunk->ensure();
      if (memory == nullptr) return no_memory(*chunk);
      fill_run(*chunk, static_cast<char*>(memory) + at, bits, element_bytes, n);
      return absl::OkStatus();
    });
    return;
  }
  auto region = std::make_unique<std::pair<Dims, Dims>>(to.shape, to.strides);
  to.chunk->engine->push(traits, {}, {to.chunk->variable}, [chunk = to.chunk, bits, element_bytes, at, region = std::move(region)]() -> absl::Status {
    void* memory = chunk->ensure();
    if (memory == nullptr) return no_memory(*chunk);
    Dims still;
    still.resize(region->first.size(), 0);
    copy_strided(region->first, element_bytes, &bits, still, static_cast<char*>(memory) + at, region->second);
    return absl::OkStatus();
  });
}

NDArray copy_of(const char* op, const NDArray& array, Here here) {
  const Array& from = get(array, op, here);
  NDArray out = new_result(from, from.dtype, from.shape, here);
  copy_into(op, out, array, here);
  return out;
}

void assign_to(const char* op, const NDArray& target, const ArrayOperand& values, Here here) {
  const Array& to = get(target, op, here);
  check_writable(op, to, here);
  if (values.is_number) return fill_with(op, target, element_bits(op, values.number, to.dtype, here), here);
  const Array& from = get(values.array, op, here);
  check_dtype(op, to, from, here);
  check_together(op, to, from, here);
  const NDArray* both[] = {&target, &values.array};
  const Dims joint = broadcast_shape(op, both, 2, here);
  if (!(joint == to.shape)) fail(op, absl::StrCat("an array of shape ", text(from.shape), " does not fit into ", text(to.shape)), here);
  copy_into(op, target, values.array, here);
}

}  // namespace mxc::ndarray

namespace mxc {

using namespace ndarray;

void NDArray::fill(Number value, Here here) const {
  const Array& to = get(*this, "fill", here);
  check_writable("fill", to, here);
  fill_with("fill", *this, element_bits("fill", value, to.dtype, here), here);
}

void NDArray::assign(ArrayOperand values, Here here) const { assign_to("assign", *this, values, here); }

const ::mxc::View& ::mxc::View::seen(Here here) const {
  if (!is_copy_) return *this;
  fail("reshape", absl::StrCat("this one, to ", text(get(*this, "reshape", here).shape), ", is a copy: what is written to it would be lost"), here);
}

const ::mxc::View& ::mxc::View::operator=(ArrayOperand values) const& {
  assign(values, values.where);
  return *this;
}

const ::mxc::View& ::mxc::View::operator=(ArrayOperand values) const&& {
  seen(values.where).assign(values, values.where);
  return *this;
}

const NDArray& ::mxc::View::operator+=(ArrayOperand other) const& { return NDArray::operator+=(std::move(other)); }
const NDArray& ::mxc::View::operator+=(ArrayOperand other) const&& { return seen(other.where).NDArray::operator+=(std::move(other)); }
const NDArray& ::mxc::View::operator-=(ArrayOperand other) const& { return NDArray::operator-=(std::move(other)); }
const NDArray& ::mxc::View::operator-=(ArrayOperand other) const&& { return seen(other.where).NDArray::operator-=(std::move(other)); }
const NDArray& ::mxc::View::operator*=(ArrayOperand other) const& { return NDArray::operator*=(std::move(other)); }
const NDArray& ::mxc::View::operator*=(ArrayOperand other) const&& { return seen(other.where).NDArray::operator*=(std::move(other)); }
const NDArray& ::mxc::View::operator/=(ArrayOperand other) const& { return NDArray::operator/=(std::move(other)); }
const NDArray& ::mxc::View::operator/=(ArrayOperand other) const&& { return seen(other.where).NDArray::operator/=(std::move(other)); }

::mxc::View& ::mxc::View::operator=(const ::mxc::View& values) & {
  if (empty()) {
    NDArray::operator=(values);
    made_ = values.made_;
  } else {
    assign({values, made_}, made_);
  }
  return *this;
}

NDArray NDArray::copy(Here here) const { return copy_of("copy", *this, here); }

NDArray NDArray::contiguous(Here here) const { return as_run(*this, "contiguous", here); }

void NDArray::copy_to(const NDArray& target, Here here) const {
  const Array& from = get(*this, "copy_to", here);
  const Array& to = get(target, "copy_to", here);
  check_writable("copy_to", to, here);
  check_dtype("copy_to", from, to, here);
  if (!(from.shape == to.shape)) fail("copy_to", absl::StrCat("shapes ", text(from.shape), " and ", text(to.shape), " differ"), here);
  if (from.chunk->engine != to.chunk->engine) fail("copy_to", "the arrays belong to two engines", here);
  copy_into("copy_to", target, *this, here);
}

NDArray NDArray::to(Device device, Here here) const {
  const Array& from = get(*this, "to", here);
  if (device.index < 0) fail("to", absl::StrCat("there is no device ", to_string(device)), here);
  if (from.chunk->device == device) return *this;
  NDArray out = new_result(*from.chunk->engine, device, from.dtype, from.shape, here);
  copy_into("to", out, *this, here);
  return out;
}

}  // namespace mxc
