// libzmq, opened when a program first goes over the network: a program is linked without it, and runs without it on one machine.
#pragma once

#include <zmq.h>

#include "absl/status/statusor.h"

namespace mxc::kv {

// Its functions that are used here, by their names without "zmq_".
struct ZeroMq {
  decltype(&zmq_ctx_new) ctx_new;
  decltype(&zmq_ctx_set) ctx_set;
  decltype(&zmq_ctx_term) ctx_term;
  decltype(&zmq_socket) socket;
  decltype(&zmq_close) close;
  decltype(&zmq_setsockopt) setsockopt;
  decltype(&zmq_getsockopt) getsockopt;
  decltype(&zmq_bind) bind;
  decltype(&zmq_connect) connect;
  decltype(&zmq_disconnect) disconnect;
  decltype(&zmq_send) send;
  decltype(&zmq_poll) poll;
  decltype(&zmq_msg_init) msg_init;
  decltype(&zmq_msg_init_size) msg_init_size;
  decltype(&zmq_msg_init_data) msg_init_data;
  decltype(&zmq_msg_move) msg_move;
  decltype(&zmq_msg_close) msg_close;
  decltype(&zmq_msg_data) msg_data;
  decltype(&zmq_msg_size) msg_size;
  decltype(&zmq_msg_more) msg_more;
  decltype(&zmq_msg_get) msg_get;
  decltype(&zmq_msg_send) msg_send;
  decltype(&zmq_msg_recv) msg_recv;
  decltype(&zmq_socket_monitor) socket_monitor;
  decltype(&zmq_curve_keypair) curve_keypair;
  decltype(&zmq_z85_encode) z85_encode;
  decltype(&zmq_strerror) strerror;
  decltype(&zmq_errno) last_error;

  // The same each time; it stays open. Error: it is not on this machine, or too old. Threads: any.
  static absl::StatusOr<const ZeroMq*> load();
};

}  // namespace mxc::kv
