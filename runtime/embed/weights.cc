// See weights.h.
#include "runtime/embed/weights.h"

namespace mxc::embed {

namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

}  // namespace

void Checksum::add(const void* piece, uint64_t bytes) {
  const unsigned char* words = static_cast<const unsigned char*>(piece);
  uint64_t lanes[kLanes];
  for (uint64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lanes_[lane];
  for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i += kLanes) {
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
      uint64_t word;
      __builtin_memcpy(&word, words + (i + lane) * sizeof word, sizeof word);
      uint64_t mixed = (lanes[lane] ^ word) * kOdd;
      lanes[lane] = mixed ^ mixed >> 29;
    }
  }
  for (uint64_t lane = 0; lane < kLanes; ++lane) lanes_[lane] = lanes[lane];
  bytes_ += bytes;
}

uint64_t Checksum::value() const {
  uint64_t sum = bytes_;
  for (uint64_t lane : lanes_) {
    sum = (sum ^ lane) * kOdd;
    sum ^= sum >> 32;
  }
  return sum;
}

uint64_t checksum(const void* image, uint64_t bytes) {
  Checksum sum;
  sum.add(image, bytes);
  return sum.value();
}

Status check_weights(const plan::Library& library, const void* file, uint64_t bytes) {
  if (file == nullptr) return Status::null_pointer;
  if (reinterpret_cast<uintptr_t>(file) % plan::kAlign != 0) return Status::misaligned;
  if (bytes < sizeof(WeightHeader)) return Status::weights_truncated;
  const WeightHeader& header = *static_cast<const WeightHeader*>(file);
  if (header.magic != kWeightMagic || header.version != kWeightVersion) return Status::weights_other_version;
  uint64_t image = persistent(plan_of(library)).fresh;
  if (header.layout != library.weights_layout || header.bytes != image) return Status::weights_other_model;
  if (bytes - sizeof header < image) return Status::weights_truncated;
  for (uint64_t word : header.reserved) {
    if (word != 0) return Status::weights_damaged;
  }
  return checksum(&header + 1, image) == header.checksum ? Status::ok : Status::weights_damaged;
}

Status set_weights(Sets sets, Context* context, const void* file, uint64_t bytes) {
  Status status = check(sets, context);
  if (status == Status::ok) status = check_weights(**sets, file, bytes);
  if (status == Status::ok) take_weights(*context, static_cast<const unsigned char*>(file) + sizeof(WeightHeader));
  return status;
}

Status share_weights(Sets sets, Context* context, const Context* from) {
  Status status = check(sets, context);
  if (status == Status::ok) status = check(sets, from);
  if (status != Status::ok) return status;
  if (from->weights == nullptr) return Status::no_weights;
  take_weights(*context, from->weights);
  return Status::ok;
}

}  // namespace mxc::embed
