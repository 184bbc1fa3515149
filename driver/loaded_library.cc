// See loaded_library.h.
#include "driver/loaded_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "driver/c_names.h"
#include "driver/find_plans.h"
#include "runtime/io/program_tensors.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

std::vector<int64_t> shapeFor(const plan::Buffer& buffer, int64_t count) {
  std::vector<int64_t> shape = io::shape_of(buffer);
  if (buffer.batch_axis >= 0) shape[buffer.batch_axis] = count * buffer.batch_unit;
  return shape;
}

// An array's samples: `rows` of them, the axes before the batch's; in each, a sample is so many bytes.
struct Samples {
  explicit Samples(const plan::Buffer& buffer) : bytes(buffer.batch_unit * core::dtype_bytes(buffer.dtype)) {
    for (int axis = 0; axis < buffer.rank; ++axis)
      if (axis != buffer.batch_axis) (axis < buffer.batch_axis ? rows : bytes) *= buffer.dims[axis];
  }
  int64_t rows = 1, bytes;
};

// Some samples in memory that has room for `room` of them, from the number `first` on.
template <class Bytes>
struct Place {
  Bytes* memory;
  int64_t first, room;
};

void copySamples(const Samples& samples, int64_t count, Place<const char> from, Place<char> to) {
  for (int64_t row = 0; row < samples.rows; ++row)
    std::memcpy(to.memory + (row * to.room + to.first) * samples.bytes, from.memory + (row * from.room + from.first) * samples.bytes,
                count * samples.bytes);
}

bool wrong(const std::string& name, const std::string& what, DiagnosticPrinter& printer) {
  printer.error(Fault::input, "input '" + name + "': " + what);
  return false;
}

// Samples in an array for an input; 0: for an input without a batch. Nothing after an error, which has been printed.
std::optional<int64_t> samplesIn(const std::string& name, const plan::Buffer& buffer, const io::NpyArray& array, DiagnosticPrinter& printer) {
  std::string wanted = io::described(buffer.dtype, io::shape_of(buffer)), found = io::described(array.dtype, array.shape);
  const int axis = buffer.batch_axis;
  const bool batched = axis >= 0;
  std::vector<int64_t> one = shapeFor(buffer, 1);
  if (batched) one.erase(one.begin() + axis);
  const bool single = batched && buffer.batch_unit == 1 && array.shape == one;
  int64_t count = single ? 1 : batched && array.shape.size() == buffer.rank ? array.shape[axis] / buffer.batch_unit : 0;
  bool fits = array.dtype == buffer.dtype && (single || array.shape == shapeFor(buffer, count)) && (count > 0 || !batched);
  if (fits) return count;
  std::string of = batched ? ", for any number of samples in place of " + std::to_string(buffer.dims[axis]) : "";
  return wrong(name, "the array is " + found + ", the model takes " + wanted + of, printer), std::nullopt;
}

}  // namespace

std::unique_ptr<LoadedLibrary> LoadedLibrary::make(CompileOptions options, const WorkDirectory& work, DiagnosticPrinter& printer) {
  options.emit = Emit::shared;
  options.output = work.file("loaded.so");
  compile(options, printer);
  if (printer.failed() || options.show_commands) return nullptr;
  std::unique_ptr<LoadedLibrary> made(new LoadedLibrary);
  return made->load(options.output, printer) ? std::move(made) : nullptr;
}

bool LoadedLibrary::load(const std::string& path, DiagnosticPrinter& printer) {
  auto fail = [&](const std::string& why) { return printer.error(Fault::internal, "the library cannot be loaded: " + why), false; };
  auto bytes = readWholeFile(path);
  if (!bytes) return fail(llvm::toString(bytes.takeError()));
  std::vector<AlignedPlan> plans = findPlans(*bytes);
  if (plans.size() != 1) return fail("there is no Plan in it");
  plan_ = std::move(plans[0]);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) return fail(dlerror());
  std::string prefix = libraryPrefix(plan().find_fact("model")) + "_";
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle_, (prefix + name).c_str()));
    return function != nullptr;
  };
  uint64_t (*build)() = nullptr;
  int (*allocate)(uint64_t, void**) = nullptr;
  if (!find(run_, "run") || !find(destroy_, "destroy") || !find(status_text_, "status_text") || !find(build, "build") || !find(allocate, "allocate"))
    return fail("a function is missing");
  int status = allocate(build(), &context_);
  if (status != 0) printer.error(Fault::input, std::string("the library refuses to start: ") + status_text_(status));
  return status == 0;
}

LoadedLibrary::~LoadedLibrary() {
  if (context_) destroy_(context_);
  if (handle_) dlclose(handle_);
}

