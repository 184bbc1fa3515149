// Compression: fewer bytes on the wire for floating-point elements, and what they do not say kept for the next time (error feedback).
//
//   fp16, bf16   each element in 16 bits, rounded to nearest; what exceeds fp16's range is cut to its largest number
//   2bit         each element as +s, -s or nothing: what is at least as large as the mean magnitude m counts, and s is the mean magnitude of those. MXNet's
//                threshold, which is one number for all, would have to be found by hand; this one follows the gradients
//   topk:r       the part r of the elements that is largest, with their places; the first of equals
//
// What is sent is always the element plus what earlier times have left out of it (its residual); so nothing is lost, but late.
//
// Elements are compressed in blocks of kBlock, counted from the start of a key: arrays are cut there, and so the numbers do not depend on how many servers
// share them. Each shard's contribution is compressed by itself, with residuals of its own, and added up as it is unpacked: so they do not depend on how many
// processes share the shards either. What a block takes follows from its number of elements alone.
//
//   block, fp16 and bf16   16 bits an element
//   block, 2bit            s as f32; 2 bits an element from the lowest on: 0 nothing, 1 +s, 2 -s; then zeros up to the byte
//   block, topk            k places of 16 bits, ascending; k elements
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/plan.h"
#include "runtime/kv/tree.h"

namespace mxc::kv {

struct Compression {
  enum class Method : uint8_t { none, fp16, bf16, two_bits, top };
  Method method = Method::none;
  double part = 0;  // top: r
  bool is_on() const { return method != Method::none; }
  bool operator==(const Compression&) const = default;
};

// Elements of a block.
inline constexpr int64_t kBlock = 16384;

// "fp16", "bf16", "2bit", "topk:0.01". Error: none of these; r is not above 0 and at most 0.5, beyond which it would cost more than it saves.
absl::StatusOr<Compression> parse_compression(const std::string& text);
// As it is written; "none".
std::string to_string(const Compression& compression);

// Bytes of so many elements from the start of a block on. Requires: f32 or f64.
int64_t packed_bytes(const Compression& compression, plan::DType dtype, int64_t elements);

// Compresses x + residual into packed_bytes(...) at `packed`. Afterwards `x` is what `unpack` makes of them, and `residual` what is left out. What is
// not finite stays so, and leaves nothing.
void pack(const Compression& compression, plan::DType dtype, std::span<char> x, std::span<char> residual, char* packed);
// False: these are no such bytes. Then `x` is partly written.
bool unpack(const Compression& compression, plan::DType dtype, std::string_view packed, std::span<char> x);

// Adds to `value` what a compressed difference says of where `exact` is; what that leaves out is in the next one. It is appended to `difference` (may be null).
void approach(const Compression& compression, plan::DType dtype, std::span<const char> exact, std::span<char> value, std::string* difference);

// The parts (tree.h) that a worker with these shards contributes: with compression, each shard is one.
std::vector<Node> contributed_parts(const Compression& compression, Node shards_of_worker, int64_t shards);

}  // namespace mxc::kv
