// Value: the elements of a chunk, as its server holds them, and as those who are told of it read them. What has been told does not change.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kv/wire.h"

namespace mxc::kv {

// Threads: one at a time; what it has told may be let go by any.
class Value {
 public:
  explicit Value(size_t size);

  std::string_view bytes() const { return now_->bytes; }
  // The elements, to be changed where they are. They never move if `replaced` is not called.
  std::span<char> changed();
  // Room for others in their place, all of which are to be written.
  std::span<char> replaced();
  // The elements as they are now: one copy for all who are told between two changes; of what is replaced as a whole none at all.
  Summed told();

 private:
  struct Room {
    std::string bytes;
    std::atomic<bool> is_read = false;  // release when the last reader lets it go, acquire before it is written to
  };
  static Frame frame_of(const std::shared_ptr<Room>& room);
  std::shared_ptr<Room> other_room();

  bool is_replaced_ = false;
  std::shared_ptr<Room> now_;
  std::vector<std::shared_ptr<Room>> others_;  // that were read when they were replaced
  Summed shared_;                // of what is replaced: its bytes themselves; empty: nobody has been told
  std::weak_ptr<const Summed> copy_;  // of what is changed, as long as it is on its way to somebody
};

}  // namespace mxc::kv
