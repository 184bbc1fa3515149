// MPI, as a plug-in: a shared library that is built where MPI's headers are (plugin/mpi.cc) and opened when a program's job goes over MPI. It moves
// bytes from a rank to another and knows nothing else. A C interface, so that it may be built by another compiler.
#pragma once

#ifdef __cplusplus
#include <string>

#include "absl/status/statusor.h"
#endif
#include <stdint.h>

#define MXC_MPI_VERSION 2

#ifdef __cplusplus
extern "C" {
#endif

// All functions are called by one thread at a time. Those that return text return null if all is well; the text lives until the next call.
typedef struct mxc_mpi {
  uint32_t version;  // MXC_MPI_VERSION
  // Becomes a member of the job, once; later calls tell the same.
  const char* (*start)(int* rank, int* size);
  // Begins to send; the bytes stay where they are until `sent`. Messages to one rank arrive in the order in which they were begun.
  const char* (*send)(int rank, const void* bytes, uint64_t size, void** sending);
  // Has it left? Then `sending` is not valid any more.
  const char* (*sent)(void* sending, int* done);
  // Is there a message? *size is that of the next, which `take` gets; -1: none.
  const char* (*arrived)(int* rank, int64_t* size);
  const char* (*take)(void* bytes);
  // `size` bytes of the rank `root` become those of all ranks; each calls it, and waits for `root`.
  const char* (*broadcast)(int root, void* bytes, uint64_t size);
} mxc_mpi;

typedef const mxc_mpi* (*mxc_mpi_entry)(void);  // "mxc_mpi_plugin"

#ifdef __cplusplus
}

namespace mxc::kv {

// The plug-in: `file`, or, if it is empty, libmxc_mpi.so beside the program, or where the system looks for libraries. The same each time; it
// stays open. Error (unimplemented): it is not there, or of another version. Threads: any.
absl::StatusOr<const mxc_mpi*> load_mpi(const std::string& file);

// Error (invalid argument): MPI's job has another number of ranks than mxc's.
absl::Status check_ranks(int ranks, uint32_t size);

}  // namespace mxc::kv
#endif
