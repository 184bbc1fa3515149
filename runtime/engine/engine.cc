// The face of the dispatcher: checks the options, and stands aside in a forked child.
#include "runtime/engine/engine.h"

#include <cassert>
#include <utility>

#include "runtime/engine/dispatcher.h"

namespace mxc::engine {

namespace {

absl::Status lost_in_fork() {
  return absl::FailedPreconditionError("the engine does not survive fork: this process is a child of the one that made it");
}

}  // namespace

Completion::Completion(Completion&& other) noexcept
    : dispatcher_(std::exchange(other.dispatcher_, nullptr)), operation_(other.operation_) {}

Completion::~Completion() {
  if (dispatcher_ != nullptr) (*this)(absl::InternalError("an asynchronous operation was dropped without completion"));
}

void Completion::operator()(absl::Status status) {
  assert(dispatcher_ != nullptr);
  std::exchange(dispatcher_, nullptr)->complete(*operation_, std::move(status));
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::create(const Options& options) {
  for (int threads : options.threads) {
    if (threads < 1 || threads > 256) return absl::InvalidArgumentError("engine: a lane needs 1 to 256 threads");
  }
  if (options.run_ahead < 1) return absl::InvalidArgumentError("engine: run_ahead is 0");
  std::unique_ptr<Engine> engine(new Engine(options));
  absl::Status status = options.naive ? absl::OkStatus() : engine->dispatcher_->start_threads();
  if (!status.ok()) return status;
  return engine;
}

Engine::Engine(const Options& options) : dispatcher_(std::make_unique<Dispatcher>(options)) {}

Engine::~Engine() {
  if (inherited()) (void)dispatcher_.release();  // its threads cannot be joined, its lock may be held for ever
}

Variable Engine::variable(std::string name, uint64_t bytes) { return Variable(new VariableState(std::move(name), bytes)); }

void Engine::submit(const Traits& traits, Variables reads, Variables mutates, Body&& body, bool asynchronous) {
  if (!inherited()) dispatcher_->push(traits, reads, mutates, std::move(body), asynchronous);
}

void Engine::submit_staged(const Traits& traits, const std::vector<Hold>& holds, uint32_t items, Body&& body) {
  if (!inherited()) dispatcher_->push_staged(traits, holds, items, std::move(body));
}

core::ThreadPool* Engine::idle_threads() { return inherited() ? nullptr : dispatcher_->idle_threads(); }

void Engine::recover(const Variable& variable, Forget forget) {
  if (!inherited()) dispatcher_->recover(variable.record_, forget);
}

void Engine::ask(const Variable& variable) {
  if (!inherited()) dispatcher_->ask(variable.record_);
}

absl::Status Engine::wait(const Variable& variable, bool tells) {
  return inherited() ? lost_in_fork() : dispatcher_->wait_for(variable.record_, false, tells);
}

absl::Status Engine::wait_idle(const Variable& variable, bool tells) {
  return inherited() ? lost_in_fork() : dispatcher_->wait_for(variable.record_, true, tells);
}

Engine::Untold Engine::untold() { return inherited() ? Untold() : dispatcher_->untold(); }

absl::Status Engine::wait_all() { return inherited() ? lost_in_fork() : dispatcher_->wait_all(); }

void Engine::set_trace(Trace* trace) {
  if (!inherited()) dispatcher_->set_trace(trace);
}

Trace* Engine::trace() { return inherited() ? nullptr : dispatcher_->trace(); }

}  // namespace mxc::engine
