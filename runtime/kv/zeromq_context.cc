// See zeromq_context.h.
#include "runtime/kv/zeromq_context.h"

#include <utility>

namespace mxc::kv {

void* ZeroMqContext::enter() {
  std::lock_guard lock(mutex_);
  if (handle_ == nullptr) {
    handle_ = zmq_.ctx_new();
    if (handle_ == nullptr) return nullptr;
    zmq_.ctx_set(handle_, ZMQ_IO_THREADS, threads_);
  }
  ++endpoints_;
  return handle_;
}

void ZeroMqContext::leave() {
  std::lock_guard lock(mutex_);
  if (--endpoints_ > 0) return;
  zmq_.ctx_term(std::exchange(handle_, nullptr));
  addresses_.clear();
}

std::string ZeroMqContext::fresh_name() {
  std::lock_guard lock(mutex_);
  return "inproc://" + std::to_string(names_++);
}

void ZeroMqContext::listens(const std::string& address) {
  std::lock_guard lock(mutex_);
  addresses_.insert(address);
}

bool ZeroMqContext::has(const std::string& address) {
  std::lock_guard lock(mutex_);
  return addresses_.contains(address);
}

}  // namespace mxc::kv
