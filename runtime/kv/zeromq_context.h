// A context of libzmq's, which endpoints share: those of one context reach each other within the process, without network and encryption.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "runtime/kv/zeromq_library.h"

namespace mxc::kv {

// Threads: any. It is there while an endpoint uses it.
class ZeroMqContext {
 public:
  // `threads`: of libzmq's, which send and receive.
  ZeroMqContext(const ZeroMq& zmq, int threads) : zmq_(zmq), threads_(threads) {}
  ZeroMqContext(const ZeroMqContext&) = delete;
  ZeroMqContext& operator=(const ZeroMqContext&) = delete;

  // Libzmq's handle, for one more endpoint; null: the system grants none.
  void* enter();
  // Of an endpoint that has closed its sockets. The last one waits for what is still to leave.
  void leave();

  // For a socket within the process.
  std::string fresh_name();
  // An endpoint listens at this address, and at `name_within(address)`.
  void listens(const std::string& address);
  bool has(const std::string& address);
  // Before memory is handed to another endpoint within the process, and after it has come: libzmq orders the one before the other, and by these ThreadSanitizer sees it.
  void hand_over() { handed_.fetch_add(1, std::memory_order_release); }
  void take_over() const { (void)handed_.load(std::memory_order_acquire); }
  static std::string name_within(const std::string& address) { return "inproc://" + address; }

 private:
  const ZeroMq& zmq_;
  const int threads_;
  std::atomic<uint64_t> handed_{0};  // release and acquire: see hand_over
  std::mutex mutex_;  // guards what follows
  void* handle_ = nullptr;
  int endpoints_ = 0, names_ = 0;
  std::set<std::string> addresses_;
};

}  // namespace mxc::kv
