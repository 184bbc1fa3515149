// MXNet's planner walks the steps once. A step's outputs are first placed over inputs that die there, where the op allows (in place);
// each other output takes a block of the free list (co-share) or a new one; then inputs read for the last time, and outputs that nobody
// reads, give their blocks back.
//
// The free list, for a wanted size s: the smallest block of at least s and at most 16 s; else the largest below s and at least s / 16,
// which grows to s; else a new block.
#include "passes/paper_memory.h"

#include <map>

#include "ir/mx.h"
#include "passes/offsets.h"

using namespace mlir;

namespace mxc::passes {
namespace {

constexpr int64_t kMatchRange = 16;
constexpr int kOutside = -1;  // a value that is not planned: parameters and inputs

struct Step {
  SmallVector<int> reads, writes;            // variables
  SmallVector<std::pair<int, int>> inPlace;  // a variable read, and one written that may lie over it; the first that fits is taken
};

struct StepGraph {
  std::vector<int64_t> bytes;  // of each variable
  std::vector<Step> steps;
  SmallVector<int> kept;       // variables that stay to the end: what the graph is run for
};

// ---- The steps of a model -----------------------------------------------------------------------------------------------------
class StepGraphBuilder {
 public:
  StepGraphBuilder(ModuleOp module, BackwardReads reads) : module_(module), reads_(reads) {}

  StepGraph build(PaperPass pass) {
    SmallVector<Operation*> ops = opsOf(rootsOf(pass));
    for (Operation* op : ops) addForward(op);
    for (Value root : rootsOf(pass))
      if (int kept = variableOf(root); kept != kOutside) graph_.kept.push_back(kept);
    if (pass == PaperPass::training)
      for (Operation* op : llvm::reverse(ops)) addBackward(op);
    return std::move(graph_);
  }

 private:
  SmallVector<Value> rootsOf(PaperPass pass) {
    SmallVector<Value> roots;
    if (pass == PaperPass::forward)
      for (auto output : module_.getOps<mx::OutputOp>()) roots.push_back(output.getValue());
    if (roots.empty())
      for (auto loss : module_.getOps<mx::MinimizeOp>()) roots.push_back(loss.getLoss());
    return roots;
  }

  // What `roots` need, in program order.
  SmallVector<Operation*> opsOf(ArrayRef<Value> roots) {
    llvm::DenseSet<Operation*> needed;
    SmallVector<Operation*> work, ops;
    for (Value root : roots) {
      roots_.insert(root);
      work.push_back(root.getDefiningOp());
    }
    while (!work.empty()) {
      Operation* op = work.pop_back_val();
      if (!needed.insert(op).second) continue;
      for (Value operand : op->getOperands()) work.push_back(operand.getDefiningOp());
    }
    for (Operation& op : module_.getBody()->getOperations())
      if (needed.contains(&op) && isa<mx::OpRules>(op)) ops.push_back(&op);
    return ops;
  }

  int newVariable(int64_t bytes) {
    graph_.bytes.push_back(bytes);
    return graph_.bytes.size() - 1;
  }
  int variableOf(Value value) {
    auto it = variable_.find(value);
    return it == variable_.end() ? kOutside : it->second;
  }
  static void addRead(Step& step, int variable) {
    if (variable != kOutside) step.reads.push_back(variable);
  }
  static void addInPlace(Step& step, int from, int to) {
    if (from != kOutside) step.inPlace.push_back({from, to});
  }

  void addForward(Operation* op) {
    PaperFacts facts = cast<mx::OpRules>(op).paperFacts(reads_);
    Step step;
    for (Value operand : op->getOperands()) addRead(step, variableOf(operand));
    for (TensorType type : facts.writes) step.writes.push_back(newVariable(logicalBytes(type)));
    for (unsigned operand : facts.over) addInPlace(step, variableOf(op->getOperand(operand)), step.writes[0]);
    for (auto [result, variable] : llvm::zip(op->getResults(), step.writes)) variable_[result] = variable;
    writes_[op] = step.writes;
    graph_.steps.push_back(std::move(step));
  }

  // The gradient of a value, after a step that sums its parts if there are several; none: nothing depends on the value.
  std::optional<int> gradientOf(Value value) {
    auto it = parts_.find(value);
    if (it == parts_.end()) return std::nullopt;
    if (it->second.size() == 1) return it->second[0];
    Step sum;
    int total = newVariable(logicalBytes(rankedType(value)));
    sum.reads = it->second;
    sum.writes = {total};
    for (int part : it->second) sum.inPlace.push_back({part, total});
    graph_.steps.push_back(std::move(sum));
    return total;
  }

  void addBackward(Operation* op) {
    Step step;
    bool isRoot = false;
    for (Value result : op->getResults()) {
      isRoot |= roots_.contains(result);
      if (std::optional<int> gradient = gradientOf(result)) step.reads.push_back(*gradient);
    }
    if (step.reads.empty() && !isRoot) return;
    PaperFacts facts = cast<mx::OpRules>(op).paperFacts(reads_);
    int dy = step.reads.empty() ? kOutside : step.reads[0], y = writes_[op][0];
    if (facts.readsOperands)
      for (Value operand : op->getOperands()) addRead(step, variableOf(operand));
    for (unsigned i : facts.readsWrites) step.reads.push_back(writes_[op][i]);
    for (Value operand : op->getOperands()) {
      if (!isa<FloatType>(rankedType(operand).getElementType()) || operand.getDefiningOp<mx::ParameterOp>()) continue;
      int gradient = newVariable(logicalBytes(rankedType(operand)));
      step.writes.push_back(gradient);
      parts_[operand].push_back(gradient);
      if (facts.overGradient) addInPlace(step, dy, gradient);
      if (facts.overOperand) addInPlace(step, variableOf(operand), gradient);
      if (facts.overWrite) addInPlace(step, y, gradient);
    }
    graph_.steps.push_back(std::move(step));
  }

