// See process_threads.h.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/kv/add.h"
#include "runtime/kv/process_threads.h"
#include "runtime/kv/scheduler_loop.h"

namespace mxc::kv {

namespace {

constexpr Duration kLongest = std::chrono::seconds(1);
constexpr Duration kLastWords = std::chrono::seconds(1);

int64_t width_of(const CommunicationPlan& plan, const Piece& piece) { return core::dtype_bytes(plan.keys[piece.key].dtype); }

// The piece of a key in a chunk that holds it.
const Piece& piece_of(const CommunicationPlan& plan, uint32_t chunk, uint32_t key) {
  const std::vector<Piece>& pieces = plan.chunks[chunk].pieces;
  return *std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.key == key; });
}

}  // namespace

Process::Working::Working(Process& process, std::unique_ptr<Transport> transport, std::vector<std::string> initial)
    : process_(process), transport_(std::move(transport)), initial_(std::move(initial)), bundled_pushes_(process.plan_) {
  transport_->receive_into([this](std::span<const Frame> before, size_t size) { return place_of(before, size); });
}

// Where contributions go is known when all members are.
void Process::Working::begin() {
  if (!process_.wait_for_places().has_value()) return;
  const CommunicationPlan& plan = process_.plan_;
  worker_.emplace(plan, process_.worker_options());
  servers_.emplace(process_, *transport_, *worker_, process_.options_.rank);
  for (uint32_t chunk = 0; !initial_.empty() && chunk < plan.chunks.size(); ++chunk) {
    std::string value(plan.chunks[chunk].bytes, '\0');
    for (const Piece& piece : plan.chunks[chunk].pieces) {
      const int64_t width = width_of(plan, piece);
      if (piece.count > 0) std::memcpy(value.data() + piece.at, initial_[piece.key].data() + piece.first * width, static_cast<size_t>(piece.count * width));
    }
    worker_->init(chunk, std::move(value));
  }
  initial_ = {};
}

void Process::Working::run() {
  begin();
  while (true) {
    absl::Status failure;
    {
      std::lock_guard lock(process_.mutex_);
      if (process_.stopping_) break;
      failure = process_.failure_;
    }
    if (!failure.ok()) end_all(failure);
    if (worker_.has_value()) {
      take_orders();
      push_waiting();
      servers_->send();
      servers_->look();
    }
    const Duration most = worker_.has_value() ? worker_->next_time() - now() : kLongest;
    absl::StatusOr<Arrival> arrival = transport_->receive(std::clamp(most, Duration(0), kLongest));
    if (!arrival.ok()) {
      process_.fail(arrival.status());
      break;
    }
    if (worker_.has_value()) take(*arrival);
  }
  end_all(process_.status());
  transport_->close(kLastWords);
}

// Everything that waits ends with the job's failure.
void Process::Working::end_all(const absl::Status& why) {
  transport_->leave_destinations();
  for (const std::weak_ptr<Lent>& lent : std::exchange(lent_, {}))
    if (const std::shared_ptr<Lent> there = lent.lock()) there->give_back();
  std::vector<Order> orders;
  {
    std::lock_guard lock(process_.mutex_);
    orders = std::exchange(process_.orders_, {});
  }
  for (Order& order : std::exchange(waiting_, {})) orders.push_back(std::move(order));
  for (Order& order : orders) {
    if (order.done) order.done(why);
  }
  for (auto& [ticket, waiting] : std::exchange(pulls_, {})) {
    for (auto& [pulling, piece] : waiting)
      if (Done done = std::exchange(pulling->done, nullptr)) done(why);
  }
}

void Process::Working::take_orders() {
  std::vector<Order> orders;
  {
    std::lock_guard lock(process_.mutex_);
    orders = std::exchange(process_.orders_, {});
    const bool idle = orders.empty() && waiting_.empty() && pulls_.empty() && worker_->is_idle();
    if (idle && !std::exchange(process_.idle_, true)) process_.changed_.notify_all();
  }
  for (Order& order : orders) carry_out(std::move(order));
}

