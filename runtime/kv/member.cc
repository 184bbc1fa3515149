// See member.h.
#include "runtime/kv/member.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mxc::kv {

Member::Member(const MemberOptions& options, Time now)
    : options_(options), began_(now), heard_(now), next_beat_(now + options.beat), ticked_(now) {
  ask({Type::join, 0, options.who});
}

void Member::seal(uint64_t hash, std::string address) {
  sealed_ = {Type::sealed, hash, std::move(address)};
  ask(*sealed_);
}
void Member::meet(uint64_t barrier) { ask({Type::barrier, barrier, {}}); }
void Member::leave() { ask({Type::leave, 0, {}}); }
void Member::fail(std::string why) { ask({Type::abort, 0, why.substr(0, kMostText)}); }

void Member::ask(Said said) { asked_.push_back(std::move(said)); }

void Member::answered(Type type) {
  for (size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i].type != type) continue;
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(i));
    if (next_ > i) --next_;
    return;
  }
}

void Member::end(std::string why, std::vector<News>& news) {
  if (std::exchange(over_, true)) return;
  News ended;
  ended.why = std::move(why);
  news.push_back(std::move(ended));
}

void Member::receive(const Message& message, Time now, std::vector<News>& news) {
  if (message.header.sender != kScheduler) return;
  heard_ = now;
  switch (message.header.type) {
    case Type::welcome:
      welcome_ = true;
      answered(Type::join);
      break;
    case Type::peers:
      answered(Type::sealed);
      if (message.payload == peers_) break;
      peers_ = std::string(message.payload);
      news.push_back({News::Kind::peers, 0, absl::StrSplit(peers_, '\n'), {}});
      break;
    case Type::barrier_passed:
      if (message.header.step <= passed_) break;
      passed_ = message.header.step;
      answered(Type::barrier);
      news.push_back({News::Kind::barrier_passed, passed_, {}, {}});
      break;
    case Type::farewell:
      answered(Type::leave);
      if (!std::exchange(over_, true)) news.push_back({News::Kind::farewell, 0, {}, {}});
      break;
    case Type::abort: end(std::string(message.payload), news); break;
    default: break;
  }
}

void Member::lost(std::vector<News>& news) {
  if (welcome_ && !over_) gone(news);
}

void Member::gone(std::vector<News>& news) {
  if (!options_.waits) return end(absl::StrCat("the scheduler at ", options_.scheduler, " is gone"), news);
  welcome_ = false;
  began_ = ticked_;
  answered(Type::sealed);
  if (sealed_.has_value()) asked_.insert(asked_.begin(), *sealed_);
  asked_.insert(asked_.begin(), {Type::join, passed_, options_.who});
  next_ = 0;
}

void Member::tick(Time now, std::vector<News>& news) {
  const Duration gap = now - std::exchange(ticked_, now);
  if (over_) return;
  if (gap > options_.silence / 2) heard_ += gap;  // while it did not run itself, it could hear nobody
  if (!welcome_ && now - began_ > options_.gathering) {
    return end(absl::StrCat("no scheduler has answered at ", options_.scheduler, " for ",
                            options_.gathering / std::chrono::seconds(1), " s"),
               news);
  }
  if (welcome_ && now - heard_ > options_.silence) gone(news);
}

bool Member::send(Time now, Header& header, std::string& text) {
  if (now >= next_beat_) {
    next_beat_ = now + options_.beat;
    next_ = 0;
    beat_due_ = true;
  }
  header = {};
  if (next_ < asked_.size()) {
    const Said& said = asked_[next_++];
    header.type = said.type;
    header.step = said.step;
    text = said.text;
    return true;
  }
  if (!welcome_ || over_ || !std::exchange(beat_due_, false)) return false;
  header.type = Type::heartbeat;
  header.step = progress_.step;
  header.sequence = progress_.moves;
  header.weight = progress_.waits ? 1 : 0;
  text = progress_.last.substr(0, kMostText);
  return true;
}

Time Member::next_time() const { return next_ < asked_.size() ? Time{} : next_beat_; }

}  // namespace mxc::kv
