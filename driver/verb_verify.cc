// mxc verify: runs a model with its parameters on inputs of a file and compares what comes out with what the file says should.
#include <CLI/CLI.hpp>
#include <cmath>

#include "driver/array_files.h"
#include "driver/compile_flags.h"
#include "driver/loaded_library.h"
#include "driver/verbs.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/core/storage.h"
#include "runtime/io/program_tensors.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

struct VerifyOptions {
  std::string params, data;
  double relative = 1e-4, absolute = 1e-5;
};

double numberAt(const io::NpyArray& array, int64_t i) { return core::read_scalar(array.dtype, array.bytes.data() + i * core::dtype_bytes(array.dtype)); }

// "[3, 7]": the place of element `i`.
std::string placeOf(std::vector<int64_t> shape, int64_t i) {
  std::string text;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    text = std::to_string(i % *extent) + (text.empty() ? "" : ", ") + text;
    i /= *extent;
  }
  return "[" + text + "]";
}

std::string shortly(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.7g", number);
  return text;
}

// Compares a tensor and says how it went. False if it differs, which has been printed.
bool compare(const std::string& name, const io::NpyArray& found, const io::NpyArray& expected, const VerifyOptions& options,
             DiagnosticPrinter& printer) {
  auto fail = [&](const std::string& what) { return printer.error(Fault::input, "output '" + name + "' " + what), false; };
  if (found.shape != expected.shape)
    return fail("is " + io::described(found.dtype, found.shape) + ", expected " + io::described(expected.dtype, expected.shape));
  if (expected.dtype == plan::DType::f16 || found.dtype == plan::DType::f16 || found.dtype == plan::DType::bf16)
    return printer.error(Fault::unsupported, "output '" + name + "': numbers of 16 bits are not compared"), false;
  const int64_t count = static_cast<int64_t>(found.bytes.size()) / core::dtype_bytes(found.dtype);
  int64_t first = -1, differ = 0;
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    double a = numberAt(found, i), b = numberAt(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double distance = std::fabs(a - b);
    if (!(distance <= options.absolute + options.relative * std::fabs(b)) && differ++ == 0) first = i;
    largest = std::fmax(largest, distance);
  }
  if (differ > 0)
    return fail("differs at " + placeOf(found.shape, first) + ": " + shortly(numberAt(found, first)) + ", expected " +
                shortly(numberAt(expected, first)) + "; " + std::to_string(differ) + " of " + std::to_string(count) +
                " numbers differ, by " + shortly(largest) + " at most");
  llvm::outs() << name << ": " << count << " numbers agree, the largest difference is " << shortly(largest) << "\n";
  return true;
}

void verify(CompileFlags& flags, const VerifyOptions& options, DiagnosticPrinter& printer) {
  WorkDirectory work;
  if (!flags.check(printer)) return;
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  auto data = readArchive(options.data, printer);
  if (!data) return;
  flags.options.params = options.params;
  auto library = LoadedLibrary::make(flags.options, work, printer);
  auto results = library ? library->run(*data, printer) : std::nullopt;
  if (!results) return;
  int compared = 0;
  for (const plan::Binding& binding : library->plan().outputs(library->plan().graph(0))) {
    std::string name = library->plan().text(binding.name);
    auto expected = data->find(name);
    if (expected == data->end()) continue;
    if (!compare(name, results->at(name), expected->second, options, printer)) return;
    ++compared;
  }
  if (compared == 0) printer.error(Fault::input, options.data + ": there is no array for any output of the model");
}

}  // namespace

void addVerifyVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("verify", "Run a trained model on given inputs and compare its outputs with given ones");
  auto flags = std::make_shared<CompileFlags>(*verb);
  auto options = std::make_shared<VerifyOptions>();
  verb->add_option("--params", options->params, "The trained parameters")->type_name("FILE")->required();
  verb->add_option("--data", options->data, "NumPy's .npz with an array for each input, and for the outputs to compare")
      ->type_name("FILE")
      ->required();
  verb->add_option("--rtol", options->relative, "How much a number may differ, as a part of the expected one")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  verb->add_option("--atol", options->absolute, "How much a number may differ beside that")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  verb->callback([flags, options, &exit_code] {
    DiagnosticPrinter printer(flags->color);
    verify(*flags, *options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
