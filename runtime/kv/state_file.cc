// See state_file.h.
#include "runtime/kv/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/kv/crc32c.h"

namespace mxc::kv {

namespace {

constexpr uint32_t kMagic = 0x534b584d;  // "MXKS"
constexpr uint32_t kFormat = 1;
constexpr size_t kHead = 64;  // bytes of the file's header, and of a slot's

// Where fields stand; of the file's header, and of a slot's.
constexpr size_t kFormatAt = 4, kJobAt = 8, kPlanAt = 16, kServerAt = 24, kRecordsAt = 28, kHeadSumAt = 60;
constexpr size_t kSequenceAt = 0, kVersionAt = 8, kLengthAt = 16, kSumAt = 20;

template <typename T>
T get(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void put(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void seal(char* head) { put(head + kHeadSumAt, crc32c(head, kHeadSumAt)); }
bool is_sealed(const char* head) { return get<uint32_t>(head + kHeadSumAt) == crc32c(head, kHeadSumAt); }

size_t rounded_up(size_t bytes) { return (bytes + kHead - 1) / kHead * kHead; }

// A process that is killed has made its stores in the order in which the machine was told them.
void in_order() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace

StateFile::StateFile(std::string path, std::vector<uint32_t> sizes) : path_(std::move(path)), bytes_(kHead) {
  for (uint32_t size : sizes) {
    records_.push_back({bytes_, size});
    bytes_ += 2 * (kHead + rounded_up(size));
  }
}

StateFile::~StateFile() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
  if (file_ >= 0) ::close(file_);
}

absl::Status StateFile::wrong(const std::string& what) const { return absl::InvalidArgumentError(absl::StrCat(path_, ": ", what)); }

char* StateFile::slot(const Record& record, int slot) const {
  return memory_ + record.at + static_cast<size_t>(slot) * (kHead + rounded_up(record.size));
}

std::pair<size_t, size_t> StateFile::place(uint32_t record, int slot) const {
  const Record& placed = records_[record];
  return {static_cast<size_t>(this->slot(placed, slot) - memory_), kHead + placed.size};
}

absl::StatusOr<std::unique_ptr<StateFile>> StateFile::open(const std::string& path, const StateOwner& owner, std::vector<uint32_t> sizes,
                                                           const std::function<void(StateFile&)>& fill) {
  std::unique_ptr<StateFile> made(new StateFile(path, std::move(sizes)));
  made->file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (made->file_ < 0 && errno != ENOENT) return made->wrong(absl::StrCat("cannot open: ", std::strerror(errno)));
  absl::Status status = made->file_ < 0 ? made->make(owner, fill) : made->load(owner, /*writes=*/true);
  if (!status.ok()) return status;
  return made;
}

absl::StatusOr<std::unique_ptr<StateFile>> StateFile::read(const std::string& path, const StateOwner& owner, std::vector<uint32_t> sizes) {
  std::unique_ptr<StateFile> made(new StateFile(path, std::move(sizes)));
  made->file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (made->file_ < 0) return made->wrong(absl::StrCat("cannot open: ", std::strerror(errno)));
  if (absl::Status status = made->load(owner, /*writes=*/false); !status.ok()) return status;
  return made;
}

absl::Status StateFile::map(bool writes) {
  void* memory = ::mmap(nullptr, bytes_, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) return wrong(absl::StrCat("cannot map: ", std::strerror(errno)));
  memory_ = static_cast<char*>(memory);
  return absl::OkStatus();
}

// Under another name first: under its own a file is whole.
absl::Status StateFile::make(const StateOwner& owner, const std::function<void(StateFile&)>& fill) {
  const std::string fresh = path_ + ".new";
  file_ = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0) return wrong(absl::StrCat("cannot make: ", std::strerror(errno)));
  // All of it now: a store to a page that finds no room later would end the process.
  if (const int why = ::posix_fallocate(file_, 0, static_cast<off_t>(bytes_)); why != 0) {
    ::unlink(fresh.c_str());
    return wrong(absl::StrCat("no room for ", bytes_, " bytes: ", std::strerror(why)));
  }
  if (absl::Status status = map(/*writes=*/true); !status.ok()) return status;
  put(memory_, kMagic);
  put(memory_ + kFormatAt, kFormat);
  put(memory_ + kJobAt, owner.job);
  put(memory_ + kPlanAt, owner.plan);
  put(memory_ + kServerAt, owner.server);
  put(memory_ + kRecordsAt, static_cast<uint32_t>(records_.size()));
  seal(memory_);
  for (const Record& record : records_) {
    for (int number : {0, 1}) seal(slot(record, number));
  }
  if (fill) fill(*this);
  const bool done = ::flock(file_, LOCK_EX | LOCK_NB) == 0 && ::rename(fresh.c_str(), path_.c_str()) == 0;
  return done ? absl::OkStatus() : wrong(absl::StrCat("cannot make: ", std::strerror(errno)));
}

absl::Status StateFile::check_header(const StateOwner& owner) const {
  if (get<uint32_t>(memory_) != kMagic) return wrong("it is no state of a server");
  if (const auto format = get<uint32_t>(memory_ + kFormatAt); format != kFormat)
    return wrong(absl::StrCat("its format is ", format, ", and this program's is ", kFormat));
  if (!is_sealed(memory_)) return wrong("its header is damaged");
  if (const auto job = get<uint64_t>(memory_ + kJobAt); job != owner.job)
    return wrong(absl::StrFormat("it is the state of another job (%016x, and this is %016x)", job, owner.job));
  if (const auto plan = get<uint64_t>(memory_ + kPlanAt); plan != owner.plan)
    return wrong(absl::StrFormat("it is of another plan (%016x, and this is %016x): another build, or other keys, shapes or shards", plan, owner.plan));
  if (const auto server = get<uint32_t>(memory_ + kServerAt); server != owner.server)
    return wrong(absl::StrCat("it is the state of rank ", server, ", and this is rank ", owner.server));
  return absl::OkStatus();
}

absl::Status StateFile::load(const StateOwner& owner, bool writes) {
  if (::flock(file_, (writes ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) return wrong("another process has it");
  struct stat info;
  if (::fstat(file_, &info) != 0) return wrong(absl::StrCat("cannot read: ", std::strerror(errno)));
  const auto found = static_cast<size_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || found < kHead) return wrong("it is no state of a server");
  // Of a foreign file the header alone is looked at: as much as is there.
  const size_t wanted = std::exchange(bytes_, std::min(bytes_, found));
  if (absl::Status status = map(writes); !status.ok()) return status;
  if (absl::Status status = check_header(owner); !status.ok()) return status;
  if (found != wanted || get<uint32_t>(memory_ + kRecordsAt) != records_.size())
    return wrong(absl::StrCat("it has ", found, " bytes, and should have ", wanted));
  for (size_t number = 0; number < records_.size(); ++number) {
    Record& record = records_[number];
    for (int which : {0, 1}) record.whole[which] = is_whole(record, which);
    if (!record.whole[0] && !record.whole[1]) return wrong(absl::StrCat("record ", number, " is damaged, and so is its other copy"));
    record.newest = record.whole[1] && (!record.whole[0] || get<uint64_t>(slot(record, 1)) > get<uint64_t>(slot(record, 0))) ? 1 : 0;
  }
  return absl::OkStatus();
}

bool StateFile::is_whole(const Record& record, int number) const {
  const char* at = slot(record, number);
  if (!is_sealed(at)) return false;
  const auto length = get<uint32_t>(at + kLengthAt);
  if (length != 0 && length != record.size) return false;
  return get<uint32_t>(at + kSumAt) == crc32c(at + kHead, length);
}

std::optional<StateFile::Copy> StateFile::copy(const Record& record, int number) const {
  const char* at = slot(record, number);
  if (!record.whole[number] || get<uint32_t>(at + kLengthAt) == 0) return std::nullopt;
  return Copy{get<uint64_t>(at + kVersionAt), {at + kHead, record.size}};
}

std::optional<StateFile::Copy> StateFile::newest(uint32_t record) const { return copy(records_[record], records_[record].newest); }
std::optional<StateFile::Copy> StateFile::before(uint32_t record) const { return copy(records_[record], 1 - records_[record].newest); }

void StateFile::write(uint32_t number, uint64_t version, std::span<const std::string_view> pieces) {
  Record& record = records_[number];
  const int older = 1 - record.newest;
  char* at = slot(record, older);
  const uint64_t sequence = get<uint64_t>(slot(record, record.newest) + kSequenceAt) + 1;
  put(at + kHeadSumAt, ~crc32c(at, kHeadSumAt));
  in_order();
  size_t length = 0;
  uint32_t sum = 0;
  for (std::string_view piece : pieces) {
    if (piece.empty()) continue;
    std::memcpy(at + kHead + length, piece.data(), piece.size());
    sum = crc32c(piece.data(), piece.size(), sum);
    length += piece.size();
  }
  in_order();
  put(at + kSequenceAt, sequence);
  put(at + kVersionAt, version);
  put(at + kLengthAt, static_cast<uint32_t>(length));
  put(at + kSumAt, sum);
  in_order();
  seal(at);
  record.whole[older] = true;
  record.newest = older;
}

void StateFile::remove() const { ::unlink(path_.c_str()); }

}  // namespace mxc::kv
