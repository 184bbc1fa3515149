// Arrays in and out: inputs are copied in, results are shown where they lie.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/layout.h"
#include "runtime/executor/state.h"

namespace mxc::executor {
namespace {

// "f32 {n <= 64, 1, 28, 28}": what an input takes.
std::string wanted_text(const plan::Buffer& buffer) {
  std::string extents;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    const std::string factor = buffer.batch_unit > 1 ? absl::StrCat(buffer.batch_unit, " n, n") : "n";
    absl::StrAppend(&extents, axis == 0 ? "" : ", ",
                    axis == buffer.batch_axis ? absl::StrCat(factor, " <= ", core::batch_capacity(buffer)) : absl::StrCat(buffer.dims[axis]));
  }
  return absl::StrCat(core::dtype_name(buffer.dtype), " {", extents, "}");
}

// Samples in an array of this shape; -1 if it does not fit the buffer.
int64_t rows_of(const plan::Buffer& buffer, const ndarray::Dims& shape) {
  if (shape.size() != buffer.rank) return -1;
  int64_t rows = 0;
  for (int axis = 0; axis < buffer.rank; ++axis) {
    if (axis != buffer.batch_axis) {
      if (shape[axis] != buffer.dims[axis]) return -1;
      continue;
    }
    if (shape[axis] < 1 || shape[axis] % buffer.batch_unit != 0 || shape[axis] > buffer.dims[axis]) return -1;
    rows = shape[axis] / buffer.batch_unit;
  }
  return rows;
}

// What an operation that fills an input needs; small enough to be queued without an allocation.
struct Filling {
  ndarray::ChunkRef from;
  int64_t offset;  // bytes
  const InputSlot* slot;
  std::shared_ptr<State> state;
  int64_t rows;
  Here here;  // of the assignment

  absl::Status operator()() const {
    const plan::Buffer& buffer = state->view.buffer(slot->buffer);
    if (from->memory == nullptr) return absl::InternalError("an array without a value");
    const char* values = static_cast<const char*>(from->memory) + offset;
    const int64_t wrong = core::find_out_of_bounds(buffer, rows, values);
    if (wrong >= 0) {
      const double value = core::read_scalar(buffer.dtype, values + wrong * core::dtype_bytes(buffer.dtype));
      return absl::InvalidArgumentError(
          absl::StrCat("input '", slot->name, "' holds ", value, " at element ", wrong, ", expected 0 <= value < ", buffer.upper_bound,
                       ndarray::called_at(here)));
    }
    core::pack(buffer, rows, values, slot->place.memory);
    return absl::OkStatus();
  }
};

constexpr int64_t kCheapBytes = 4096;

}  // namespace

const InputSlot* State::find_input(const std::string& wanted) const {
  for (const InputSlot& slot : inputs) {
    if (slot.name == wanted) return &slot;
  }
  return nullptr;
}

const Result* State::find_result(const std::string& wanted) const {
  for (const Result& result : results) {
    if (result.graph == last_graph && result.kind != plan::OutputKind::gradient && result.name == wanted) return &result;
  }
  return nullptr;
}

std::string State::names_text() const {
  std::vector<std::string> in, out;
  for (const InputSlot& slot : inputs) in.push_back(slot.name);
  for (const Result& result : results) {
    const bool known = std::find(out.begin(), out.end(), result.name) != out.end();
    if (!known && result.kind != plan::OutputKind::gradient) out.push_back(result.name);
  }
  return absl::StrCat("inputs: ", quoted_list(in), "; results: ", quoted_list(out));
}

NDArray State::array_of(const Place& place, const plan::Buffer& buffer, int64_t rows) const {
  ndarray::View view;
  view.chunk = place.chunk;
  view.dtype = buffer.dtype;
  for (int axis = 0; axis < buffer.rank; ++axis) view.shape.push_back(buffer.dims[axis]);
  view.strides = ndarray::row_major(view.shape);
  if (buffer.batch_axis >= 0) view.shape[buffer.batch_axis] = rows * buffer.batch_unit;
  // The group, which keeps the layouts of what is shared, is kept; a layout in the Plan lives as long as the program.
  if (!core::is_plain(buffer)) view.packed = std::shared_ptr<const plan::Buffer>(group, &buffer);
  return ndarray::wrap(std::move(view));
}

NDArray State::read(const TensorName& wanted) {
  if (const InputSlot* slot = find_input(wanted.text)) {
    return slot->assigned ? array_of(slot->place, view.buffer(slot->buffer), slot->rows) : NDArray();
  }
  if (const Result* result = find_result(wanted.text)) return array_of(result->place, view.buffer(result->buffer), last_rows);
  bool known = false;
  for (const Result& result : results) known |= result.name == wanted.text && result.kind != plan::OutputKind::gradient;
  const std::string call = absl::StrCat("[\"", wanted.text, "\"]: ");
  if (!known) throw Error(absl::StrCat(call, "the model '", name, "' has no input or result of this name; ", names_text()), wanted.where);
  throw Error(absl::StrCat(call, last_graph == plan::kNone ? "nothing has been run yet"
                                                           : absl::StrCat("the last run, of graph '", view.text(view.graph(last_graph).name),
                                                                          "', does not compute it")),
              wanted.where);
}

