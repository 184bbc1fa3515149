// A job within a process: a scheduler and a store for each worker, each on a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/kv/scheduler_loop.h"
#include "runtime/kv/store.h"
#include "tests/runtime/kv/transports.h"

namespace mxc::kv::test {

struct JobSetting {
  uint32_t workers = 1;
  int64_t shards = 1;
  std::string kind = "dist_sync";
  std::string compress = "";
  std::string local = "";
  bool whole_keys = false;
  int64_t servers = 0;  // 0: all workers
  Endpoints endpoints = in_process();
  std::vector<std::string> machines = {};  // of the workers; empty: each is by itself
  Duration silence = std::chrono::seconds(30);  // machines that run tests are busy
};

inline Compression compression_of(const std::string& text) { return text.empty() ? Compression() : *parse_compression(text); }

using Program = std::function<void(Store& store)>;

// Runs `program` as each worker. Returns what each was stopped by: empty, or an Error's message; and last, how the scheduler ended.
inline std::vector<std::string> run_job(const JobSetting& setting, const Program& program) {
  std::promise<std::string> address;
  std::vector<std::string> ends(setting.workers + 1);
  std::thread scheduler([&] {
    SchedulerOptions options;
    options.members = setting.workers;
    options.silence = setting.silence;
    ends.back() = std::string(run_scheduler(setting.endpoints(), 7, options, "tcp://127.0.0.1:*", [&](const std::string& where) {
                                address.set_value(where);
                              }).message());
  });
  const std::string where = address.get_future().get();
  std::vector<std::thread> workers;
  for (uint32_t rank = 0; rank < setting.workers; ++rank) {
    workers.emplace_back([&, rank] {
      ProcessOptions options;
      options.job = 7;
      options.rank = rank;
      options.size = setting.workers;
      options.scheduler = options.member.scheduler = where;
      options.listen = "tcp://127.0.0.1:*";
      if (!setting.machines.empty()) options.machine = setting.machines[rank];
      options.member.who = "host test, process " + std::to_string(rank);
      options.member.silence = setting.silence;
      options.member.beat = std::chrono::milliseconds(50);
      StoreKind kind = *parse_kind(setting.kind);
      ASSERT_TRUE(set_local(setting.local, kind).ok());
      options.worker.consistency = kind.consistency;
      options.worker.patience = std::chrono::milliseconds(10);
      options.endpoint = [&](int64_t) -> absl::StatusOr<std::unique_ptr<Transport>> { return setting.endpoints(); };
      try {
        auto store = make_remote_store(
            options, {setting.shards, setting.servers > 0 ? setting.servers : setting.workers, compression_of(setting.compress), setting.whole_keys, kind.consistency.each_shard});
        ASSERT_TRUE(store.ok()) << store.status();
        program(**store);
        (*store)->close(Here::current());
      } catch (const Error& error) {
        ends[rank] = error.message;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  scheduler.join();
  return ends;
}

inline std::vector<std::string> without_errors(uint32_t workers) { return std::vector<std::string>(workers + 1); }

}  // namespace mxc::kv::test
