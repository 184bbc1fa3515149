// The command line of `mxc compile`, shared by `mxc run`. Flags are clang's where clang has them; -mcpu=native is read as -m cpu=native.
#include <CLI/CLI.hpp>

#include "codegen/lower_kernels.h"
#include "driver/compile.h"
#include "ir/optimizers.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

const std::map<std::string, Emit>& emitNames() {
  static const std::map<std::string, Emit> names = {{"graph", Emit::graph},   {"mlir", Emit::mlir},    {"plan", Emit::plan},
                                                    {"llvm", Emit::llvm},     {"asm", Emit::assembly}, {"obj", Emit::object},
                                                    {"exe", Emit::executable}};
  return names;
}

bool readDim(const std::string& text, CompileOptions& options, DiagnosticPrinter& printer) {
  size_t equals = text.find('=');
  std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  bool digits = !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || equals == 0 || std::stoll(number) == 0) {
    printer.error(Fault::usage, "--dim " + text + ": name=size with a positive size is expected");
    return false;
  }
  options.dims[text.substr(0, equals)] = std::stoll(number);
  return true;
}

// "512MiB", "1.5GiB", "100000": bytes; 0 if it is no positive size.
int64_t readBytes(llvm::StringRef text) {
  constexpr std::pair<const char*, double> kUnits[] = {{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"B", 1.0}};
  double unit = 1, number = 0;
  for (auto [name, bytes] : kUnits)
    if (text.consume_back(name)) {
      unit = bytes;
      break;
    }
  if (text.getAsDouble(number) || !(number > 0 && number * unit < 9e15)) return 0;
  return static_cast<int64_t>(number * unit);
}

bool checkCpu(const std::string& cpu, DiagnosticPrinter& printer) {
  if (cpu == "native") return true;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    printer.error(Fault::usage, "-mcpu=" + cpu + ": " + diagnostic.str());
    return mlir::success();
  });
  codegen::TargetOptions target;
  target.cpu = cpu;
  return mlir::succeeded(codegen::makeTargetMachine(mlir::UnknownLoc::get(&context), target));
}

}  // namespace

void addCompileOptions(CLI::App& app, CompileOptions& options, RawCompileOptions& raw) {
  app.add_option("model.cpp", options.source, "The model: C++ with MXC_MODEL, or symbol JSON (.json)")->required();
  app.add_option("-O", options.level, "Optimisation level")->check(CLI::Range(0, 3))->capture_default_str();
  app.add_option("-m", raw.machine, "-mcpu=NAME: the processor to compile for; native is this machine's")
      ->type_name("cpu=NAME")
      ->expected(1);
  app.add_option("-D", options.defines, "Define a macro while the model is staged")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_option("--dim", raw.dims, "Override a dimension: --dim batch=1")->type_name("NAME=SIZE")->allow_extra_args(false);
  app.add_option("--model", options.model, "Which MXC_MODEL of the file");
  app.add_option("--optimizer", options.optimizer, "The kind of optimizer instead of the model's");
  app.add_option("--dtype", raw.dtype, "The model's floating type")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
  app.add_option("--memory-plan", raw.memory_plan, "How values share memory")
      ->check(CLI::IsMember({"naive", "inplace", "coshare", "both"}))
      ->capture_default_str();
  app.add_option("--host-cxx", options.host_compiler, "The C++ compiler that stages the model and links the program")
      ->capture_default_str();
  app.add_option("--stage-time-limit", options.stage_time_limit_seconds, "Seconds that the model's code may take")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--stage-memory-limit", raw.stage_memory_mib, "MiB of memory that the model's code may take")
      ->check(CLI::Range(64, 1 << 24))
      ->capture_default_str();
  app.add_option("--memory-limit", raw.memory_limit, "The most that the program may take, as 512MiB: values are computed again where they would not fit")
      ->type_name("BYTES");
  app.add_option("--report", options.report, "Report the exact memory of the program: for people, as JSON, or as a picture of lifetimes")
      ->check(CLI::IsMember({"memory", "memory,json", "memory,svg"}))
      ->delimiter('\0');
  app.add_option("--report-file", options.report_file, "Where the report goes instead of standard output")->type_name("FILE");
  app.add_flag("-v,--verbose", options.verbose, "Print the commands that are run");
  app.add_flag("--time-passes", options.time_passes, "Print how long each pass took");
  app.add_flag("--save-temps", options.save_temps, "Keep the intermediate files, in OUTPUT.temps");
  app.add_flag("--print-ir-after-all", options.print_ir, "Print the program to standard error after each pass");
}

bool checkCompileOptions(CompileOptions& options, const RawCompileOptions& raw, DiagnosticPrinter& printer) {
  for (const std::string& dim : raw.dims)
    if (!readDim(dim, options, printer)) return false;
  for (const std::string& machine : raw.machine) {
    if (machine.rfind("cpu=", 0) != 0 || machine.size() == 4) {
      printer.error(Fault::usage, "unknown flag '-m" + machine + "': -mcpu=NAME is expected");
      return false;
    }
    options.cpu = machine.substr(4);
  }
  if (!options.optimizer.empty() && !findOptimizer(options.optimizer)) {
    printer.error(Fault::usage, "--optimizer=" + options.optimizer + ": one of " + optimizerNames() + " is expected");
    return false;
  }
  auto emit = emitNames().find(raw.emit);
  if (emit == emitNames().end()) {
    printer.error(Fault::usage, "--emit=" + raw.emit + ": one of graph, mlir, plan, llvm, asm, obj, exe is expected");
    return false;
  }
  if (!raw.memory_limit.empty() && (options.memory_limit_bytes = readBytes(raw.memory_limit)) == 0) {
    printer.error(Fault::usage, "--memory-limit=" + raw.memory_limit + ": a size as 512MiB, 1.5GiB or 100000 (bytes) is expected");
    return false;
  }
  options.memory_plan = *findMemoryPlan(raw.memory_plan);
  options.memory_by_paper = raw.memory_rules == "paper";
  if (options.memory_by_paper && raw.emit != "exe") {
    printer.error(Fault::usage, "--memory-rules=paper analyses the model and compiles nothing: --emit=" + raw.emit + " does not go with it");
    return false;
  }
  if (!checkCpu(options.cpu, printer)) return false;
  options.emit = emit->second;
  options.f64 = raw.dtype == "f64";
  options.stage_memory_limit_bytes = raw.stage_memory_mib << 20;
  return true;
}

}  // namespace mxc::driver
