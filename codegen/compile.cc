// compileProgram: walks the functions in order; every kernel op becomes steps and machine code, every value a buffer record.
//
// Buffers. Parameters, state and hyper-parameters are one buffer a name in all functions; inputs too. A kernel's result lies where the
// memory plan put it; a view is another record over the same bytes. In a library that trains, what training changes lies behind all else that
// is persistent (plan.h, Library). A step depends on the latest earlier steps whose bytes it reads or
// writes: that covers data flow and the reuse of memory alike.
#include "codegen/compile.h"

#include "codegen/cpu/kernel_builder.h"
#include "codegen/dtypes.h"
#include "codegen/plan_writer.h"
#include "ir/bound_memory.h"
#include "ir/mx.h"
#include "ir/ops/comm.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Support/SHA256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

uint64_t align(uint64_t bytes) { return (bytes + plan::kAlign - 1) / plan::kAlign * plan::kAlign; }

// "lenet.cpp:11:40", or nothing.
std::string locationText(Location location) {
  std::string text;
  location->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      text = file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

std::string nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location)) return name.getName().str();
  return "";
}

// "conv2d0+tanh0": the user's names of the ops inside, each once.
std::string stepName(mx::KernelOp kernel) {
  std::string text;
  SmallVector<std::string> seen;
  for (Operation& op : kernel.getBody().front().without_terminator()) {
    std::string name = nameOf(op.getLoc());
    if (name.empty()) name = op.getName().stripDialect().str();
    if (isa<mx::ElementwiseRules>(op) && op.getNumOperands() == 0) continue;
    if (llvm::is_contained(seen, name) || seen.size() >= 4) continue;
    seen.push_back(name);
    text += (text.empty() ? "" : "+") + name;
  }
  return text;
}

class ProgramWriter {
 public:
  ProgramWriter(ModuleOp module, ModuleOp kernels) : module_(module), kernels_(kernels) {}

  LogicalResult run(const ProgramFacts& facts, const llvm::TargetMachine& target) {
    unit_ = vectorUnitOf(target);
    plan_.devices.push_back({});
    plan_.devices[0].kind = plan::DeviceKind::cpu;
    if (module_->hasAttr("mx.library_trains")) orderPersistent();
    for (auto function : module_.getOps<func::FuncOp>())
      if (failed(addFunction(function))) return failure();
    listParameters();
    plan_.devices[0].arena_bytes = arenaBytes_;
    plan_.devices[0].persistent_bytes = persistentBytes_;
    plan_.devices[0].io_bytes = ioBytes_;
    plan_.fact("model", module_.getName().value_or("model"));
    plan_.fact("source", facts.source);
    if (auto optimizer = module_->getAttrOfType<StringAttr>("mx.optimizer")) plan_.fact("optimizer", optimizer.getValue());
    plan_.fact("dtype", dtypeText_);
    plan_.fact("target", (target.getTargetTriple().str() + " " + target.getTargetCPU()).str());
    plan_.fact("compiler", facts.compiler);
    if (facts.check_finite) plan_.fact("check_finite", "yes");
    plan_.fact("hash", modelHash());
    for (auto& [key, value] : facts.more) plan_.fact(key, value);
    for (auto& [key, place] : initialPlaces_) plan_.fact(key, place);
    for (auto& [key, graph] : updates_) plan_.fact(key, graph);
    return success();
  }

  const PlanWriter& plan() const { return plan_; }
  ArrayRef<std::string> kernelSymbols() const { return kernelSymbols_; }

