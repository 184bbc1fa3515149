// Kernels written as MLIR text are lowered, loaded and run; the witness is libm in double.
#include "codegen/lower_kernels.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "mlir/Parser/Parser.h"
#include "llvm/Support/Memory.h"
#include "llvm/Support/Process.h"
#include "gtest/gtest.h"
#include "tests/compiler/codegen/jit.h"

namespace mxc::codegen {
namespace {

using namespace mlir;

struct Compiled {
  std::string object, assembly, text;
};

class LowerKernels : public testing::Test {
 protected:
  LowerKernels() {
    DialectRegistry registry;
    registerKernelDialects(registry);
    context_.appendDialectRegistry(registry);
  }
  // Parses `source`, compiles it for `options`.
  FailureOr<Compiled> compile(const std::string& source, const TargetOptions& options = {}) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context_);
    if (!module) return failure();
    auto target = makeTargetMachine(module->getLoc(), options);
    if (failed(target)) return failure();
    llvm::LLVMContext llvmContext;
    auto llvmModule = lowerToLLVM(*module, llvmContext, **target);
    if (failed(llvmModule)) return failure();
    Compiled result;
    result.text = emit(**llvmModule, **target, Format::llvm);
    result.assembly = emit(**llvmModule, **target, Format::assembly);
    result.object = emit(**llvmModule, **target, Format::object);
    return result;
  }
  MLIRContext context_;
};

// A kernel y[i] = op(x[i]) for `count` elements, `lanes` at a time.
std::string unaryKernel(const std::string& name, const std::string& op, const std::string& element, int lanes) {
  std::string type = lanes == 1 ? element : "vector<" + std::to_string(lanes) + "x" + element + ">";
  return "func.func @" + name + R"((%args: !llvm.ptr, %n: i64, %begin: i64, %end: i64) {
    %c1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %y = llvm.load %c1 : !llvm.ptr -> !llvm.ptr
    %b = arith.index_cast %begin : i64 to index
    %e = arith.index_cast %end : i64 to index
    %step = arith.constant )" + std::to_string(lanes) + R"( : index
    scf.for %i = %b to %e step %step {
      %at = arith.index_cast %i : index to i64
      %px = llvm.getelementptr %x[%at] : (!llvm.ptr, i64) -> !llvm.ptr, )" + element + R"(
      %py = llvm.getelementptr %y[%at] : (!llvm.ptr, i64) -> !llvm.ptr, )" + element + R"(
      %v = llvm.load %px : !llvm.ptr -> )" + type + "\n      %r = " + op + " %v : " + type + R"(
      llvm.store %r, %py : )" + type + R"(, !llvm.ptr
    }
    return
  }
)";
}

struct Function {
  const char* op;
  double (*witness)(double);
  double lo, hi;
  double relative, absolute;  // |error| <= relative * |value| + absolute
};

// The bounds are those of single precision polynomials of the Cephes kind: some units in the last place (2^-23 = 1.2e-7).
const Function kFunctions[] = {
    {"math.exp", std::exp, -87, 88, 4e-7, 0},
    {"math.log", std::log, 1e-30, 1e30, 4e-7, 1e-7},
    {"math.log", std::log, 0.5, 2, 4e-7, 0},
    {"math.log1p", std::log1p, -0.99, 1e6, 4e-7, 0},
    {"math.expm1", std::expm1, -20, 80, 4e-7, 0},
    {"math.tanh", std::tanh, -20, 20, 6e-7, 0},
    {"math.erf", std::erf, -6, 6, 6e-7, 0},
    {"math.sin", std::sin, -1e5, 1e5, 2.4e-7, 0},
    {"math.cos", std::cos, -1e5, 1e5, 2.4e-7, 0},
    {"math.sqrt", std::sqrt, 0, 1e30, 6e-8, 0},
};

TEST_F(LowerKernels, MathAgreesWithLibmAndVectorsWithScalars) {
  std::string source;
  for (const Function& f : kFunctions) {
    std::string name = std::string(f.op).substr(5);
    if (&f != kFunctions && std::string(f.op) == (&f)[-1].op) continue;
    source += unaryKernel(name + "_v", f.op, "f32", 16) + unaryKernel(name + "_s", f.op, "f32", 1) + unaryKernel(name + "_d", f.op, "f64", 8);
  }
  auto compiled = compile(source);
  ASSERT_TRUE(succeeded(compiled));
  Jit jit(compiled->object);
  std::mt19937 random(1);
  for (const Function& f : kFunctions) {
    std::string name = std::string(f.op).substr(5);
    constexpr int kCount = 1 << 14;
    std::vector<float> x(kCount), v(kCount), s(kCount);
    std::vector<double> xd(kCount), vd(kCount);
    std::uniform_real_distribution<double> uniform(f.lo, f.hi), tiny(-1, 1);
    for (int i = 0; i < kCount; ++i) {
      // Half over the whole range, half near zero where that is inside.
      double value = i % 2 == 0 || f.lo > 0 ? uniform(random) : tiny(random) * std::pow(10.0, -(i % 7));
      if (value < f.lo) value = -value;
      if (f.lo >= 0) value = std::abs(value);
      xd[i] = x[i] = static_cast<float>(value);
    }
    void* av[] = {x.data(), v.data()};
    void* as[] = {x.data(), s.data()};
    void* ad[] = {xd.data(), vd.data()};
    jit.kernel(name + "_v")(av, 0, 0, kCount);
    jit.kernel(name + "_s")(as, 0, 0, kCount);
    jit.kernel(name + "_d")(ad, 0, 0, kCount);
    EXPECT_EQ(0, std::memcmp(v.data(), s.data(), kCount * sizeof(float))) << name;
    double worst = 0, at = 0;
    for (int i = 0; i < kCount; ++i) {
      double want = f.witness(xd[i]), error = std::abs(v[i] - want) / (f.relative * std::abs(want) + f.absolute + 1e-45);
      if (error > worst) worst = error, at = xd[i];
      ASSERT_NEAR(vd[i], want, 1e-15 * std::abs(want) + 1e-300) << name << " at " << xd[i];
    }
    EXPECT_LE(worst, 1) << name << " at " << at << ": " << f.witness(at);
  }
}

