// Inbox: what endpoints of one process have for each other. Frames go from hand to hand: memory that somebody keeps is not copied.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/kv/frame.h"

namespace mxc::kv {

class Inbox;

// What comes through a connection within the process.
struct Parcel {
  enum class Kind : uint8_t { begun, message, ended };
  Kind kind = Kind::message;
  uint64_t link = 0;  // of the connection
  std::vector<Frame> frames = {};
  std::shared_ptr<Inbox> from = nullptr;  // of one that has begun: where answers go
};

// Threads: any may put, one takes.
class Inbox {
 public:
  // Null: the system grants no descriptor.
  static std::shared_ptr<Inbox> make();
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // False: nobody takes any more.
  bool put(Parcel parcel);
  std::deque<Parcel> take();
  // Before waiting for `descriptor`, which can be read when something is put from then on. False: something is there.
  bool sleep();
  void close();
  int descriptor() const { return bell_; }

 private:
  explicit Inbox(int bell) : bell_(bell) {}

  const int bell_;
  std::mutex mutex_;  // guards what follows
  std::deque<Parcel> parcels_;
  bool asleep_ = false, rung_ = false, closed_ = false;
};

// The endpoints of a process that listen, by their addresses. Threads: any.
class Inboxes {
 public:
  void add(const std::string& address, const std::shared_ptr<Inbox>& inbox);
  void remove(const std::string& address);
  // Null: there is none.
  std::shared_ptr<Inbox> find(const std::string& address) const;
  // Of a new connection.
  uint64_t fresh_link();

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::shared_ptr<Inbox>> inboxes_;
  uint64_t links_ = 0;
};

}  // namespace mxc::kv