std::optional<int64_t> LoadedLibrary::countSamples(const Arrays& inputs, DiagnosticPrinter& printer) const {
  int64_t count = 0;
  for (const plan::Binding& binding : plan().inputs(plan().graph(0))) {
    std::string name = plan().text(binding.name);
    const plan::Buffer& buffer = plan().buffer(binding.buffer);
    auto found = inputs.find(name);
    if (found == inputs.end()) return wrong(name, "there is no array for it", printer), std::nullopt;
    auto samples = samplesIn(name, buffer, found->second, printer);
    if (!samples) return std::nullopt;
    if (*samples > 0 && count > 0 && *samples != count)
      return wrong(name, std::to_string(*samples) + " samples, but another input has " + std::to_string(count), printer), std::nullopt;
    count = std::max(count, *samples);
  }
  return std::max<int64_t>(count, 1);
}

std::vector<std::string> LoadedLibrary::outputs() const {
  std::vector<std::string> names;
  for (const plan::Binding& binding : plan().outputs(plan().graph(0))) names.push_back(plan().text(binding.name));
  return names;
}

std::optional<Arrays> LoadedLibrary::run(const Arrays& inputs, const std::set<std::string>& wanted, DiagnosticPrinter& printer) {
  auto count = countSamples(inputs, printer);
  if (!count) return std::nullopt;
  const plan::Graph& graph = plan().graph(0);
  const int64_t batch = std::max<int64_t>(graph.batch, 1);
  Arrays results;
  for (const plan::Binding& binding : plan().outputs(graph)) {
    const plan::Buffer& buffer = plan().buffer(binding.buffer);
    const std::string name = plan().text(binding.name);
    if (!wanted.count(name)) continue;
    if (buffer.batch_axis < 0 && *count > batch) {
      std::string most = std::to_string(batch), all = std::to_string(*count);
      printer.error(Fault::unsupported, "'" + name + "' is one for all samples of a run, of which there are " + most + " at most and " + all +
                                            " are given: give no more, or compile for them with --dim batch=" + all);
      return std::nullopt;
    }
    io::NpyArray array{buffer.dtype, shapeFor(buffer, *count), ""};
    array.bytes.resize(buffer.batch_axis < 0 ? buffer.bytes : Samples(buffer).rows * Samples(buffer).bytes * *count);
    results[name] = std::move(array);
  }
  for (int64_t first = 0; first < *count; first += batch)
    if (!runPart(inputs, results, first, std::min(batch, *count - first), *count, printer)) return std::nullopt;
  return results;
}

// n samples from `first` on, of `count`. Those of an array whose batch is not the first axis are brought together in memory of the model's batch.
bool LoadedLibrary::runPart(const Arrays& inputs, Arrays& results, int64_t first, int64_t n, int64_t count, DiagnosticPrinter& printer) {
  const plan::Graph& graph = plan().graph(0);
  std::deque<std::string> gathered;
  auto is_direct = [](const plan::Buffer& buffer) { return buffer.batch_axis <= 0; };
  auto start = [&](const plan::Buffer& buffer) { return buffer.batch_axis < 0 ? 0 : Samples(buffer).bytes * first; };
  std::vector<const void*> in;
  for (const plan::Binding& binding : plan().inputs(graph)) {
    const plan::Buffer& buffer = plan().buffer(binding.buffer);
    const std::string& bytes = inputs.at(plan().text(binding.name)).bytes;
    in.push_back(bytes.data() + start(buffer));
    if (is_direct(buffer)) continue;
    in.back() = gathered.emplace_back(buffer.bytes, '\0').data();
    copySamples(Samples(buffer), n, {bytes.data(), first, count}, {gathered.back().data(), 0, graph.batch});
  }
  std::vector<void*> out;
  for (const plan::Binding& binding : plan().outputs(graph)) {
    const plan::Buffer& buffer = plan().buffer(binding.buffer);
    auto result = results.find(plan().text(binding.name));
    if (result == results.end()) out.push_back(nullptr);
    else out.push_back(is_direct(buffer) ? result->second.bytes.data() + start(buffer) : gathered.emplace_back(buffer.bytes, '\0').data());
  }
  in.push_back(nullptr);  // a list of none is no null pointer
  int status = run_(context_, in.data(), out.data(), n);
  if (status != 0) return printer.error(Fault::input, std::string("the model refuses its inputs: ") + status_text_(status)), false;
  for (size_t i = 0; i < out.size(); ++i) {
    const plan::Binding& binding = plan().outputs(graph)[i];
    const plan::Buffer& buffer = plan().buffer(binding.buffer);
    if (out[i] && !is_direct(buffer))
      copySamples(Samples(buffer), n, {static_cast<const char*>(out[i]), 0, graph.batch}, {results[plan().text(binding.name)].bytes.data(), first, count});
  }
  return true;
}

}  // namespace mxc::driver
