// mxc verify: runs a model with its parameters on inputs of a file and compares what comes out with what the file says should: its outputs,
// and tensors within, each in the order of computation, so that the first that differs is the one to look at.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "driver/array_files.h"
#include "driver/compile_flags.h"
#include "driver/inner_tensors.h"
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

// Where to look for a difference of an output, if the reference has no other arrays.
std::string howToGetFurther(const std::vector<std::string>& inner) {
  constexpr size_t kShown = 4;
  std::string names;
  for (size_t i = 0; i < std::min(kShown, inner.size()); ++i) names += (i ? ", " : "") + inner[i];
  if (inner.size() > kShown) names += " and " + std::to_string(inner.size() - kShown) + " more that mxc compile --emit=graph names";
  return "arrays for tensors within the model show where the difference begins: " + names;
}

// How two arrays of one shape differ.
struct Difference {
  int64_t count = 0, differ = 0;  // numbers; those that differ by more than they may
  int64_t first = -1;             // of those
  int64_t one_nan = 0;            // those where one of both is NaN
  double largest = 0;             // of the others
};

Difference difference(const io::NpyArray& found, const io::NpyArray& expected, const VerifyOptions& options) {
  Difference result;
  result.count = static_cast<int64_t>(found.bytes.size()) / core::dtype_bytes(found.dtype);
  for (int64_t i = 0; i < result.count; ++i) {
    double a = numberAt(found, i), b = numberAt(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double distance = std::fabs(a - b);
    if (!(distance <= options.absolute + options.relative * std::fabs(b)) && result.differ++ == 0) result.first = i;
    if (std::isnan(distance)) ++result.one_nan;
    else result.largest = std::max(result.largest, distance);
  }
  return result;
}

// "3 of 40 numbers differ, one by being NaN, the others by 0.25 at most".
std::string summary(const Difference& all) {
  std::string text = std::to_string(all.differ) + " of " + std::to_string(all.count) + " numbers differ";
  if (all.one_nan == 0) return text + ", by " + shortly(all.largest) + " at most";
  text += ", " + std::to_string(all.one_nan) + " by NaN on one side";
  return all.one_nan == all.differ ? text : text + ", the others by " + shortly(all.largest) + " at most";
}

// An error about a tensor, at its line if it lies within the model. `further`: a note, if not empty.
bool differs(const ReferencedTensor& tensor, const std::string& what, const std::string& further, DiagnosticPrinter& printer) {
  frontend::Diagnostic error;
  error.message = (tensor.output ? "output '" : "'") + tensor.name + "' " + what;
  if (!tensor.output) {
    error.place = tensor.place;
    error.word = tensor.op;
  }
  if (!further.empty()) error.notes.push_back({{}, further});
  printer.print(error);
  return false;
}

// Compares a tensor and says how it went. False if it differs, which has been printed, with `further` as a note.
bool compare(const ReferencedTensor& tensor, const io::NpyArray& found, const io::NpyArray& expected, const VerifyOptions& options,
             const std::string& further, DiagnosticPrinter& printer) {
  if (found.shape != expected.shape)
    return differs(tensor, "is " + io::described(found.dtype, found.shape) + ", expected " + io::described(expected.dtype, expected.shape), "",
                   printer);
  if (expected.dtype == plan::DType::f16 || found.dtype == plan::DType::f16 || found.dtype == plan::DType::bf16)
    return printer.error(Fault::unsupported, "'" + tensor.name + "': numbers of 16 bits are not compared"), false;
  const Difference all = difference(found, expected, options);
  if (all.differ > 0)
    return differs(tensor,
                   "differs at " + placeOf(found.shape, all.first) + ": " + shortly(numberAt(found, all.first)) + ", expected " +
                       shortly(numberAt(expected, all.first)) + "; " + summary(all),
                   further, printer);
  llvm::outs() << tensor.name << ": " << all.count << " numbers agree, the largest difference is " << shortly(all.largest) << "\n";
  return true;
}

// What is wrong with a number that is to bound differences; empty: nothing.
std::string wrongTolerance(const std::string& given) {
  double number = 0;
  bool usable = !llvm::StringRef(given).getAsDouble(number) && std::isfinite(number) && number >= 0;
  return usable ? "" : "'" + given + "' is no number of at least 0";
}

void verify(CompileFlags& flags, const VerifyOptions& options, DiagnosticPrinter& printer) {
  WorkDirectory work;
  if (!flags.check(printer)) return;
  if (!work.error().empty()) return printer.error(Fault::input, work.error());
  auto data = readArchive(options.data, printer);
  if (!data) return;
  flags.options.params = options.params;
  std::vector<std::string> inner;
  std::vector<ReferencedTensor> tensors;
  if (!flags.options.show_commands) {
    auto exposed = exposeTensors(flags.options, *data, work, inner, printer);
    if (!exposed) return;
    tensors = std::move(*exposed);
  }
  auto library = LoadedLibrary::make(flags.options, work, printer);
  if (!library) return;
  if (tensors.empty()) return printer.error(Fault::input, options.data + ": there is no array for any output or tensor of the model");
  std::set<std::string> wanted;
  for (const ReferencedTensor& tensor : tensors) wanted.insert(tensor.name);
  auto results = library->run(*data, wanted, printer);
  if (!results) return;
  const bool outputs_alone = std::all_of(tensors.begin(), tensors.end(), [](const ReferencedTensor& tensor) { return tensor.output; });
  std::string further = outputs_alone && !inner.empty() ? howToGetFurther(inner) : "";
  for (const ReferencedTensor& tensor : tensors)
    if (!compare(tensor, results->at(tensor.name), data->at(tensor.name), options, further, printer)) return;
}

}  // namespace

void addVerifyVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("verify", "Run a trained model on given inputs and compare its outputs, and tensors within, with given ones");
  auto flags = std::make_shared<CompileFlags>(*verb);
  auto options = std::make_shared<VerifyOptions>();
  verb->add_option("--params", options->params, "The trained parameters; a model without any needs none")->type_name("FILE");
  verb->add_option("--data", options->data, "NumPy's .npz with an array for each input, and for what is to be compared: outputs, and tensors within the model by the names that --emit=graph has")
      ->type_name("FILE")
      ->required();
  verb->add_option("--rtol", options->relative, "How much a number may differ, as a part of the expected one")
      ->type_name("NUMBER")
      ->check(wrongTolerance)
      ->capture_default_str();
  verb->add_option("--atol", options->absolute, "How much a number may differ beside that")
      ->type_name("NUMBER")
      ->check(wrongTolerance)
      ->capture_default_str();
  verb->callback([flags, options, &exit_code] {
    DiagnosticPrinter printer(flags->color);
    verify(*flags, *options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
