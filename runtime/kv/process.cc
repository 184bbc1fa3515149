// See process.h. The servers' and the worker's threads are in process_serving.cc, process_level1.cc and process_working.cc.
#include "runtime/kv/process.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/process_threads.h"
#include "runtime/kv/scheduler_loop.h"
#include "runtime/kv/takeover.h"

namespace mxc::kv {

namespace {

constexpr const char* kAsked[] = {"a push", "a pull", "the number of steps", "the end", nullptr};  // by an order, as Order::Kind has them
constexpr char kBarrier[] = "barrier";
constexpr int64_t kControlFrame = kMostText;
constexpr Duration kLastWords = std::chrono::seconds(1);  // for what is queued to leave when a process ends

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

Process::Process(const ProcessOptions& options) : options_(options), incarnation_(random_number()) {}

absl::StatusOr<std::unique_ptr<Process>> Process::start(const ProcessOptions& options) {
  std::unique_ptr<Process> process(new Process(options));
  auto transport = options.endpoint(kControlFrame);
  if (!transport.ok()) return transport.status();
  process->control_transport_ = *std::move(transport);
  process->control_thread_ = std::thread(&Process::control, process.get());
  return process;
}

Process::~Process() { stop(); }

void Process::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (failure_.ok()) failure_ = absl::CancelledError("the KVStore is closed");
  }
  wake_all();
  for (std::thread* thread : {&worker_thread_, &level1_thread_, &server_thread_, &control_thread_}) {
    if (thread->joinable()) thread->join();
  }
}