void Process::Working::carry_out(Order order) {
  switch (order.kind) {
    case Order::Kind::push:
      if (!waiting_.empty() || !push(order)) waiting_.push_back(std::move(order));
      return;
    case Order::Kind::pull:
    case Order::Kind::ask: return pull(std::move(order));
    case Order::Kind::finish:
      for (uint32_t chunk : process_.plan_.of_key[order.key]) worker_->finish(chunk, order.step);
      return;
    case Order::Kind::connect: return servers_->connect(order.addresses);
  }
}

// False: too many steps of the key are on their way.
bool Process::Working::push(const Order& order) {
  const CommunicationPlan& plan = process_.plan_;
  for (uint32_t chunk : plan.of_key[order.key])
    if (!worker_->has_room(chunk, order.step)) return false;
  note_lent(order);
  for (uint32_t chunk : plan.of_key[order.key]) {
    const Piece& piece = piece_of(plan, chunk, order.key);
    // A server of this process would keep it until others have contributed, and they may wait for what this one does next.
    const bool lends = plan.rank_of_server(plan.server_for(chunk, process_.options_.rank)) != process_.options_.rank;
    std::optional<BundledPushes::Whole> whole = bundled_pushes_.add(chunk, piece, order.step, order.parts, order.priority, lends);
    if (!whole.has_value()) continue;
    for (uint32_t part = 0; part < whole->bytes.size(); ++part)
      worker_->push(chunk, part, order.step, whole->weights[part], std::move(whole->bytes[part]), whole->priority);
  }
  order.done(absl::OkStatus());
  return true;
}

void Process::Working::note_lent(const Order& order) {
  std::erase_if(lent_, [](const std::weak_ptr<Lent>& lent) { return lent.expired(); });
  for (const PartOfKey& part : order.parts)
    if (part.lent != nullptr) lent_.push_back(part.lent);
}

void Process::Working::push_waiting() {
  while (!waiting_.empty() && push(waiting_.front())) waiting_.pop_front();
}

void Process::Working::pull(Order order) {
  const CommunicationPlan& plan = process_.plan_;
  const std::vector<uint32_t>& chunks = plan.of_key[order.key];
  auto pulling = std::make_shared<Pulling>(Pulling{order.target, order.steps, order.step, chunks.size(), std::move(order.done)});
  if (order.steps != nullptr) *order.steps = UINT64_MAX;
  for (uint32_t chunk : chunks) {
    const Piece& piece = piece_of(plan, chunk, order.key);
    if (order.steps != nullptr) {
      const uint64_t ticket = next_ticket_++;
      pulls_[ticket].push_back({pulling, &piece});
      worker_->ask(ticket, chunk);
      continue;
    }
    BundledPulls::Answer answer{nullptr, 0, next_ticket_, true};
    if (plan.chunks[chunk].pieces.size() > 1) answer = bundled_pulls_.want(chunk, order.key, order.step, next_ticket_);
    if (answer.value != nullptr) {
      deliver(*pulling, piece, answer.version, *answer.value);
      continue;
    }
    pulls_[answer.ticket].push_back({pulling, &piece});
    if (!answer.ask) continue;
    ++next_ticket_;
    const auto known = copies_.find(chunk);
    worker_->pull(answer.ticket, chunk, order.step, known != copies_.end() && known->second.version + 1 == order.step);
  }
}

// Differences are to whole values, of which each version comes once.
bool Process::Working::keeps_copy(uint32_t chunk) const {
  const CommunicationPlan& plan = process_.plan_;
  return plan.chunks[chunk].packed != 0 && plan.keys[plan.chunks[chunk].pieces.front().key].compressed == Key::Compressed::differences &&
         process_.options_.worker.consistency == Consistency();
}

absl::StatusOr<std::string_view> Process::Working::brought_up_to_date(const Pulled& pulled) {
  Copy& copy = copies_[pulled.chunk];
  copy.version = pulled.version;
  if (!pulled.is_difference) {
    copy.value = pulled.value;
    return copy.value;
  }
  std::string difference(copy.value.size(), '\0');
  if (!process_.plan_.unpack(pulled.chunk, pulled.value, difference)) return absl::InternalError("a server has sent a difference that cannot be");
  add_into(process_.plan_.chunks[pulled.chunk].dtype, copy.value, difference);
  return copy.value;
}

