// The system's functions are declared here: bitcode is compiled without any system's headers. The numbers are those of every Linux.
#include "runtime/embed/weights_file.h"

#include <stddef.h>

extern "C" {
int open(const char* path, int flags, ...);
long lseek(int file, long offset, int whence);
void* mmap(void* address, size_t bytes, int protection, int flags, int file, long offset);
int munmap(void* address, size_t bytes);
int close(int file);
}

namespace mxc::embed {

namespace {

constexpr int kReadOnly = 0, kNonBlocking = 04000, kCloseOnExec = 02000000, kSeekEnd = 2, kProtectRead = 1, kMapPrivate = 2;

Status map(const char* path, const void** memory, uint64_t* bytes) {
  int file = ::open(path, kReadOnly | kNonBlocking | kCloseOnExec);  // a pipe without a writer is no reason to wait
  if (file < 0) return Status::weights_unreadable;
  long size = lseek(file, 0, kSeekEnd);
  void* mapped = size <= 0 ? nullptr : mmap(nullptr, static_cast<size_t>(size), kProtectRead, kMapPrivate, file, 0);
  close(file);
  if (size == 0) return Status::weights_truncated;
  if (size < 0 || mapped == reinterpret_cast<void*>(-1)) return Status::weights_unreadable;
  *memory = mapped;
  *bytes = static_cast<uint64_t>(size);
  return Status::ok;
}

}  // namespace

Status map_weights(const plan::Library& library, const char* path, const void** file, uint64_t* bytes) {
  if (file == nullptr || bytes == nullptr) return Status::null_pointer;
  *file = nullptr;
  *bytes = 0;
  if (path == nullptr) return Status::null_pointer;
  uint64_t size = 0;
  const void* memory = nullptr;
  Status status = map(path, &memory, &size);
  if (status != Status::ok) return status;
  status = check_weights(library, memory, size);
  if (status != Status::ok) return unmap_weights(memory, size), status;
  *file = memory;
  *bytes = size;
  return Status::ok;
}

void unmap_weights(const void* file, uint64_t bytes) {
  if (file != nullptr) munmap(const_cast<void*>(file), static_cast<size_t>(bytes));
}

}  // namespace mxc::embed
