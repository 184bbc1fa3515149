// The trainer's log: one JSON object a line, for programs to read. Events and their members:
//     start      model, epochs, batch, samples, seed, threads, step, hyper-parameters
//     step       step (from 1), epoch (from 1), n, lr, and each loss and metric of this step
//     epoch      epoch, step, train: {means}, test: {means, if there are test data}, hidden (of a job: per cent of the communication so far), seconds
//     communication  of a job, at its end: sent, received (bytes a step), pushes, values (messages a step), hidden (per cent), staleness, again
//     save       step, file
//     interrupt  step
// A number that is not finite is null.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace mxc::train {

// One line in the making: members in the order they are added.
class Event {
 public:
  explicit Event(const std::string& kind);
  Event& add(const std::string& key, int64_t value);
  Event& add(const std::string& key, double value);
  Event& add(const std::string& key, const std::string& value);
  Event& add(const std::string& key, const std::vector<std::string>& names, const std::vector<double>& values);  // an object
  std::string line() const;                                                                                      // with the newline

 private:
  std::string text_;
};

// A JSON string with its quotes.
std::string json_string(const std::string& text);
std::string json_number(double value);

class EventLog {
 public:
  EventLog() = default;  // writes nothing
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Creates the file, or appends to it (a resumed run). Error: it cannot be written.
  absl::Status open(const std::string& path, bool append);
  bool active() const { return file_ != nullptr; }
  void write(const Event& event);
  void flush();
  // Error if anything could not be written so far.
  absl::Status status() const;

 private:
  std::string path_;
  FILE* file_ = nullptr;
};

}  // namespace mxc::train
