// The command line of a generated program:
//     MODEL train|eval|predict|info [flags]
// Each hyper-parameter of the Plan is a flag of `train` (weight_decay: --weight-decay), with the Plan's default.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/model.h"

namespace mxc::train {

enum class Verb { train, eval, predict, info };

struct Options {
  Verb verb = Verb::info;
  int threads = 0;     // 0: one per CPU
  bool naive = false;  // the serial engine

  // Data and weights. `load` is the checkpoint that eval and predict read.
  std::string data, test_data, load;
  std::optional<int64_t> batch;

  // train
  std::string transport;  // of arrays between processes; see kv/data_transport.h
  std::string kvstore;  // how processes train together; empty: not said
  int64_t shards = 0;   // of a step; 0: not said
  int64_t servers = 0;  // of the job; 0: not said
  bool shared_memory = true;
  std::string machine_sums;  // see kv/machine_sums.h
  std::string local;    // the model of level 1; empty: not said
  std::string compress; // of what shards contribute; empty: not said
  std::optional<int64_t> epochs, warmup;
  bool check_finite = false;
  int64_t steps = 0;  // stop after this step of the whole training; 0: no limit
  std::optional<uint64_t> seed;
  std::optional<std::string> schedule;
  std::map<std::string, double> hypers;  // those given, by the Plan's name
  std::string optimizer;                 // empty: as compiled
  std::string log, trace, checkpoint_dir, save, resume;

  // predict
  std::vector<int64_t> samples;
  int64_t count = 5;
  std::string output;

  // info
  bool json = false;
};

// Parses a command line. Returns -1 and fills `options`, or an exit code after writing what must be said: 0 for --help and
// --version (to `out`), 2 for a wrong command line (one line, to `error`).
int parse_options(int argc, const char* const* argv, const core::PlanView& view, std::string* out, std::string* error,
                  Options* options);

}  // namespace mxc::train
