// SmallFunction: a callable that is moved, not copied, and that keeps what it captured in place.
//
// std::function allocates for all but the smallest captures and demands copies; an engine that queues a million operations a second
// can afford neither.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace mxc::engine {

template <typename Signature, size_t kBytes>
class SmallFunction;

// Holds any callable that can be moved. Up to `kBytes` bytes lie inside, larger ones (and those whose move may throw) on the heap.
// Requires: called only if not empty. Threads: as the callable.
template <typename Result, typename... Arguments, size_t kBytes>
class SmallFunction<Result(Arguments...), kBytes> {
 public:
  SmallFunction() = default;
  SmallFunction(std::nullptr_t) {}

  // An empty std::function or a null pointer makes an empty function.
  template <typename F>
    requires(!std::same_as<std::remove_cvref_t<F>, SmallFunction> && std::is_invocable_r_v<Result, std::decay_t<F>&, Arguments...>)
  SmallFunction(F&& function) {
    using Held = std::decay_t<F>;
    if constexpr (!std::is_empty_v<Held> && std::is_constructible_v<bool, Held&>) {
      if (!static_cast<bool>(function)) return;
    }
    if constexpr (sizeof(Held) <= kBytes && alignof(Held) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Held>) {
      new (storage_) Held(std::forward<F>(function));
      actions_ = &kInside<Held>;
    } else {
      new (storage_) Held*(new Held(std::forward<F>(function)));
      actions_ = &kOnHeap<Held>;
    }
  }

  SmallFunction(SmallFunction&& other) noexcept { take(other); }
  SmallFunction& operator=(SmallFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~SmallFunction() { reset(); }

  // Destroys what it holds.
  void reset() {
    const Actions* actions = std::exchange(actions_, nullptr);
    if (actions != nullptr && actions->destroy != nullptr) actions->destroy(storage_);
  }

  explicit operator bool() const { return actions_ != nullptr; }
  Result operator()(Arguments... arguments) { return actions_->call(storage_, std::forward<Arguments>(arguments)...); }

 private:
  struct Actions {
    Result (*call)(void* held, Arguments&&... arguments);
    void (*move)(void* to, void* from);  // leaves `from` destroyed; null: the bytes are copied
    void (*destroy)(void* held);         // null: nothing to do
  };

  template <typename Held>
  static constexpr Actions kInside = {
      [](void* held, Arguments&&... arguments) -> Result {
        return std::invoke(*static_cast<Held*>(held), std::forward<Arguments>(arguments)...);
      },
      std::is_trivially_copyable_v<Held> ? nullptr
                                         : +[](void* to, void* from) {
                                             Held* old = static_cast<Held*>(from);
                                             new (to) Held(std::move(*old));
                                             old->~Held();
                                           },
      std::is_trivially_destructible_v<Held> ? nullptr : +[](void* held) { static_cast<Held*>(held)->~Held(); }};

  template <typename Held>
  static constexpr Actions kOnHeap = {
      [](void* held, Arguments&&... arguments) -> Result {
        return std::invoke(**static_cast<Held**>(held), std::forward<Arguments>(arguments)...);
      },
      nullptr, [](void* held) { delete *static_cast<Held**>(held); }};

  void take(SmallFunction& other) {
    if (other.actions_ == nullptr) return;
    if (other.actions_->move == nullptr) {
      std::memcpy(storage_, other.storage_, kBytes);
    } else {
      other.actions_->move(storage_, other.storage_);
    }
    actions_ = std::exchange(other.actions_, nullptr);
  }

  const Actions* actions_ = nullptr;
  alignas(std::max_align_t) unsigned char storage_[kBytes];
};

}  // namespace mxc::engine
