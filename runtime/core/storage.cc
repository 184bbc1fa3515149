// Areas are anonymous mappings: zero pages that cost nothing until touched. Large ones start on a huge-page boundary.
#include "runtime/core/storage.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace mxc::core {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr int kSpaces = 3;

}  // namespace

bool map_region(uint64_t bytes, Region* region) {
  *region = {};
  if (bytes == 0) return true;
  bool huge = bytes >= kHugePage;
  uint64_t mapping_bytes = huge ? bytes + kHugePage : bytes;
  void* mapping = mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return false;
  uintptr_t base = reinterpret_cast<uintptr_t>(mapping);
  if (huge) {
    base = (base + kHugePage - 1) / kHugePage * kHugePage;
    madvise(reinterpret_cast<void*>(base), bytes, MADV_HUGEPAGE);  // advice: failure changes nothing but speed
  }
  *region = {mapping, mapping_bytes, reinterpret_cast<void*>(base)};
  return true;
}

void unmap_region(const Region& region) {
  if (region.mapping != nullptr) munmap(region.mapping, region.mapping_bytes);
}

Storage& Storage::operator=(Storage&& other) {
  if (this != &other) {
    unmap();
    areas_ = std::move(other.areas_);
  }
  return *this;
}

Storage::~Storage() { unmap(); }

void Storage::unmap() {
  for (const Region& area : areas_) unmap_region(area);
  areas_ = Array<Region>();
}

Status Storage::create(const PlanView& view, Storage* storage, Arenas arenas) {
  Storage made;
  if (!made.areas_.allocate(view.devices().size() * kSpaces)) return error(Code::out_of_memory, "no memory for the storage");
  for (uint32_t i = 0; i < view.devices().size(); ++i) {
    const plan::Device& device = view.devices()[i];
    if (device.kind != plan::DeviceKind::cpu) {
      return error(Code::unsupported, "device %u is no CPU: this runtime has CPU storage only", i);
    }
    uint64_t bytes[kSpaces] = {arenas == Arenas::own ? device.arena_bytes : 0, device.persistent_bytes, device.io_bytes};
    for (int space = 0; space < kSpaces; ++space) {
      if (!map_region(bytes[space], &made.areas_[i * kSpaces + space])) {
        return error(Code::out_of_memory, "device %u: no memory for %llu bytes", i, (unsigned long long)bytes[space]);
      }
    }
  }
  *storage = std::move(made);
  return Status();
}

void Storage::lend_arena(uint16_t device, void* base) {
  Region& area = areas_[static_cast<uint64_t>(device) * kSpaces + static_cast<uint64_t>(plan::Space::arena)];
  unmap_region(area);
  area = {nullptr, 0, base};
}

void* Storage::base(plan::Space space, uint16_t device) const {
  return areas_[static_cast<uint64_t>(device) * kSpaces + static_cast<uint64_t>(space)].base;
}

void* Storage::address(const plan::Buffer& buffer) const {
  return static_cast<unsigned char*>(base(buffer.space, buffer.device)) + buffer.offset;
}

void Storage::set_hyper(const PlanView& view, uint32_t hyper, double value) const {
  const plan::Buffer& buffer = view.buffer(view.hypers()[hyper].buffer);
  write_scalar(buffer.dtype, address(buffer), value);
}

double Storage::get_hyper(const PlanView& view, uint32_t hyper) const {
  const plan::Buffer& buffer = view.buffer(view.hypers()[hyper].buffer);
  return read_scalar(buffer.dtype, address(buffer));
}

void Storage::set_hyper_integer(const PlanView& view, uint32_t hyper, uint64_t value) const {
  const plan::Buffer& buffer = view.buffer(view.hypers()[hyper].buffer);
  uint32_t low = static_cast<uint32_t>(value);
  if (buffer.dtype == plan::DType::i64) {
    std::memcpy(address(buffer), &value, sizeof value);
  } else if (buffer.dtype == plan::DType::i32) {
    std::memcpy(address(buffer), &low, sizeof low);
  } else {
    set_hyper(view, hyper, static_cast<double>(value));
  }
}

void Storage::set_default_hypers(const PlanView& view) const {
  for (uint32_t i = 0; i < view.hypers().size(); ++i) set_hyper(view, i, view.hypers()[i].default_value);
}

namespace {

template <typename T>
void write_as(void* address, double value) {
  T converted = static_cast<T>(value);
  std::memcpy(address, &converted, sizeof converted);
}

template <typename T>
double read_as(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return static_cast<double>(value);
}

}  // namespace

void write_scalar(plan::DType dtype, void* address, double value) {
  switch (dtype) {
    case plan::DType::f32: return write_as<float>(address, value);
    case plan::DType::f64: return write_as<double>(address, value);
    case plan::DType::i8: return write_as<int8_t>(address, value);
    case plan::DType::u8: return write_as<uint8_t>(address, value);
    case plan::DType::i32: return write_as<int32_t>(address, value);
    case plan::DType::i64: return write_as<int64_t>(address, value);
    case plan::DType::boolean: return write_as<uint8_t>(address, value != 0);
    case plan::DType::f16:
    case plan::DType::bf16: return;  // excluded by `Requires`
  }
}

double read_scalar(plan::DType dtype, const void* address) {
  switch (dtype) {
    case plan::DType::f32: return read_as<float>(address);
    case plan::DType::f64: return read_as<double>(address);
    case plan::DType::i8: return read_as<int8_t>(address);
    case plan::DType::u8:
    case plan::DType::boolean: return read_as<uint8_t>(address);
    case plan::DType::i32: return read_as<int32_t>(address);
    case plan::DType::i64: return read_as<int64_t>(address);
    case plan::DType::f16:
    case plan::DType::bf16: return 0;
  }
  return 0;
}

}  // namespace mxc::core
