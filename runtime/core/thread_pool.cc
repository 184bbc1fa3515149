// How a loop travels. `state` packs the loop's generation (48 bits, never wraps) and the number of unclaimed chunks (16 bits). Whether a
// chunk can be claimed is thus decided by `state` alone: a description that is being changed cannot make a finished loop look unfinished.
//
// Invariants
// 1. A chunk is claimed by exactly one thread: the compare-and-swap that takes one off the unclaimed chunks of the current generation.
// 2. The loop's description (function, context, grid, chunks) changes only while no chunk is claimed and unfinished: the caller
//    returns, and so can publish again, only when `done` equals the number of chunks.
// 3. Hence a thread that read the description and then claimed a chunk of the same generation read the right description: its
//    reads come before its increment of `done`, which comes before the next change.
// 4. A worker that sleeps is woken by the next loop: see `publish` and `wait_for_loop`.
#include "runtime/core/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <new>

#include "runtime/core/array.h"
#include "runtime/core/fork_mark.h"
#include "runtime/core/spin.h"

namespace mxc::core {

namespace {

constexpr int64_t kSpinNanoseconds = 50'000;  // longer than the gaps between the loops of a step, shorter than a time slice
constexpr int64_t kChunksPerThread = 4;       // a thread that is held up delays the loop by at most a quarter of its share
constexpr int64_t kMaxChunks = 0xffff;
constexpr int kMaxThreads = 1024;

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace

struct ThreadPool::Shared {
  // One cache line for what every claim writes, one for what a claim reads, one for waiting.
  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<RangeFunction> function{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<int64_t> grid{0};
  std::atomic<int64_t> chunks{0};
  alignas(64) std::atomic<uint32_t> done{0};   // finished chunks of the current loop; futex of the caller
  std::atomic<uint32_t> caller_sleeps{0};
  alignas(64) std::atomic<uint32_t> epoch{0};  // loops published (and the stop); futex of the workers
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  std::atomic<bool> busy{false};               // a caller's loop is published

  const ForkMark mark;
  int threads = 1;
  int64_t spin_budget = 0;
  Array<pthread_t> workers;  // the first `started` run
  int started = 0;

  void publish(int64_t cells, int64_t parts, RangeFunction f, void* c);
  bool claim(RangeFunction* f, void** c, int64_t* begin, int64_t* end, int64_t* parts);
  void work();
  void wait_for_chunks(int64_t parts);
  bool wait_for_loop(uint32_t* seen);
  void announce(int wakes);
  bool start(int count, int64_t budget);
  static void* worker_main(void* shared);
};

// Requires: this thread holds `busy`, and the former loop has ended.
void ThreadPool::Shared::publish(int64_t cells, int64_t parts, RangeFunction f, void* c) {
  // Relaxed: the release store of `state` below publishes them to every thread that acquires the new generation.
  function.store(f, std::memory_order_relaxed);
  context.store(c, std::memory_order_relaxed);
  grid.store(cells, std::memory_order_relaxed);
  chunks.store(parts, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
  // Relaxed load: only holders of `busy` change the generation, and acquiring `busy` ordered them.
  uint64_t generation = (state.load(std::memory_order_relaxed) >> 16) + 1;
  // Release: who acquires this value (or one that a claim made from it, which continues the release sequence) sees the
  // description and all that the caller wrote before.
  state.store(generation << 16 | static_cast<uint64_t>(parts), std::memory_order_release);
  announce(static_cast<int>(parts) - 1);
}

// Tells workers that something is new, and wakes up to `wakes` of those that sleep.
void ThreadPool::Shared::announce(int wakes) {
  // Sequentially consistent, with the increment of `sleepers` and the load of `epoch` in wait_for_loop: either the worker sees
  // the new epoch, or this thread sees the sleeper. It is also the release that makes `state` and `stopping` visible.
  epoch.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) futex_wake(epoch, wakes);
}

// Claims the next chunk of the current loop, if any.
bool ThreadPool::Shared::claim(RangeFunction* f, void** c, int64_t* begin, int64_t* end, int64_t* parts) {
  // Acquire: pairs with the release in `publish`.
  uint64_t seen = state.load(std::memory_order_acquire);
  while ((seen & 0xffff) != 0) {
    // Relaxed: at least as new as the acquired generation; invariant 3 bounds them from above when the claim succeeds.
    *f = function.load(std::memory_order_relaxed);
    *c = context.load(std::memory_order_relaxed);
    int64_t cells = grid.load(std::memory_order_relaxed);
    *parts = chunks.load(std::memory_order_relaxed);
    // Relaxed on success: the acquire that gave `seen` already ordered the description before the chunk's work.
    if (state.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed, std::memory_order_acquire)) {
      int64_t k = *parts - static_cast<int64_t>(seen & 0xffff), size = cells / *parts, rest = cells % *parts;
      *begin = k * size + (k < rest ? k : rest);
      *end = *begin + size + (k < rest ? 1 : 0);
      return true;
    }
  }
  return false;
}

// Runs chunks until none is left to claim.
void ThreadPool::Shared::work() {
  RangeFunction f;
  void* c;
  int64_t begin, end, parts;
  while (claim(&f, &c, &begin, &end, &parts)) {
    f(c, begin, end);
    // Release: the caller's acquire of the full count sees what every chunk wrote (increments continue the sequence).
    // Sequentially consistent, with `caller_sleeps`: either this thread sees the sleeping caller or he sees the full count.
    uint32_t finished = done.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (finished == static_cast<uint32_t>(parts) && caller_sleeps.load(std::memory_order_seq_cst) != 0) futex_wake(done, 1);
  }
}

void ThreadPool::Shared::wait_for_chunks(int64_t parts) {
  uint32_t all = static_cast<uint32_t>(parts);
  // Acquire: pairs with the increments in `work`.
  auto finished = [&] { return done.load(std::memory_order_acquire) == all; };
  if (spin(spin_budget, finished)) return;
  caller_sleeps.store(1, std::memory_order_seq_cst);
  for (uint32_t seen = done.load(std::memory_order_seq_cst); seen != all; seen = done.load(std::memory_order_seq_cst)) {
    futex_wait(done, seen);
  }
  // Relaxed: a late reader of the old value wakes nobody or a later caller, who looks again.
  caller_sleeps.store(0, std::memory_order_relaxed);
}

// Waits until `epoch` differs from *seen and updates it; false when the pool stops.
bool ThreadPool::Shared::wait_for_loop(uint32_t* seen) {
  // Acquire: pairs with the increment in `announce`.
  auto changed = [&] { return epoch.load(std::memory_order_acquire) != *seen; };
  while (!spin(spin_budget, changed)) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    // If the epoch moves between this load and the sleep, the futex does not sleep.
    if (epoch.load(std::memory_order_seq_cst) == *seen) futex_wait(epoch, *seen);
    // Relaxed: a count that is too high for a moment costs one needless wake-up.
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  *seen = epoch.load(std::memory_order_acquire);
  // Relaxed: ordered by the acquire of the epoch that announced it.
  return !stopping.load(std::memory_order_relaxed);
}

// Starts count - 1 workers; false if the system refuses (those started are joined by `stop`).
bool ThreadPool::Shared::start(int count, int64_t budget) {
  threads = count;
  spin_budget = budget;
  if (!workers.allocate(static_cast<uint64_t>(count) - 1)) return false;
  for (; started < count - 1; ++started) {
    if (pthread_create(&workers[static_cast<uint64_t>(started)], nullptr, worker_main, this) != 0) return false;
  }
  return true;
}

void* ThreadPool::Shared::worker_main(void* pointer) {
  Shared* shared = static_cast<Shared*>(pointer);
  uint32_t seen = 0;
  while (shared->wait_for_loop(&seen)) shared->work();
  return nullptr;
}

ThreadPool::ThreadPool(ThreadPool&& other) : shared_(other.shared_) { other.shared_ = nullptr; }

ThreadPool& ThreadPool::operator=(ThreadPool&& other) {
  if (this != &other) {
    stop();
    shared_ = other.shared_;
    other.shared_ = nullptr;
  }
  return *this;
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  if (shared_ == nullptr) return;
  if (!shared_->mark.inherited()) {
    // Relaxed: published by the epoch.
    shared_->stopping.store(true, std::memory_order_relaxed);
    shared_->announce(INT_MAX);
    for (int i = 0; i < shared_->started; ++i) pthread_join(shared_->workers[static_cast<uint64_t>(i)], nullptr);
  }
  shared_->~Shared();
  free(shared_);
  shared_ = nullptr;
}

Status ThreadPool::create(int threads, ThreadPool* pool) {
  int cpus = available_cpus();
  if (threads == 0) threads = cpus;
  if (threads < 0 || threads > kMaxThreads) {
    return error(Code::invalid_argument, "threads: %d is not in [0, %d]", threads, kMaxThreads);
  }
  ThreadPool made;
  if (threads > 1) {
    void* memory = aligned_alloc(alignof(Shared), sizeof(Shared));
    if (memory == nullptr) return error(Code::out_of_memory, "no memory for the thread pool");
    made.shared_ = new (memory) Shared;
    if (!made.shared_->start(threads, threads <= cpus ? kSpinNanoseconds : 0)) {
      return error(Code::out_of_memory, "cannot start %d threads", threads);
    }
  }
  *pool = static_cast<ThreadPool&&>(made);
  return Status();
}

int ThreadPool::threads() const { return shared_ == nullptr || shared_->mark.inherited() ? 1 : shared_->threads; }

void ThreadPool::parallel(int64_t grid, RangeFunction function, void* context) {
  if (grid <= 0) return;
  // Acquire: the former holder's loop has ended and its changes of the description come before ours.
  bool alone = threads() == 1 || grid == 1 || shared_->busy.exchange(true, std::memory_order_acquire);
  if (alone) return function(context, 0, grid);
  int64_t parts = int64_t{shared_->threads} * kChunksPerThread;
  parts = parts > kMaxChunks ? kMaxChunks : parts;
  parts = parts > grid ? grid : parts;
  shared_->publish(grid, parts, function, context);
  shared_->work();
  shared_->wait_for_chunks(parts);
  shared_->busy.store(false, std::memory_order_release);  // release: pairs with the exchange above
}

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

}  // namespace mxc::core