 private:
  // ---- Buffers ----------------------------------------------------------------------------------------------------------------
  plan::Buffer describe(StringRef name, Location location, TensorType type, plan::Role role, plan::Space space) {
    plan::Buffer buffer = {};
    Layout layout = layoutOf(type);
    buffer.name = plan_.string(name.str());
    buffer.location = plan_.string(locationText(location));
    buffer.role = role;
    buffer.dtype = dtypeOf(type.getElementType());
    buffer.space = space;
    buffer.rank = type.getRank();
    buffer.batch_axis = batchAxis(type);
    buffer.batch_unit = batchUnit(type);
    buffer.block_axis = layout.blockAxis;
    buffer.block = layout.block;
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      buffer.dims[axis] = type.getDimSize(axis);
      buffer.order[axis] = layout.order[axis];
    }
    buffer.bytes = bytesOf(type);
    return buffer;
  }

  uint32_t add(plan::Buffer buffer) {
    plan_.buffers.push_back(buffer);
    return plan_.buffers.size() - 1;
  }

  // The buffer of a parameter, state, hyper-parameter or input: one for its name in all functions.
  uint32_t named(const BoundMemory& memory, Location location, TensorType type) {
    auto [it, isNew] = named_.try_emplace(memory.key, 0);
    if (!isNew) return it->second;
    const std::string& role = memory.role;
    plan::Role kind = role == "parameter" ? plan::Role::parameter : role == "state" ? plan::Role::state
                      : role == "input"   ? plan::Role::input     : plan::Role::hyper;
    plan::Buffer buffer = describe(memory.name, location, type, kind, memory.persistent ? plan::Space::persistent : plan::Space::io);
    uint64_t& end = memory.persistent ? persistentBytes_ : ioBytes_;
    buffer.offset = end;
    end += align(buffer.bytes);
    it->second = add(buffer);
    order_.push_back({role, it->second});
    return it->second;
  }

  // Gives everything persistent its buffer: first what all contexts of a library share, then what training changes, then the optimizer's state,
  // then hyper-parameters.
  void orderPersistent() {
    llvm::StringSet<> changed;
    for (auto function : module_.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (BoundMemory memory = boundToResult(function.getResultAttrDict(i)); memory.persistent) changed.insert(memory.key);
    auto place = [&](const BoundMemory& memory, DictionaryAttr attributes) {
      return memory.role == "hyper" ? 3 : attributes.get("mx.slot") ? 2 : changed.contains(memory.key) ? 1 : 0;
    };
    for (int wanted = 0; wanted < 4; ++wanted)
      for (auto function : module_.getOps<func::FuncOp>())
        for (BlockArgument argument : function.getArguments()) {
          DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
          const BoundMemory memory = boundToArgument(attributes);
          if (memory.persistent && place(memory, attributes) == wanted) (void)named(memory, argument.getLoc(), rankedType(argument));
        }
  }

  uint32_t output(StringRef role, StringRef name, Value value) {
    plan::Role kind = role == "gradient" ? plan::Role::gradient : plan::Role::output;
    plan::Buffer buffer = describe(name, value.getLoc(), rankedType(value), kind, plan::Space::io);
    buffer.offset = ioBytes_;
    ioBytes_ += align(buffer.bytes);
    const uint32_t id = add(buffer);
    if (kind == plan::Role::gradient) gradients_[name] = id;
    return id;
  }

  // ---- Functions --------------------------------------------------------------------------------------------------------------
  LogicalResult addFunction(func::FuncOp function) {
    bufferOf_.clear();
    plan::Graph graph = {};
    StringRef name = function.getSymName();
    graph.name = plan_.string(name.str());
    graph.kind = name == "init" ? plan::GraphKind::init : name == "train" ? plan::GraphKind::train : name == "eval" ? plan::GraphKind::eval
                 : name == "infer" ? plan::GraphKind::infer : function->hasAttr("mx.updates") ? plan::GraphKind::update : plan::GraphKind::user;
    if (auto updated = function->getAttrOfType<ArrayAttr>("mx.updates"); updated && name != "update")
      for (Attribute parameter : updated) updates_.push_back({"update:" + cast<StringAttr>(parameter).str(), name.str()});
    addArguments(function, graph);
    addResults(function, graph);

    std::vector<plan::Item> items;
    firstStep_ = plan_.steps.size();
    auto forward = function->getAttrOfType<IntegerAttr>("mx.forward_kernels");
    int64_t kernels = 0;
    for (Operation& op : function.getBody().front().without_terminator()) {
      if (isa<mx::ViewRules>(op)) {
        addView(op);
      } else if (auto kernel = dyn_cast<mx::KernelOp>(op)) {
        if (forward && kernels++ == forward.getInt()) graph.backward_item = plan_.steps.size() - firstStep_;
        if (failed(addKernel(kernel, function))) return failure();
      } else if (!isa<mx::PullOp, mx::PushOp>(op)) {
        return op.emitOpError() << "internal: is outside of any kernel";
      }
    }
    for (uint32_t step = firstStep_; step < plan_.steps.size(); ++step) items.push_back({plan::ItemKind::step, step});
    if (forward && graph.backward_item == plan::kNone) graph.backward_item = items.size();
    plan::Block block = {};
    block.first_item = plan_.items.size();
    block.item_count = items.size();
    block.trip_buffer = plan::kNone;
    block.trip_count = 1;
    plan_.items.insert(plan_.items.end(), items.begin(), items.end());
    graph.block = plan_.blocks.size();
    plan_.blocks.push_back(block);
    if (auto bytes = function->getAttrOfType<IntegerAttr>("mx.arena_bytes")) graph.arena_bytes = align(bytes.getInt());
    arenaBytes_ = std::max(arenaBytes_, graph.arena_bytes);
    plan_.graphs.push_back(graph);
    return success();
  }

  void noteBatch(plan::Graph& graph, Value value) {
    TensorType type = rankedType(value);
    if (int64_t axis = batchAxis(type); axis >= 0) graph.batch = type.getDimSize(axis) / batchUnit(type);
  }

  void addArguments(func::FuncOp function, plan::Graph& graph) {
    graph.first_input = plan_.bindings.size();
    for (BlockArgument argument : function.getArguments()) {
      DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
      const BoundMemory memory = boundToArgument(attributes);
      const std::string &role = memory.role, &name = memory.name;
      // Gradients are those that the last function before this one has made.
      uint32_t id = role == "gradient" ? gradients_.lookup(name) : named(memory, argument.getLoc(), rankedType(argument));
      bufferOf_[argument] = id;
      noteBatch(graph, argument);
      if (auto bound = attributes.getAs<IntegerAttr>("mx.upper_bound")) plan_.buffers[id].upper_bound = bound.getInt();
      if (role == "input") plan_.bindings.push_back({plan_.string(name), id, plan::OutputKind::output, {}});
      if (attributes.get("mx.slot")) slots_.insert(id);
      if (role == "hyper" && hypers_.insert(id).second) {
        auto value = attributes.getAs<FloatAttr>("mx.default");
        plan_.hypers.push_back({plan_.string(name), id, value ? value.getValueAsDouble() : 0});
      }
      Type element = rankedType(argument).getElementType();
      if (role == "parameter") dtypeText_ = element.isF64() ? "f64" : "f32";
    }
    graph.input_count = plan_.bindings.size() - graph.first_input;
  }

  void addResults(func::FuncOp function, plan::Graph& graph) {
    std::vector<plan::Binding> outputs;
    resultBuffers_.clear();
    auto returned = function.getBody().front().getTerminator()->getOperands();
    for (auto [i, value] : llvm::enumerate(returned)) {
      DictionaryAttr attributes = function.getResultAttrDict(i);
      const BoundMemory memory = boundToResult(attributes);
      const std::string &role = memory.role, &name = memory.name;
      uint32_t id = memory.persistent ? named(memory, value.getLoc(), rankedType(value)) : output(role, name, value);
      for (const char* key : {"init_file", "init_tensor"})
        if (auto place = function.getResultAttrOfType<StringAttr>(i, "mx." + std::string(key))) initialPlaces_.push_back({key + (":" + name), place.str()});
      resultBuffers_.push_back(id);
      noteBatch(graph, value);
      plan::OutputKind kind = llvm::StringSwitch<plan::OutputKind>(role)
                                  .Case("loss", plan::OutputKind::loss)
                                  .Case("metric", plan::OutputKind::metric)
                                  .Case("parameter", plan::OutputKind::parameter)
                                  .Case("state", plan::OutputKind::state)
                                  .Case("gradient", plan::OutputKind::gradient)
                                  .Default(plan::OutputKind::output);
      outputs.push_back({plan_.string(name), id, kind, {}});
    }
    orderByPriority(function, outputs);
    graph.first_output = plan_.bindings.size();
    graph.output_count = outputs.size();
    plan_.bindings.insert(plan_.bindings.end(), outputs.begin(), outputs.end());
  }

  // What is pushed stands in the Plan in the order in which it goes first, behind what is not.
  void orderByPriority(func::FuncOp function, std::vector<plan::Binding>& outputs) {
    std::map<uint32_t, int64_t> rank;
    for (auto push : function.getOps<mx::PushOp>()) rank[plan_.string(push.getKey().str())] = -static_cast<int64_t>(push.getPriority());
    auto rankOf = [&](const plan::Binding& output) {
      const bool pushed = output.kind == plan::OutputKind::gradient || output.kind == plan::OutputKind::state;
      auto found = rank.find(output.name);
      return pushed && found != rank.end() ? found->second : -1;
    };
    llvm::stable_sort(outputs, [&](const plan::Binding& a, const plan::Binding& b) { return rankOf(a) < rankOf(b); });
  }

  // A view has the address of what it shows. Inputs and outputs get theirs at run time, by the buffer: there the view is that buffer.
  void addView(Operation& op) {
    uint32_t id = bufferOf_.lookup(op.getOperand(0));
    plan::Buffer whole = plan_.buffers[id];
    if (whole.space == plan::Space::io) {
      bufferOf_[op.getResult(0)] = id;
      return;
    }
    plan::Buffer view = describe(nameOf(op.getLoc()), op.getLoc(), rankedType(op.getResult(0)), whole.role, whole.space);
    view.offset = whole.offset;
    bufferOf_[op.getResult(0)] = add(view);
  }

  // ---- Kernels ----------------------------------------------------------------------------------------------------------------
  LogicalResult placeResults(mx::KernelOp kernel, func::FuncOp function) {
    auto places = kernel->getAttrOfType<ArrayAttr>("mx.places");
    if (!places || places.size() != kernel.getNumResults()) return kernel.emitOpError() << "internal: has no places in memory";
    Block& body = kernel.getBody().front();
    for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
      auto place = cast<mx::PlaceAttr>(places[i]);
      if (place.getSpace() == "argument") {
        bufferOf_[result] = bufferOf_.lookup(function.getArgument(place.getAt()));
      } else if (place.getSpace() == "result") {
        bufferOf_[result] = resultBuffers_[place.getAt()];
      } else {
        Location location = body.getTerminator()->getOperand(i).getLoc();
        plan::Buffer buffer = describe(nameOf(location), location, rankedType(result),
                                        isGradientLocation(location) ? plan::Role::gradient : plan::Role::activation, plan::Space::arena);
        buffer.offset = place.getAt();
        bufferOf_[result] = add(buffer);
      }
    }
    return success();
  }

  LogicalResult addKernel(mx::KernelOp kernel, func::FuncOp function) {
    if (failed(placeResults(kernel, function))) return failure();
    std::string name = stepName(kernel);
    std::string symbol = module_.getName().value_or("model").str() + "." + function.getSymName().str() + "." + std::to_string(kernelNumber_++);
    CpuKernelBuilder builder(kernels_, kernel, symbol, lanesOf(kernel), unit_);
    FailureOr<std::vector<KernelInfo>> infos = builder.run();
    if (failed(infos)) return failure();

    plan::Step step = {};
    step.name = plan_.string(name);
    Operation* last = kernel.getBody().front().getTerminator()->getPrevNode();
    step.location = plan_.string(locationText(last ? last->getLoc() : kernel.getLoc()));
    step.kind = plan::StepKind::cpu_kernel;
    step.lane = plan::Lane::compute;
    step.first_arg = plan_.args.size();
    for (Value operand : kernel->getOperands()) plan_.args.push_back({bufferOf_.lookup(operand), plan::Access::read, {}, 0});
    for (Value result : kernel->getResults()) plan_.args.push_back({bufferOf_.lookup(result), plan::Access::write, {}, 0});
    step.arg_count = plan_.args.size() - step.first_arg;
    for (const KernelInfo& info : *infos) {
      step.kernel = kernelIndex(info.symbol);
      step.grid_cells = info.gridCells;
      step.grid_batch_unit = info.gridBatchUnit;
      step.grid_batch_tile = info.gridBatchTile;
      step.flops = info.flops;
      addDependencies(step);
      plan_.steps.push_back(step);
    }
    return success();
  }

  // The kernel table's index of a function; a function with the same text as an earlier one gives way to it.
  uint32_t kernelIndex(const std::string& symbol) {
    auto function = kernels_.lookupSymbol<func::FuncOp>(symbol);
    std::string text;
    llvm::raw_string_ostream stream(text);
    function->print(stream, OpPrintingFlags().elideLargeElementsAttrs(INT64_MAX).useLocalScope());
    text.erase(0, text.find('('));
    auto [it, isNew] = kernelTexts_.try_emplace(text, kernelSymbols_.size());
    if (isNew) kernelSymbols_.push_back(symbol);
    else function.erase();
    return it->second;
  }

  bool overlap(uint32_t a, uint32_t b) const {
    const plan::Buffer &x = plan_.buffers[a], &y = plan_.buffers[b];
    return x.space == y.space && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  void addDependencies(plan::Step& step) {
    step.first_dep = plan_.deps.size();
    for (uint32_t earlier = firstStep_; earlier < plan_.steps.size(); ++earlier) {
      const plan::Step& other = plan_.steps[earlier];
      bool depends = false;
      for (uint32_t i = step.first_arg; i < step.first_arg + step.arg_count && !depends; ++i)
        for (uint32_t j = other.first_arg; j < other.first_arg + other.arg_count && !depends; ++j) {
          bool bothRead = plan_.args[i].access == plan::Access::read && plan_.args[j].access == plan::Access::read;
          depends = !bothRead && overlap(plan_.args[i].buffer, plan_.args[j].buffer);
        }
      if (depends) plan_.deps.push_back(earlier);
    }
    step.dep_count = plan_.deps.size() - step.first_dep;
  }

  // ---- The rest ---------------------------------------------------------------------------------------------------------------
  void listParameters() {
    for (auto& [role, id] : order_)
      if (role == "parameter") plan_.parameters.push_back(id);
    plan_.trainableCount = plan_.parameters.size();
    for (auto& [role, id] : order_) {
      if (role != "state") continue;
      if (slots_.contains(id)) plan_.optimizerSlots.push_back({plan_.buffers[id].name, id, plan::OutputKind::state, {}});
      else plan_.parameters.push_back(id);
    }
  }

  // Names a model for checkpoints: the names, shapes and types of its parameters and states.
  std::string modelHash() {
    std::string text = module_.getName().value_or("model").str();
    for (auto& [role, id] : order_) {
      if (role == "hyper" || role == "input") continue;
      const plan::Buffer& buffer = plan_.buffers[id];
      text += "\n" + role + std::to_string(static_cast<int>(buffer.dtype));
      for (auto& [name, known] : named_)
        if (known == id) text += " " + name;
      for (int axis = 0; axis < buffer.rank; ++axis) text += " " + std::to_string(buffer.dims[axis]);
    }
    llvm::SHA256 hash;
    hash.update(text);
    return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 16);
  }

  ModuleOp module_, kernels_;
  VectorUnit unit_;
  PlanWriter plan_;
  std::map<std::string, uint32_t> named_;
  llvm::StringMap<uint32_t> gradients_;  // the buffers of results of that role, by name
  std::vector<std::pair<std::string, uint32_t>> order_;  // (role, buffer) as they were met
  std::vector<std::pair<std::string, std::string>> initialPlaces_, updates_;  // facts
  llvm::DenseSet<uint32_t> hypers_, slots_;
  llvm::DenseMap<Value, uint32_t> bufferOf_;
  SmallVector<uint32_t> resultBuffers_;
  std::map<std::string, uint32_t> kernelTexts_;
  std::vector<std::string> kernelSymbols_;
  uint64_t persistentBytes_ = 0, ioBytes_ = 0, arenaBytes_ = 0;
  uint32_t firstStep_ = 0;
  int kernelNumber_ = 0;
  std::string dtypeText_ = "f32";
};

