// ServerState: what a server of a plan keeps in its state file (state_file.h): for each chunk its value, with those of the chunks beside it, as they are
// committed, and the one before; and which workers have finished it.
//
// Chunks that lie beside one another are one record: an update changes them together, and so it is there whole or not at all. In front of the values
// stands a byte for each, 1 if the chunk has been initialised.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/plan.h"
#include "runtime/kv/state_file.h"

namespace mxc::kv {

class Takeover;

// The file of the server of this rank, in the folder of the job's.
std::string state_path(const std::string& folder, uint32_t rank);

class ServerState {
 public:
  // `before`: what a state begins with whose file is not there; null: nothing. Requires: `plan` lives as long as this. Errors: see StateFile::open.
  static absl::StatusOr<std::unique_ptr<ServerState>> open(const std::string& path, uint64_t job, const CommunicationPlan& plan, uint32_t server,
                                                           const Takeover* before = nullptr);
  // To be read alone, beside others who read it.
  static absl::StatusOr<std::unique_ptr<ServerState>> read(const std::string& path, uint64_t job, const CommunicationPlan& plan, uint32_t server);

  // A chunk of this server's.
  struct Kept {
    bool initialised = false;
    uint64_t version = 0;  // of the chunk beside which it lies, if it does
    std::string_view value;
  };
  // Lies it beside no other?
  bool is_main(uint32_t chunk) const { return places_[chunk].group == chunk; }
  // What was kept last; nothing: never. Lives until the second `keep` of the chunk from here.
  std::optional<Kept> newest(uint32_t chunk) const { return kept(chunk, file_->newest(places_[chunk].values)); }
  // What was kept before that, if it is still there.
  std::optional<Kept> before(uint32_t chunk) const { return kept(chunk, file_->before(places_[chunk].values)); }
  // Keeps the chunk and those that lie beside it; `now` tells what each of them is.
  void keep(uint32_t chunk, const std::function<Kept(uint32_t chunk)>& now);

  // From which step on each worker has finished a chunk; nothing: none has.
  std::optional<std::vector<uint64_t>> finished(uint32_t chunk) const;
  void keep_finished(uint32_t chunk, const std::vector<uint64_t>& from);

  // The state is not needed any more. From any thread.
  void remove() const { file_->remove(); }
  const StateFile& file() const { return *file_; }

 private:
  struct Place {
    uint32_t values = 0, finished = 0;  // records
    uint32_t group = 0;                 // the chunk that the record of the values is called after
    size_t at = 0;                      // of its value in the record
    size_t number = 0;                  // among the chunks of the record
  };

  explicit ServerState(const CommunicationPlan& plan) : plan_(plan) {}
  std::vector<uint32_t> lay_out(uint32_t server);
  void write(StateFile& file, uint32_t chunk, const std::function<Kept(uint32_t chunk)>& now) const;
  void begin_with(StateFile& file, const Takeover& before) const;
  std::optional<Kept> kept(uint32_t chunk, const std::optional<StateFile::Copy>& copy) const;

  const CommunicationPlan& plan_;
  std::vector<Place> places_;                   // by chunk; of this server's
  std::vector<std::vector<uint32_t>> members_;  // by chunk: of the record that is called after it; empty: none is
  std::unique_ptr<StateFile> file_;
};

}  // namespace mxc::kv