void State::assign(const TensorName& wanted, const NDArray& array) {
  const Here here = wanted.where;
  const std::string call = absl::StrCat("[\"", wanted.text, "\"] = array: ");
  InputSlot* slot = const_cast<InputSlot*>(find_input(wanted.text));
  if (slot == nullptr) throw Error(absl::StrCat(call, "the model '", name, "' has no input of this name; ", names_text()), here);
  assign_input(slot, array, call, here);
}

void State::assign_input(InputSlot* slot, const NDArray& array, const std::string& call, Here here) {
  if (array.empty()) throw Error(absl::StrCat(call, "the array is empty"), here);
  if (!(array.device(here) == device)) {
    throw Error(absl::StrCat(call, "the array lies on ", to_string(array.device(here)), ", the executor on ", to_string(device)), here);
  }
  const plan::Buffer& buffer = view.buffer(slot->buffer);
  NDArray source = array;
  ndarray::View from = ndarray::view_of(source, here);
  const int64_t rows = rows_of(buffer, from.shape);
  if (from.dtype != buffer.dtype || rows < 0) {
    throw Error(absl::StrCat(call, "expected ", wanted_text(buffer), ", got ", core::dtype_name(from.dtype), " ", ndarray::text(from.shape)),
                here);
  }
  engine::Engine& engine = group->engine();
  if (!array.is_contiguous(here) || from.packed != nullptr || from.chunk == slot->place.chunk) {
    source = array.copy(here);
    from = ndarray::view_of(source, here);
  }
  const bool foreign = from.chunk->engine != &engine;
  if (foreign) source.wait(here);
  ndarray::begin_write(*slot->place.chunk);
  const engine::Traits traits = {.name = "input",
                                 .lane = engine::Lane::copy,
                                 .cheap = static_cast<int64_t>(core::plain_bytes(buffer, rows)) <= kCheapBytes,
                                 .anew = true};
  Filling fill{from.chunk, from.offset * core::dtype_bytes(from.dtype), slot, shared_from_this(), rows, here};
  if (foreign) {
    engine.push(traits, {}, {slot->place.chunk->variable}, std::move(fill));
  } else {
    engine.push(traits, {from.chunk->variable}, {slot->place.chunk->variable}, std::move(fill));
  }
  slot->assigned = true;
  slot->rows = rows;
}

// A copy of a loss or metric of the last run.
NDArray State::scalar(const std::string& wanted, const char* call, Here here) {
  const Result* result = find_result(wanted);
  bool of_report = false;
  if (result == nullptr && last_graph != plan::kNone) {
    for (const Result& other : results) {
      if (other.graph != graph_of(Part::report) || other.name != wanted) continue;
      report(here);
      result = &other;
      of_report = true;
    }
  }
  if (result == nullptr || (!of_report && result->kind == plan::OutputKind::output)) {
    std::vector<std::string> known;
    for (const Result& other : results) {
      if (other.graph == last_graph && (other.kind == plan::OutputKind::loss || other.kind == plan::OutputKind::metric)) {
        known.push_back(other.name);
      }
    }
    throw Error(last_graph == plan::kNone
                    ? absl::StrCat(call, ": nothing of '", name, "' has been run yet")
                    : absl::StrCat(call, ": the last run of '", name, "', of graph '", view.text(view.graph(last_graph).name),
                                   "', computes no '", wanted, "'; it computes ", quoted_list(known)),
                here);
  }
  NDArray copy = array_of(result->place, view.buffer(result->buffer), last_rows).copy(here);
  told.push_back(ndarray::view_of(copy, here).chunk);
  return copy;
}

NDArray State::loss(Here here) {
  for (const Result& result : results) {
    if (result.graph == last_graph && result.kind == plan::OutputKind::loss) return scalar(result.name, "loss", here);
  }
  return scalar("loss", "loss", here);  // throws
}

NDArray State::output(const std::string& wanted, Here here) {
  std::vector<std::string> known;
  for (const Result& result : results) {
    if (result.kind != plan::OutputKind::output) continue;
    if (result.graph == last_graph && result.name == wanted) return array_of(result.place, view.buffer(result.buffer), last_rows);
    if (std::find(known.begin(), known.end(), result.name) == known.end()) known.push_back(result.name);
  }
  const bool exists = std::find(known.begin(), known.end(), wanted) != known.end();
  if (!exists) throw Error(absl::StrCat("output: the model '", name, "' has no output '", wanted, "'; it has ", quoted_list(known)), here);
  return read(TensorName(wanted, here));  // throws
}

View State::gradient(const std::string& wanted, Here here) {
  std::vector<std::string> known;
  for (const GradientSlot& gradient : gradients) {
    const Result& result = results[gradient.result];
    known.push_back(result.name);
    if (result.name == wanted) return View(array_of(result.place, view.buffer(result.buffer), saved_rows), here);
  }
  throw Error(absl::StrCat("gradient: the model '", name, "' has no gradient of '", wanted, "'; it has ", quoted_list(known)), here);
}

}  // namespace mxc::executor
