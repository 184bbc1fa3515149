// The public face of Store, and how a process finds its job.
#include "mxc/kvstore.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/data_transport.h"
#include "runtime/kv/join.h"
#include "runtime/kv/machine_sums.h"
#include "runtime/kv/role.h"
#include "runtime/kv/store.h"
#include "runtime/ndarray/array.h"

namespace mxc {

using ndarray::fail;

KVStore KVStore::create(const std::string& kind, const KVStoreOptions& options, Here here) {
  kv::keep_role();
  absl::StatusOr<kv::StoreKind> parsed = kv::parse_kind(kind);
  if (!parsed.ok()) fail("create", std::string(parsed.status().message()), here);
  if (absl::Status status = kv::set_local(options.local, *parsed); !status.ok()) fail("create", absl::StrCat("local: ", status.message()), here);
  const bool each_shard = parsed->consistency.each_shard;
  if (each_shard && !options.compress.empty()) fail("create", "local: async does not go with compression", here);
  if (absl::Status status = kv::check_data_transport(options.transport); !status.ok()) fail("create", std::string(status.message()), here);
  if (options.shards < 0) fail("create", absl::StrCat(options.shards, " shards"), here);
  kv::Compression compression;
  if (!options.compress.empty()) {
    const absl::StatusOr<kv::Compression> method = kv::parse_compression(options.compress);
    if (!method.ok()) fail("create", std::string(method.status().message()), here);
    compression = *method;
  }
  std::optional<kv::Identity> identity;
  if (parsed->distributed) {
    absl::StatusOr<std::optional<kv::Identity>> detected = kv::detect_identity([](const char* name) { return std::getenv(name); });
    if (!detected.ok()) fail("create", std::string(detected.status().message()), here);
    identity = *std::move(detected);
  }
  const absl::StatusOr<std::string> machine = kv::machine_to_add_in({options.machine_sums, parsed->consistency.is_async(), compression.is_on(),
                                                                     identity.has_value() && identity->waits, options.shared_memory, options.transport});
  if (!machine.ok()) fail("create", absl::StrCat("machine_sums: ", machine.status().message()), here);
  const int64_t size = identity.has_value() ? identity->size : 1;
  const int64_t said = identity.has_value() && options.shards == 0 ? identity->shards : options.shards;
  const int64_t shards = said == 0 ? size : said;
  if (shards < size) fail("create", absl::StrCat(shards, " shards for ", size, " workers: each has at least one"), here);
  if (options.servers < 0) fail("create", absl::StrCat(options.servers, " servers"), here);
  const int64_t servers = options.servers > 0 ? options.servers : identity.has_value() && identity->servers > 0 ? identity->servers : size;
  if (servers > size) fail("create", absl::StrCat(servers, " servers of ", size, " workers: each is one of them"), here);
  if (size == 1) return KVStore(kv::make_local_store(shards, compression, each_shard));
  if (identity->waits) {
    fail("create",
         absl::StrCat("the job was launched with --on-death=", kv::on_death(*identity),
                      ", and a program with a main of its own would begin anew: only the standard trainer goes on"),
         here);
  }
  absl::StatusOr<kv::ProcessOptions> joined = kv::process_options(*identity, parsed->consistency, options.shared_memory, options.transport);
  if (!joined.ok()) fail("create", std::string(joined.status().message()), here);
  joined->machine = *machine;
  absl::StatusOr<std::shared_ptr<kv::Store>> store = kv::make_remote_store(*joined, {shards, servers, compression, options.whole_keys, each_shard});
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
