// See scheduler.h.
#include "runtime/kv/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/io/printable.h"

namespace mxc::kv {

Scheduler::Scheduler(const SchedulerOptions& options, Time now)
    : options_(options), began_(now), members_(options.members), ticked_(now) {}

template <typename Condition>
bool Scheduler::all(Condition condition) const {
  return std::all_of(members_.begin(), members_.end(), condition);
}

bool Scheduler::all_have_come() const {
  return all([](const Member& m) { return m.joined; });
}

// "rank 2 (host alpha, process 4711)".
std::string Scheduler::described(uint32_t rank) const {
  const Member& member = members_[rank];
  return member.joined ? absl::StrCat("rank ", rank, " (", io::printable(member.who, io::kMostShown), ")")
                       : absl::StrCat("rank ", rank);
}

void Scheduler::tell(uint32_t rank, Type type, uint64_t step, std::vector<Notice>& notices, std::string text) {
  Notice notice{rank, {}, std::move(text)};
  notice.header.type = type;
  notice.header.step = step;
  notice.header.epoch = epoch_;
  notices.push_back(std::move(notice));
}

void Scheduler::tell_all(Type type, uint64_t step, std::vector<Notice>& notices, const std::string& text) {
  for (uint32_t rank = 0; rank < members_.size(); ++rank) tell(rank, type, step, notices, text);
}

void Scheduler::fail(std::string why, std::vector<Notice>& notices) {
  if (is_over()) return;
  failure_ = std::move(why);
  tell_all(Type::abort, 0, notices, failure_);
}

void Scheduler::gone(uint32_t rank, const std::string& how, std::vector<Notice>& notices) {
  fail(absl::StrCat(described(rank), " ", how, "; the last step that it began was ", members_[rank].progress.step), notices);
}

void Scheduler::note_progress(Member& member, Progress progress, Time now) {
  if (progress.moves != member.progress.moves || progress.waits != member.progress.waits) member.moved = now;
  member.progress = std::move(progress);
}

absl::Status Scheduler::receive(const Message& message, Time now, std::vector<Notice>& notices) {
  const Header& header = message.header;
  const uint32_t rank = header.sender;
  if (rank >= members_.size()) return absl::InvalidArgumentError("its sender is no member");
  Member& member = members_[rank];
  if (!failure_.empty()) {
    tell(rank, Type::abort, 0, notices, failure_);
    return absl::OkStatus();
  }
  if (header.type == Type::join) {
    join(rank, message, notices);
    member.heard = member.moved = now;
    return absl::OkStatus();
  }
  if (!member.joined || header.incarnation != member.incarnation) return absl::InvalidArgumentError("its sender has not joined");
  member.heard = now;
  switch (header.type) {
    case Type::heartbeat:
      note_progress(member, {header.step, header.sequence, header.weight != 0, std::string(message.payload)}, now);
      tell(rank, Type::alive, 0, notices);
      break;
    case Type::sealed: seal(rank, message, notices); break;
    case Type::barrier: meet(rank, header.step, notices); break;
    case Type::leave: leave(rank, notices); break;
    case Type::abort: fail(absl::StrCat(described(rank), ": ", std::string(message.payload)), notices); break;
    default: return absl::InvalidArgumentError(absl::StrCat(name_of(header.type), ": schedulers take no such messages"));
  }
  return absl::OkStatus();
}

void Scheduler::join(uint32_t rank, const Message& message, std::vector<Notice>& notices) {
  Member& member = members_[rank];
  const bool another = member.joined && member.incarnation != message.header.incarnation;
  if (another && options_.waits) {
    const uint64_t step = member.progress.step;
    member = {};
    member.progress.step = step;
  } else if (another) {
    return fail(absl::StrCat("two processes say that they are rank ", rank, ": ", io::printable(member.who, io::kMostShown),
                             " and ", io::printable(std::string(message.payload), io::kMostShown)),
                notices);
  }
  if (!member.joined) ++epoch_;
  member.joined = true;
  member.away = false;
  member.incarnation = message.header.incarnation;
  member.who = std::string(message.payload);
  if (options_.waits) passed_ = std::max(passed_, message.header.step);
  tell(rank, Type::welcome, 0, notices);
}

// All must have made the same plan, of the same keys in the same order.
void Scheduler::seal(uint32_t rank, const Message& message, std::vector<Notice>& notices) {
  Member& member = members_[rank];
  const bool fresh = !member.sealed;
  member.sealed = true;
  member.hash = message.header.step;
  member.address = std::string(message.payload);
  for (uint32_t other = 0; other < members_.size(); ++other) {
    const Member& with = members_[other];
    if (!with.sealed || with.hash == member.hash) continue;
    return fail(absl::StrFormat("the plans of %s and %s differ (%016x and %016x): another build, or other keys, shapes or shards",
                                described(std::min(rank, other)), described(std::max(rank, other)),
                                members_[std::min(rank, other)].hash, members_[std::max(rank, other)].hash),
                notices);
  }
  if (!all([](const Member& m) { return m.sealed; })) return;
  std::string addresses;
  for (const Member& m : members_) absl::StrAppend(&addresses, addresses.empty() ? "" : "\n", m.address);
  if (addresses.size() > kMostText)
    return fail(absl::StrCat("where ", members_.size(), " members are takes ", addresses.size(), " bytes to tell, of at most ", kMostText, ": start fewer"), notices);
  fresh ? tell_all(Type::peers, 0, notices, addresses) : tell(rank, Type::peers, 0, notices, addresses);
}

// Who has left is not waited for.
void Scheduler::meet(uint32_t rank, uint64_t number, std::vector<Notice>& notices) {
  members_[rank].barrier = std::max(members_[rank].barrier, number);
  if (number <= passed_) return tell(rank, Type::barrier_passed, number, notices);
  if (!all([&](const Member& m) { return m.left || m.barrier >= number; })) return;
  passed_ = number;
  tell_all(Type::barrier_passed, number, notices);
}

void Scheduler::leave(uint32_t rank, std::vector<Notice>& notices) {
  members_[rank].left = true;
  if (farewell_) return tell(rank, Type::farewell, 0, notices);
  farewell_ = all([](const Member& m) { return m.left; });
  if (farewell_) return tell_all(Type::farewell, 0, notices);
  for (uint32_t other = 0; other < members_.size(); ++other) {
    if (!members_[other].left && members_[other].barrier > passed_) return meet(other, members_[other].barrier, notices);
  }
}

void Scheduler::lost(uint32_t rank, uint64_t incarnation, std::vector<Notice>& notices) {
  Member& member = members_[rank];
  if (!member.joined || member.incarnation != incarnation) return;
  if (!options_.waits) return gone(rank, "is gone: its connection has ended", notices);
  member.away = true;
}

void Scheduler::tick(Time now, std::vector<Notice>& notices) {
  const Duration gap = now - std::exchange(ticked_, now);
  if (is_over()) return;
  // While it did not run itself, it could hear nobody.
  if (gap > options_.silence / 2) {
    for (Member& member : members_) {
      member.heard += gap;
      member.moved += gap;
    }
  }
  for (uint32_t rank = 0; rank < members_.size(); ++rank) {
    const Member& member = members_[rank];
    if (member.joined && now - member.heard > (options_.waits ? options_.absence : options_.silence)) {
      return gone(rank,
                  !member.away ? std::string("does not answer")
                               : absl::StrCat("is gone: its connection has ended, and no other process has come in its place within ",
                                              options_.absence / std::chrono::seconds(1), " s"),
                  notices);
    }
    if (!member.joined && now - began_ > options_.gathering) {
      return fail(absl::StrCat("rank ", rank, " has not come within ", options_.gathering / std::chrono::seconds(1), " s"),
                  notices);
    }
  }
  if (options_.patience > Duration(0)) look_for_standstill(now, notices);
}

// It waits for nobody, has done nothing for a long time, and neither has somebody who waits.
void Scheduler::look_for_standstill(Time now, std::vector<Notice>& notices) {
  const auto stands = [&](const Member& m) { return m.joined && !m.away && !m.left && now - m.moved > options_.patience; };
  if (!std::any_of(members_.begin(), members_.end(), [&](const Member& m) { return stands(m) && m.progress.waits; })) return;
  for (uint32_t rank = 0; rank < members_.size(); ++rank) {
    const Member& member = members_[rank];
    if (!stands(member) || member.progress.waits) continue;
    const std::string last = member.progress.last.empty() ? "its joining" : io::printable(member.progress.last, io::kMostShown);
    return gone(rank,
                absl::StrCat("stands still: others wait for it, and it has done nothing for ", options_.patience / std::chrono::seconds(1),
                             " s; the last that was seen of it is ", last),
                notices);
  }
}

}  // namespace mxc::kv
