// Random graphs with their memory shared, against the same graphs with every value at a place of its own: bit for bit.
//
// A few kernels are compiled once; a graph strings them together at random, with views, donated states and several results. Each way of
// sharing gets its plan and is run. Plans are then spoiled at random: what the verifier lets pass must still compute the same.
#include <cstring>
#include <random>

#include "codegen/cpu/kernel_builder.h"
#include "codegen/lower_kernels.h"
#include "gtest/gtest.h"
#include "ir/mx.h"
#include "ir/ops/shape.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/overwrite.h"
#include "passes/pipeline.h"
#include "passes/verify_memory.h"
#include "tests/compiler/codegen/jit.h"

namespace mxc {
namespace {

using namespace mlir;
using Bytes = std::vector<char>;

// Each function becomes a kernel, or several.
constexpr const char* kSource = R"(
!a = tensor<8x16xf32>
!t = tensor<16x8xf32>
!h = tensor<4x16xf32>
!v = tensor<16xf32>
!f = tensor<128xf32>
func.func @relu(%x: !a) -> !a { %y = mx.relu %x : (!a) -> !a  return %y : !a }
func.func @tanh(%x: !f) -> !f { %y = mx.tanh %x : (!f) -> !f  return %y : !f }
func.func @add(%x: !a, %z: !a) -> !a { %y = mx.add %x, %z : (!a, !a) -> !a  return %y : !a }
func.func @halves(%x: !h, %z: !h) -> !h { %y = mx.sub %x, %z : (!h, !h) -> !h  return %y : !h }
func.func @scale(%x: !a, %z: !v) -> !a { %y = mx.mul %x, %z : (!a, !v) -> !a  return %y : !a }
func.func @two(%x: !a, %z: !a) -> (!a, !a) {
  %y = mx.mul %x, %z : (!a, !a) -> !a
  %w = mx.sigmoid %y : (!a) -> !a
  return %y, %w : !a, !a
}
func.func @dense(%x: !a, %w: tensor<16x16xf32>) -> !a { %y = mx.dense %x, %w {units = 16 : i64} : (!a, tensor<16x16xf32>) -> !a  return %y : !a }
func.func @transpose(%x: !a) -> !t { %y = mx.transpose %x : (!a) -> !t  return %y : !t }
func.func @back(%x: !t) -> !a { %y = mx.transpose %x : (!t) -> !a  return %y : !a }
func.func @softmax(%x: !a) -> !a { %y = mx.softmax %x : (!a) -> !a  return %y : !a }
func.func @slice(%x: !a) -> !h { %y = mx.slice %x {begin = array<i64: 2>, end = array<i64: 6>} : (!a) -> !h  return %y : !h }
func.func @concat(%x: !h, %z: !h) -> !a { %y = mx.concat %x, %z {axis = 0 : i64} : (!h, !h) -> !a  return %y : !a }
func.func @sum(%x: !a) -> !v { %y = mx.reduce_sum %x {axes = array<i64: 0>} : (!a) -> !v  return %y : !v }
)";

class Library {
 public:
  Library() {
    DialectRegistry registry;
    codegen::registerKernelDialects(registry);
    registry.insert<mx::MxDialect, func::FuncDialect>();
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    source_ = parseSourceString<ModuleOp>(kSource, context.get());
    EXPECT_TRUE(source_ && succeeded(runPass(*findPass("fuse"), *source_, {})));
    compile();
  }

  struct Entry {
    mx::KernelOp kernel;
    std::vector<plan::Kernel> functions;
    std::vector<int64_t> cells;
  };
  std::unique_ptr<MLIRContext> context;
  std::vector<Entry> entries;

 private:
  void compile() {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(context.get()));
    auto target = codegen::makeTargetMachine(kernels->getLoc(), {});
    ASSERT_TRUE(succeeded(target));
    std::vector<std::vector<codegen::KernelInfo>> infos;
    source_->walk([&](mx::KernelOp kernel) {
      codegen::CpuKernelBuilder builder(*kernels, kernel, "k" + std::to_string(entries.size()), 16, codegen::vectorUnitOf(**target));
      auto made = builder.run();
      ASSERT_TRUE(succeeded(made));
      infos.push_back(*made);
      entries.push_back({kernel, {}, {}});
    });
    llvm::LLVMContext llvmContext;
    auto llvmModule = codegen::lowerToLLVM(*kernels, llvmContext, **target);
    ASSERT_TRUE(succeeded(llvmModule));
    jit_ = std::make_unique<Jit>(codegen::emit(**llvmModule, **target, codegen::Format::object));
    for (size_t i = 0; i < entries.size(); ++i)
      for (const codegen::KernelInfo& info : infos[i]) {
        entries[i].functions.push_back(jit_->kernel(info.symbol));
        entries[i].cells.push_back(info.gridCells);
      }
  }

  OwningOpRef<ModuleOp> source_;
  std::unique_ptr<Jit> jit_;
};

