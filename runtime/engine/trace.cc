// Events are kept as they come and formatted when asked for.
#include "runtime/engine/trace.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mxc::engine {

namespace {

// A JSON string literal.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppend(&result, absl::StrFormat("\\u%04x", static_cast<int>(c)));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// The sizes of an event as a member of its object.
std::string arguments(const Trace::Sizes& sizes) {
  std::string members;
  if (sizes.read != 0) absl::StrAppend(&members, "\"bytes read\": ", sizes.read);
  if (sizes.written != 0) absl::StrAppend(&members, members.empty() ? "" : ", ", "\"bytes written\": ", sizes.written);
  return members.empty() ? "" : absl::StrCat(", \"args\": {", members, "}");
}

}  // namespace

int64_t Trace::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int Trace::thread_number() {
  auto [place, is_new] = threads_.try_emplace(std::this_thread::get_id(), static_cast<int>(threads_.size()));
  if (is_new) {
    char name[64] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    thread_names_.emplace_back(name);
  }
  return place->second;
}

void Trace::add(std::string name, std::string category, int64_t begin, int64_t end, Sizes sizes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (events_.size() == capacity_) {
    ++dropped_;
    return;
  }
  events_.push_back({std::move(name), std::move(category), begin, end, sizes, thread_number()});
}

std::string Trace::json() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<const Event*> sorted;
  for (const Event& event : events_) sorted.push_back(&event);
  std::sort(sorted.begin(), sorted.end(),
            [](const Event* a, const Event* b) { return a->begin != b->begin ? a->begin < b->begin : a < b; });
  int64_t zero = sorted.empty() ? 0 : sorted.front()->begin;
  std::string result = "{\"traceEvents\": [";
  const char* separator = "\n";
  for (size_t i = 0; i < thread_names_.size(); ++i) {
    absl::StrAppend(&result, separator, "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": ", i,
                    ", \"args\": {\"name\": ", quoted(thread_names_[i]), "}}");
    separator = ",\n";
  }
  for (const Event* event : sorted) {
    absl::StrAppendFormat(&result, "%s{\"name\": %s, \"cat\": %s, \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f%s}",
                          separator, quoted(event->name), quoted(event->category), event->thread,
                          static_cast<double>(event->begin - zero) * 1e-3,
                          static_cast<double>(event->end - event->begin) * 1e-3, arguments(event->sizes));
    separator = ",\n";
  }
  absl::StrAppend(&result, "\n], \"otherData\": {\"dropped_events\": ", dropped_, "}}\n");
  return result;
}

}  // namespace mxc::engine
