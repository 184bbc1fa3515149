// See loaded_library.h.
#include "driver/loaded_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "driver/find_plans.h"
#include "driver/library_fields.h"
#include "runtime/io/program_tensors.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

std::vector<int64_t> shapeFor(const plan::Buffer& buffer, int64_t count) {
  std::vector<int64_t> shape = io::shape_of(buffer);
  if (buffer.batch_axis == 0) shape[0] = count * buffer.batch_unit;
  return shape;
}

bool wrong(const std::string& name, const std::string& what, DiagnosticPrinter& printer) {
  printer.error(Fault::input, "input '" + name + "': " + what);
  return false;
}

// Samples in an array for an input; 0: for an input without a batch. Nothing after an error, which has been printed.
std::optional<int64_t> samplesIn(const std::string& name, const plan::Buffer& buffer, const io::NpyArray& array, DiagnosticPrinter& printer) {
  std::string wanted = io::described(buffer.dtype, io::shape_of(buffer)), found = io::described(array.dtype, array.shape);
  std::vector<int64_t> one = shapeFor(buffer, 1);
  bool batched = buffer.batch_axis == 0, single = batched && buffer.batch_unit == 1 && std::equal(one.begin() + 1, one.end(), array.shape.begin(), array.shape.end());
  int64_t count = !batched ? 0 : single ? 1 : array.shape.empty() ? 0 : array.shape[0] / buffer.batch_unit;
  bool fits = array.dtype == buffer.dtype && (single || array.shape == shapeFor(buffer, count)) && (count > 0 || !batched);
  if (fits) return count;
  std::string of = batched ? ", for any number of samples in place of " + std::to_string(buffer.dims[0]) : "";
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
  std::string prefix = cIdentifier(plan().find_fact("model")) + "_";
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
    if (buffer.batch_axis > 0) {
      printer.error(Fault::unsupported, "input '" + name + "': its samples do not lie one after another, and such are not read from files");
      return std::nullopt;
    }
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

std::optional<Arrays> LoadedLibrary::run(const Arrays& inputs, DiagnosticPrinter& printer) {
  auto count = countSamples(inputs, printer);
  if (!count) return std::nullopt;
  const plan::Graph& graph = plan().graph(0);
  Arrays results;
  for (const plan::Binding& binding : plan().outputs(graph)) {
    const plan::Buffer& buffer = plan().buffer(binding.buffer);
    if (buffer.batch_axis > 0 && *count != graph.batch) {
      printer.error(Fault::unsupported, "'" + std::string(plan().text(binding.name)) + "': its samples do not lie one after another, so it is had for " +
                                            std::to_string(graph.batch) + " samples alone, a whole batch");
      return std::nullopt;
    }
    io::NpyArray array{buffer.dtype, shapeFor(buffer, *count), ""};
    array.bytes.resize(buffer.batch_axis == 0 ? buffer.bytes / graph.batch * *count : buffer.bytes);
    results[plan().text(binding.name)] = std::move(array);
  }
  const int64_t batch = std::max<int64_t>(graph.batch, 1);
  for (int64_t first = 0; first < *count; first += batch) {
    auto place = [&](const plan::Binding& binding, const std::string& bytes) {
      const plan::Buffer& buffer = plan().buffer(binding.buffer);
      return bytes.data() + (buffer.batch_axis == 0 ? buffer.bytes / graph.batch * first : 0);
    };
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const plan::Binding& binding : plan().inputs(graph)) in.push_back(place(binding, inputs.at(plan().text(binding.name)).bytes));
    for (const plan::Binding& binding : plan().outputs(graph))
      out.push_back(const_cast<char*>(place(binding, results.at(plan().text(binding.name)).bytes)));
    int status = run_(context_, in.data(), out.data(), std::min(batch, *count - first));
    if (status != 0) return printer.error(Fault::input, std::string("the model refuses its inputs: ") + status_text_(status)), std::nullopt;
  }
  return results;
}

}  // namespace mxc::driver
