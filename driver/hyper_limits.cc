// See hyper_limits.h.
#include "driver/hyper_limits.h"

#include <cmath>

#include "ir/mx.h"
#include "ir/optimizers.h"
#include "runtime/io/hyper_range.h"

namespace mxc::driver {

namespace {

// Empty if a program may begin with this number.
std::string faultOf(const std::string& name, double value, const CompileOptions& options) {
  std::string fault = io::hyper_fault(name, options.f64 ? plan::DType::f64 : plan::DType::f32, /*compiled=*/std::nan(""), value);
  return fault.empty() ? "" : name + ": " + fault;
}

}  // namespace

bool checkOptimizerFlag(const CompileOptions& options, DiagnosticPrinter& printer) {
  std::string message;
  auto given = options.optimizer.empty() ? std::nullopt : parseOptimizer(options.optimizer, message);
  if (!given) return true;
  for (const auto& [name, value] : given->defaults)
    if (std::string fault = faultOf(name, value, options); !fault.empty())
      return printer.error(frontend::Fault::usage, "--optimizer: " + fault), false;
  return true;
}

mlir::LogicalResult checkOptimizer(mlir::ModuleOp module, const CompileOptions& options) {
  for (auto optimizer : module.getOps<mx::OptimizerOp>())
    for (mlir::NamedAttribute number : optimizer.getDefaults()) {
      auto value = llvm::dyn_cast<mlir::FloatAttr>(number.getValue());
      std::string fault = value ? faultOf(number.getName().str(), value.getValueAsDouble(), options) : "";
      if (!fault.empty()) return optimizer.emitError() << "the optimizer's " << fault;
    }
  return mlir::success();
}

}  // namespace mxc::driver
