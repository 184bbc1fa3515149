#include "tests/compiler/codegen/op_program.h"

#include "codegen/cpu/kernel_builder.h"
#include "codegen/lower_kernels.h"
#include "ir/mx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "tests/compiler/codegen/jit.h"

using namespace mlir;

namespace mxc {
namespace {

std::string typeText(const OpTensor& t, const std::string& element) {
  std::string text = "tensor<";
  for (int64_t d : t.dims) text += std::to_string(d) + "x";
  text += element;
  if (t.batch >= 0) text += ", #mx.enc<batch = " + std::to_string(t.batch) + ">";
  return text + ">";
}

std::string sourceOf(const OpCase& c) {
  std::string names, types, typed, inner, made = typeText(c.result, c.element);
  std::string result = c.windows.empty() ? made : typeText(c.pooled, c.element);
  for (size_t i = 0; i < c.operands.size(); ++i) {
    std::string comma = i ? ", " : "", n = std::to_string(i), type = typeText(c.operands[i], c.element);
    names += comma + "%x" + n;
    types += comma + type;
    typed += comma + "%x" + n + ": " + type;
    inner += comma + "%a" + n;
  }
  std::string innerTyped = typed;
  for (size_t at = 0; (at = innerTyped.find("%x", at)) != std::string::npos;) innerTyped.replace(at, 2, "%a");
  std::string text = "func.func @f(" + typed + ") -> " + result + " {\n  %r = mx.kernel(" + names + ") : (" + types + ") -> " + result +
                     " {\n  ^bb0(" + innerTyped + "):\n    %y = mx." + c.op + " " + inner + " {" + c.attributes + "} : (" + types +
                     ") -> " + made + "\n";
  std::string last = "%y";
  if (!c.after.empty()) {
    text += "    %z = mx." + c.after + " %y : (" + made + ") -> " + made + "\n";
    last = "%z";
  }
  if (!c.windows.empty()) {
    text += "    %p:2 = mx.max_pool " + last + " {" + c.windows + "} : (" + made + ") -> (" + result + ", " + typeText(c.pooled, "i8") + ")\n";
    last = "%p#0";
  }
  return text + "    mx.yield " + last + " : " + result + "\n  }\n  return %r : " + result + "\n}\n";
}

Placement placementOf(TensorType type) {
  Layout layout = layoutOf(type);
  return {type.getShape().vec(), {layout.strides.begin(), layout.strides.end()}, layout.blockAxis, layout.block, layout.elements};
}

class Compiled final : public OpProgram {
 public:
  const Placement& operand(size_t i) const override { return operands_[i]; }
  const Placement& result() const override { return result_; }
  const std::string& assembly() const override { return assembly_; }
  int64_t cells(int64_t n) const override {
    int64_t sum = 0;
    for (const auto& k : kernels_) sum += gridOf(k.second, n);
    return sum;
  }
  void run(const std::vector<void*>& arguments, int64_t n, int parts) const override {
    for (size_t kernel = 0; kernel < kernels_.size(); ++kernel)
      for (int part = parts - 1; part >= 0; --part) runPiece(arguments, n, kernel, part, parts);
  }
  void runPiece(const std::vector<void*>& arguments, int64_t n, size_t kernel, int part, int parts) const override {
    int64_t grid = gridOf(kernels_[kernel].second, n);
    kernels_[kernel].first(arguments.data(), n, grid * part / parts, grid * (part + 1) / parts);
  }
  size_t kernels() const override { return kernels_.size(); }
  static int64_t gridOf(const codegen::KernelInfo& info, int64_t n) {
    int64_t batch = info.gridBatchUnit ? (n * info.gridBatchUnit + info.gridBatchTile - 1) / info.gridBatchTile : 1;
    return info.gridCells * batch;
  }

  bool compile(const OpCase& c) {
    DialectRegistry registry;
    codegen::registerKernelDialects(registry);
    registry.insert<mx::MxDialect>();
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(sourceOf(c), &context);
    if (!module) return false;
    mx::KernelOp kernel;
    module->walk([&](mx::KernelOp op) { kernel = op; });
    Operation* op = &kernel.getBody().front().front();
    int64_t lanes = c.element == "f64" ? 8 : 16;
    if (c.wished) {
      auto rules = cast<mx::LayoutRules>(op);
      for (unsigned i = 0; i < op->getNumOperands(); ++i) op->getOperand(i).setType(rules.wantedOperandType(i, lanes));
      Type wanted = rules.wantedResultType(0, lanes);
      for (Operation& each : kernel.getBody().front().without_terminator())
        for (Value value : each.getResults())
          value.setType(c.windows.empty() || &each != kernel.anchors().second
                            ? wanted : cast<mx::LayoutRules>(each).wantedResultType(cast<OpResult>(value).getResultNumber(), lanes));
    }
    for (Value operand : op->getOperands()) operands_.push_back(placementOf(rankedType(operand)));
    result_ = placementOf(rankedType(kernel.getBody().front().getTerminator()->getOperand(0)));

    OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(&context));
    auto target = codegen::makeTargetMachine(kernels->getLoc(), {});
    if (failed(target)) return false;
    codegen::VectorUnit unit = codegen::vectorUnitOf(**target);
    if (c.registers) unit = {c.registerBytes, c.registers};
    codegen::CpuKernelBuilder builder(*kernels, kernel, "k", lanes, unit);
    auto infos = builder.run();
    if (failed(infos)) return false;
    llvm::LLVMContext llvmContext;
    auto llvmModule = codegen::lowerToLLVM(*kernels, llvmContext, **target);
    if (failed(llvmModule)) return false;
    assembly_ = codegen::emit(*llvm::CloneModule(**llvmModule), **target, codegen::Format::assembly);
    jit_ = std::make_unique<Jit>(codegen::emit(**llvmModule, **target, codegen::Format::object));
    for (const auto& info : *infos) kernels_.push_back({jit_->kernel(info.symbol), info});
    return true;
  }

 private:
  std::vector<Placement> operands_;
  Placement result_;
  std::string assembly_;
  std::unique_ptr<Jit> jit_;
  std::vector<std::pair<plan::Kernel, codegen::KernelInfo>> kernels_;
};

}  // namespace

int64_t Placement::at(const std::vector<int64_t>& index) const {
  int64_t place = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    bool blocked = static_cast<int64_t>(axis) == blockAxis;
    place += blocked ? index[axis] / block * strides[axis] + index[axis] % block : index[axis] * strides[axis];
  }
  return place;
}

std::unique_ptr<OpProgram> OpProgram::compile(const OpCase& c) {
  auto program = std::make_unique<Compiled>();
  if (!program->compile(c)) return nullptr;
  return program;
}

}  // namespace mxc
