// Checkpoints: a model's persistent tensors and the place of a training run, as one safetensors file.
//
// Tensors are plain row-major whatever layout the program keeps them in: each parameter under its name, each optimizer slot under
// its binding's name ("conv2d0.weight/momentum"), and other persistent state under its buffer's name. Metadata (strings):
//     format            "mxc-checkpoint-1"
//     model             of the program; so are
//     optimizer, hash   its kind of optimizer, and a number for its parameters and states (names, shapes, types); absent if the Plan
//                       has none
//     step, epoch       steps done; epoch in progress, from 0
//     position          samples of that epoch already seen
//     seed, batch, samples   what the order of the data depends on; samples: of the training set
//     shards            of a step, each of a batch; absent: one
//     compress          how what shards contribute is compressed; absent: not at all. Then there are further tensors (shard_compression.h):
//                       "NAME/residual" for each parameter, and "NAME/exact" if values come back compressed too
//     sums              for each loss and metric of the train graph, in order: the sum of value x n over the epoch so far
//     epochs, schedule, warmup, hyper.NAME   settings of the run, taken over by a resume unless given anew
// There is no time in it: the same run gives the same bytes.
//
// A resume wants all of it to be there, to make sense, and to be of this model, optimizer and hash. Inference wants the parameters
// alone: files without metadata, of another optimizer or of a program that cannot train serve as well, hence there neither optimizer
// nor hash is compared; but a checkpoint of this format that names another model is refused there too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/safetensors.h"
#include "runtime/kv/compression.h"
#include "runtime/train/model.h"

namespace mxc::train {

// The longest training: steps and samples of all its epochs can be counted in 64 bits.
constexpr int64_t kMostEpochs = 1'000'000'000;
constexpr int64_t kMostShards = 1 << 20;

// Where a training run is, and what it needs to go on from there bit for bit.
struct Progress {
  int64_t step = 0;
  int64_t epoch = 0;
  int64_t position = 0;
  uint64_t seed = 0;
  int64_t batch = 0;
  int64_t shards = 1;
  int64_t samples = 0;
  std::vector<double> sums;  // of the train graph's scalars
  int64_t epochs = 0;
  std::string schedule;
  int64_t warmup = 0;
  std::map<std::string, double> hypers;
  std::string compress;                     // empty: nothing is compressed
  std::map<std::string, std::string> kept;  // what compression keeps, by the tensor's name
};

// Error (invalid argument): no checkpoint can hold the model, because two of its tensors, which are named, are called the same.
absl::Status check_checkpoint_names(const Model& model);

absl::Status save_checkpoint(const Model& model, const Progress& progress, const std::string& path);

// Loads all tensors and returns where the run was. Nothing is changed if anything is wrong. Error (invalid argument): unreadable; of
// another format, model or optimizer; a tensor is missing, unknown or of another shape or dtype, named; a key of the metadata is
// missing or cannot be, named with its value.
absl::StatusOr<Progress> load_checkpoint(const Model& model, const std::string& path);

// The number of shards that a checkpoint was trained by. Error (invalid argument): unreadable, or no number.
absl::StatusOr<int64_t> checkpoint_shards(const std::string& path);

// How it was compressed. Error (invalid argument): unreadable, or no such method.
absl::StatusOr<kv::Compression> checkpoint_compression(const std::string& path);

// Loads what inference needs: parameters and the layers' state. Other tensors and the metadata may be there or not. Errors as above.
absl::Status load_parameters(const Model& model, const std::string& path);

}  // namespace mxc::train
