// Areas are anonymous mappings: zero pages that cost nothing until touched. Large ones start on a huge-page boundary.
#include "runtime/core/storage.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace mxc::core {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr int kSpaces = 3;

// The end of what bindings need of a device's io area.
uint64_t io_end(const PlanView& view, uint16_t device, std::span<const plan::Binding> bindings) {
  uint64_t end = 0;
  for (const plan::Binding& binding : bindings) {
    const plan::Buffer& buffer = view.buffer(binding.buffer);
    if (buffer.space != plan::Space::io || buffer.device != device) continue;
    const uint64_t last = (buffer.offset + buffer.bytes + plan::kAlign - 1) / plan::kAlign * plan::kAlign;
    if (last > end) end = last;
  }
  return end;
}

}  // namespace

// Arenas are planned for each graph on device 0 alone. The compiler gives io memory to graphs in the program's order, so that what the
// last ones need lies at the end.
AreaBytes area_bytes(const PlanView& view, uint16_t device, Graphs graphs) {
  const plan::Device& whole = view.devices()[device];
  if (graphs == Graphs::all) return {whole.arena_bytes, whole.persistent_bytes, whole.io_bytes};
  AreaBytes bytes = {device == 0 ? 0 : whole.arena_bytes, whole.persistent_bytes, 0};
  for (const plan::Graph& graph : view.graphs()) {
    const bool runs = graphs == Graphs::alone ? !view.is_of_shards(graph) : graph.kind == plan::GraphKind::update;
    if (!runs) continue;
    if (device == 0 && graph.arena_bytes > bytes.arena) bytes.arena = graph.arena_bytes;
    for (std::span<const plan::Binding> bindings : {view.inputs(graph), view.outputs(graph)}) {
      const uint64_t end = io_end(view, device, bindings);
      if (end > bytes.io) bytes.io = end;
    }
  }
  return bytes;
}

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
    arenas_ = other.arenas_;
    areas_ = std::move(other.areas_);
  }
  return *this;
}

Storage::~Storage() { unmap(); }

void Storage::unmap() {
  for (const Region& area : areas_) unmap_region(area);
  areas_ = Array<Region>();
}

Status Storage::create(const PlanView& view, Storage* storage, Arenas arenas, Graphs graphs) {
  Storage made;
  made.arenas_ = arenas;
  if (!made.areas_.allocate(view.devices().size() * kSpaces)) return error(Code::out_of_memory, "no memory for the storage");
  for (uint32_t i = 0; i < view.devices().size(); ++i) {
    if (view.devices()[i].kind != plan::DeviceKind::cpu) {
      return error(Code::unsupported, "device %u is no CPU: this runtime has CPU storage only", i);
    }
    const AreaBytes needed = area_bytes(view, static_cast<uint16_t>(i), graphs);
    uint64_t bytes[kSpaces] = {arenas == Arenas::own ? needed.arena : 0, needed.persistent, needed.io};
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
  arenas_ = Arenas::lent;
}

bool Storage::holds(const plan::Buffer& buffer) const {
  if (buffer.bytes == 0 || (buffer.space == plan::Space::arena && arenas_ == Arenas::lent)) return true;
  const Region& area = areas_[static_cast<uint64_t>(buffer.device) * kSpaces + static_cast<uint64_t>(buffer.space)];
  const uint64_t before = reinterpret_cast<uintptr_t>(area.base) - reinterpret_cast<uintptr_t>(area.mapping);
  return buffer.offset + buffer.bytes + before <= area.mapping_bytes;
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
