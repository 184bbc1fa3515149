// Array: an owning array of plain records, sized once. The core has no libstdc++ to take std::vector from.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace mxc::core {

// Elements start as zero bytes. Move-only. Threads: as for a plain array.
template <typename T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  Array(Array&& other) : data_(other.data_), size_(other.size_) { other.release(); }
  Array& operator=(Array&& other) {
    if (this != &other) {
      free(data_);
      data_ = other.data_;
      size_ = other.size_;
      other.release();
    }
    return *this;
  }
  ~Array() { free(data_); }

  // Replaces the contents by `size` zeroed elements. Returns false, and is empty, if memory is short.
  bool allocate(uint64_t size) {
    free(data_);
    data_ = static_cast<T*>(calloc(size == 0 ? 1 : size, sizeof(T)));
    size_ = data_ == nullptr ? 0 : size;
    return data_ != nullptr;
  }

  T& operator[](uint64_t i) { return data_[i]; }
  const T& operator[](uint64_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  uint64_t size() const { return size_; }

 private:
  void release() {
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace mxc::core
