// See bench.h. A step is a run of the graph `train` in the trace; kernels are the steps of its Plan.
#include "driver/bench.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/files.h"
#include "driver/find_plans.h"
#include "frontend/stage/process.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

constexpr char kGraph[] = "train", kOfOwnMain[] = "forward_backward";

struct Kernel {
  std::string name;
  double seconds = 0;  // a step
  double calls = 0;    // a step
};

struct Measured {
  std::vector<double> steps;    // seconds of each, the shortest first
  std::vector<Kernel> kernels;  // the longest first

  double median() const { return steps[steps.size() / 2]; }
};

struct Event {
  std::string name;
  double begin = 0, seconds = 0;
};

// What ran, of a category, in the order in which it began.
std::vector<Event> eventsOf(const llvm::json::Array& trace, llvm::StringRef category) {
  std::vector<Event> events;
  for (const llvm::json::Value& value : trace) {
    const llvm::json::Object* event = value.getAsObject();
    if (event == nullptr || event->getString("cat") != category || event->getString("ph") != llvm::StringRef("X")) continue;
    events.push_back({event->getString("name").value_or("").str(), event->getNumber("ts").value_or(0) / 1e6, event->getNumber("dur").value_or(0) / 1e6});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.begin < b.begin; });
  return events;
}

// Of the last `count` steps. Nothing: the trace has fewer.
std::optional<Measured> measuredBy(const llvm::json::Array& trace, size_t count) {
  std::vector<Event> runs;
  for (Event& event : eventsOf(trace, "compute"))
    if (event.name == kGraph) runs.push_back(std::move(event));
  if (runs.size() < count) return std::nullopt;
  Measured measured;
  runs.erase(runs.begin(), runs.end() - static_cast<ptrdiff_t>(count));
  for (const Event& run : runs) measured.steps.push_back(run.seconds);
  std::sort(measured.steps.begin(), measured.steps.end());
  std::map<std::string, Kernel> kernels;
  for (const Event& event : eventsOf(trace, "step")) {
    if (event.begin < runs[0].begin) continue;
    Kernel& kernel = kernels[event.name];
    kernel.seconds += event.seconds / static_cast<double>(count);
    kernel.calls += 1 / static_cast<double>(count);
  }
  for (auto& [name, kernel] : kernels) measured.kernels.push_back({name, kernel.seconds, kernel.calls});
  std::stable_sort(measured.kernels.begin(), measured.kernels.end(), [](const Kernel& a, const Kernel& b) { return a.seconds > b.seconds; });
  return measured;
}

void printText(const Measured& measured, int64_t batch, size_t most) {
  const double step = measured.median();
  llvm::outs() << llvm::format("%.3f ms a step of %lld samples (%.3f to %.3f, %zu steps), %.1f samples/s\n\n", 1e3 * step, static_cast<long long>(batch), 1e3 * measured.steps.front(),
                               1e3 * measured.steps.back(), measured.steps.size(), static_cast<double>(batch) / step)
               << "      ms      %   calls  kernel\n";
  for (const Kernel& kernel : llvm::ArrayRef(measured.kernels).take_front(most))
    llvm::outs() << llvm::format("%8.3f %6.1f %7.1f  ", 1e3 * kernel.seconds, 100 * kernel.seconds / step, kernel.calls) << kernel.name << "\n";
}

void printJson(const Measured& measured, int64_t batch, size_t most) {
  llvm::json::Array kernels;
  for (const Kernel& kernel : llvm::ArrayRef(measured.kernels).take_front(most))
    kernels.push_back(llvm::json::Object{{"name", kernel.name}, {"seconds", kernel.seconds}, {"calls", kernel.calls}});
  llvm::outs() << llvm::json::Value(llvm::json::Object{{"batch", batch},
                                                       {"step", measured.median()},
                                                       {"shortest", measured.steps.front()},
                                                       {"longest", measured.steps.back()},
                                                       {"samples_per_second", static_cast<double>(batch) / measured.median()},
                                                       {"kernels", std::move(kernels)}})
               << "\n";
}

// The samples of a step of a program. Nothing after an error.
std::optional<int64_t> batchOf(const std::string& program, DiagnosticPrinter& printer) {
  auto bytes = readWholeFile(program);
  if (!bytes) return printer.error(Fault::internal, toString(bytes.takeError())), std::nullopt;
  const auto plans = findPlans(*bytes);
  const uint32_t graph = plans.empty() ? plan::kNone : plans[0].view().find_graph(kGraph);
  if (graph == plan::kNone || plans[0].view().find_graph(kOfOwnMain) != plan::kNone) return printer.error(Fault::unsupported, "the program has a main of its own: what mxc bench measures is a step of the standard trainer"), std::nullopt;
  return plans[0].view().graph(graph).batch;
}

// Trains the program, and reads the trace. Nothing after an error.
std::optional<Measured> train(const std::string& program, int64_t batch, const BenchOptions& options, const WorkDirectory& work, DiagnosticPrinter& printer) {
  const int64_t steps = options.warmup + options.steps;
  const std::string trace_file = work.file("trace.json");
  std::vector<std::string> command = {program,  "train",     "--data",     "random:" + std::to_string(batch * steps), "--steps", std::to_string(steps),
                                      "--save", work.file("weights"), "--trace", trace_file};
  if (options.threads > 0) command.insert(command.end(), {"--threads", std::to_string(options.threads)});
  const frontend::ProcessResult result = frontend::runProcess(command, {.stdout_to_stderr = true});
  if (!result.started) return printer.error(Fault::internal, "cannot run the program: " + result.error), std::nullopt;
  if (result.signal != 0 || result.exit_code != 0) return printer.error(Fault::input, "the program has failed to train on generated data"), std::nullopt;
  auto text = readWholeFile(trace_file);
  if (!text) return printer.error(Fault::internal, toString(text.takeError())), std::nullopt;
  auto trace = llvm::json::parse(*text);
  const llvm::json::Array* events = trace && trace->getAsObject() != nullptr ? trace->getAsObject()->getArray("traceEvents") : nullptr;
  if (!trace) consumeError(trace.takeError());
  auto measured = events == nullptr ? std::nullopt : measuredBy(*events, static_cast<size_t>(options.steps));
  if (!measured) printer.error(Fault::internal, "the program's trace has no such steps");
  return measured;
}

}  // namespace

void bench(CompileOptions compiled, const BenchOptions& options, DiagnosticPrinter& printer) {
  WorkDirectory work;
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  compiled.output = work.file("program");
  compile(compiled, printer);
  if (printer.failed() || compiled.show_commands) return;
  const std::optional<int64_t> batch = batchOf(compiled.output, printer);
  const auto measured = batch ? train(compiled.output, *batch, options, work, printer) : std::nullopt;
  if (!measured) return;
  const size_t most = options.kernels == 0 ? measured->kernels.size() : std::min(measured->kernels.size(), static_cast<size_t>(options.kernels));
  options.json ? printJson(*measured, *batch, most) : printText(*measured, *batch, most);
}

}  // namespace mxc::driver
