// See inbox.h.
#include "runtime/kv/inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace mxc::kv {

std::shared_ptr<Inbox> Inbox::make() {
  const int bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return bell < 0 ? nullptr : std::shared_ptr<Inbox>(new Inbox(bell));
}

Inbox::~Inbox() { ::close(bell_); }

bool Inbox::put(Parcel parcel) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  parcels_.push_back(std::move(parcel));
  if (!std::exchange(asleep_, false)) return true;
  const uint64_t one = 1;
  rung_ = ::write(bell_, &one, sizeof one) == sizeof one;
  return true;
}

std::deque<Parcel> Inbox::take() {
  std::lock_guard lock(mutex_);
  asleep_ = false;
  uint64_t times;
  if (rung_) rung_ = ::read(bell_, &times, sizeof times) != sizeof times;
  return std::exchange(parcels_, {});
}

bool Inbox::sleep() {
  std::lock_guard lock(mutex_);
  asleep_ = parcels_.empty();
  return asleep_;
}

// What is there goes: it may keep the inboxes of others.
void Inbox::close() {
  std::deque<Parcel> left;
  std::lock_guard lock(mutex_);
  closed_ = true;
  left.swap(parcels_);
}

void Inboxes::add(const std::string& address, const std::shared_ptr<Inbox>& inbox) {
  std::lock_guard lock(mutex_);
  inboxes_[address] = inbox;
}

void Inboxes::remove(const std::string& address) {
  std::lock_guard lock(mutex_);
  inboxes_.erase(address);
}

std::shared_ptr<Inbox> Inboxes::find(const std::string& address) const {
  std::lock_guard lock(mutex_);
  const auto found = inboxes_.find(address);
  return found == inboxes_.end() ? nullptr : found->second;
}

uint64_t Inboxes::fresh_link() {
  std::lock_guard lock(mutex_);
  return ++links_;
}

}  // namespace mxc::kv
