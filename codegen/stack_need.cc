// See stack_need.h. Functions are looked at in the order of strongly connected components, callees first: within one, each function is in progress
// `nesting` times at most, and what they call outside of it once more.
#include "codegen/stack_need.h"

#include <algorithm>
#include <map>
#include <vector>

#include "llvm/ADT/SCCIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mxc::codegen {
namespace {

// What LLVM does not count as a frame, at most: the return address (8 bytes of x86), and either the red zone below a frame (128 bytes of x86-64) or
// what is skipped so that vectors are aligned (126 bytes for 64).
constexpr uint64_t kBesideFrame = 136;

struct Node {
  uint64_t frame = 0, need = 0;
  std::vector<Node*> callees;
};

}  // namespace
}  // namespace mxc::codegen

template <>
struct llvm::GraphTraits<mxc::codegen::Node*> {
  using NodeRef = mxc::codegen::Node*;
  using ChildIteratorType = std::vector<mxc::codegen::Node*>::iterator;
  static NodeRef getEntryNode(NodeRef node) { return node; }
  static ChildIteratorType child_begin(NodeRef node) { return node->callees.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->callees.end(); }
};

namespace mxc::codegen {
namespace {

// A function's frame, from lines "kernels:lenet_run<tab>120<tab>static", where "kernels" is the module's name. A line break stands before the first
// one, too. Names may be any text: they are looked up rather than read.
llvm::Expected<uint64_t> frameOf(const llvm::Function& function, llvm::StringRef frames) {
  std::string name = (function.getParent()->getName() + ":" + function.getName()).str(), line = "\n" + name + "\t";
  const size_t at = frames.find(line);
  if (at == llvm::StringRef::npos) return llvm::createStringError("the frame of " + name + " is not told");
  llvm::StringRef rest = frames.substr(at + line.size());
  uint64_t bytes = 0;
  if (rest.consumeInteger(10, bytes) || !rest.starts_with("\tstatic\n")) return llvm::createStringError("the frame of " + name + " has no fixed size");
  return bytes;
}

void addCallees(const llvm::Function& function, std::map<const llvm::Function*, Node>& nodes) {
  std::vector<Node*>& callees = nodes[&function].callees;
  auto add = [&](Node& node) {
    if (!llvm::is_contained(callees, &node)) callees.push_back(&node);
  };
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || call->isInlineAsm()) continue;
    if (const llvm::Function* callee = call->getCalledFunction()) {
      if (!callee->isDeclaration()) add(nodes[callee]);
      continue;
    }
    for (auto& [other, node] : nodes)
      if (other->hasAddressTaken() && other->getFunctionType() == call->getFunctionType()) add(node);
  }
}

}  // namespace

llvm::Expected<uint64_t> stackNeed(const llvm::Module& module, const std::string& frames, uint64_t nesting) {
  auto file = llvm::MemoryBuffer::getFile(frames);
  if (!file) return llvm::createStringError(file.getError(), "%s: %s", frames.c_str(), file.getError().message().c_str());
  const std::string told = "\n" + (*file)->getBuffer().str();
  std::map<const llvm::Function*, Node> nodes;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    auto frame = frameOf(function, told);
    if (!frame) return frame.takeError();
    nodes[&function].frame = *frame + kBesideFrame;
  }
  Node root;
  for (auto& [function, node] : nodes) {
    addCallees(*function, nodes);
    root.callees.push_back(&node);
  }
  for (auto part = llvm::scc_begin(&root); !part.isAtEnd(); ++part) {
    uint64_t frame = 0, below = 0;
    for (Node* node : *part) {
      frame += node->frame;
      for (Node* callee : node->callees) below = std::max(below, callee->need);  // 0 within the component, until the next loop
    }
    for (Node* node : *part) node->need = frame * (part.hasCycle() ? nesting : 1) + below;
  }
  return root.need;
}

}  // namespace mxc::codegen
