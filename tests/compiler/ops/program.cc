// See program.h.
#include "tests/compiler/ops/program.h"

#include <cstring>

#include "codegen/compile.h"
#include "gtest/gtest.h"
#include "passes/pipeline.h"

using namespace mlir;

namespace mxc::ops_test {
namespace {

// Names and roles, as build-graphs gives them. What has no batch axis is a parameter, so that it may be packed.
void nameArguments(func::FuncOp function) {
  Builder b(function.getContext());
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    TensorType type = rankedType(argument);
    bool parameter = batchAxis(type) < 0 && isa<FloatType>(type.getElementType());
    function.setArgAttr(i, "mx.name", b.getStringAttr("x" + std::to_string(i)));
    function.setArgAttr(i, "mx.role", b.getStringAttr(parameter ? "parameter" : "input"));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    function.setResultAttr(i, "mx.name", b.getStringAttr("y" + std::to_string(i)));
    function.setResultAttr(i, "mx.role", b.getStringAttr("output"));
  }
}

// The byte of an element in a buffer.
int64_t byteOf(const plan::Buffer& buffer, const Place& p) {
  int64_t offset = 0, stride = buffer.block_axis >= 0 ? buffer.block : 1;
  for (int i = buffer.rank - 1; i >= 0; --i) {
    int axis = buffer.order[i];
    bool blocked = axis == buffer.block_axis;
    offset += (blocked ? p[axis] / buffer.block : p[axis]) * stride + (blocked ? p[axis] % buffer.block : 0);
    stride *= blocked ? (buffer.dims[axis] + buffer.block - 1) / buffer.block : buffer.dims[axis];
  }
  return offset * core::dtype_bytes(buffer.dtype);
}

void write(const plan::Buffer& buffer, char* memory, const Array& a) {
  std::memset(memory, 0xff, buffer.bytes);
  for (int64_t i = 0; i < a.size(); ++i) core::write_scalar(buffer.dtype, memory + byteOf(buffer, a.place(i)), a.data[i]);
}

Array read(const plan::Buffer& buffer, const char* memory, int64_t n) {
  Dims dims;
  for (int axis = 0; axis < buffer.rank; ++axis) dims.push_back(core::extent(buffer, axis, n));
  return tabulate(dims, [&](const Place& p) { return core::read_scalar(buffer.dtype, memory + byteOf(buffer, p)); });
}

}  // namespace

std::unique_ptr<Program> Program::compile(Graph& graph, const std::vector<std::string>& disabled) {
  nameArguments(graph.function);
  PipelineOptions options;
  options.lanes = graph.wide ? 8 : 16;
  options.disabled = disabled;
  for (const char* pass : {"layout", "fuse", "schedule", "plan-memory"})
    if (failed(runPass(*findPass(pass), *graph.module, options))) return nullptr;
  auto program = std::make_unique<Program>();
  program->arguments_ = graph.function.getNumArguments();
  program->results_ = graph.function.getNumResults();
  FailureOr<codegen::CompiledProgram> compiled = codegen::compileProgram(*graph.module, {}, {});
  if (failed(compiled)) return nullptr;
  program->jit_ = std::make_unique<Jit>(compiled->emit(codegen::Format::object));
  program->program_ = program->jit_->address<const plan::Program>("mxc_program");
  core::Status status = core::PlanView::open(*program->program_, &program->view_);
  if (status.ok()) return program;
  ADD_FAILURE() << status.text;
  return nullptr;
}

Arrays Program::run(const Arrays& arguments, int64_t n, int threads) {
  core::Storage storage;
  core::Executor executor;
  core::ThreadPool pool;
  EXPECT_TRUE(core::ThreadPool::create(threads, &pool).ok());
  EXPECT_TRUE(core::Storage::create(view_, &storage).ok());
  if (uint64_t bytes = view_.devices()[0].arena_bytes) std::memset(storage.base(plan::Space::arena, 0), 0xff, bytes);
  if (uint64_t bytes = view_.devices()[0].io_bytes) std::memset(storage.base(plan::Space::io, 0), 0xff, bytes);
  auto memory = [&](const plan::Buffer& buffer) { return static_cast<char*>(storage.address(buffer)); };
  for (size_t i = 0; i < arguments_; ++i) {
    const plan::Buffer& buffer = view_.buffer(view_.find_buffer(("x" + std::to_string(i)).c_str()));
    write(buffer, memory(buffer), arguments[i]);
  }
  core::Status status = core::Executor::create(*program_, view_, 0, storage, &pool, &executor);
  EXPECT_TRUE(status.ok()) << status.text;
  status = executor.run(n);
  EXPECT_TRUE(status.ok()) << status.text;
  Arrays results;
  for (size_t i = 0; i < results_; ++i) {
    const plan::Graph& graph = view_.graph(0);
    uint32_t output = view_.find_output(graph, ("y" + std::to_string(i)).c_str());
    const plan::Buffer& buffer = view_.buffer(view_.outputs(graph)[output].buffer);
    results.push_back(read(buffer, memory(buffer), n));
  }
  return results;
}

}  // namespace mxc::ops_test
