// The transports that one suite of tests is run on.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "runtime/kv/in_process.h"
#include "runtime/kv/memory_transport.h"
#include "runtime/kv/mpi.h"
#include "runtime/kv/tcp.h"
#include "runtime/kv/zeromq.h"

namespace mxc::kv::test {

// Makes endpoints of one network.
using Endpoints = std::function<std::unique_ptr<Transport>()>;

inline Endpoints in_process(const Faults& faults = {}) {
  return [network = InProcessNetwork::create(faults)] { return network->endpoint(); };
}

inline Endpoints zeromq(const ZeroMqOptions& options) {
  return [options] {
    auto transport = make_zeromq_transport(options);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  };
}

inline Endpoints zeromq_with_keys() {
  auto keys = make_keys();
  EXPECT_TRUE(keys.ok()) << keys.status();
  return zeromq({.keys = *keys, .largest_frame = 1 << 21});
}

// `within`: through memory, as endpoints of one process have it.
inline Endpoints tcp(bool within = false) {
  return [inboxes = within ? std::make_shared<Inboxes>() : nullptr] {
    auto transport = make_tcp_transport({.largest_frame = 1 << 21, .inboxes = inboxes});
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  };
}

// Through memory, with ZeroMQ beside it. Rings of one page: what is larger goes piece by piece.
inline Endpoints shared_memory(int64_t capacity = 4096, bool on = true) {
  return [capacity, on] {
    auto transport = make_memory_transport({.on = on, .largest_frame = 1 << 21, .capacity = capacity, .other = [](int descriptor) {
                                              return make_zeromq_transport({.largest_frame = 1 << 21, .also = descriptor});
                                            }});
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  };
}

inline Endpoints mpi(const mxc_mpi* plugin) {
  auto process = join_mpi(plugin, 1);
  EXPECT_TRUE(process.ok()) << process.status();
  return [process = *process] { return make_mpi_transport(process, 1 << 21); };
}

// The next arrival that is none of `nothing`, within ten seconds.
inline Arrival next(Transport& transport) {
  auto arrival = transport.receive(std::chrono::seconds(10));
  EXPECT_TRUE(arrival.ok()) << arrival.status();
  return arrival.ok() ? *std::move(arrival) : Arrival{};
}

inline absl::Status say(Transport& transport, Peer peer, const std::vector<std::string>& frames) {
  return transport.send(peer, std::vector<std::string_view>(frames.begin(), frames.end()));
}

}  // namespace mxc::kv::test
