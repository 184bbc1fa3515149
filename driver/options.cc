// The command line of `mxc compile`, shared by `mxc run`. Flags are clang's where clang has them.
#include <CLI/CLI.hpp>

#include "codegen/lower_kernels.h"
#include "driver/command_line.h"
#include "driver/compile_flags.h"
#include "driver/hyper_limits.h"
#include "driver/library.h"
#include "driver/target.h"
#include "frontend/nearest.h"
#include "ir/optimizers.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

// A kind, or a kind with defaults of its numbers.
void addOptimizer(CLI::App& app, std::string& value) {
  app.add_option("--optimizer", value, "The optimizer instead of the model's; its numbers behind a colon: momentum:momentum=0.9,clip_norm=1")
      ->type_name(llvm::join(optimizerNames(), "|"))
      ->check([](const std::string& given) -> std::string {
        std::string message = wrongChoice(given.substr(0, given.find(':')), optimizerNames());
        if (message.empty()) (void)parseOptimizer(given, message);
        return message;
      });
}

const std::map<std::string, Emit>& emitNames() {
  static const std::map<std::string, Emit> names = {{"graph", Emit::graph}, {"svg", Emit::svg},       {"mlir", Emit::mlir},
                                                    {"plan", Emit::plan},   {"llvm", Emit::llvm},     {"asm", Emit::assembly},
                                                    {"obj", Emit::object},  {"header", Emit::header}, {"lib", Emit::library},
                                                    {"shared", Emit::shared}, {"exe", Emit::executable}};
  return names;
}

// "batch=1" of a flag.
bool readDim(const std::string& flag, const std::string& text, std::map<std::string, int64_t>& dims, DiagnosticPrinter& printer) {
  size_t equals = text.find('=');
  std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  bool digits = !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
  bool named = llvm::all_of(text.substr(0, equals), [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  if (!digits || !named || equals == 0 || std::stoll(number) == 0) {
    printer.error(Fault::usage, flag + " " + text + ": name=size with a positive size is expected");
    return false;
  }
  dims[text.substr(0, equals)] = std::stoll(number);
  return true;
}

// "batch=1,length=8", a set of sizes.
bool readSet(const std::string& text, CompileOptions& options, DiagnosticPrinter& printer) {
  auto fail = [&](const std::string& what) { return printer.error(Fault::usage, "--dims " + text + ": " + what), false; };
  std::map<std::string, int64_t> set;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',');
  for (llvm::StringRef part : parts)
    if (!readDim("--dims", part.str(), set, printer)) return false;
  if (set.size() != parts.size()) return fail("a size is given twice");
  for (const auto& [name, size] : set)
    if (options.dims.count(name)) return fail("--dim gives " + name + " for all sets, too");
  auto names = [](const std::map<std::string, int64_t>& dims) {
    std::string list;
    for (const auto& [name, size] : dims) list += (list.empty() ? "" : ", ") + name;
    return list;
  };
  if (!options.sets.empty() && names(options.sets[0]) != names(set)) return fail("each set names the same sizes: " + names(options.sets[0]));
  if (llvm::is_contained(options.sets, set)) return fail("the set is given twice");
  options.sets.push_back(std::move(set));
  return true;
}

// --train, each: "*" for all, else layers and parameters; several together train what any of them names.
bool readTrained(const std::vector<std::string>& flags, CompileOptions& options, DiagnosticPrinter& printer) {
  options.train = !flags.empty();
  for (const std::string& text : flags) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(text).split(parts, ',');
    for (llvm::StringRef part : parts) {
      if (part.empty() && text != ",")
        return printer.error(Fault::usage, "--train=" + text + ": names of layers or parameters with ',' between are expected"), false;
      if (part.empty()) return printer.error(Fault::usage, "--train=: names of layers or parameters are expected; --train alone trains all"), false;
      if (!llvm::is_contained(options.trained, part)) options.trained.push_back(part.str());
    }
  }
  if (llvm::is_contained(options.trained, "*")) options.trained.clear();
  llvm::sort(options.trained);  // the order of the names changes nothing, nor the library's build number
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

bool checkCpu(const CompileOptions& options, DiagnosticPrinter& printer) {
  const std::string& cpu = options.cpu;
  if (cpu == "native") return true;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    printer.error(Fault::usage, "-mcpu=" + cpu + ": " + diagnostic.str());
    return mlir::success();
  });
  return mlir::succeeded(codegen::makeTargetMachine(mlir::UnknownLoc::get(&context), targetOptions(options)));
}

}  // namespace