absl::Status Process::seal(CommunicationPlan plan, const Update& update, std::vector<std::string> initial) {
  plan_ = std::move(plan);
  auto worker = data_endpoint();
  if (!worker.ok()) return worker.status();
  Place place;
  if (const std::optional<uint32_t> server = plan_.server_of_rank(options_.rank)) {
    absl::StatusOr<std::string> listening = start_serving(*server, update);
    if (!listening.ok()) return listening.status();
    place.server = *std::move(listening);
  }
  if (!options_.machine.empty()) {
    absl::StatusOr<std::string> listening = start_level1();
    if (!listening.ok()) return listening.status();
    place.level1 = *std::move(listening);
    place.machine = options_.machine;
  }
  auto working = std::make_unique<Working>(*this, *std::move(worker), std::move(initial));
  {
    std::lock_guard lock(mutex_);
    working_ = std::move(working);
    sealed_ = true;
    asked_.push_back([hash = plan_.hash, place](Member& member) { member.seal(hash, to_string(place)); });
  }
  if (serving_ != nullptr) server_thread_ = std::thread([this] { serving_->run(); });
  if (level1_ != nullptr) level1_thread_ = std::thread([this] { level1_->run(); });
  worker_thread_ = std::thread([this] { working_->run(); });
  control_transport_->wake();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ServerState>> Process::open_state(uint32_t server) const {
  std::optional<Takeover> before;
  if (options_.before.size > 0) {
    auto read = Takeover::read(options_.before, options_.job, plan_);
    if (!read.ok()) return read.status();
    before = *std::move(read);
  }
  return ServerState::open(options_.state, options_.job, plan_, server, before.has_value() ? &*before : nullptr);
}

absl::StatusOr<std::unique_ptr<Transport>> Process::data_endpoint() const {
  const auto& endpoint = options_.data_endpoint ? options_.data_endpoint : options_.endpoint;
  return endpoint(largest_frame());
}

// Returns where it listens.
absl::StatusOr<std::string> Process::start_serving(uint32_t server, const Update& update) {
  auto transport = data_endpoint();
  if (!transport.ok()) return transport.status();
  absl::StatusOr<std::string> address = (*transport)->listen(options_.listen);
  if (!address.ok()) return address.status();
  std::unique_ptr<ServerState> state;
  if (!options_.state.empty()) {
    auto opened = open_state(server);
    if (!opened.ok()) return opened.status();
    state = *std::move(opened);
  }
  auto serving = std::make_unique<Serving>(*this, server, *std::move(transport), update, std::move(state));
  std::lock_guard lock(mutex_);
  serving_ = std::move(serving);
  return address;
}

// Returns where it listens.
absl::StatusOr<std::string> Process::start_level1() {
  auto transport = options_.level1_endpoint ? options_.level1_endpoint(largest_frame()) : data_endpoint();
  if (!transport.ok()) return transport.status();
  absl::StatusOr<std::string> address = (*transport)->listen(options_.listen);
  if (!address.ok()) return address;
  auto level1 = std::make_unique<Level1>(*this, *std::move(transport));
  std::lock_guard lock(mutex_);
  level1_ = std::move(level1);
  return address;
}

std::optional<std::vector<std::string>> Process::wait_for_places() {
  if (!wait_for([&] { return !places_.empty(); })) return std::nullopt;
  std::lock_guard lock(mutex_);
  return places_;
}

WorkerOptions Process::worker_options() const {
  WorkerOptions options = options_.worker;
  options.rank = options_.rank;
  options.servers_return = !options_.state.empty();
  return options;
}

// Requires: mutex_.
void Process::note(Asked asked) {
  ++requests_;
  last_ = asked;
}

// How far the program is, as the scheduler is to know it.
Progress Process::look() {
  std::lock_guard lock(mutex_);
  Progress progress;
  progress.step = step_.load(std::memory_order_relaxed);
  const int64_t updated = sealed_ && serving_ != nullptr ? serving_->updated_key() : -1;  // others wait for what this process updates
  progress.waits = updated < 0 && ((sealed_ && !idle_) || barriers_ > passed_ || leaving_);
  progress.moves = moves_.look(now(), requests_, computed_by_process(), progress.waits);
  const auto of_key = [&](const char* what, uint64_t key) { return absl::StrCat(what, " of '", plan_.keys[key].name, "'"); };
  if (updated >= 0) progress.last = of_key("the beginning of an update", static_cast<uint64_t>(updated));
  else if (last_.what == kBarrier) progress.last = absl::StrCat("barrier ", last_.number);
  else if (last_.what != nullptr) progress.last = of_key(last_.what, last_.number);
  return progress;
}

void Process::order(Order order) {
  absl::Status failure;
  {
    std::lock_guard lock(mutex_);
    failure = failure_;
    if (const char* what = kAsked[static_cast<size_t>(order.kind)]) note({what, order.key});
    if (failure.ok()) orders_.push_back(std::move(order));
    idle_ = false;
  }
  if (failure.ok()) return working_->wake();
  if (order.done) order.done(failure);
}

void Process::push(uint32_t key, uint64_t step, std::vector<PartOfKey> parts, int32_t priority, Done done) {
  step_.store(std::max(step, step_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  order({Order::Kind::push, key, step, std::move(parts), priority, nullptr, std::move(done), {}, nullptr});
}

void Process::pull(uint32_t key, uint64_t step, char* target, Done done) {
  order({Order::Kind::pull, key, step, {}, 0, target, std::move(done), {}, nullptr});
}
void Process::ask(uint32_t key, uint64_t* steps, Done done) {
  order({Order::Kind::ask, key, 0, {}, 0, nullptr, std::move(done), {}, steps});
}
void Process::finish(uint32_t key, uint64_t step) { order({Order::Kind::finish, key, step, {}, 0, nullptr, nullptr, {}, nullptr}); }

bool Process::wait_for(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return condition() || !failure_.ok(); });
  return condition();
}

absl::Status Process::barrier() {
  uint64_t number;
  {
    std::lock_guard lock(mutex_);
    number = ++barriers_;
    note({kBarrier, number});
    asked_.push_back([number](Member& member) { member.meet(number); });
  }
  control_transport_->wake();
  return wait_for([&] { return passed_ >= number; }) ? absl::OkStatus() : status();
}

absl::Status Process::flush() {
  bool sealed;
  {
    std::lock_guard lock(mutex_);
    sealed = sealed_;
  }
  if (!sealed) return status();
  working_->wake();
  return wait_for([&] { return idle_; }) ? absl::OkStatus() : status();
}

absl::Status Process::close() {
  if (absl::Status status = flush(); !status.ok()) return status;
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
    asked_.push_back([](Member& member) { member.leave(); });
  }
  control_transport_->wake();
  if (!wait_for([&] { return farewell_; })) return status();
  if (serving_ != nullptr && !options_.state_stays) serving_->forget_state();
  return absl::OkStatus();
}

