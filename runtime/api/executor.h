// Executor: a compiled model, run from a program's own code.
//
//     Executor net(lenet, cpu(), {.seed = 1});
//     for (const Batch& batch : data::mnist(path).batches(64).shuffled(7)) {
//       net["image"] = batch.image;
//       net["label"] = batch.label;
//       net.forward_backward();
//       for (Parameter& p : net.parameters()) p.value -= 0.1f * p.grad;
//     }
//
// Everything is queued in program order and returns at once; reading a value waits for that value alone. A run takes each input when its
// first step needs it and gives each result away when its last writer has ended: the first gradient can be used while backward works.
//
// Memory: nothing is allocated in a run. Results, inputs, parameters and gradients have one place each: an array of them shows what the
// last run that computes them left there, for as many samples as there were when it was asked for. `loss` and `metric` give copies, which stay. Executors that share (Options::share) have their parameters, state
// and optimizer's state in common, by name, and one arena, as large as the largest of them needs.
//
// Errors: mxc::Error with the line of the call for what is wrong at once; what goes wrong later (a label out of range, an array whose own
// operation failed) is thrown where a result that depends on it is read. The next run computes its results anew, whatever happened before, and
// goes on from the parameters as they are: a run that failed has not changed them. Until then they are in error for who reads them. An error of
// a parameter that comes from no run (`p.value = x` where x failed) stays until the user has been told, or `recover`.
// Threads: an executor is used by one thread at a time; different ones at once, even if they share.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "mxc/data.h"
#include "mxc/device.h"
#include "mxc/dtype.h"
#include "mxc/error.h"
#include "mxc/gradient_request.h"
#include "mxc/model_handle.h"
#include "mxc/ndarray.h"

namespace mxc {

namespace engine {
class Engine;
}
namespace executor {
struct State;  // what an executor is inside
}
class Executor;

// A parameter, or a tensor of the state. Assigning to `value` or `grad` writes into it.
struct Parameter {
  std::string name;
  View value;
  View grad;  // empty for state and for what is not trained
};

// The gradient of what is to be descended on, with respect to an output of the model.
struct HeadGradient {
  std::string output;
  NDArray gradient;
};

struct ExecutorOptions {
  uint64_t seed = 0;                 // of the parameters and of all random numbers
  const Executor* share = nullptr;   // have parameters, state, arena, threads and engine in common with this one
  engine::Engine* engine = nullptr;  // null: the process's
  int threads = 0;                   // that compute together; 0: one per CPU
};

// An input or result of an executor, as an array. Assigning an array to an input copies it there when it has come: its rows along the
// batch axis are the samples of the next run. Assigning throws if the executor is gone.
class Entry : public NDArray {
 public:
  Entry& operator=(const NDArray& array);
  Entry& operator=(const Entry& other) { return *this = static_cast<const NDArray&>(other); }
  Entry(const Entry&) = default;

 private:
  friend class Executor;
  Entry(NDArray array, std::weak_ptr<executor::State> state, TensorName name)
      : NDArray(std::move(array)), state_(std::move(state)), name_(std::move(name)) {}
  std::weak_ptr<executor::State> state_;  // it may outlive the executor
  TensorName name_;
};

// One that has been moved from can be assigned to and destroyed; all else throws.
class Executor {
 public:
  // Parameters get their initial values, but for those that are shared.
  // Throws: the model is not in this program or not for this device; a shared tensor of another shape or dtype; memory is short.
  explicit Executor(const Model& model, Device device = cpu(), const ExecutorOptions& options = {}, Here here = Here::current());
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();  // waits for nothing: what is queued still runs

  // The input or result of this name. Throws: there is none, with those that there are; a result that the last run did not compute.
  // An input that has not been assigned is an empty array.
  Entry operator[](TensorName name);

  // ---- Runs. The inputs that a run reads must have been assigned, with equal numbers of samples, at most batch(). Each of
  // forward(true), forward_backward and step counts as one step for random numbers and optimizers.
  // The outputs as in inference.
  void forward(bool training = false, Here here = Here::current());
  // The loss and the metrics as in inference.
  void evaluate(Here here = Here::current());
  // The gradients that are requested, after forward(true), which computed outputs, loss and metrics as in training. In a model
  // without a loss: the gradients of the sum of all <output, head gradient>; an output that is not named counts as 0.
  // Throws: an input or parameter that it reads again has been written to since forward(true).
  void backward(Here here = Here::current());
  void backward(const std::vector<HeadGradient>& heads, Here here = Here::current());
  void backward(std::initializer_list<HeadGradient> heads, Here here = Here::current()) { backward(std::vector<HeadGradient>(heads), here); }
  void forward_backward(Here here = Here::current());  // forward(true) and backward()
  // A whole step of the optimizer that the model was compiled with: the same bits as the trainer's.
  void step(Here here = Here::current());

  // ---- Values
  std::vector<Parameter>& parameters(Here here = Here::current());  // those that are trained
  std::vector<Parameter>& state(Here here = Here::current());       // what else is kept: running statistics, the optimizer's state, parameters that are not trained
  // Of a parameter, or of an input that the model asked a gradient for: of its last samples.
  View gradient(const std::string& name, Here here = Here::current());
  void request(const std::string& name, GradientRequest request, Here here = Here::current());  // at first, all are written
  // Of the last run: the mean over its samples.
  NDArray loss(Here here = Here::current());
  NDArray metric(const std::string& name, Here here = Here::current());
  NDArray output(const std::string& name, Here here = Here::current());

  // After each run that touches tensors whose names match the pattern (`*`: any characters), `seen` gets a copy of each, in the order of
  // computation, on the calling thread: of what the run computes, and of the inputs, parameters and state that it reads; of those that it changes as
  // they are afterwards. The gradient of a parameter or input NAME is called NAME.gradient. Such a run waits for its end. An empty function ends
  // the monitoring of that pattern.
  void monitor(const std::string& pattern, std::function<void(const std::string& name, const NDArray& value)> seen, Here here = Here::current());

  // For the runs that follow. Throws: there is none of this name; a value that the trainer refuses, too (a negative rate, NaN).
  void set_hyper(const std::string& name, double value, Here here = Here::current());
  double hyper(const std::string& name, Here here = Here::current()) const;

  // ---- The whole
  // Parameters and state as at the beginning, by this seed; steps count from 0. Of shared tensors too.
  void initialise(uint64_t seed, Here here = Here::current());
  // A checkpoint, as the trainer reads and writes it (safetensors). `load` takes over the number of steps, and the optimizer's state if
  // it is there and of the same optimizer. Both wait.
  void save(const std::string& path, Here here = Here::current());
  void load(const std::string& path, Here here = Here::current());
  // Waits for what this executor has queued; throws the error of the last run, if it has one.
  void wait(Here here = Here::current());
  // Takes errors off parameters and state, of whatever is queued: they have the values that the failed operations left. Waits for nothing.
  void recover(Here here = Here::current());

  const std::string& name(Here here = Here::current()) const;
  Device device(Here here = Here::current()) const;
  int64_t batch(Here here = Here::current()) const;         // the most samples of a run; 0 if the model has no batch axis
  int64_t steps(Here here = Here::current()) const;         // training steps begun
  uint64_t arena_bytes(Here here = Here::current()) const;  // of the arena, for all executors that share it
  std::vector<Field> inputs(Here here = Here::current()) const;  // what a data set has to deliver
  std::vector<std::string> outputs(Here here = Here::current()) const;

 private:
  executor::State& alive(Here here) const;  // throws if the executor has been moved from

  std::shared_ptr<executor::State> state_;
};

}  // namespace mxc