class RandomGraph {
 public:
  RandomGraph(Library& library, uint64_t seed) : library_(library), random_(seed), builder_(library.context.get()) { build(); }

  // Plans (and orders, if the seed says so) a copy.
  OwningOpRef<ModuleOp> planned(MemoryPlan plan) {
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module_->clone());
    PipelineOptions options;
    options.memoryPlan = plan;
    if (ordered_) EXPECT_TRUE(succeeded(runPass(*findPass("schedule"), *copy, options)));
    EXPECT_TRUE(succeeded(runPass(*findPass("plan-memory"), *copy, options)));
    return copy;
  }

  // The function's results, one behind the other, of a planned copy.
  Bytes run(ModuleOp planned) {
    func::FuncOp function = *planned.getOps<func::FuncOp>().begin();
    arena_.assign(function->getAttrOfType<IntegerAttr>("mx.arena_bytes").getInt(), '\xff');
    arguments_.clear();
    results_.clear();
    std::mt19937 values(7);
    for (Type type : function.getArgumentTypes()) {
      Bytes& bytes = arguments_.emplace_back(bytesOf(cast<TensorType>(type)));
      for (size_t i = 0; i < bytes.size() / 4; ++i) reinterpret_cast<float*>(bytes.data())[i] = static_cast<float>(values() % 2001) / 1000 - 1;
    }
    for (Type type : function.getResultTypes()) results_.emplace_back(bytesOf(cast<TensorType>(type)));
    for (auto kernel : function.getOps<mx::KernelOp>()) step(kernel);
    Bytes all;
    for (OpOperand& operand : function.getBody().front().getTerminator()->getOpOperands()) {
      auto donates = function.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "mx.donates");
      const Bytes& bytes = donates ? arguments_[donates.getInt()] : results_[operand.getOperandNumber()];
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

 private:
  size_t below(size_t n) { return random_() % n; }

  void build() {
    ordered_ = below(2) == 0;
    module_ = ModuleOp::create(UnknownLoc::get(library_.context.get()));
    builder_.setInsertionPointToEnd(module_->getBody());
    auto type = [&](ArrayRef<int64_t> dims) { return RankedTensorType::get(dims, builder_.getF32Type()); };
    SmallVector<Type> arguments = {type({8, 16}), type({8, 16}), type({8, 16}), type({16, 16}), type({16}), type({4, 16})};
    auto function = builder_.create<func::FuncOp>(module_->getLoc(), "f", builder_.getFunctionType(arguments, {}));
    builder_.setInsertionPointToStart(function.addEntryBlock());
    for (Value argument : function.getArguments()) known_[argument.getType()].push_back(argument);
    for (size_t steps = 3 + below(40); steps > 0; --steps) addKernel();
    finish(function);
  }

  // A value of the type, one of the latest more often; null if there is none. Matrices and rows of 128 are views of each other.
  Value any(Type type) {
    auto pick = [&](const std::vector<Value>& values) { return values[values.size() - 1 - below(below(2) ? std::min<size_t>(values.size(), 4) : values.size())]; };
    auto shape = cast<RankedTensorType>(type).getShape();
    bool row = shape == ArrayRef<int64_t>{128}, matrix = shape == ArrayRef<int64_t>{8, 16};
    auto other = RankedTensorType::get(row ? ArrayRef<int64_t>{8, 16} : ArrayRef<int64_t>{128}, builder_.getF32Type());
    (void)known_[other];  // both are there: references stay
    const std::vector<Value>& same = known_[type];
    if ((row || matrix) && !known_[other].empty() && (same.empty() || below(4) == 0))
      return make<mx::ReshapeOp>(builder_, builder_.getUnknownLoc(), {pick(known_[other])},
                                 builder_.getNamedAttr("shape", builder_.getDenseI64ArrayAttr(shape)));
    return same.empty() ? Value() : pick(same);
  }

  void addKernel() {
    size_t number = below(library_.entries.size());
    mx::KernelOp kernel = library_.entries[number].kernel;
    SmallVector<Value> operands;
    for (Value input : kernel.getInputs()) {
      operands.push_back(any(input.getType()));
      if (!operands.back()) return;
    }
    Operation* copy = builder_.clone(*kernel);
    copy->setOperands(operands);
    copy->setAttr("test.kernel", builder_.getI64IntegerAttr(number));
    for (Value result : copy->getResults()) known_[result.getType()].push_back(result);
  }

  // Some values are results; up to two of the matrices among the arguments are states that take new values.
  void finish(func::FuncOp function) {
    SmallVector<Value> results;
    SmallVector<Type> types;
    SmallVector<std::pair<unsigned, int64_t>> donations;
    auto add = [&](Value value) {
      results.push_back(value);
      types.push_back(value.getType());
    };
    for (int64_t state = 0; state < static_cast<int64_t>(below(3)); ++state) {
      donations.push_back({results.size(), state});
      add(any(function.getArgument(state).getType()));
    }
    for (auto& [type, values] : known_)
      if (!values.empty() && below(2)) add(values[below(values.size())]);
    builder_.create<func::ReturnOp>(builder_.getUnknownLoc(), results);
    function.setType(builder_.getFunctionType(function.getArgumentTypes(), types));
    for (auto [result, state] : donations) function.setResultAttr(result, "mx.donates", builder_.getI64IntegerAttr(state));
  }

  char* address(mx::PlaceAttr place) {
    if (place.getSpace() == "arena") return arena_.data() + place.getAt();
    return (place.getSpace() == "argument" ? arguments_ : results_)[place.getAt()].data();
  }
  char* address(Value value) {
    Value root = passes::memoryRoot(value);
    if (auto argument = dyn_cast<BlockArgument>(root)) return arguments_[argument.getArgNumber()].data();
    auto result = cast<OpResult>(root);
    return address(cast<mx::PlaceAttr>(result.getOwner()->getAttrOfType<ArrayAttr>("mx.places")[result.getResultNumber()]));
  }

  void step(mx::KernelOp kernel) {
    std::vector<void*> addresses;
    for (Value input : kernel.getInputs()) addresses.push_back(address(input));
    for (Value result : kernel.getResults()) addresses.push_back(address(result));
    auto number = kernel->getAttrOfType<IntegerAttr>("test.kernel");
    if (!number) {  // a copy that the planner made
      std::memmove(addresses[1], addresses[0], bytesOf(rankedType(kernel.getResult(0))));
      return;
    }
    const Library::Entry& entry = library_.entries[number.getInt()];
    for (size_t i = 0; i < entry.functions.size(); ++i) entry.functions[i](addresses.data(), 1, 0, entry.cells[i]);
  }

  Library& library_;
  std::mt19937_64 random_;
  OpBuilder builder_;
  OwningOpRef<ModuleOp> module_;
  bool ordered_ = false;
  llvm::MapVector<Type, std::vector<Value>> known_;
  Bytes arena_;
  std::vector<Bytes> arguments_, results_;
};

