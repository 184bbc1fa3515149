// StateFile: numbered records of fixed sizes that survive the death of the process that writes them. The file is mapped: what has been written is the
// kernel's, whatever becomes of the process. It does not survive the death of the machine: nothing is forced to disk.
//
// A record lies there twice, in two slots. Writing goes to the older one, which is first made invalid, then filled, then made valid again: so whenever
// the writer is killed, one of the two is whole; and after a write the record as it was before can still be read.
//
// The file, integers little-endian, everything else zero:
//
//   at  bytes
//    0    4    magic, "MXKS"
//    4    4    version of the format, 1
//    8    8    job
//   16    8    hash of the communication plan
//   24    4    number of the server
//   28    4    records
//   60    4    CRC32C of bytes 0 to 59
//   64         the slots of record 0, the slots of record 1, ... each of 64 bytes and the record's size, rounded up to 64:
//
//    0    8      sequence: the larger is the newer
//    8    8      version of the record
//   16    4      bytes that are written: the record's size, or 0: nothing yet
//   20    4      CRC32C of these
//   60    4      CRC32C of bytes 0 to 59
//   64           the record
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mxc::kv {

// Whose state it is.
struct StateOwner {
  uint64_t job = 0;
  uint64_t plan = 0;
  uint32_t server = 0;
};

// Threads: one at a time, but for `remove`.
class StateFile {
 public:
  // Opens the file, or makes one whose records are empty. A slot that is damaged or half written gives way to the other.
  // One that is made has its name when `fill`, which may be null, has written what it begins with.
  // Error, with the path: it cannot be made; it is no such file; it is another owner's; another process has it; a record is damaged in both slots.
  static absl::StatusOr<std::unique_ptr<StateFile>> open(const std::string& path, const StateOwner& owner, std::vector<uint32_t> sizes,
                                                         const std::function<void(StateFile&)>& fill = nullptr);
  // Opens one that is there, beside others who read it. Nothing may be written. Errors: as above.
  static absl::StatusOr<std::unique_ptr<StateFile>> read(const std::string& path, const StateOwner& owner, std::vector<uint32_t> sizes);
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  // A record as it was written. Lives until the second `write` of the record from here.
  struct Copy {
    uint64_t version = 0;
    std::string_view bytes;
  };
  // Nothing: the record has not been written.
  std::optional<Copy> newest(uint32_t record) const;
  // What was the newest before; nothing: there is no such, or it is lost.
  std::optional<Copy> before(uint32_t record) const;

  // `pieces`, one behind the other, are the record. Requires: they have its size together.
  void write(uint32_t record, uint64_t version, std::span<const std::string_view> pieces);

  // The file has done its work: its name is taken away. From any thread.
  void remove() const;

  // Where a record's slot 0 or 1 begins, and how many bytes it has.
  std::pair<size_t, size_t> place(uint32_t record, int slot) const;

 private:
  struct Record {
    size_t at = 0;      // of slot 0
    uint32_t size = 0;  // bytes
    int newest = 0;     // slot
    bool whole[2] = {true, true};
  };

  StateFile(std::string path, std::vector<uint32_t> sizes);
  absl::Status make(const StateOwner& owner, const std::function<void(StateFile&)>& fill);
  absl::Status load(const StateOwner& owner, bool writes);
  absl::Status map(bool writes);
  absl::Status check_header(const StateOwner& owner) const;
  absl::Status wrong(const std::string& what) const;
  std::optional<Copy> copy(const Record& record, int slot) const;
  bool is_whole(const Record& record, int slot) const;
  char* slot(const Record& record, int slot) const;

  const std::string path_;
  std::vector<Record> records_;
  size_t bytes_ = 0;  // of the file
  int file_ = -1;
  char* memory_ = nullptr;
};

}  // namespace mxc::kv
