// One op compiled for this machine as its kernel stands alone, for tests and benchmarks of code generation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mxc {

// An operand or result. Batch: the axis that carries the run-time batch, -1 for none.
struct OpTensor {
  std::vector<int64_t> dims;
  int batch = -1;
};

// How a tensor lies in memory, in elements; the op's own wish.
struct Placement {
  std::vector<int64_t> dims, strides;
  int64_t blockAxis = -1, block = 0, elements = 0;
  // The place of the element with these logical indices.
  int64_t at(const std::vector<int64_t>& index) const;
};

struct OpCase {
  std::string op;          // "conv2d"
  std::string attributes;  // "filters = 8 : i64, ..."
  std::vector<OpTensor> operands;
  OpTensor result;
  std::string element = "f32";
  std::string after;       // an elementwise op that is fused behind it: "tanh"; empty: none
  std::string windows;     // attributes of a max_pool that is fused behind that and whose output is the program's result; empty: none
  OpTensor pooled = {};    // that output
  bool wished = true;      // layouts as the op wishes; false: row-major
  int registerBytes = 0, registers = 0;  // of the vector unit that tiles are made for; 0: this machine's
};

class OpProgram {
 public:
  // Compiles; null if something failed (said on stderr).
  static std::unique_ptr<OpProgram> compile(const OpCase& c);
  virtual ~OpProgram() = default;
  virtual const Placement& operand(size_t i) const = 0;
  virtual const Placement& result() const = 0;
  virtual const std::string& assembly() const = 0;
  // The result of `arguments` (operands, then the result) with batch n. The grid is cut into `parts` pieces, run last to first.
  virtual void run(const std::vector<void*>& arguments, int64_t n, int parts = 1) const = 0;
  // One piece of it, for one of the kernels that the op may be.
  virtual void runPiece(const std::vector<void*>& arguments, int64_t n, size_t kernel, int part, int parts) const = 0;
  virtual size_t kernels() const = 0;
  virtual int64_t cells(int64_t n) const = 0;
};

}  // namespace mxc
