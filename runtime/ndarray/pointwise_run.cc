// Running a pointwise operation: the bodies that the engine gets.
#include <algorithm>
#include <memory>

#include "runtime/ndarray/pointwise.h"
#include "runtime/ndarray/share.h"
#include "runtime/ndarray/strided.h"

namespace mxc::ndarray {
namespace {

constexpr int64_t kCheap = 1024;    // elements up to which an operation takes about a microsecond
constexpr int64_t kTile = 1024;     // elements gathered at a time
constexpr int64_t kShortestRow = 16;

char* address(void* memory, int64_t bytes) { return static_cast<char*>(memory) + bytes; }

absl::Status never_computed() { return absl::FailedPreconditionError("an operand was never computed"); }

// All arrays contiguous: the kernel as it is. Its size counts: the engine queues up to kInlineCapture bytes without an allocation.
struct Contiguous {
  const Kernel* kernel;
  int64_t n;
  ChunkRef in[kMaxInputs];  // empty: a number
  ChunkRef out;
  int64_t at[kMaxInputs + 1];  // bytes from the chunk's memory; or a number's bits
  int count;

  absl::Status operator()() {
    void* args[kMaxInputs + 1];
    for (int i = 0; i < count; ++i) {
      if (in[i] && in[i]->memory == nullptr) return never_computed();
      args[i] = in[i] ? address(in[i]->memory, at[i]) : static_cast<void*>(&at[i]);
    }
    void* memory = out->ensure();
    if (memory == nullptr) return no_memory(*out);
    args[count] = address(memory, at[kMaxInputs]);
    share(*out, n, cells(*kernel, n), [&](int64_t begin, int64_t end) { kernel->run(args, n, begin, end); });
    return absl::OkStatus();
  }
};
static_assert(sizeof(Contiguous) <= engine::kInlineCapture);

// Anything else. Regions of the walk: the operands, then the result.
struct Strided {
  const KernelFamily* family;
  plan::DType dtype;
  Walk walk;
  ChunkRef chunks[kMaxOperands];  // empty: a number
  int64_t at[kMaxOperands];
  int64_t element_bytes[kMaxOperands];
  int count;           // of operands
  unsigned numbers;    // bit i: operand i is one element

  absl::Status run() {
    void* base[kMaxOperands];
    for (int i = 0; i < count; ++i) {
      if (chunks[i] && chunks[i]->memory == nullptr) return never_computed();
      base[i] = chunks[i] ? address(chunks[i]->memory, at[i]) : static_cast<void*>(&at[i]);
    }
    void* memory = chunks[count]->ensure();
    if (memory == nullptr) return no_memory(*chunks[count]);
    base[count] = address(memory, at[count]);
    const Chunk& out = *chunks[count];
    const int64_t n = mxc::ndarray::count(walk.extents);
    if (const Kernel* by_row = row_kernel()) {
      share(out, n, n / walk.extents.back(), [&](int64_t begin, int64_t end) { run_rows(*by_row, base, begin, end); });
    } else {
      share(out, n, (n + kTile - 1) / kTile, [&](int64_t begin, int64_t end) { run_tiles(base, begin, end); });
    }
    return absl::OkStatus();
  }

  // The kernel that takes rows as they lie: every stride along a row is 1, or 0 for what is one element there. Null: rows are not so.
  const Kernel* row_kernel() const {
    if (walk.extents.back() < kShortestRow || walk.strides[count].back() != 1) return nullptr;
    unsigned mask = 0;
    for (int i = 0; i < count; ++i) {
      const int64_t stride = walk.strides[i].back();
      if (stride != 0 && stride != 1) return nullptr;
      if (stride == 0) mask |= 1u << i;
    }
    return family->find(dtype, mask);
  }

  void run_rows(const Kernel& kernel, void* const* base, int64_t first_row, int64_t end) const {
    const int64_t length = walk.extents.back();
    Position position = at_element(walk, first_row * length);
    for (int64_t row = first_row; row < end; ++row, next_row(walk, &position)) {
      void* args[kMaxOperands];
      for (int i = 0; i <= count; ++i) args[i] = address(base[i], position.offset[i] * element_bytes[i]);
      kernel.run(args, length, 0, cells(kernel, length));
    }
  }