CompileFlags::CompileFlags(CLI::App& app) {
  app.add_option("model.cpp", options.source, "The model: C++ with MXC_MODEL, also several, or a main, or both; or symbol JSON (.json)")
      ->type_name("FILE")
      ->required();
  app.add_option("-O", options.level, "Optimisation level")
      ->type_name("0|1|2|3")
      ->check(CLI::Range(0, 3).description(""))
      ->capture_default_str();
  app.add_option("--mcpu", options.cpu, "The processor to compile for, as LLVM calls it; native is this machine's, or the target's least")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("-D", options.defines, "Define a macro while the model is staged")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_option("--dim", raw_.dims, "Override a size that the model names, its batch or one of dim(NAME, SIZE): --dim batch=1")->type_name("NAME=SIZE")->allow_extra_args(false);
  app.add_option("--model", options.model, "Which MXC_MODEL of the file")->type_name("NAME");
  addOptimizer(app, options.optimizer);
  addChoice(app, "--dtype", raw_.dtype, {"f32", "f64"}, "The model's floating type")->capture_default_str();
  addChoice(app, "--memory-plan", raw_.memory_plan, {"naive", "inplace", "coshare", "both"}, "How values share memory")
      ->capture_default_str();
  app.add_flag("--verify-plan", options.verify_plan,
               "Tell what the verifier of the memory plan has replayed; it runs after every compilation, and a plan that it refuses is an error of mxc's");
  app.add_option("--host-cxx", options.host_compiler, "The C++ compiler that stages the model, compiles the file's main and links the program")
      ->type_name("COMMAND")
      ->capture_default_str();
  app.add_option("--stage-time-limit", options.stage_time_limit_seconds, "Seconds that the model's code may take")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400).description(""))
      ->capture_default_str();
  app.add_option("--stage-memory-limit", raw_.stage_memory_mib, "MiB of memory that the model's code may take")
      ->type_name("MIB")
      ->check(CLI::Range(64, 1 << 24).description(""))
      ->capture_default_str();
  app.add_option("--memory-limit", raw_.memory_limit,
                 "The most that the program may take, as 512MiB, but for what several shards need: values are computed again where they would not fit")
      ->type_name("BYTES");
  addChoice(app, "--report", options.report, {"memory", "memory,json", "memory,svg"},
            "Report the exact memory of the program: for people, as JSON, or as a picture of lifetimes")
      ->delimiter('\0');
  app.add_option("--report-file", options.report_file, "Where the report goes instead of standard output")->type_name("FILE");
  app.add_flag("--check-finite", options.check_finite,
               "The program ends its training at the first NaN or infinity and names the operation; it is slower");
  app.add_flag("-v,--verbose", options.verbose, "Print the commands that are run");
  app.add_flag("--###", options.show_commands, "Print the commands that would be run, and write nothing; the C++ compiler is asked what the file holds");
  app.add_flag("--time-passes", options.time_passes, "Print how long each pass took");
  app.add_flag("--save-temps", options.save_temps, "Keep the intermediate files, in OUTPUT.temps");
  app.add_flag("--print-ir-after-all", options.print_ir, "Print the program to standard error after each pass");
  addColor(app, color);
}

