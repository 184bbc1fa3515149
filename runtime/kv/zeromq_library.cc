// See zeromq_library.h.
#include "runtime/kv/zeromq_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace mxc::kv {

namespace {

constexpr char kFile[] = "libzmq.so.5";

struct Loaded {
  ZeroMq functions{};
  absl::Status status;
};

template <typename F>
void find(void* library, const char* name, F& function, absl::Status& status) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr)
    status = absl::UnimplementedError(absl::StrCat("this machine's ", kFile, " has no ", name, ": version 4.3 or later is needed"));
}

Loaded open_library() {
  Loaded loaded;
  void* library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.status = absl::UnimplementedError(
        absl::StrCat("several processes need ", kFile, ", which is not on this machine (Debian's package libzmq5)"));
    return loaded;
  }
  ZeroMq& zmq = loaded.functions;
  absl::Status& status = loaded.status;
  find(library, "zmq_ctx_new", zmq.ctx_new, status);
  find(library, "zmq_ctx_set", zmq.ctx_set, status);
  find(library, "zmq_ctx_term", zmq.ctx_term, status);
  find(library, "zmq_socket", zmq.socket, status);
  find(library, "zmq_close", zmq.close, status);
  find(library, "zmq_setsockopt", zmq.setsockopt, status);
  find(library, "zmq_getsockopt", zmq.getsockopt, status);
  find(library, "zmq_bind", zmq.bind, status);
  find(library, "zmq_connect", zmq.connect, status);
  find(library, "zmq_disconnect", zmq.disconnect, status);
  find(library, "zmq_send", zmq.send, status);
  find(library, "zmq_poll", zmq.poll, status);
  find(library, "zmq_msg_init", zmq.msg_init, status);
  find(library, "zmq_msg_init_size", zmq.msg_init_size, status);
  find(library, "zmq_msg_init_data", zmq.msg_init_data, status);
  find(library, "zmq_msg_move", zmq.msg_move, status);
  find(library, "zmq_msg_close", zmq.msg_close, status);
  find(library, "zmq_msg_data", zmq.msg_data, status);
  find(library, "zmq_msg_size", zmq.msg_size, status);
  find(library, "zmq_msg_more", zmq.msg_more, status);
  find(library, "zmq_msg_get", zmq.msg_get, status);
  find(library, "zmq_msg_send", zmq.msg_send, status);
  find(library, "zmq_msg_recv", zmq.msg_recv, status);
  find(library, "zmq_socket_monitor", zmq.socket_monitor, status);
  find(library, "zmq_curve_keypair", zmq.curve_keypair, status);
  find(library, "zmq_z85_encode", zmq.z85_encode, status);
  find(library, "zmq_strerror", zmq.strerror, status);
  find(library, "zmq_errno", zmq.last_error, status);
  return loaded;
}

}  // namespace

absl::StatusOr<const ZeroMq*> ZeroMq::load() {
  static const Loaded loaded = open_library();
  if (!loaded.status.ok()) return loaded.status;
  return &loaded.functions;
}

}  // namespace mxc::kv
