// Pool: memory for arrays, kept for reuse.
//
// Imperative code makes and drops arrays of the same few sizes all the time, and large blocks fresh from the system cost more (page faults)
// than the arithmetic on them. Sizes are rounded up to classes, four for each doubling, and each class has a list of free blocks, the
// last given first taken.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace mxc::ndarray {

// Threads: any.
class Pool {
 public:
  struct Use {
    uint64_t taken = 0;  // bytes of blocks in use, as rounded
    uint64_t kept = 0;   // bytes of free blocks
  };

  // Blocks are freed rather than kept beyond `most_kept` bytes.
  explicit Pool(uint64_t most_kept) : most_kept_(most_kept) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // At least `bytes` bytes of unspecified contents, aligned to plan::kAlign. Null if the system has not enough.
  void* take(uint64_t bytes);
  // Takes back what take(bytes) gave.
  void give(void* memory, uint64_t bytes);

  Use use() const;
  // Frees all blocks that are not in use.
  void trim();

  // That of the process's arrays. Like malloc it has no owner: arrays with static storage give back to it to the very end.
  static Pool& arrays();

 private:
  static constexpr int kClasses = 4 * 64;
  const uint64_t most_kept_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<void*> free_[kClasses];
  Use use_;
};

}  // namespace mxc::ndarray