TEST_F(LowerKernels, NanAndInfinity) {
  std::string source;
  const char* names[] = {"exp", "log", "log1p", "tanh", "erf", "expm1"};
  double (*witness[])(double) = {std::exp, std::log, std::log1p, std::tanh, std::erf, std::expm1};
  for (const char* name : names) source += unaryKernel(name, std::string("math.") + name, "f32", 16);
  auto compiled = compile(source);
  ASSERT_TRUE(succeeded(compiled));
  Jit jit(compiled->object);
  for (int k = 0; k < 6; ++k) {
    float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    float x[16] = {nan, inf, -inf, 0, -0.0f, 1e30f, -1e30f, 200, -200, 100, -100, 88.8f, -110, 1e-37f, -1, 1}, y[16];
    void* args[] = {x, y};
    jit.kernel(names[k])(args, 0, 0, 16);
    for (int i = 0; i < 16; ++i) {
      float want = static_cast<float>(witness[k](x[i]));
      if (std::isnan(want)) EXPECT_TRUE(std::isnan(y[i])) << names[k] << "(" << x[i] << ") = " << y[i];
      else if (std::isinf(want)) EXPECT_EQ(y[i], want) << names[k] << "(" << x[i] << ")";
      else EXPECT_NEAR(y[i], want, 6e-7 * std::abs(want) + 1e-37) << names[k] << "(" << x[i] << ")";
    }
  }
}

// Memory next to a tail is neither read nor written: the array ends at the end of a page that is followed by an unmapped one.
TEST_F(LowerKernels, TailsTouchTheirElementsOnly) {
  std::string source;
  for (int lanes = 1; lanes <= 16; ++lanes) source += unaryKernel("neg" + std::to_string(lanes), "arith.negf", "f32", lanes);
  auto compiled = compile(source);
  ASSERT_TRUE(succeeded(compiled));
  Jit jit(compiled->object);
  std::error_code error;
  size_t page = llvm::sys::Process::getPageSizeEstimate();
  auto block = llvm::sys::Memory::allocateMappedMemory(2 * page, nullptr, llvm::sys::Memory::MF_READ | llvm::sys::Memory::MF_WRITE, error);
  ASSERT_FALSE(error);
  char* base = static_cast<char*>(block.base());
  llvm::sys::MemoryBlock guard(base + page, page);
  ASSERT_FALSE(llvm::sys::Memory::protectMappedMemory(guard, llvm::sys::Memory::MF_READ));
  for (int lanes = 1; lanes <= 16; ++lanes) {
    // Results end at the page boundary; a store beyond it faults. What lies before is checked.
    float* y = reinterpret_cast<float*>(base + page) - lanes;
    y[-1] = 77;
    std::vector<float> x(lanes, 3);
    void* args[] = {x.data(), y};
    jit.kernel("neg" + std::to_string(lanes))(args, 0, 0, lanes);
    EXPECT_EQ(y[-1], 77);
    for (int i = 0; i < lanes; ++i) EXPECT_EQ(y[i], -3);
  }
  llvm::sys::Memory::releaseMappedMemory(block);
}

TEST_F(LowerKernels, MultiplicationAndAdditionAreNotContracted) {
  auto compiled = compile(R"(
    func.func @muladd(%args: !llvm.ptr, %n: i64, %begin: i64, %end: i64) {
      %a = llvm.load %args : !llvm.ptr -> vector<16xf32>
      %b = arith.mulf %a, %a : vector<16xf32>
      %c = arith.addf %b, %a : vector<16xf32>
      llvm.store %c, %args : vector<16xf32>, !llvm.ptr
      return
    })", {"x86_64-unknown-linux-gnu", "x86-64-v3", 3});
  ASSERT_TRUE(succeeded(compiled));
  EXPECT_EQ(compiled->assembly.find("vfmadd"), std::string::npos);
  EXPECT_NE(compiled->text.find("align 4"), std::string::npos);
}

TEST_F(LowerKernels, OtherTargets) {
  auto compiled = compile(unaryKernel("e", "math.exp", "f32", 16), {"aarch64-unknown-linux-gnu", "generic", 2});
  ASSERT_TRUE(succeeded(compiled));
  EXPECT_NE(compiled->assembly.find("fmla"), std::string::npos);
}

TEST_F(LowerKernels, UnknownTargetsAreErrors) {
  std::string message;
  ScopedDiagnosticHandler handler(&context_, [&](Diagnostic& d) { message = d.str(); });
  EXPECT_TRUE(failed(makeTargetMachine(UnknownLoc::get(&context_), {"pdp11-dec", "", 2})));
  EXPECT_EQ(message, "unknown target 'pdp11-dec'");
  EXPECT_TRUE(failed(makeTargetMachine(UnknownLoc::get(&context_), {"x86_64-unknown-linux-gnu", "z80", 2})));
  EXPECT_EQ(message, "unknown cpu 'z80' for target 'x86_64-unknown-linux-gnu'");
}

}  // namespace
}  // namespace mxc::codegen