// The blob, the kernel table, and the plan::Program that points to both.
void addProgram(llvm::Module& module, const std::string& blob, ArrayRef<std::string> symbols, StringRef name) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i64 = llvm::Type::getInt64Ty(context);
  auto constant = [&](llvm::Constant* value, const llvm::Twine& symbol, llvm::GlobalValue::LinkageTypes linkage) {
    auto* global = new llvm::GlobalVariable(module, value->getType(), true, linkage, value, symbol);
    global->setAlignment(llvm::Align(plan::kAlign));
    return global;
  };
  auto* plan = constant(llvm::ConstantDataArray::getString(context, blob, false), name + "_plan", llvm::GlobalValue::PrivateLinkage);
  SmallVector<llvm::Constant*> functions;
  for (const std::string& symbol : symbols) {
    llvm::Function* function = module.getFunction(symbol);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    functions.push_back(function);
  }
  auto* tableType = llvm::ArrayType::get(pointer, functions.size());
  auto* table = constant(llvm::ConstantArray::get(tableType, functions), name + "_kernels", llvm::GlobalValue::PrivateLinkage);
  llvm::Constant* fields[] = {plan, llvm::ConstantInt::get(i64, blob.size()), table, llvm::ConstantInt::get(i64, functions.size())};
  constant(llvm::ConstantStruct::getAnon(fields), name, llvm::GlobalValue::ExternalLinkage);
}

