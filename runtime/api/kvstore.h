// KVStore: values that the processes of a job share.
//
//     KVStore kv = KVStore::create("dist_sync");
//     Executor net(digits, cpu(), {.seed = 1});
//     for (Parameter& p : net.parameters()) kv.init(p.name, p.value);
//     for (...) {
//       net.forward_backward();
//       for (Parameter& p : net.parameters()) {
//         kv.push(p.name, p.grad);
//         kv.pull(p.name, p.value);
//       }
//     }
//
// `mxc launch -n 4 ./program` runs such a program in four processes; started alone, it is the only one. A push contributes an array to the sum
// of all workers' arrays; when all have contributed, the value of the key is updated, once; a pull brings it. Pushes and pulls are operations of
// the engine: they are queued in program order, return at once, and run when their arrays are there, while other work goes on.
//
// Shards. A job has a number of shards, by default one a worker; each worker has some of them, and contributes one array a shard. The
// arrays are added by a binary tree over the shards that does not depend on the number of workers: in "local" and "dist_sync" the values have the
// same bits whether one process has four shards, two have two each, or four have one.
//
// Element types: f16, bf16, f32, f64, i32, i64, which travel as they are. Of f16 and bf16 each sum of two is computed in f32 and rounded, at each node of the
// tree. Sums of i32 and i64 wrap around. i8, u8 and boolean are refused: sums over a few shards would leave their range unnoticed.
//
// Kinds
//   "local"           one process
//   "dist_sync"       a pull after the t-th push of a key brings the sum of everybody's first t pushes
//   "dist_bounded:s"  or one that lacks the last s of them
//   "dist_async"      everybody's pushes are updates of their own, in the order of arrival; a pull has at least the worker's own in it. With
//                     `KVStoreOptions::local` "async" so is each shard's array of a push, in the order of shards
//
// Compression. `KVStoreOptions::compress` ("fp16", "bf16", "2bit", "topk:0.01") sends fewer bytes for keys of f32 and f64; others travel as they
// are. What is left out of a push is added to the next of that key and shard. With an updater, in "local" and "dist_sync", a pull brings values that follow the updated ones in the same way: the updater
// sees them whole. The bits are still those of one process.
//
// Errors: mxc::Error with the line of the call for what is wrong at once. What goes wrong later (a process of the job dies, an updater fails) is
// thrown where an array that was pulled is read; from then on the job has failed, in all of its processes.
// Threads: a store is used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "mxc/error.h"
#include "mxc/ndarray.h"

namespace mxc {

namespace kv {
class Store;  // what a store is inside
}

struct KVStoreOptions {
  int64_t shards = 0;         // of the job; 0: what `mxc launch --shards` says, or else one a worker
  std::string transport = "";  // what carries arrays: "zeromq", "tcp", "mpi", "mpi:FILE" (docs/kvstore.md); empty: zeromq
  std::string compress = "";  // the same in all processes; empty: nothing is compressed
  int64_t servers = 0;        // how many of the processes hold and update values; 0: what `mxc launch --servers` says, or else all
  bool shared_memory = true;  // arrays between processes of one machine go through its memory, where they can
  std::string machine_sums = "";  // do processes of a machine add up before arrays leave it? "auto" or empty: where the job can; "on": or throw; "off"
  std::string local = "";     // "sync" or empty: the arrays of a worker's shards are added before they leave; "async", with "dist_async": each is an update of its own
  bool whole_keys = false;    // keys are not cut: each lies in one process, and an updater may look at all its elements (a norm)
};

// An update of a part of a key: elements [first, first + value.size()), as vectors. Large keys are cut, and their parts lie in different
// processes, unless they are to stay whole: what an updater keeps (a momentum) belongs to a key and `first`.
struct KVUpdate {
  const std::string& key;
  int64_t first;
  int64_t step;             // of the key, from 1
  int64_t shards;           // that have contributed to the sum: fewer than the job has once workers have closed
  const NDArray& gradient;  // the sum
  const NDArray& value;     // to be written to
};

class KVStore {
 public:
  // Of an order that says: first the keys that were initialised first.
  static constexpr int kByOrder = std::numeric_limits<int>::min();

  // In a job, all processes create a store of the same kind and call the same things. Does not wait for the others.
  // Throws: there is no such kind, compression or transport; machine_sums are asked for, and cannot be; the launcher's variables contradict each other; fewer shards than workers; more servers than workers.
  static KVStore create(const std::string& kind = "local", const KVStoreOptions& options = {}, Here here = Here::current());

  // Names a key and gives it its first value: that of rank 0. All keys are initialised before the first push or pull, in the same order
  // everywhere; best in the order in which a step first uses them. Waits for the value.
  // Throws: the key is there already; a dtype that is not f16, bf16, f32, f64, i32 or i64.
  void init(const std::string& key, const NDArray& value, Here here = Here::current());
  void init(const std::vector<std::string>& keys, const std::vector<NDArray>& values, Here here = Here::current());
  void init(std::initializer_list<std::string> keys, const std::vector<NDArray>& values, Here here = Here::current()) {
    init(std::vector<std::string>(keys), values, here);
  }

  // Contributes to the key's next step: an array of the key's shape and dtype for each of this worker's shards. Among pushes that wait, one
  // of a larger priority goes first.
  void push(const std::string& key, const NDArray& value, int priority = kByOrder, Here here = Here::current());
  void push(const std::string& key, const std::vector<NDArray>& values, int priority = kByOrder, Here here = Here::current());
  // Writes the key's value into an array of its shape and dtype.
  void pull(const std::string& key, const NDArray& target, Here here = Here::current());

  // What becomes of a value: without an updater, it is replaced by the sum. Before the first push or pull; the same in all processes. It is
  // called on a thread of the store's, for one part of a key at a time, and must do to each element what it does to every other; with whole keys, what it does
  // to all of them.
  void set_updater(std::function<void(const KVUpdate&)> updater, Here here = Here::current());

  // Waits until all workers have come here. A pull after it has in it what everybody pushed before, but for the last s pushes of
  // "dist_bounded:s". Throws: the job has failed.
  void barrier(Here here = Here::current());

  // This worker has nothing more to push: others do not wait for it any more. Waits until all have closed, since values lie in all
  // processes. Throws: the job has failed. The last handle that goes closes too, and throws nothing; if an exception takes it away, the job fails.
  void close(Here here = Here::current());

  int rank() const;             // of this worker, from 0
  int size() const;             // workers
  int64_t shards() const;       // of the job
  int64_t first_shard() const;  // of this worker's, which are contiguous
  int64_t own_shards() const;   // how many it has

 private:
  explicit KVStore(std::shared_ptr<kv::Store> store) : store_(std::move(store)) {}
  std::shared_ptr<kv::Store> store_;
};

}  // namespace mxc