  ModuleOp module_;
  BackwardReads reads_;
  StepGraph graph_;
  llvm::DenseSet<Value> roots_;
  llvm::DenseMap<Value, int> variable_;                    // of op results
  llvm::DenseMap<Operation*, SmallVector<int>> writes_;    // of forward steps
  llvm::DenseMap<Value, SmallVector<int>> parts_;          // of gradients
};

// ---- The walk -------------------------------------------------------------------------------------------------------------------
class BlockPlanner {
 public:
  BlockPlanner(const StepGraph& graph, MemoryPlan plan)
      : graph_(graph), inPlace_(plan == MemoryPlan::inplace || plan == MemoryPlan::both),
        coShare_(plan == MemoryPlan::coshare || plan == MemoryPlan::both), unread_(graph.bytes.size(), 0), block_(graph.bytes.size(), -1) {}

  // Bytes of all blocks.
  int64_t run() {
    for (const Step& step : graph_.steps)
      for (int variable : step.reads) ++unread_[variable];
    for (int variable : graph_.kept) ++unread_[variable];
    for (const Step& step : graph_.steps) perform(step);
    int64_t total = 0;
    for (const Block& block : blocks_) total += block.bytes;
    return total;
  }

 private:
  struct Block {
    int64_t bytes;
    int users = 0;  // variables that lie in it
  };

  void perform(const Step& step) {
    for (auto [from, to] : step.inPlace)
      if (inPlace_ && mayTake(step, from, to)) place(to, block_[from]);
    for (int variable : step.writes)
      if (block_[variable] < 0) place(variable, takeBlock(graph_.bytes[variable]));
    for (int variable : step.reads)
      if (--unread_[variable] == 0) release(variable);
    for (int variable : step.writes)
      if (unread_[variable] == 0) release(variable);
  }

  bool mayTake(const Step& step, int from, int to) const {
    return block_[to] < 0 && graph_.bytes[from] == graph_.bytes[to] && unread_[from] == llvm::count(step.reads, from) &&
           blocks_[block_[from]].users == 1;
  }

  void place(int variable, int block) {
    block_[variable] = block;
    ++blocks_[block].users;
  }

  void release(int variable) {
    Block& block = blocks_[block_[variable]];
    if (--block.users == 0) free_.insert({block.bytes, block_[variable]});
  }

  int takeBlock(int64_t bytes) {
    auto found = coShare_ ? findFree(bytes) : free_.end();
    if (found == free_.end()) {
      blocks_.push_back({bytes});
      return blocks_.size() - 1;
    }
    int block = found->second;
    free_.erase(found);
    blocks_[block].bytes = std::max(blocks_[block].bytes, bytes);
    return block;
  }

  std::multimap<int64_t, int>::iterator findFree(int64_t bytes) {
    auto at = free_.lower_bound(bytes);
    if (at != free_.end() && at->first <= bytes * kMatchRange) return at;
    if (at == free_.begin()) return free_.end();
    --at;
    return at->first * kMatchRange >= bytes ? at : free_.end();
  }

  const StepGraph& graph_;
  bool inPlace_, coShare_;
  std::vector<int64_t> unread_;  // readings of each variable that are still to come
  std::vector<int> block_;       // of each variable
  std::vector<Block> blocks_;
  std::multimap<int64_t, int> free_;  // by bytes
};

// ---- The bound ------------------------------------------------------------------------------------------------------------------
int64_t largestLive(const StepGraph& graph) {
  constexpr int64_t kNever = -1;
  std::vector<int64_t> lastRead(graph.bytes.size(), kNever);
  for (size_t t = 0; t < graph.steps.size(); ++t)
    for (int variable : graph.steps[t].reads) lastRead[variable] = t;
  for (int variable : graph.kept) lastRead[variable] = graph.steps.size();

  std::vector<Lifetime> lives;
  std::vector<int> life(graph.bytes.size(), -1);
  for (size_t t = 0; t < graph.steps.size(); ++t) {
    const Step& step = graph.steps[t];
    for (auto [from, to] : step.inPlace) {
      bool dies = life[from] >= 0 && lives[life[from]].end == static_cast<int64_t>(t);
      if (!dies || life[to] >= 0 || lastRead[to] == kNever || graph.bytes[from] != graph.bytes[to]) continue;
      life[to] = life[from];
      lives[life[to]].end = lastRead[to];
    }
    for (int variable : step.writes) {
      if (life[variable] >= 0 || lastRead[variable] == kNever) continue;
      life[variable] = lives.size();
      lives.push_back({static_cast<int64_t>(t), lastRead[variable], graph.bytes[variable]});
    }
  }
  return peakLive(lives);
}

}  // namespace

PaperMemory planByPaper(ModuleOp module, PaperPass pass, MemoryPlan plan, BackwardReads reads) {
  StepGraph graph = StepGraphBuilder(module, reads).build(pass);
  return {BlockPlanner(graph, plan).run(), largestLive(graph)};
}

}  // namespace mxc::passes
