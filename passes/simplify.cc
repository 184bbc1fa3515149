// simplify: what each operation knows of itself (its fold and its canonical forms), what is computed twice, and what nobody reads.
//
//   %0 = mx.mul %x, %one                            %2 = mx.exp %x
//   %1 = mx.exp %0                                  return %2, %2
//   %2 = mx.exp %x                         -->
//   return %1, %2
//
// Only what leaves every bit of the results as it was. Runs after gradients exist: mx.stop_gradient disappears here.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {

LogicalResult simplify(ModuleOp module, const PipelineOptions&) {
  MLIRContext* context = module.getContext();
  RewritePatternSet patterns(context);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.getDialectNamespace() == "mx") op.getCanonicalizationPatterns(patterns, context);
  FrozenRewritePatternSet frozen(std::move(patterns));
  GreedyRewriteConfig config;
  config.useTopDownTraversal = true;
  config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
  config.maxIterations = GreedyRewriteConfig::kNoLimit;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (failed(applyPatternsAndFoldGreedily(function, frozen, config))) return failure();
    IRRewriter rewriter(context);
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }
  return success();
}

}  // namespace mxc::passes
