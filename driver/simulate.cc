// See simulate.h.
#include "driver/simulate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "driver/exchange_steps.h"
#include "driver/find_plans.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/kv/kind.h"
#include "runtime/train/key_updates.h"
#include "runtime/train/shard_compression.h"

namespace mxc::driver {

namespace {

// "12.5ms" with {"s", 1}, {"ms", 1e-3} ...
absl::StatusOr<double> parseUnit(const std::string& text, const std::vector<std::pair<std::string, double>>& units, const char* example) {
  const size_t end = text.find_first_not_of("0123456789.eE+-");
  double number = 0;
  if (end != std::string::npos && absl::SimpleAtod(text.substr(0, end), &number) && std::isfinite(number) && number >= 0) {
    for (const auto& [unit, factor] : units)
      if (text.substr(end) == unit) return number * factor;
  }
  std::string known;
  for (const auto& [unit, factor] : units) known += (known.empty() ? "" : ", ") + unit;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number with one of ", known, ", as ", example));
}

double weightOf(const core::PlanView& view, const plan::Step& step) {
  double bytes = 0;
  for (const plan::Arg& arg : view.args(step)) bytes += static_cast<double>(view.buffer(arg.buffer).bytes);
  return static_cast<double>(step.flops) + kFlopsPerByte * bytes;
}

struct Row {
  int workers = 1;
  kv::SimulatedStep step;
  double scaling = 1;  // samples a second of a worker, against one worker alone
};

void printText(const std::vector<Row>& rows, const SimulatedProgram& program, int shards) {
  llvm::outs() << " workers     step ms  compute ms  network ms  hidden %    MB sent   samples/s  scaling\n";
  for (const Row& row : rows) {
    const kv::SimulatedStep& step = row.step;
    llvm::outs() << llvm::format("%8d %11.3f %11.3f %11.3f ", row.workers, 1e3 * step.seconds, 1e3 * step.compute, 1e3 * step.communication)
                 << llvm::format("%9.1f %10.3f %11.1f %8.3f\n", 100 * step.hidden(), step.sent / 1e6,
                                 static_cast<double>(row.workers * shards * program.batch) / step.seconds, row.scaling);
  }
}

void printJson(const std::vector<Row>& rows, const SimulatedProgram& program, int shards) {
  for (const Row& row : rows) {
    const kv::SimulatedStep& step = row.step;
    llvm::outs() << llvm::format("{\"workers\": %d, \"step\": %.9g, \"compute\": %.9g, ", row.workers, step.seconds, step.compute)
                 << llvm::format("\"communication\": %.9g, \"hidden\": %.6g, \"sent\": %.9g, ", step.communication, step.hidden(), step.sent)
                 << llvm::format("\"received\": %.9g, \"messages\": %.9g, ", step.received, step.messages)
                 << llvm::format("\"samples_per_second\": %.9g, \"scaling\": %.6g}\n",
                                 static_cast<double>(row.workers * shards * program.batch) / step.seconds, row.scaling);
  }
}

// All but what is computed and by how many.
absl::StatusOr<kv::SimulatedJob> jobOf(const SimulateOptions& options) {
  kv::SimulatedJob job;
  auto kind = kv::parse_kind(options.kvstore);
  if (!kind.ok()) return kind.status();
  if (!kind->distributed) return absl::InvalidArgumentError(absl::StrCat("--kvstore=", options.kvstore, " is for one process"));
  job.consistency = kind->consistency;
  if (!options.compress.empty()) {
    auto compression = kv::parse_compression(options.compress);
    if (!compression.ok()) return absl::InvalidArgumentError(absl::StrCat("--compress: ", compression.status().message()));
    job.rules.compression = *compression;
  }
  auto bandwidth = parseRate(options.bandwidth), processing = parseRate(options.processing);
  auto latency = parseDuration(options.latency);
  for (const absl::Status& status : {bandwidth.status(), processing.status(), latency.status()})
    if (!status.ok()) return status;
  job.network.bandwidth = *bandwidth;
  job.network.processing = *processing;
  job.network.latency = *latency;
  job.network.mtu = options.mtu;
  job.rules.bundle_below = kv::kBundleBelow;
  job.steps = options.steps;
  return job;
}

absl::StatusOr<std::vector<Row>> rowsOf(const SimulateOptions& options, kv::SimulatedJob job, const SimulatedProgram& program) {
  job.compute = program.compute;
  double alone = 0;
  for (const kv::ComputeStep& step : program.compute) alone += step.seconds * options.shards;
  std::vector<Row> rows;
  for (int workers : options.workers) {
    job.rules.workers = workers;
    job.rules.servers = options.servers == 0 ? workers : std::min(options.servers, workers);
    job.rules.shards = static_cast<int64_t>(workers) * options.shards;
    auto step = kv::simulate(program.keys, job);
    if (!step.ok()) return step.status();
    rows.push_back({workers, *step, alone / step->seconds});
  }
  return rows;
}

}  // namespace

absl::StatusOr<double> parseDuration(const std::string& text) { return parseUnit(text, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}, "320ms"); }
absl::StatusOr<double> parseRate(const std::string& text) {
  return parseUnit(text, {{"Gbit", 1e9 / 8}, {"Mbit", 1e6 / 8}, {"kbit", 1e3 / 8}, {"GB", 1e9}, {"MB", 1e6}}, "10Gbit");
}