// Where a value belongs that begins to arrive: in the array that waits for it, if that takes it as it comes. It is read whole before anybody looks at it, and asked for
// again if it is not what was sent.
char* Process::Working::place_of(std::span<const Frame> before, size_t size) const {
  if (!worker_.has_value() || before.size() != 1) return nullptr;
  const std::optional<Header> header = header_of(before[0]);
  if (!header.has_value() || header->type != Type::value || header->codec != 0) return nullptr;
  const auto found = pulls_.find(header->sequence);
  if (found == pulls_.end() || found->second.size() != 1 || header->chunk >= process_.plan_.chunks.size()) return nullptr;
  const auto& [pulling, piece] = found->second.front();
  const Chunk& chunk = process_.plan_.chunks[header->chunk];
  const int64_t width = width_of(process_.plan_, *piece);
  const bool is_all = chunk.pieces.size() == 1 && &chunk.pieces.front() == piece && size == static_cast<size_t>(piece->count * width);
  return is_all && pulling->steps == nullptr && !keeps_copy(header->chunk) ? pulling->target + piece->first * width : nullptr;
}

// A chunk has come, for all that wait for it.
void Process::Working::deliver(const Pulled& pulled) {
  auto found = pulls_.find(pulled.ticket);
  if (found == pulls_.end()) return;
  const std::vector<std::pair<std::shared_ptr<Pulling>, const Piece*>> waiting = std::move(found->second);
  pulls_.erase(found);
  if (Pulling& asked = *waiting.front().first; asked.steps != nullptr) {  // how many steps the value has
    *asked.steps = std::min(*asked.steps, pulled.version);
    if (--asked.missing == 0) asked.done(absl::OkStatus());
    return;
  }
  std::string_view value = pulled.value;
  if (keeps_copy(pulled.chunk)) {
    const absl::StatusOr<std::string_view> whole = brought_up_to_date(pulled);
    if (!whole.ok()) return process_.fail(whole.status());
    value = *whole;
  }
  if (process_.plan_.chunks[pulled.chunk].pieces.size() > 1) bundled_pulls_.arrived(pulled.chunk, pulled.version, value);
  for (const auto& [pulling, piece] : waiting) deliver(*pulling, *piece, pulled.version, value);
}

void Process::Working::deliver(Pulling& pulling, const Piece& piece, uint64_t version, std::string_view chunk) {
  if (process_.is_exact() && version != pulling.step)
    return process_.fail(absl::InternalError(absl::StrCat("the value of step ", pulling.step, " is gone: step ", version, " has come")));
  note_staleness(pulling.step, version);
  const int64_t width = width_of(process_.plan_, piece);
  char* const place = pulling.target + piece.first * width;
  if (piece.count > 0 && chunk.data() + piece.at != place) std::memcpy(place, chunk.data() + piece.at, static_cast<size_t>(piece.count * width));
  if (--pulling.missing == 0) pulling.done(absl::OkStatus());
}

void Process::Working::note_staleness(uint64_t step, uint64_t version) {
  const bool lacks = !process_.options_.worker.consistency.is_async() && version < step;
  if (lacks && step - version > process_.staleness_.load(std::memory_order_relaxed))
    process_.staleness_.store(step - version, std::memory_order_relaxed);
}

void Process::Working::take(Arrival& arrival) {
  const std::optional<Servers::Said> said = servers_->read(arrival);
  if (!said.has_value()) return;
  std::vector<Pulled> pulled;
  const absl::Status status = worker_->receive(said->server, said->message, now(), pulled);
  process_.values_.fetch_add(pulled.size(), std::memory_order_relaxed);
  for (const Pulled& one : pulled) deliver(one);
  if (status.code() == absl::StatusCode::kFailedPrecondition) process_.fail(status);
}

}  // namespace mxc::kv
