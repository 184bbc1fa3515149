// Frame: bytes of a message, in memory that stays as long as somebody has the frame. Copies share it; nobody changes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mxc::kv {

class Frame {
 public:
  Frame() = default;
  Frame(std::string bytes) {  // implicit: a frame is what a string is, shared
    auto held = std::make_shared<const std::string>(std::move(bytes));
    bytes_ = *held;
    owner_ = std::move(held);
  }
  Frame(const char* text) : Frame(std::string(text)) {}
  // Bytes in memory that `owner` keeps.
  Frame(std::string_view bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}

  operator std::string_view() const { return bytes_; }
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  bool operator==(const Frame& other) const { return bytes_ == other.bytes_; }

 private:
  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace mxc::kv
