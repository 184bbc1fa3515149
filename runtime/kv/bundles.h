// Bundles: chunks that hold several small keys (plan.h). A message costs the same whether it carries ten elements or a thousand; so neighbours travel together:
// a bundle leaves when its last key has been pushed for a step, and one pull brings them all. Keys of a bundle are pushed in the same steps.
//
// Both are state machines of one thread, without clock and network.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/kv/frame.h"
#include "runtime/kv/lent.h"
#include "runtime/kv/plan.h"

namespace mxc::kv {

// A part of a worker's contribution to a key: all its elements, compressed if the plan says so (block after block, as if the key were one chunk). Of what
// weighs nothing there are none.
struct PartOfKey {
  const char* bytes = nullptr;
  uint32_t weight = 0;
  std::shared_ptr<Lent> lent = nullptr;  // may be sent from, until it is let go; null: is copied
};

// Contributions to keys, until those to a bundle are whole.
class BundledPushes {
 public:
  struct Whole {
    std::vector<Frame> bytes;  // of each part
    std::vector<uint32_t> weights;
    int32_t priority = 0;  // the most urgent key's
  };

  explicit BundledPushes(const CommunicationPlan& plan) : plan_(plan) {}

  // What a key contributes to its chunk is copied, unless it is lent and `lends`, and the chunk has no other key. The contribution to the chunk if it is whole now. Requires: each key once a step, with the same weights.
  std::optional<Whole> add(uint32_t chunk, const Piece& piece, uint64_t step, const std::vector<PartOfKey>& parts, int32_t priority, bool lends = false);

 private:
  struct Begun {
    Whole whole;
    std::vector<std::string> bytes;  // of each part of a bundle
    size_t pieces = 0;               // that are there
  };
  const CommunicationPlan& plan_;
  std::map<std::pair<uint32_t, uint64_t>, Begun> begun_;  // bundles, by chunk and step
};

// Values of bundles: what a pull of one key has brought serves the others, each once.
class BundledPulls {
 public:
  struct Answer {
    const std::string* value = nullptr;  // the chunk's; null: it has to come. Until the next call
    uint64_t version = 0;
    uint64_t ticket = 0;                 // of the pull that brings it
    bool ask = false;                    // that pull has to be sent
  };

  // A key wants its chunk's value after `step` pushes. `ticket`: for a pull that has to be sent.
  Answer want(uint32_t chunk, uint32_t key, uint64_t step, uint64_t ticket);
  // The pull has brought it, for all that have wanted it and that will.
  void arrived(uint32_t chunk, uint64_t version, std::string_view value);

 private:
  struct State {
    bool there = false;
    uint64_t step = 0, version = 0;  // of what has arrived: which step was asked for
    std::string value;
    uint64_t awaited = 0, ticket = 0;     // the step and ticket of a pull that is under way; no ticket: none is
    std::map<uint32_t, uint64_t> served;  // the last step that each key has wanted and been given
  };
  std::map<uint32_t, State> chunks_;
};

}  // namespace mxc::kv