void Process::fail(absl::Status why) {
  {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = why;
    asked_.push_back([text = std::string(why.message())](Member& member) { member.fail(text); });
  }
  wake_all();
}

absl::Status Process::status() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Traffic Process::traffic() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  return {sent_.load(relaxed), received_.load(relaxed), again_.load(relaxed), staleness_.load(relaxed), pushes_.load(relaxed), values_.load(relaxed), shared_.load(relaxed)};
}

void Process::wake_all() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  control_transport_->wake();
  if (serving_ != nullptr) serving_->wake();
  if (level1_ != nullptr) level1_->wake();
  if (working_ != nullptr) working_->wake();
}

Header Process::stamped(Header header, uint32_t sender) const {
  header.job = options_.job;
  header.sender = sender;
  header.incarnation = incarnation_;
  return header;
}

absl::Status Process::send(Transport& transport, Peer peer, const Header& header, std::string_view payload, const Summed& kept) {
  const std::shared_ptr<const void>& owner = kept.frame.owner();
  const std::string frame = transport.shares_memory(peer) ? header_frame_without_sum(header, payload.size())
                            : owner != nullptr            ? header_frame(header, kept)
                                                          : header_frame(header, payload);
  const std::string_view frames[] = {frame, payload};
  return transport.send(peer, std::span(frames, payload.empty() ? 1 : 2), owner);
}

void Process::take(const News& news) {
  if (news.kind == News::Kind::peers) {
    {
      std::lock_guard lock(mutex_);
      if (places_.empty() && news.addresses.size() == options_.size) plan_.machines = Machines(machine_names(news.addresses));
      places_ = news.addresses;
      changed_.notify_all();
    }
    Order connect;
    connect.kind = Order::Kind::connect;
    connect.addresses = news.addresses;
    return order(std::move(connect));
  }
  {
    std::lock_guard lock(mutex_);
    if (news.kind == News::Kind::barrier_passed) passed_ = news.number;
    if (news.kind == News::Kind::farewell) farewell_ = true;
    if (news.kind == News::Kind::ended && failure_.ok()) failure_ = absl::AbortedError(news.why);
  }
  wake_all();
}

// The conversation with the scheduler. After a failure it goes on until the process ends, so that the scheduler hears of it.
void Process::control() {
  Transport& transport = *control_transport_;
  Member member(options_.member, now());
  const Limits limits = {options_.job, options_.size, {}, 1};
  absl::StatusOr<Peer> scheduler = transport.connect(options_.scheduler);
  if (!scheduler.ok()) fail(scheduler.status());
  while (scheduler.ok()) {
    bool stopping;
    {
      std::lock_guard lock(mutex_);
      for (auto& ask : std::exchange(asked_, {})) ask(member);
      stopping = stopping_;
    }
    member.progress(look());
    Header header;
    std::string text;
    while (member.send(now(), header, text)) {
      send(transport, *scheduler, stamped(header, options_.rank), text).IgnoreError();  // of an end there is silence, or a `lost`
    }
    if (stopping) break;
    const absl::StatusOr<Arrival> arrival = transport.receive(std::max(Duration(0), member.next_time() - now()));
    if (!arrival.ok()) {
      fail(arrival.status());
      break;
    }
    std::vector<News> news;
    if (arrival->kind == Arrival::Kind::message) {
      const std::vector<std::string_view> frames(arrival->frames.begin(), arrival->frames.end());
      if (const auto message = parse(frames, limits); message.ok()) member.receive(*message, now(), news);
    }
    if (arrival->kind == Arrival::Kind::lost) member.lost(news);
    member.tick(now(), news);
    for (const News& one : news) take(one);
  }
  transport.close(kLastWords);
}

}  // namespace mxc::kv
