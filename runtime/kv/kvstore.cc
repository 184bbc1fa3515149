// The public face of Store, and how a process finds its job.
#include "mxc/kvstore.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/keys.h"
#include "runtime/kv/role.h"
#include "runtime/kv/store.h"
#include "runtime/kv/zeromq.h"
#include "runtime/ndarray/array.h"

namespace mxc {

using ndarray::fail;

namespace {

std::string host_and_process() {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0) host[0] = '\0';
  return absl::StrCat("host ", host, ", process ", ::getpid());
}

absl::StatusOr<std::shared_ptr<kv::Store>> join(const kv::Identity& identity, const kv::Consistency& consistency, int64_t shards) {
  kv::ProcessOptions options;
  options.job = identity.job;
  options.rank = identity.rank;
  options.size = identity.size;
  options.scheduler = options.member.scheduler = identity.scheduler;
  options.listen = "tcp://127.0.0.1:*";
  options.member.who = host_and_process();
  options.worker.consistency = consistency;
  kv::ZeroMqOptions network;
  if (!identity.keys_file.empty()) {
    absl::StatusOr<kv::JobKeys> keys = kv::read_keys(identity.keys_file);
    if (!keys.ok()) return keys.status();
    network.keys = *std::move(keys);
  }
  options.endpoint = [network](int64_t largest) {
    kv::ZeroMqOptions of_this = network;
    of_this.largest_frame = largest;
    return kv::make_zeromq_transport(of_this);
  };
  return kv::make_remote_store(options, shards);
}

}  // namespace

KVStore KVStore::create(const std::string& kind, const KVStoreOptions& options, Here here) {
  kv::keep_role();
  const absl::StatusOr<kv::StoreKind> parsed = kv::parse_kind(kind);
  if (!parsed.ok()) fail("create", std::string(parsed.status().message()), here);
  if (options.shards < 0) fail("create", absl::StrCat(options.shards, " shards"), here);
  std::optional<kv::Identity> identity;
  if (parsed->distributed) {
    absl::StatusOr<std::optional<kv::Identity>> detected = kv::detect_identity([](const char* name) { return std::getenv(name); });
    if (!detected.ok()) fail("create", std::string(detected.status().message()), here);
    identity = *std::move(detected);
  }
  const int64_t size = identity.has_value() ? identity->size : 1;
  const int64_t said = identity.has_value() && options.shards == 0 ? identity->shards : options.shards;
  const int64_t shards = said == 0 ? size : said;
  if (shards < size) fail("create", absl::StrCat(shards, " shards for ", size, " workers: each has at least one"), here);
  if (size == 1) return KVStore(kv::make_local_store(shards));
  absl::StatusOr<std::shared_ptr<kv::Store>> store = join(*identity, parsed->consistency, shards);
  if (!store.ok()) fail("create", std::string(store.status().message()), here);
  return KVStore(*std::move(store));
}

void KVStore::init(const std::string& key, const NDArray& value, Here here) { store_->init(key, value, here); }
void KVStore::init(const std::vector<std::string>& keys, const std::vector<NDArray>& values, Here here) {
  if (keys.size() != values.size()) fail("init", absl::StrCat(keys.size(), " keys and ", values.size(), " values"), here);
  for (size_t i = 0; i < keys.size(); ++i) store_->init(keys[i], values[i], here);
}
void KVStore::push(const std::string& key, const NDArray& value, int priority, Here here) {
  store_->push(key, {value}, priority, here);
}
void KVStore::push(const std::string& key, const std::vector<NDArray>& values, int priority, Here here) {
  store_->push(key, values, priority, here);
}
void KVStore::pull(const std::string& key, const NDArray& target, Here here) { store_->pull(key, target, here); }
void KVStore::set_updater(std::function<void(const KVUpdate&)> updater, Here here) {
  store_->set_updater(std::move(updater), here);
}
void KVStore::barrier(Here here) { store_->barrier(here); }
void KVStore::close(Here here) { store_->close(here); }

int KVStore::rank() const { return static_cast<int>(store_->rank); }
int KVStore::size() const { return static_cast<int>(store_->size); }
int64_t KVStore::shards() const { return store_->shards; }
int64_t KVStore::first_shard() const { return store_->own.first; }
int64_t KVStore::own_shards() const { return store_->own.end - store_->own.first; }

}  // namespace mxc
