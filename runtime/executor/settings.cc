// What an executor is asked beside its runs: which gradients, which hyper-parameters, who looks on, and to wait.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/executor/state.h"
#include "runtime/io/hyper_range.h"

namespace mxc::executor {
namespace {

// `*` stands for any characters.
bool matches(const char* pattern, const char* name) {
  if (*pattern == '\0') return *name == '\0';
  if (*pattern == '*') return matches(pattern + 1, name) || (*name != '\0' && matches(pattern, name + 1));
  return *pattern == *name && matches(pattern + 1, name + 1);
}

}  // namespace

void State::request(const std::string& wanted, GradientRequest request, Here here) {
  std::vector<std::string> known;
  for (GradientSlot& gradient : gradients) {
    const Result& result = results[gradient.result];
    known.push_back(result.name);
    if (result.name != wanted) continue;
    if (gradient.request == request) return;
    gradient.request = request;
    if (request == GradientRequest::add && !gradient.fresh.chunk) {
      const plan::Buffer& buffer = view.buffer(result.buffer);
      auto region = std::make_shared<Region>(buffer.bytes);
      if (!region->ok()) throw Error(absl::StrCat("request: no memory for another gradient of '", wanted, "'"), here);
      engine::Variable variable = group->engine().variable("fresh gradient", buffer.bytes);
      gradient.fresh = {ndarray::adopt(group->engine(), variable, region->base(), buffer.bytes, region, device), region->base()};
    }
    parts_[static_cast<size_t>(Part::backward)] = nullptr;
    return;
  }
  throw Error(absl::StrCat("request: the model '", name, "' has no gradient of '", wanted, "'; it has ", quoted_list(known)), here);
}

void State::set_hyper(const std::string& wanted, double value, Here here) {
  std::vector<std::string> known;
  for (uint32_t i = 0; i < view.hypers().size(); ++i) {
    const std::string own = view.text(view.hypers()[i].name);
    if (io::is_internal_hyper(own)) continue;
    known.push_back(own);
    if (own != wanted) continue;
    const plan::Hyper& hyper = view.hypers()[i];
    const std::string fault = io::hyper_fault(own, view.buffer(hyper.buffer).dtype, hyper.default_value, value);
    if (!fault.empty()) throw Error(absl::StrCat("set_hyper: '", wanted, "': ", fault), here);
    auto changed = std::make_shared<std::vector<double>>(*hypers);
    (*changed)[i] = value;
    hypers = std::move(changed);
    return;
  }
  throw Error(absl::StrCat("set_hyper: the model '", name, "' has no hyper-parameter '", wanted, "'; it has ", quoted_list(known)), here);
}

double State::hyper(const std::string& wanted, Here here) const {
  std::vector<std::string> known;
  for (uint32_t i = 0; i < view.hypers().size(); ++i) {
    const std::string own = view.text(view.hypers()[i].name);
    if (own == wanted && !io::is_internal_hyper(own)) return (*hypers)[i];
    if (!io::is_internal_hyper(own)) known.push_back(own);
  }
  throw Error(absl::StrCat("hyper: the model '", name, "' has no hyper-parameter '", wanted, "'; it has ", quoted_list(known)), here);
}

void State::wait(Here here) {
  absl::Status status = group->engine().wait(group->memory());
  if (status.ok()) return;
  reported = true;
  throw Error(std::string(status.message()), here);
}

void State::watch(const std::string& pattern, std::function<void(const std::string&, const NDArray&)> seen) {
  monitors.erase(std::remove_if(monitors.begin(), monitors.end(), [&](const Monitor& monitor) { return monitor.pattern == pattern; }),
                 monitors.end());
  if (seen) monitors.push_back({pattern, std::move(seen)});
  watched.clear();
  if (monitors.empty()) return;
  watched.resize(view.buffers().size());
  for (size_t i = 0; i < watched.size(); ++i) {
    const std::string shown = shown_name(static_cast<uint32_t>(i));
    for (const Monitor& monitor : monitors) watched[i] |= !shown.empty() && matches(monitor.pattern.c_str(), shown.c_str());
  }
}

std::string State::shown_name(uint32_t buffer) const {
  const std::string own = view.text(view.buffer(buffer).name);
  for (const GradientSlot& gradient : gradients) {
    if (results[gradient.result].buffer == buffer) return absl::StrCat(own, ".gradient");
  }
  if (view.buffer(buffer).space != plan::Space::arena) return own;
  // In the arena, what is called like an input or a parameter is a copy of it in another layout.
  for (const TensorSlot& slot : tensors) {
    if (slot.tensor.name == own) return "";
  }
  return find_input(own) != nullptr ? "" : own;
}

void State::give_seen(const std::shared_ptr<PendingRun>& run, Here here) {
  if (run->watched.empty()) return;
  wait(here);
  for (const Seen& seen : run->seen) {
    ndarray::View view = ndarray::view_of(ndarray::new_result(group->engine(), device, seen.dtype, seen.shape, here));
    std::memcpy(view.chunk->ensure(), seen.bytes.data(), seen.bytes.size());  // nothing is queued for it yet
    const NDArray value = ndarray::wrap(std::move(view));
    for (const Monitor& monitor : std::vector<Monitor>(monitors)) {
      if (matches(monitor.pattern.c_str(), seen.name.c_str())) monitor.seen(seen.name, value);
    }
  }
}

}  // namespace mxc::executor