absl::StatusOr<SimulatedProgram> simulatedProgram(const core::PlanView& view, double seconds, const kv::Consistency& consistency) {
  auto shared = train::KeyUpdates::keys_of(view);
  if (!shared.ok()) return shared.status();
  SimulatedProgram program;
  const plan::Graph& graph = view.graph(view.find_graph("gradients"));
  program.batch = graph.batch;
  const std::vector<const plan::Step*> steps = stepsInOrder(view, graph);
  double all = 0;
  for (const plan::Step* step : steps) {
    program.compute.emplace_back().seconds = weightOf(view, *step);
    all += program.compute.back().seconds;
  }
  for (kv::ComputeStep& step : program.compute) step.seconds *= seconds / all;
  for (uint32_t key = 0; key < shared->size(); ++key) {
    const train::SharedKey& one = (*shared)[key];
    program.keys.push_back({one.name, one.shape, one.dtype, one.beside, train::compressed_of(one.kind, consistency), one.alone});
    if (one.contribution == plan::kNone) continue;
    const ExchangeSteps found = exchangeSteps(view, steps, view.buffer(one.buffer), view.buffer(one.contribution));
    if (found.needed) program.compute[*found.needed].reads.push_back(key);
    if (found.ready) program.compute[*found.ready].makes.push_back(key);
  }
  return program;
}

void simulate(const SimulateOptions& options, DiagnosticPrinter& printer) {
  const std::vector<AlignedPlan> plans = readPlans(options.program, printer);
  if (plans.empty()) return;
  if (plans.size() > 1) {
    frontend::Diagnostic diagnostic;
    diagnostic.place.file = options.program;
    diagnostic.message = "a program with a main of its own decides by itself what it exchanges";
    return printer.print(diagnostic);
  }
  auto seconds = parseDuration(options.compute);
  if (seconds.ok() && *seconds <= 0) seconds = absl::InvalidArgumentError("--compute is more than 0");
  if (!seconds.ok()) return printer.error(frontend::Fault::usage, std::string(seconds.status().message()));
  auto job = jobOf(options);
  if (!job.ok()) return printer.error(frontend::Fault::usage, std::string(job.status().message()));
  auto program = simulatedProgram(plans[0].view(), *seconds, job->consistency);
  if (!program.ok()) return printer.error(program.status());
  auto rows = rowsOf(options, *std::move(job), *program);
  if (!rows.ok()) return printer.error(frontend::Fault::usage, std::string(rows.status().message()));
  options.json ? printJson(*rows, *program, options.shards) : printText(*rows, *program, options.shards);
}

}  // namespace mxc::driver
