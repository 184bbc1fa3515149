// See stack_need.h. Functions are looked at in the order of strongly connected components, callees first: within one, each function is in progress
// `nesting` times at most, and what they call outside of it once more.
#include "codegen/stack_need.h"

#include <algorithm>
#include <map>
#include <vector>

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/StringMap.h"
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

// Lines "kernels:lenet_run<tab>120<tab>static", where "kernels" is the module's name.
llvm::Expected<llvm::StringMap<uint64_t>> readFrames(const std::string& path, llvm::StringRef module) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) return llvm::createStringError(file.getError(), "%s: %s", path.c_str(), file.getError().message().c_str());
  llvm::StringMap<uint64_t> frames;
  llvm::SmallVector<llvm::StringRef> lines, fields;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    fields.clear();
    line.split(fields, '\t');
    uint64_t bytes = 0;
    if (fields.size() != 3 || fields[1].getAsInteger(10, bytes)) return llvm::createStringError("a frame's size is not told as expected: " + line);
    if (fields[2] != "static") return llvm::createStringError("the frame of " + fields[0] + " has no fixed size");
    if (!fields[0].consume_front(module) || !fields[0].consume_front(":")) return llvm::createStringError("whose frame it is is not told: " + line);
    frames[fields[0]] = bytes;
  }
  return frames;
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
  auto sizes = readFrames(frames, module.getName());
  if (!sizes) return sizes.takeError();
  std::map<const llvm::Function*, Node> nodes;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    auto size = sizes->find(function.getName());
    if (size == sizes->end()) return llvm::createStringError("the frame of " + function.getName() + " is not told");
    nodes[&function].frame = size->second + kBesideFrame;
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