// Puts one value of the arena where another lies. False if there are not two.
bool spoil(ModuleOp planned, std::mt19937_64& random) {
  SmallVector<std::pair<Operation*, unsigned>> inArena;
  planned.walk([&](mx::KernelOp kernel) {
    auto places = kernel->getAttrOfType<ArrayAttr>("mx.places");
    for (unsigned i = 0; i < places.size(); ++i)
      if (cast<mx::PlaceAttr>(places[i]).getSpace() == "arena") inArena.push_back({kernel, i});
  });
  if (inArena.size() < 2) return false;
  auto [to, toResult] = inArena[random() % inArena.size()];
  auto [from, fromResult] = inArena[random() % inArena.size()];
  SmallVector<Attribute> places(to->getAttrOfType<ArrayAttr>("mx.places").getValue());
  Attribute other = from->getAttrOfType<ArrayAttr>("mx.places")[fromResult];
  if (places[toResult] == other) return false;
  places[toResult] = other;
  to->setAttr("mx.places", ArrayAttr::get(to->getContext(), places));
  return true;
}

void compare(uint64_t graphs) {
  Library library;
  uint64_t saved = 0, rejected = 0, accepted = 0;
  for (uint64_t seed = 0; seed < graphs; ++seed) {
    SCOPED_TRACE("graph " + std::to_string(seed));
    RandomGraph graph(library, seed);
    OwningOpRef<ModuleOp> apart = graph.planned(MemoryPlan::naive);
    const Bytes expected = graph.run(*apart);
    auto function = [](ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); };
    auto arena = [&](ModuleOp module) { return function(module)->getAttrOfType<IntegerAttr>("mx.arena_bytes").getInt(); };
    for (MemoryPlan plan : {MemoryPlan::inplace, MemoryPlan::coshare, MemoryPlan::both}) {
      OwningOpRef<ModuleOp> shared = graph.planned(plan);
      ASSERT_TRUE(succeeded(passes::verifyMemory(function(*shared))));
      ASSERT_EQ(graph.run(*shared), expected);
      if (plan == MemoryPlan::both) saved += arena(*shared) < arena(*apart);
    }
    OwningOpRef<ModuleOp> spoiled = graph.planned(MemoryPlan::both);
    std::mt19937_64 random(seed);
    if (!spoil(*spoiled, random)) continue;
    ScopedDiagnosticHandler quiet(library.context.get(), [](Diagnostic&) { return success(); });
    if (failed(passes::verifyMemory(function(*spoiled)))) {
      ++rejected;
    } else {
      ++accepted;
      ASSERT_EQ(graph.run(*spoiled), expected) << "the verifier let a wrong plan pass";
    }
  }
  EXPECT_GT(saved, graphs / 2);  // the graphs are such that there is something to share,
  EXPECT_GT(rejected, graphs / 4);  // to spoil,
  EXPECT_GT(accepted, 0u);          // and to move without harm
}

TEST(RandomPlans, FiveHundred) { compare(500); }
TEST(RandomPlansLong, TenThousand) { compare(10000); }

}  // namespace
}  // namespace mxc