// What the functions of a module become, before it is lowered to LLVM.
struct WrittenProgram {
  std::unique_ptr<llvm::TargetMachine> target;
  OwningOpRef<ModuleOp> kernels;
  std::string plan;
  std::vector<std::string> kernelSymbols;
};

FailureOr<WrittenProgram> writeProgram(ModuleOp module, const TargetOptions& options, const ProgramFacts& facts) {
  FailureOr<std::unique_ptr<llvm::TargetMachine>> target = makeTargetMachine(module.getLoc(), options);
  if (failed(target)) return failure();
  DialectRegistry registry;
  registerKernelDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  module.getContext()->loadAllAvailableDialects();
  WrittenProgram written{std::move(*target), ModuleOp::create(module.getLoc()), {}, {}};
  ProgramWriter writer(module, *written.kernels);
  if (failed(writer.run(facts, *written.target))) return failure();
  written.plan = writer.plan().write();
  written.kernelSymbols = writer.kernelSymbols().vec();
  return written;
}

}  // namespace

FailureOr<std::string> planOf(ModuleOp module, const TargetOptions& options, const ProgramFacts& facts) {
  FailureOr<WrittenProgram> written = writeProgram(module, options, facts);
  if (failed(written)) return failure();
  return std::move(written->plan);
}

FailureOr<CompiledProgram> compileProgram(ModuleOp module, const TargetOptions& options, const ProgramFacts& facts) {
  FailureOr<WrittenProgram> written = writeProgram(module, options, facts);
  if (failed(written)) return failure();
  CompiledProgram program;
  program.context = std::make_unique<llvm::LLVMContext>();
  program.target = std::move(written->target);
  FailureOr<std::unique_ptr<llvm::Module>> lowered = lowerToLLVM(*written->kernels, *program.context, *program.target);
  if (failed(lowered)) return failure();
  program.module = std::move(*lowered);
  program.plan = std::move(written->plan);
  program.symbol = facts.symbol;
  addProgram(*program.module, program.plan, written->kernelSymbols, facts.symbol);
  return program;
}

}  // namespace mxc::codegen
