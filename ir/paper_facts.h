// How an op uses memory when a graph runs one step an op, forward and then backward, as MXNet executes it (arXiv 1512.01274): what
// passes/paper_memory plans with. Says nothing of how mxc itself runs the op.
#pragma once

#include "ir/types.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/ValueRange.h"

namespace mxc {

// What backward steps read: all that MXNet's operators hand to cuDNN, or what their mathematics needs.
enum class BackwardReads { cudnn, minimal };

struct PaperFacts {
  // What the forward step writes; the first `results` of the op are the first of these.
  llvm::SmallVector<TensorType> writes;
  // The operands that the first of `writes` may be written over.
  llvm::SmallVector<unsigned> over = {};

  // What the backward step reads beside the gradients of the results: the operands, and which of `writes`.
  bool readsOperands = true;
  llvm::SmallVector<unsigned> readsWrites = {};
  // What the gradient of an operand may be written over: the gradient of the result, that operand, the first of `writes`.
  bool overGradient = false, overOperand = false, overWrite = false;

  // For an op of which nothing is known: it writes its results, reads everything back, and nothing is in place.
  static PaperFacts unknown(mlir::ResultRange results) {
    PaperFacts facts;
    for (mlir::Value result : results) {
      facts.readsWrites.push_back(facts.writes.size());
      facts.writes.push_back(rankedType(result));
    }
    return facts;
  }
  // For an op whose gradient needs the gradients of its results alone; nothing is in place.
  static PaperFacts linear(mlir::ResultRange results) {
    PaperFacts facts = unknown(results);
    facts.readsOperands = false;
    facts.readsWrites.clear();
    return facts;
  }
  // As `linear`, for an op that only renames its operand, forward and backward in place.
  static PaperFacts view(mlir::ResultRange results) {
    PaperFacts facts = linear(results);
    facts.over = {0};
    facts.overGradient = true;
    return facts;
  }
};

}  // namespace mxc
