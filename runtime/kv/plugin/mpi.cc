// The MPI plug-in (mpi_library.h): bytes between ranks by MPI's messages, on a communicator of its own.
#include <mpi.h>

#include <climits>
#include <cstdlib>
#include <string>

#include "runtime/kv/mpi_library.h"

namespace {

constexpr int kTag = 1;

MPI_Comm communicator = MPI_COMM_NULL;
MPI_Message message = MPI_MESSAGE_NULL;
int message_bytes = 0;
std::string text;  // of the last error

const char* told(int code, const char* what) {
  if (code == MPI_SUCCESS) return nullptr;
  char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, words, &length);
  text = std::string(what) + ": " + std::string(words, static_cast<size_t>(length));
  return text.c_str();
}

void finish() {
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}

const char* start(int* rank, int* size) {
  if (communicator == MPI_COMM_NULL) {
    int running = 0, level = 0;
    MPI_Initialized(&running);
    if (running) {
      MPI_Query_thread(&level);
    } else {
      if (const char* wrong = told(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread")) return wrong;
      std::atexit(finish);
    }
    if (level < MPI_THREAD_SERIALIZED) return "this MPI does not let threads other than the first use it (MPI_THREAD_SERIALIZED)";
    if (const char* wrong = told(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup")) return wrong;
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(communicator, rank);
  MPI_Comm_size(communicator, size);
  return nullptr;
}

const char* send(int rank, const void* bytes, uint64_t size, void** sending) {
  if (size > INT_MAX) return "a message of more than 2 GiB";
  auto* request = new MPI_Request;
  *sending = request;
  return told(MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, rank, kTag, communicator, request), "MPI_Isend");
}

const char* sent(void* sending, int* done) {
  auto* request = static_cast<MPI_Request*>(sending);
  const int code = MPI_Test(request, done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS || *done) delete request;
  return told(code, "MPI_Test");
}

const char* arrived(int* rank, int64_t* size) {
  *size = -1;
  int there = 0;
  MPI_Status status;
  if (const char* wrong = told(MPI_Improbe(MPI_ANY_SOURCE, kTag, communicator, &there, &message, &status), "MPI_Improbe")) return wrong;
  if (!there) return nullptr;
  MPI_Get_count(&status, MPI_BYTE, &message_bytes);
  *rank = status.MPI_SOURCE;
  *size = message_bytes;
  return nullptr;
}

const char* take(void* bytes) { return told(MPI_Mrecv(bytes, message_bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv"); }

const char* broadcast(int root, void* bytes, uint64_t size) {
  if (size > INT_MAX) return "a message of more than 2 GiB";
  return told(MPI_Bcast(bytes, static_cast<int>(size), MPI_BYTE, root, communicator), "MPI_Bcast");
}

constexpr mxc_mpi kPlugin = {MXC_MPI_VERSION, start, send, sent, arrived, take, broadcast};

}  // namespace

extern "C" __attribute__((visibility("default"))) const mxc_mpi* mxc_mpi_plugin(void) { return &kPlugin; }