void CompileFlags::addOutputs(CLI::App& app) {
  app.add_option("-o", options.output, "Output; - is standard output")->type_name("FILE");
  addChoice(app, "--emit", raw_.emit, {"exe", "lib", "shared", "header", "obj", "asm", "llvm", "plan", "mlir", "graph", "svg"},
            "What to write: a program; a library of the model's inference to link into any program, static or shared, or its C header; an object; or "
            "what the model is on its way there; graph is symbol JSON, svg a drawing of it. A program has the file's main, if there is one, and all its models; "
            "the others are of one model")
      ->capture_default_str();
  app.add_option("--params", options.params,
                 "The trained parameters that go into a library: what `train` saved, or any safetensors file with the model's tensors; a model without "
                 "parameters needs none. With --emit=obj, the object is that of the library")
      ->type_name("FILE");
  app.add_flag("--train{*}", raw_.train,
               "A library that trains, too, on the machine that it runs on: all parameters, or after '=' some layers and parameters alone, which takes "
               "less memory: --train=dense1,conv2d0.weight; given several times, what any of them names");
  app.add_option("--dims", raw_.sets,
                 "A set of sizes for a library to hold, as batch=1; given several times, each with the same names, it holds them all, with the weights once, "
                 "and a run takes one")
      ->type_name("NAME=SIZE,...")
      ->allow_extra_args(false);
  addChoice(app, "--target", options.target, targetNames(), "Compile a library for another machine than this one");
  app.add_flag("--multiversion", options.multiversion,
               "A library for every x86-64, with kernels for x86-64-v3 and v4 beside those for the first; it takes what the processor has");
  addChoice(app, "--weights", raw_.weights, {"embed", "file"},
            "Where a library has its weights: within, or in a file beside it, NAME.weights, which the program maps or brings into memory")
      ->capture_default_str();
  addChoice(app, "--memory-rules", raw_.memory_rules, {"own", "paper"},
            "paper: print the memory that MXNet's planner would take for this model, op by op, instead of compiling it")
      ->capture_default_str();
  app.add_flag("--MD", options.dependencies, "Also write which files of the user the output depends on, as a rule for make");
  app.add_option("--MF", options.dependency_file, "Where -MD writes; the output's name with .d if not given")->type_name("FILE");
  app.add_option("--MT", options.dependency_target, "The target of the rule; the output's name if not given")->type_name("NAME");
}

bool CompileFlags::check(DiagnosticPrinter& printer) {
  for (const std::string& dim : raw_.dims)
    if (!readDim("--dim", dim, options.dims, printer)) return false;
  for (const std::string& set : raw_.sets)
    if (!readSet(set, options, printer)) return false;
  if (!raw_.memory_limit.empty() && (options.memory_limit_bytes = readBytes(raw_.memory_limit)) == 0) {
    printer.error(Fault::usage, "--memory-limit=" + raw_.memory_limit + ": a size as 512MiB, 1.5GiB or 100000 (bytes) is expected");
    return false;
  }
  if ((!options.dims.empty() || !options.sets.empty()) && llvm::StringRef(options.source).ends_with(".json")) {
    printer.error(Fault::usage, std::string(options.sets.empty() ? "--dim" : "--dims") + " sets a dimension while a model is staged: " + options.source + " is symbol JSON, whose sizes are fixed");
    return false;
  }
  options.memory_plan = *findMemoryPlan(raw_.memory_plan);
  options.memory_by_paper = raw_.memory_rules == "paper";
  if (options.memory_by_paper && raw_.emit != "exe") {
    printer.error(Fault::usage,
                  "--memory-rules=paper analyses the model and compiles nothing: --emit=" + raw_.emit + " does not go with it");
    return false;
  }
  if (options.verify_plan && (options.memory_by_paper || raw_.emit == "graph" || raw_.emit == "svg" || raw_.emit == "mlir")) {
    printer.error(Fault::usage, "--verify-plan: " + (options.memory_by_paper ? "--memory-rules=paper" : "--emit=" + raw_.emit) + " makes no memory plan");
    return false;
  }
  if (!checkCpu(options, printer)) return false;
  options.emit = emitNames().at(raw_.emit);
  options.weights_beside = raw_.weights == "file";
  if (!readTrained(raw_.train, options, printer)) return false;
  if (!checkLibraryOptions(options, printer)) return false;
  options.color = color;
  options.f64 = raw_.dtype == "f64";
  if (!checkOptimizerFlag(options, printer)) return false;
  options.stage_memory_limit_bytes = raw_.stage_memory_mib << 20;
  return true;
}

}  // namespace mxc::driver
