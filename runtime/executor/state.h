// State: what an executor is inside. It lives until the handle and every queued run are gone.
//
// Files: open.cc makes it, runs.cc queues runs, settings.cc says how, values.cc gives and takes arrays, tensors.cc is about the whole of its tensors (sharing,
// initial values, checkpoints). executor.cc is the public face. What is wrong is thrown (mxc::Error) from here on up.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mxc/executor.h"
#include "runtime/core/plan_view.h"
#include "runtime/core/storage.h"
#include "runtime/executor/graph_part.h"
#include "runtime/executor/group.h"
#include "runtime/io/program_tensors.h"

namespace mxc::executor {

// The parts of a program that an executor runs.
enum class Part { forward_training, backward, train, eval, infer, init, report };
constexpr size_t kParts = 7;

struct InputSlot {
  std::string name;
  uint32_t buffer;
  Place place;
  bool assigned = false;
  int64_t rows = 0;     // samples assigned; 0 without a batch axis
  std::string head_of;  // the output whose head gradient it is, or empty
};

// A loss, metric, output or gradient of a graph.
struct Result {
  std::string name;
  plan::OutputKind kind;
  uint32_t graph;
  uint32_t buffer;
  Place place;
};

struct GradientSlot {
  size_t result;  // in State::results
  GradientRequest request = GradientRequest::write;
  Place fresh = {};  // `add`: where backward writes
};

// A parameter or tensor of the state.
struct TensorSlot {
  io::ProgramTensor tensor;
  bool trained;
  bool brought;                  // by this executor to the group
  SharedTensor* shared;          // what users see
  Place place;                   // what graphs use: the same, or a copy in this program's layout
  uint64_t copied = ~uint64_t{0};  // the version of the shared one that the copy is of
  bool is_copy() const { return place.memory != shared->place.memory; }
};

struct Monitor {
  std::string pattern;
  std::function<void(const std::string&, const NDArray&)> seen;
};

struct State : std::enable_shared_from_this<State> {
  // ---- open.cc
  static std::shared_ptr<State> open(const Model& model, Device device, const ExecutorOptions& options, const State* share, Here here);

  // ---- runs.cc
  void forward(bool training, Here here);
  void evaluate(Here here);
  void backward(const std::vector<HeadGradient>& heads, Here here);
  void forward_backward(Here here);
  void step(Here here);
  void recover();
  void report(Here here);  // the report graph, on the metrics of the last run

  // ---- settings.cc
  void request(const std::string& name, GradientRequest request, Here here);
  void set_hyper(const std::string& name, double value, Here here);
  double hyper(const std::string& name, Here here) const;
  void watch(const std::string& pattern, std::function<void(const std::string&, const NDArray&)> seen);
  void wait(Here here);

  // ---- values.cc
  const InputSlot* find_input(const std::string& name) const;
  const Result* find_result(const std::string& name) const;  // of the graph that ran last
  NDArray read(const TensorName& name);
  void assign(const TensorName& name, const NDArray& array);
  void assign_input(InputSlot* slot, const NDArray& array, const std::string& call, Here here);  // `call`: what messages begin with
  NDArray scalar(const std::string& name, const char* call, Here here);
  NDArray loss(Here here);
  NDArray output(const std::string& name, Here here);
  View gradient(const std::string& name, Here here);
  NDArray array_of(const Place& place, const plan::Buffer& buffer, int64_t rows) const;
  std::string names_text() const;  // of all that operator[] knows
  std::string shown_name(uint32_t buffer) const;  // what monitors call it; empty: it is not shown

  // ---- tensors.cc
  void open_tensors(Here here);
  void initialise(uint64_t seed, bool shared_too, Here here);
  void save(const std::string& path, Here here);
  void load(const std::string& path, Here here);
  void make_parameters(Here here);

  std::string name;
  const plan::Program* program = nullptr;
  core::PlanView view;
  Device device;
  std::shared_ptr<Group> group;
  std::shared_ptr<core::Storage> storage;  // owner of what its chunks lie in

  std::vector<InputSlot> inputs, report_inputs;
  std::vector<Result> results;
  std::vector<GradientSlot> gradients;
  std::vector<TensorSlot> tensors;
  std::vector<Parameter> parameters, kept;
  std::vector<Monitor> monitors;
  std::vector<uint8_t> watched;  // by buffer: does a monitor want it? Empty: none wants any

  std::shared_ptr<const std::vector<double>> hypers;
  uint64_t seed = 0;
  uint64_t steps = 0;

  uint32_t last_graph = plan::kNone;    // that ran last
  int64_t last_rows = 0;                // with so many samples
  uint64_t saved_run = 0;               // the run of the group that left values for backward; 0: none
  int64_t saved_rows = 0;
  std::vector<uint64_t> saved_versions;  // after forward(true), of what it read (each_source)
  std::vector<ndarray::ChunkRef> told;  // chunks of the arrays given out since the last run
  bool reported = false;                // a failure has been thrown to the user by the executor itself

 private:
  // ---- open.cc
  void open_memory(const ExecutorOptions& options, const State* share, Here here);
  void open_inputs();
  void open_results();
  Place place_of(const std::string& name, uint32_t buffer);  // where the Plan puts it
  Place place_of_result(const Result& result);

  // ---- runs.cc
  using Lock = std::unique_lock<std::mutex>;  // of the group
  uint32_t graph_of(Part part) const;         // kNone: the program has none
  uint32_t need_graph(Part part, const char* call, Here here) const;
  std::shared_ptr<GraphPart> part(Part which, Here here);
  std::shared_ptr<GraphPart> make_part(Part which, bool brought_only, Here here);
  std::vector<Binding> bindings_of(Part part, bool brought_only) const;
  int64_t agreed_rows(uint32_t graph, const char* call, Here here) const;
  void set_heads(const std::vector<HeadGradient>& heads, Here here);
  std::shared_ptr<PendingRun> run(const Lock&, std::shared_ptr<GraphPart> part, int64_t rows, uint64_t step, bool first_values = false);
  std::shared_ptr<PendingRun> run_forward(const Lock&, uint32_t graph, int64_t rows);
  void check_saved(const Lock&, Here here) const;
  template <typename F>
  void each_source(F f) const;
  void note_versions();
  // Has nothing that backward reads again been written to since forward(true)?
  void check_versions(Here here) const;
  std::shared_ptr<PendingRun> run_backward(const Lock&, Here here);
  void run_graph(Part which, const char* call, Here here);
  void add_gradients();
  bool was_told();
  void fresh_copies();
  void return_copies(const GraphPart& part);
  void give_seen(const std::shared_ptr<PendingRun>& run, Here here);
  std::string graphs_text() const;

  // ---- tensors.cc
  void relayout(TensorSlot& slot, bool to_shared);
  void fill(TensorSlot& slot, std::shared_ptr<const io::Tensor> tensor);

  std::array<std::shared_ptr<GraphPart>, kParts> parts_;
};

// Are they one tensor by dtype and extents; and in one layout?
bool same_tensor(const plan::Buffer& a, const plan::Buffer& b);
bool same_layout(const plan::Buffer& a, const plan::Buffer& b);

// "'image', 'label'".
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace mxc::executor
