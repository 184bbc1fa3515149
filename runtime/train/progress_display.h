// What a person sees while a model trains: a line that is rewritten in place on a terminal, or a plain line now and then
// otherwise, and a table with one row an epoch.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace mxc::train {

struct EpochResult {
  std::vector<double> train;
  std::vector<double> test;  // empty: no test data
};

class ProgressDisplay {
 public:
  // `train` and `test` name the columns ("loss", "accuracy").
  ProgressDisplay(FILE* out, bool terminal, std::vector<std::string> train, std::vector<std::string> test);

  // Whether it is time to show a step: only then `step` does anything.
  bool is_due() const;
  // `seen` samples of `total` of the epoch are done, `done_now` of them since the epoch was (re)started here; the means so far.
  // The time left is that of all epochs, tests not counted.
  void step(int64_t epoch, int64_t epochs, int64_t seen, int64_t total, int64_t done_now, const std::vector<double>& means);

  void epoch_starts();
  // Prints the row, with the header before the first one.
  void epoch_ends(int64_t epoch, const EpochResult& result);

  // A line of its own, clear of the live one.
  void say(const std::string& line);

 private:
  double seconds() const;
  void clear_live();

  FILE* out_;
  bool terminal_;
  std::vector<std::string> train_, test_;
  bool header_done_ = false, live_ = false;
  std::chrono::steady_clock::time_point start_;
  double shown_ = 0;
};

// "12 s", "3:05", "2:10:07".
std::string duration_text(double seconds);

}  // namespace mxc::train