  void run_tiles(void* const* base, int64_t first_tile, int64_t end) const {
    alignas(64) char tiles[kMaxOperands][kTile * 8];
    const int64_t n = mxc::ndarray::count(walk.extents);
    const Kernel* kernel = n == 1 ? nullptr : family->find(dtype, numbers);
    const bool spread = kernel == nullptr;  // numbers, too, become tiles
    if (spread) kernel = family->find(dtype);
    for (int64_t tile = first_tile; tile < end; ++tile) {
      const int64_t first = tile * kTile;
      const int64_t length = std::min(kTile, n - first);
      void* args[kMaxOperands];
      for (int i = 0; i < count; ++i) {
        const bool number = (numbers >> i & 1) != 0;
        args[i] = number && !spread ? base[i] : tiles[i];
        if (args[i] == tiles[i]) gather(walk, i, first, length, element_bytes[i], base[i], tiles[i]);
      }
      args[count] = tiles[count];
      // A last tile of one element has no kernel of its own for numbers: the kernel takes any n.
      kernel->run(args, length, 0, cells(*kernel, length));
      scatter(walk, count, first, length, element_bytes[count], tiles[count], base[count]);
    }
  }
};

void push(const Pointwise& call, const Array& out, bool cheap, auto body) {
  const engine::Variable* reads[kMaxInputs];
  int count = 0;
  for (int i = 0; i < call.count; ++i) {
    if (!call.operands[i].array.empty()) reads[count++] = &Access::peek(call.operands[i].array)->chunk->variable;
  }
  begin_write(*out.chunk);
  engine::Engine& engine = *out.chunk->engine;
  const engine::Variable& to = out.chunk->variable;
  const engine::Traits traits{.name = call.name, .cheap = cheap};
  switch (count) {
    case 0: return engine.push(traits, {}, {to}, std::move(body));
    case 1: return engine.push(traits, {*reads[0]}, {to}, std::move(body));
    case 2: return engine.push(traits, {*reads[0], *reads[1]}, {to}, std::move(body));
    default: return engine.push(traits, {*reads[0], *reads[1], *reads[2]}, {to}, std::move(body));
  }
}

}  // namespace

void queue_contiguous(const Pointwise& call, const Kernel& kernel, const Array& out, int64_t n) {
  Contiguous body{.kernel = &kernel, .n = n, .in = {}, .out = out.chunk, .at = {}, .count = call.count};
  for (int i = 0; i < call.count; ++i) {
    const Operand& operand = call.operands[i];
    if (operand.array.empty()) {
      body.at[i] = static_cast<int64_t>(operand.bits);
      continue;
    }
    const Array& array = *Access::peek(operand.array);
    body.in[i] = array.chunk;
    body.at[i] = array.offset * bytes_of(array.dtype);
  }
  body.at[kMaxInputs] = out.offset * bytes_of(out.dtype);
  push(call, out, n <= kCheap, std::move(body));
}

void queue_plain(const Pointwise& call, const Array& out) {
  if (out.elements == 0) return;
  unsigned single = 0;
  bool contiguous = out.contiguous;
  for (int i = 0; i < call.count; ++i) {
    const NDArray& operand = call.operands[i].array;
    const Array* array = Access::peek(operand);
    if (array == nullptr || array->elements == 1) {
      if (out.elements != 1) single |= 1u << i;
    } else {
      contiguous = contiguous && array->contiguous && array->elements == out.elements;
    }
  }
  const Kernel* kernel = call.family->find(call.dtype, single);
  if (contiguous && kernel != nullptr) return queue_contiguous(call, *kernel, out, out.elements);

  auto body = std::make_unique<Strided>();
  body->family = call.family;
  body->dtype = call.dtype;
  body->count = call.count;
  body->numbers = single;
  body->walk.extents = out.shape;
  body->walk.regions = call.count + 1;
  for (int i = 0; i < call.count; ++i) {
    const Operand& operand = call.operands[i];
    body->element_bytes[i] = bytes_of(call.dtype);
    body->at[i] = static_cast<int64_t>(operand.bits);
    body->walk.strides[i].resize(out.shape.size(), 0);
    if (operand.array.empty()) continue;
    const Array& array = *Access::peek(operand.array);
    body->chunks[i] = array.chunk;
    body->element_bytes[i] = bytes_of(array.dtype);
    body->at[i] = array.offset * body->element_bytes[i];
    body->walk.strides[i] = spread_strides(array.shape, array.strides, out.shape);
  }
  body->chunks[call.count] = out.chunk;
  body->element_bytes[call.count] = bytes_of(out.dtype);
  body->at[call.count] = out.offset * bytes_of(out.dtype);
  body->walk.strides[call.count] = out.strides;
  body->walk = collapsed(body->walk);
  push(call, out, out.elements <= kCheap, [body = std::move(body)] { return body->run(); });
}

}  // namespace mxc::ndarray
