// See shared_rings.h. The file: a page with the heads of both rings, then the bytes of the maker's ring, and of the other's.
#include "runtime/kv/shared_rings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace mxc::kv {

namespace {

constexpr int64_t kPage = 4096, kMostCapacity = 64 << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

// All bytes 0 are the beginning.
struct SharedRings::Head {
  alignas(64) std::atomic<uint64_t> written;  // by the writer; released: the bytes before it are there
  alignas(64) std::atomic<uint64_t> read;     // by the reader; released: their place may be written again
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  std::atomic<uint32_t> writer_sleeps;
};

SharedRings::SharedRings(void* memory, int64_t capacity, bool maker)
    : memory_(memory),
      capacity_(static_cast<size_t>(capacity)),
      out_(static_cast<Head*>(memory) + (maker ? 0 : 1)),
      in_(static_cast<Head*>(memory) + (maker ? 1 : 0)),
      out_bytes_(static_cast<char*>(memory) + kPage + (maker ? 0 : capacity)),
      in_bytes_(static_cast<char*>(memory) + kPage + (maker ? capacity : 0)) {
  static_assert(2 * sizeof(Head) <= kPage && std::atomic<uint64_t>::is_always_lock_free);
}

SharedRings::~SharedRings() { ::munmap(memory_, static_cast<size_t>(kPage) + 2 * capacity_); }

absl::StatusOr<std::unique_ptr<SharedRings>> SharedRings::make(int64_t capacity, int& descriptor) {
  descriptor = ::memfd_create("mxc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return absl::ResourceExhaustedError("the system grants no memory to share");
  const int64_t bytes = kPage + 2 * capacity;
  void* memory = MAP_FAILED;
  if (::ftruncate(descriptor, bytes) == 0 && ::fcntl(descriptor, F_ADD_SEALS, kSeals) == 0)
    memory = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory != MAP_FAILED) return std::unique_ptr<SharedRings>(new SharedRings(memory, capacity, true));
  ::close(std::exchange(descriptor, -1));
  return absl::ResourceExhaustedError("the system grants no memory to share");
}

absl::StatusOr<std::unique_ptr<SharedRings>> SharedRings::adopt(int descriptor) {
  struct stat info = {};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  const int64_t capacity = ::fstat(descriptor, &info) == 0 ? (info.st_size - kPage) / 2 : 0;
  void* memory = MAP_FAILED;
  if (seals >= 0 && (seals & kSeals) == kSeals && capacity >= kPage && capacity <= kMostCapacity && std::has_single_bit(static_cast<uint64_t>(capacity)) &&
      info.st_size == kPage + 2 * capacity)
    memory = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (memory != MAP_FAILED) return std::unique_ptr<SharedRings>(new SharedRings(memory, capacity, false));
  return absl::InvalidArgumentError("this is no memory of rings");
}

size_t SharedRings::room() {
  const uint64_t used = written_ - out_->read.load(std::memory_order_seq_cst);
  broken_ |= used > capacity_;
  return broken_ ? 0 : capacity_ - used;
}

size_t SharedRings::available() {
  const uint64_t bytes = in_->written.load(std::memory_order_seq_cst) - read_;
  broken_ |= bytes > capacity_;
  return broken_ ? 0 : bytes;
}

size_t SharedRings::write(std::string_view bytes) {
  const size_t count = std::min(bytes.size(), room()), at = written_ & (capacity_ - 1), first = std::min(count, capacity_ - at);
  if (count == 0) return 0;
  std::memcpy(out_bytes_ + at, bytes.data(), first);
  std::memcpy(out_bytes_, bytes.data() + first, count - first);
  written_ += count;
  out_->written.store(written_, std::memory_order_seq_cst);
  return count;
}

size_t SharedRings::read(std::span<char> into) {
  const size_t count = std::min(into.size(), available()), at = read_ & (capacity_ - 1), first = std::min(count, capacity_ - at);
  if (count == 0) return 0;
  std::memcpy(into.data(), in_bytes_ + at, first);
  std::memcpy(into.data() + first, in_bytes_, count - first);
  read_ += count;
  in_->read.store(read_, std::memory_order_seq_cst);
  return count;
}

bool SharedRings::sleep(bool for_room) {
  in_->reader_sleeps.store(1, std::memory_order_seq_cst);
  if (for_room) out_->writer_sleeps.store(1, std::memory_order_seq_cst);
  return available() == 0 && !(for_room && room() >= capacity_ / 2) && !broken_;
}

void SharedRings::wake_up() {
  in_->reader_sleeps.store(0, std::memory_order_relaxed);
  out_->writer_sleeps.store(0, std::memory_order_relaxed);
}

bool SharedRings::wakes_reader() { return out_->reader_sleeps.load(std::memory_order_seq_cst) != 0 && out_->reader_sleeps.exchange(0) != 0; }

// Half of the ring at a time.
bool SharedRings::wakes_writer() {
  if (in_->writer_sleeps.load(std::memory_order_seq_cst) == 0 || available() > capacity_ / 2) return false;
  return in_->writer_sleeps.exchange(0) != 0;
}

}  // namespace mxc::kv
