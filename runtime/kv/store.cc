// See store.h.
#include "runtime/kv/store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/engine/default_engine.h"
#include "runtime/io/printable.h"
#include "runtime/ndarray/array.h"

namespace mxc::kv {

using ndarray::fail;

namespace {

constexpr size_t kMostNames = 8;  // that a message lists

std::string quoted(const std::string& name) { return absl::StrCat("'", io::printable(name, io::kMostShown), "'"); }

std::string described(const std::vector<int64_t>& shape, plan::DType dtype) {
  return absl::StrCat(ndarray::type_name(dtype), " of shape ", ndarray::text(ndarray::Dims(shape)));
}

}  // namespace

Store::Store(uint32_t rank, uint32_t size, int64_t shards, const Compression& compression)
    : rank(rank), size(size), shards(shards), own(shards_of(rank, size, shards)), compression(compression) {}

std::string Residuals::pack(const Compression& compression, plan::DType dtype, uint32_t key, size_t shard, std::span<char> contribution) {
  std::vector<char>& left = left_[key][shard];
  left.resize(contribution.size());
  const int64_t elements = static_cast<int64_t>(contribution.size()) / ndarray::bytes_of(dtype);
  std::string packed(static_cast<size_t>(packed_bytes(compression, dtype, elements)), '\0');
  kv::pack(compression, dtype, contribution, left, packed.data());
  return packed;
}

uint32_t Store::known(const char* op, const std::string& key, Here here) const {
  if (auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kMostNames, keys_.size()); ++i) names.push_back(quoted(keys_[i].name));
  if (keys_.size() > kMostNames) names.push_back("...");
  fail(op,
       absl::StrCat("there is no key ", quoted(key), "; there ",
                    names.empty() ? "are none" : absl::StrCat("are ", absl::StrJoin(names, ", "))),
       here);
}

void Store::check_alike(const char* op, uint32_t key, const NDArray& array, Here here) const {
  const ndarray::Array& a = ndarray::get(array, op, here);
  const Key& expected = keys_[key];
  if (a.chunk->engine != &engine::default_engine())
    fail(op, absl::StrCat("key ", quoted(expected.name), ": the array belongs to another engine than the process's"), here);
  if (a.dtype == expected.dtype && a.shape.vector() == expected.shape) return;
  fail(op,
       absl::StrCat("key ", quoted(expected.name), " is ", described(expected.shape, expected.dtype), ", and the array ",
                    described(a.shape.vector(), a.dtype)),
       here);
}

void Store::check_open(const char* op, Here here) const {
  if (closed_) fail(op, "the KVStore is closed", here);
}

void Store::begin_once(Here here) {
  if (!begun_) begin(here);
  begun_ = true;
}

void Store::init(const std::string& key, const NDArray& value, Here here) {
  check_open("init", here);
  if (begun_) fail("init", absl::StrCat("key ", quoted(key), ": keys are initialised before the first push or pull"), here);
  if (numbers_.contains(key)) fail("init", absl::StrCat("key ", quoted(key), " is there already"), here);
  const ndarray::Array& a = ndarray::get(value, "init", here);
  Key made = {key, a.shape.vector(), a.dtype};
  // One plan with this key alone says what is wrong with it.
  if (absl::Status status = make_plan({made}, {}).status(); !status.ok()) fail("init", std::string(status.message()), here);
  keys_.push_back(std::move(made));
  const auto number = static_cast<uint32_t>(keys_.size() - 1);
  init_key(number, value, here);
  numbers_[key] = number;
}

void Store::push(const std::string& key, const std::vector<NDArray>& values, int priority, Here here) {
  check_open("push", here);
  const uint32_t number = known("push", key, here);
  const int64_t wanted = own.end - own.first;
  if (static_cast<int64_t>(values.size()) != wanted) {
    fail("push",
         absl::StrCat("key ", quoted(key), ": this worker has ", wanted, wanted == 1 ? " shard" : " shards", ", and ",
                      values.size(), values.size() == 1 ? " array is" : " arrays are", " given"),
         here);
  }
  for (const NDArray& value : values) check_alike("push", number, value, here);
  begin_once(here);
  push_key(number, values, priority == KVStore::kByOrder ? -static_cast<int32_t>(number) : priority, here);
}

void Store::pull(const std::string& key, const NDArray& target, Here here) {
  check_open("pull", here);
  const uint32_t number = known("pull", key, here);
  check_alike("pull", number, target, here);
  begin_once(here);
  pull_key(number, target, here);
}

void Store::set_updater(Updater updater, Here here) {
  check_open("set_updater", here);
  if (begun_) fail("set_updater", "the updater is set before the first push or pull", here);
  updater_ = std::move(updater);
}

void Store::barrier(Here here) {
  check_open("barrier", here);
  meet(here);
}

void Store::close(Here here) {
  if (closed_) return;
  begin_once(here);  // others may wait for this worker's server
  closed_ = true;
  end(here);
}

NDArray sum_of_shards(Node node, int64_t first, const std::vector<NDArray>& values) {
  std::vector<std::optional<NDArray>> shards(values.begin(), values.end());
  auto leaf = [&](Node n) { return n.end - n.first == 1 ? &shards[static_cast<size_t>(n.first - first)] : nullptr; };
  return *sum_of<NDArray>(node, leaf, [](NDArray left, NDArray right) { return std::move(left) + std::move(right); });
}

}  // namespace mxc::kv
