// See trained.h.
#include "driver/trained.h"

#include "frontend/nearest.h"
#include "ir/mx.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace mxc::driver {

namespace {

bool isOf(StringRef parameter, StringRef layer) {
  return parameter == layer || (parameter.starts_with(layer) && parameter.drop_front(layer.size()).starts_with("."));
}

// Parameters and all layers above them: "block.conv.weight", "block.conv", "block".
std::vector<std::string> everyName(ModuleOp module) {
  llvm::SetVector<StringRef> names;
  for (auto parameter : module.getOps<mx::ParameterOp>())
    for (StringRef name = parameter.getName(); !name.empty(); name = name.contains('.') ? name.rsplit('.').first : StringRef()) names.insert(name);
  std::vector<std::string> list;
  for (StringRef name : names) list.push_back(name.str());
  return list;
}

LogicalResult unknown(ModuleOp module, const std::string& name) {
  std::string meant = frontend::didYouMean(name, everyName(module));
  InFlightDiagnostic error = module.emitError() << "--train=" << name << ": the model has no layer and no parameter of that name" << meant;
  for (auto parameter : module.getOps<mx::ParameterOp>()) {
    StringRef known = parameter.getName();
    for (StringRef prefix = known; !prefix.empty(); prefix = prefix.contains('.') ? prefix.rsplit('.').first : StringRef())
      if (meant == "; did you mean '" + prefix.str() + "'?") {
        error.attachNote(parameter.getLoc()) << known << " is made here";
        return error;
      }
  }
  return error;
}

}  // namespace

FailureOr<std::vector<std::string>> trainedParameters(ModuleOp module, const std::vector<std::string>& names) {
  llvm::SetVector<StringRef> wanted;
  for (const std::string& name : names) {
    mx::ParameterOp found;
    bool trainable = false;
    for (auto parameter : module.getOps<mx::ParameterOp>()) {
      if (!isOf(parameter.getName(), name)) continue;
      if (!found) found = parameter;
      if (parameter.getTrainable()) wanted.insert(parameter.getName());
      trainable |= parameter.getTrainable();
    }
    if (!found) return unknown(module, name);
    if (trainable) continue;
    InFlightDiagnostic error = module.emitError() << "--train=" << name << ": nothing of it can be trained";
    error.attachNote(found.getLoc()) << found.getName() << " is made here";
    return error;
  }
  std::vector<std::string> parameters;
  for (auto parameter : module.getOps<mx::ParameterOp>())
    if (wanted.contains(parameter.getName())) parameters.push_back(parameter.getName().str());
  return parameters;
}

}  // namespace mxc::driver
