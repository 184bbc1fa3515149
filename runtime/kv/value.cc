// See value.h.
#include "runtime/kv/value.h"

#include <algorithm>
#include <utility>

namespace mxc::kv {

Value::Value(size_t size) : now_(std::make_shared<Room>()) { now_->bytes.resize(size); }

std::span<char> Value::changed() {
  copy_.reset();
  if (!is_replaced_) return now_->bytes;
  const std::shared_ptr<Room> before = now_;
  const std::span<char> room = replaced();
  std::copy(before->bytes.begin(), before->bytes.end(), room.begin());
  return room;
}

std::span<char> Value::replaced() {
  is_replaced_ = true;
  copy_.reset();
  shared_ = {};
  if (now_->is_read.load(std::memory_order_acquire)) {
    std::shared_ptr<Room> room = other_room();
    others_.push_back(std::exchange(now_, std::move(room)));
  }
  return now_->bytes;
}

// One that nobody reads any more.
std::shared_ptr<Value::Room> Value::other_room() {
  const auto free = std::ranges::find_if(others_, [](const auto& room) { return !room->is_read.load(std::memory_order_acquire); });
  std::shared_ptr<Room> room;
  if (free != others_.end()) {
    room = std::move(*free);
    others_.erase(free);
  } else {
    room = std::make_shared<Room>();
    room->bytes.resize(now_->bytes.size());
  }
  return room;
}

// Its bytes, to be read as long as somebody has the frame.
Frame Value::frame_of(const std::shared_ptr<Room>& room) {
  room->is_read.store(true, std::memory_order_relaxed);
  const std::string_view bytes = room->bytes;
  std::shared_ptr<Room> reader(room.get(), [room](Room* read) { read->is_read.store(false, std::memory_order_release); });
  return Frame(bytes, std::move(reader));
}

Summed Value::told() {
  if (is_replaced_) {
    if (shared_.frame.owner() == nullptr) shared_ = Summed(frame_of(now_));
    return shared_;
  }
  std::shared_ptr<const Summed> copy = copy_.lock();
  if (copy == nullptr) {
    copy = std::make_shared<const Summed>(Frame(now_->bytes));
    copy_ = copy;
  }
  Summed shared = *copy;
  shared.frame = Frame(copy->frame, copy);
  return shared;
}

}  // namespace mxc::kv
