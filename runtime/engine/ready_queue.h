// ReadyQueue: the operations of a lane that may run, the most urgent first and among equals the oldest.
//
// Most operations become ready in the very order in which they are to run: these form a linked run, at whose end an operation is
// put if it is to run after all of the run. The others go into a heap. So the common case costs a few instructions whatever the length.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/engine/operation.h"

namespace mxc::engine {

class ReadyQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void push(Operation* operation) {
    ++size_;
    if (first_ != nullptr && !runs_later(operation, last_)) {
      heap_.push_back(operation);
      std::push_heap(heap_.begin(), heap_.end(), runs_later);
      return;
    }
    operation->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = operation;
    last_ = operation;
  }

  // The operation to run first. Requires: not empty.
  Operation* front() const { return in_heap() ? heap_.front() : first_; }

  Operation* pop() {
    --size_;
    if (in_heap()) {
      std::pop_heap(heap_.begin(), heap_.end(), runs_later);
      Operation* operation = heap_.back();
      heap_.pop_back();
      return operation;
    }
    Operation* operation = first_;
    first_ = operation->next;
    return operation;
  }

 private:
  static bool runs_later(const Operation* a, const Operation* b) {
    if (a->traits.priority != b->traits.priority) return a->traits.priority < b->traits.priority;
    return a->sequence > b->sequence;
  }
  bool in_heap() const { return first_ == nullptr || (!heap_.empty() && runs_later(first_, heap_.front())); }

  Operation *first_ = nullptr, *last_ = nullptr;  // the run; last_ counts only if first_ is set
  std::vector<Operation*> heap_;                  // the operation that is to run first is the largest
  size_t size_ = 0;
};

}  // namespace mxc::engine
