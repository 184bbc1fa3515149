// SharedRings: two rings of bytes, one for each direction, in memory that two processes of one machine share.
//
// The memory is a file without a name (memfd): it is handed over as a descriptor, and goes with the last process that has it, however that ends. Its size
// is sealed, so that neither side can take it away from below the other. A position counts all bytes since the beginning and is written by one side
// alone; positions of the other side that cannot be are an error.
//
// Sleep. Who finds nothing to do says so in the memory and looks once more; who changes a position looks whether the other side sleeps, and wakes it, by
// what the two have beside the memory. These stores and loads are sequentially consistent: one of the two sees the other's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mxc::kv {

class SharedRings {
 public:
  // `capacity`: bytes of each ring, a power of two, from 4 KiB to 64 MiB. `descriptor`, for the other process, is the caller's to close; -1 after an error: the
  // system grants no memory.
  static absl::StatusOr<std::unique_ptr<SharedRings>> make(int64_t capacity, int& descriptor);
  // Those that another process has made. The descriptor is closed in any case. Error (invalid argument): it is no such memory.
  static absl::StatusOr<std::unique_ptr<SharedRings>> adopt(int descriptor);
  ~SharedRings();
  SharedRings(const SharedRings&) = delete;
  SharedRings& operator=(const SharedRings&) = delete;

  // Writes as many bytes as there is room for, and returns how many.
  size_t write(std::string_view bytes);
  // Reads bytes that are there, up to the size of `into`, and returns how many.
  size_t read(std::span<char> into);
  // Has the other side written positions that cannot be?
  bool is_broken() const { return broken_; }

  // Before waiting to be woken; `for_room`: to write more, too. False: there is something to do already.
  bool sleep(bool for_room);
  void wake_up();
  // Does the other side wait for what this one has just written or read? It is to be woken then.
  bool wakes_reader();
  bool wakes_writer();

 private:
  struct Head;
  SharedRings(void* memory, int64_t capacity, bool maker);
  size_t room();
  size_t available();

  void* const memory_;
  const size_t capacity_;
  Head* const out_;
  Head* const in_;
  char* const out_bytes_;
  const char* const in_bytes_;
  uint64_t written_ = 0, read_ = 0;  // by this side
  bool broken_ = false;
};

}  // namespace mxc::kv
