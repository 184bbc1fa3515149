// A model's way from symbol JSON through MLIR to machine code.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "driver/compile.h"
#include "driver/files.h"
#include "driver/output_set.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/core/plan_view.h"

namespace mxc::driver {

// A model on its way.
struct Model {
  std::string name;   // of an MXC_MODEL; empty: symbol JSON
  std::string graph;  // symbol JSON
  std::map<std::string, int64_t> dims;  // of --dims
};

// A model in MLIR, with what that lives in.
struct Imported {
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;  // null after an error, which has been printed
};

Imported importModel(const Model& model, const CompileOptions& options, DiagnosticPrinter& printer);

// The module as text.
std::string printed(mlir::ModuleOp module);

// Makes sure that a failure has been told, whoever forgot it.
void requireError(DiagnosticPrinter& printer, const std::string& stage);

class Generator {
 public:
  // `has_main`: of the file that the models come from.
  Generator(const CompileOptions& options, bool has_main, const WorkDirectory& work, DiagnosticPrinter& printer)
      : options_(options), has_main_(has_main), work_(work), printer_(printer) {}

  // The program of one model. Nothing after an error, which has been printed.
  std::optional<codegen::CompiledProgram> generate(const Model& model, mlir::ModuleOp module);

  // The Plan that a library would have if it trained everything, without a limit of memory; empty if it does, if it trains nothing, or after an
  // error, which has been printed. Requires: `module` as it was before
  // `generate`, which has succeeded.
  std::string planAllTrained(const Model& model, mlir::ModuleOp module);

  // The same program for the newer processors of --multiversion (none without that). Requires: `module` has been through `generate`.
  std::vector<codegen::CompiledProgram> generateVariants(const Model& model, mlir::ModuleOp module);

  // --save-temps: files of a program with several models begin with the model's name, those of a library's set with its sizes.
  template <class Text>
  void keep(const Model& model, const std::string& name, Text text) {
    if (options_.save_temps) write(model, name, text());
  }

  // --report, of all models.
  void addReport(OutputSet& outputs) const;

 private:
  void write(const Model& model, const std::string& name, const std::string& text);
  std::optional<codegen::CompiledProgram> generateFor(const codegen::TargetOptions& target, const Model& model, mlir::ModuleOp module);
  codegen::ProgramFacts factsOf(const Model& model) const;
  // `trained`: layers and parameters that a library trains; empty: all. `compared`: the program is none to be made, but to be compared with:
  // there is no limit of memory, and nothing is printed.
  mlir::LogicalResult runPasses(mlir::ModuleOp module, const std::vector<std::string>& trained, bool compared = false);
  void tellVerified(mlir::ModuleOp module);
  void report(const core::PlanView& plan);

  const CompileOptions& options_;
  const bool has_main_;
  const WorkDirectory& work_;
  DiagnosticPrinter& printer_;
  std::string report_;
};

}  // namespace mxc::driver
