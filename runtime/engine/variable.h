// Variable: a handle to a resource that operations share, and the list of them that an operation names.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace mxc::engine {

// What the engine knows of a variable (operation.h), and the part of it that counts who refers to it.
struct VariableState;
struct VariableReferences {
  std::atomic<uint32_t> count{1};
};
void free_variable(VariableReferences* variable);

// A handle to a resource known to one engine; copies mean the same resource. It lives while a handle or an operation names it, and
// handles may outlive the engine. Threads: as a shared_ptr.
class Variable {
 public:
  Variable() = default;  // no variable
  Variable(const Variable& other) : record_(other.record_) {
    // Relaxed: `other` keeps the record alive meanwhile.
    if (record_ != nullptr) record_->count.fetch_add(1, std::memory_order_relaxed);
  }
  Variable(Variable&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Variable& operator=(Variable other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Variable() {
    // Release what this handle's owner did, acquire what the others did: the last one frees the record.
    if (record_ != nullptr && record_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) free_variable(record_);
  }

  explicit operator bool() const { return record_ != nullptr; }
  bool operator==(const Variable& other) const { return record_ == other.record_; }

 private:
  friend class Engine;
  friend class VariableRef;
  friend class Variables;
  explicit Variable(VariableReferences* record) : record_(record) {}

  VariableReferences* record_ = nullptr;
};

// Refers to a handle for the time of a call, without counting.
class VariableRef {
 public:
  VariableRef(const Variable& variable) : record_(variable.record_) {}

 private:
  friend class Variables;
  VariableReferences* record_;
};

// The variables that a call names: `{x, y}`, or a vector. Lives no longer than the call.
class Variables {
 public:
  Variables() = default;
  Variables(std::initializer_list<VariableRef> list) : refs_(list.begin()), size_(list.size()) {}
  Variables(const std::vector<Variable>& list) : handles_(list.data()), size_(list.size()) {}
  Variables(const Variable* first, size_t count) : handles_(first), size_(count) {}

  size_t size() const { return size_; }
  VariableReferences* operator[](size_t i) const { return refs_ != nullptr ? refs_[i].record_ : handles_[i].record_; }

 private:
  const VariableRef* refs_ = nullptr;      // one of the two
  const Variable* handles_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mxc::engine
