// What wrong operands and attributes get: one message each.
#include "gtest/gtest.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tests/compiler/ops/graph.h"

namespace mxc::ops_test {
namespace {

using namespace mlir;

struct WrongUse {
  std::string op, attributes;
  std::vector<Input> inputs;
  std::string message;  // behind "'mx.op' op "
  unsigned results = 1;
};

std::vector<WrongUse> wrongUses() {
  const std::string conv = "filters = 4 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>, pad = array<i64: 0, 0>, dilation = array<i64: 1, 1>";
  const std::string deconv = "filters = 4 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>, pad = array<i64: 2, 2>, dilation = array<i64: 1, 1>";
  const std::string pool = "stride = array<i64: 1, 1>, ceil_mode = false";
  return {
      {"add", "", {real({kN, 3}), real({kN, 4})}, "shapes 4x3 and 4x4 do not broadcast"},
      {"add", "", {real({kN, 3}), real({4, 3})}, "axis 0 of 4x3 and 4x3 is the batch in one and a fixed size in the other"},
      {"mul", "", {real({kN, 3}), integers({kN, 3}, 2)}, "mixes element types 'f32' and 'i32'"},
      {"dense", "units = 5 : i64", {real({kN, 2, 3}), real({5, 3})}, "expects a 2-D input, got 4x2x3"},
      {"dense", "units = 0 : i64", {real({kN, 3}), real({5, 3})}, "needs at least one unit, got 0"},
      {"dense", "units = 5 : i64", {real({kN, 3}), real({5, 4})}, "needs a parameter of shape 5x3, but operand 1 is 5x4"},
      {"matmul", "", {real({kN, 3}), real({4, 5})}, "inner sizes differ: 4x3 times 4x5"},
      {"exp", "", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"pow", "", {integers({kN, 3}, 2, Kind::boolean), integers({kN, 3}, 2, Kind::boolean)}, "expects numbers, got booleans"},
      {"modulo", "", {integers({kN, 3}, 2, Kind::boolean), integers({kN, 3}, 2, Kind::boolean)}, "expects numbers, got booleans"},
      {"leaky_relu", "", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"elu", "", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"add", "", {integers({kN, 3}, 2, Kind::boolean), integers({kN, 3}, 2, Kind::boolean)}, "expects numbers, got booleans"},
      {"reduce_sum", "", {integers({kN, 3}, 2, Kind::boolean)}, "expects numbers, got booleans"},
      {"dense", "units = -1 : i64", {real({kN, 3}), real({5, 3})}, "needs at least one unit, got -1"},
      {"dense", "units = 4 : i64", {real({kN, 4}), real({kN, 4})}, "needs a parameter, but operand 1 has a batch axis"},
      {"matmul", "", {real({kN, 3}), real({3, kN})}, "would have the batch on two axes of its result"},
      {"matmul", "", {integers({kN, 3}, 2), integers({3, 5}, 2)}, "expects floating-point inputs, got 'i32'"},
      {"matmul", "", {real({3}), real({3, 5})}, "expects at least 2-D inputs, got 3 and 3x5"},
      {"conv2d", conv, {real({kN, 2, 2, 5}), real({4, 2, 3, 3})}, "kernel of 3 (dilated) is larger than the padded input of 2"},
      {"conv2d", "filters = 4 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>, pad = array<i64: 2, 3>, dilation = array<i64: 1, 1>",
       {real({kN, 2, 5, 5}), real({4, 2, 3, 3})}, "pad 3 must be smaller than the kernel 3"},
      {"conv2d", "filters = 4 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>, pad = array<i64: 4, 5>, dilation = array<i64: 2, 2>",
       {real({kN, 2, 5, 5}), real({4, 2, 3, 3})}, "pad 5 must be smaller than the kernel 5 (dilated)"},
      {"conv2d_transpose",
       "filters = 4 : i64, kernel = array<i64: 3, 3>, stride = array<i64: 1, 1>, pad = array<i64: 3, 0>, dilation = array<i64: 1, 1>, extra = array<i64: 0, 0>",
       {real({kN, 2, 9, 9}), real({2, 4, 3, 3})}, "pad 3 must be smaller than the kernel 3"},
      {"conv2d", conv + ", groups = 3 : i64", {real({kN, 2, 5, 5}), real({4, 2, 3, 3})}, "3 groups do not divide 2 channels and 4 filters"},
      {"max_pool", "kernel = array<i64: 2, 2>, pad = array<i64: 2, 0>, " + pool, {real({kN, 1, 4, 4})}, "pad 2 must be smaller than the kernel 2", 2},
      {"avg_pool", "kernel = array<i64: 9, 2>, pad = array<i64: 0, 0>, " + pool, {real({kN, 1, 4, 4})}, "kernel of 9 is larger than the padded input of 4"},
      {"global_avg_pool", "", {real({kN, 3})}, "expects a 4-D input, got 4x3"},
      {"reduce_sum", "axes = array<i64: 2>", {real({kN, 3})}, "axis 2 is out of range for a 2-D input"},
      {"reduce_sum", "axes = array<i64: 1, -1>", {real({kN, 3})}, "names axis -1 twice"},
      {"reshape", "shape = array<i64: 0, 4>", {real({kN, 3})}, "cannot reshape 4x3 (12 elements) to 4x4"},
      {"reshape", "shape = array<i64: -1, -1>", {real({kN, 3})}, "has more than one -1 in its shape"},
      {"reshape", "shape = array<i64: 2, 6>", {real({kN, 3})}, "cannot reshape 4x3 to 2x6: the batch axis would be torn apart"},
      {"squeeze", "axes = array<i64: 1>", {real({kN, 3})}, "cannot drop axis 1 of 4x3: its size is not 1"},
      {"squeeze", "axes = array<i64: 0>", {real({kN, 3})}, "cannot drop the batch axis"},
      {"squeeze", "axes = array<i64: 1, -2>", {real({kN, 1, 3})}, "names axis -2 twice"},
      {"expand_dims", "axis = 4 : i64", {real({kN, 3})}, "axis 4 is out of range for a 3-D input"},
      {"transpose", "axes = array<i64: 1, 1>", {real({kN, 3})}, "needs a permutation of 2 axes"},
      {"concat", "axis = 1 : i64", {real({kN, 3, 2}), real({kN, 3, 4})}, "cannot join 4x3x2 and 4x3x4 along axis 1"},
      {"concat", "axis = 0 : i64", {real({kN, 3}), real({kN, 3})}, "cannot run along the batch axis"},
      {"slice", "begin = array<i64: 5>, axes = array<i64: 1>", {real({kN, 3})}, "leaves nothing of axis 1 of 4x3"},
      {"slice", "begin = array<i64: 1>", {real({kN, 3})}, "cannot take part of the batch"},
      {"slice", "begin = array<i64: 0, 1>, axes = array<i64: 1, -1>", {real({kN, 3})}, "names axis -1 twice"},
      {"slice", "begin = array<i64: 0, 1>, end = array<i64: 2>", {real({kN, 3})}, "has lists of different lengths"},
      {"slice", "begin = array<i64: 0>, step = array<i64: 0>, axes = array<i64: 1>", {real({kN, 3})}, "needs a step >= 1, got 0"},
      {"pad", "before = array<i64: 1>, after = array<i64: 1, 0>", {real({kN, 3})}, "needs 2 numbers before and after, got 1 and 2"},
      {"pad", "before = array<i64: 1, 0>, after = array<i64: 0, 0>", {real({kN, 3})}, "cannot pad the batch axis"},
      {"embedding", "vocabulary = 7 : i64, units = 2 : i64", {real({kN}), real({7, 2})}, "expects an integer index, got 'f32'"},
      {"embedding", "vocabulary = 0 : i64, units = 2 : i64", {integers({kN}, 7), real({7, 2})}, "needs vocabulary and units >= 1, got 0 and 2"},
      {"one_hot", "depth = 0 : i64, dtype = f32", {integers({kN}, 7)}, "needs a depth >= 1, got 0"},
      {"softmax", "axis = 0 : i64", {real({kN, 3})}, "cannot run along the batch axis"},
      {"softmax", "axis = 2 : i64", {real({kN, 3})}, "axis 2 is out of range for a 2-D input"},
      {"softmax", "", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"softmax_cross_entropy", "", {real({kN, 3}), real({kN})}, "expects integer labels, got 'f32'"},
      {"softmax_cross_entropy", "", {real({kN, 3}), integers({5}, 3)}, "has 5 labels for 4 rows of logits"},
      {"softmax_cross_entropy", "", {real({kN, 3, 2}), integers({kN}, 3)}, "expects a 2-D input, got 4x3x2"},
      {"top_k_accuracy", "k = 4 : i64", {real({kN, 3}), integers({kN}, 3)}, "needs k in [1, 3], got 4"},
      {"mse_loss", "", {real({kN, 1}), real({kN})}, "expects prediction and target of one shape, got 4x1 and 4"},
      {"mse_loss", "", {real({kN}), integers({kN}, 3)}, "expects floating-point prediction and target, got 'f32' and 'i32'"},
      {"batch_norm", "", {real({kN}), real({4}), real({4}), real({4}), real({4})},
       "expects an input of at least two axes, channels on axis 1, got 4"},
      {"batch_norm", "epsilon = -1.0 : f64", {real({kN, 3}), real({3}), real({3}), real({3}), real({3})}, "needs an epsilon of at least 0, got -1"},
      {"batch_norm", "momentum = 7.0 : f64", {real({kN, 3}), real({3}), real({3}), real({3}), real({3})}, "needs a momentum in [0, 1], got 7"},
      {"batch_norm", "momentum = -0.5 : f64", {real({kN, 3}), real({3}), real({3}), real({3}), real({3})}, "needs a momentum in [0, 1], got -0.5"},
      {"layer_norm", "epsilon = -0.5 : f64", {real({kN, 3}), real({3}), real({3})}, "needs an epsilon of at least 0, got -0.5", 3},
      {"group_norm", "groups = 1 : i64, epsilon = -1.0 : f64", {real({kN, 3, 2}), real({3}), real({3})}, "needs an epsilon of at least 0, got -1"},
      {"instance_norm", "epsilon = -1.0 : f64", {real({kN, 3, 2}), real({3}), real({3})}, "needs an epsilon of at least 0, got -1"},
      {"layer_norm", "", {real({kN}), real({4}), real({4})}, "the batch cannot be the normalised axis", 3},
      {"lrn", "size = 4 : i64", {real({kN, 3, 2})}, "needs an odd size, got 4"},
      {"lrn", "k = 0.0 : f64", {real({kN, 3, 2})}, "needs k > 0 and alpha >= 0"},
      {"lrn", "alpha = -1.0 : f64", {real({kN, 3, 2})}, "needs k > 0 and alpha >= 0"},
      {"lrn", "", {real({kN})}, "expects an input of at least two axes, channels on axis 1, got 4"},
      {"lrn", "", {real({3, kN})}, "the batch cannot be the channels axis"},
      {"lrn", "", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"group_norm", "groups = 2 : i64", {real({kN}), real({4}), real({4})}, "expects an input of at least two axes, channels on axis 1, got 4"},
      {"group_norm", "groups = 2 : i64", {real({kN, 3, 2}), real({3}), real({3})}, "2 groups do not divide 3 channels"},
      {"group_norm", "groups = 2 : i64", {real({3, kN}), real({4}), real({4})}, "the batch must be axis 0"},
      {"instance_norm", "", {real({kN, 3}), real({3}), real({3})}, "expects an input of at least three axes, channels on axis 1, got 4x3"},
      {"instance_norm", "", {integers({kN, 3, 2}, 2), real({3}), real({3})}, "expects a floating-point input, got 'i32'"},
      {"conv2d_transpose", deconv + ", extra = array<i64: 0, 0>", {real({kN, 2, 1, 1}), real({2, 4, 3, 3})}, "leaves an output of size -1"},
      {"conv2d_transpose", deconv + ", extra = array<i64: 0, 1>", {real({kN, 2, 3, 3}), real({2, 4, 3, 3})}, "extra 1 must be smaller than the stride 1"},
      {"conv2d_transpose", deconv + ", extra = array<i64: 0, -1>", {real({kN, 2, 3, 3}), real({2, 4, 3, 3})},
       "needs kernel, stride and dilation >= 1, pad and extra >= 0"},
      {"conv2d_transpose", deconv + ", extra = array<i64: 0, 0>, groups = 3 : i64", {real({kN, 2, 3, 3}), real({2, 4, 3, 3})},
       "3 groups do not divide 2 channels and 4 filters"},
      {"clip", "low = 1.0 : f64, high = 0.0 : f64", {real({kN})}, "needs low <= high, got 1.00 and 0.00"},
      {"where", "", {real({kN}), real({kN}), integers({kN}, 2)}, "mixes element types 'f32' and 'i32'"},
      {"where", "", {real({kN, 3}), real({kN, 4}), real({kN, 4})}, "shapes 4x4 and 4x3 do not broadcast"},
      {"reduce_prod", "axes = array<i64: 0>", {real({kN, 3})}, "cannot run along the batch axis"},
      {"norm", "", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"linear_scan", "axis = 0 : i64", {real({kN, 3}), real({kN, 3})}, "cannot run along the batch axis"},
      {"linear_scan", "axis = 1 : i64", {real({kN, 3}), real({kN, 1})}, "expects factor and term of one shape, got 4x3 and 4x1"},
      {"linear_scan", "axis = 1 : i64", {real({kN, 3}), integers({kN, 3}, 2)}, "expects floating-point factor and term, got 'f32' and 'i32'"},
      {"cumsum", "axis = 0 : i64", {real({kN, 3})}, "cannot run along the batch axis"},
      {"cumprod", "axis = 2 : i64", {real({kN, 3})}, "axis 2 is out of range for a 2-D input"},
      {"cumprod", "axis = 1 : i64", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'"},
      {"split", "parts = 2 : i64", {real({kN, 3})}, "2 parts do not divide axis 1 of 4x3", 2},
      {"split", "parts = 2 : i64, axis = 0 : i64", {real({kN, 3})}, "cannot run along the batch axis", 2},
      {"split", "parts = 3 : i64", {real({kN, 3})}, "has 2 results for 3 parts", 2},
      {"stack", "", {real({kN, 3}), real({kN, 4})}, "cannot stack 4x3 and 4x4"},
      {"stack", "", {real({kN, 3}), integers({kN, 3}, 2)}, "cannot stack 4x3 and 4x3 of 'f32' and 'i32'"},
      {"stack", "axis = 3 : i64", {real({kN, 3}), real({kN, 3})}, "axis 3 is out of range for a 3-D input"},
      {"tile", "repeats = array<i64: 2>", {real({kN, 3})}, "needs 2 numbers of repeats, got 1"},
      {"tile", "repeats = array<i64: 1, 0>", {real({kN, 3})}, "needs repeats >= 1, got 0"},
      {"tile", "repeats = array<i64: 2, 1>", {real({kN, 3})}, "cannot repeat the batch axis"},
      {"take", "", {real({kN, 3}), integers({2}, 3)}, "cannot run along the batch axis"},
      {"take", "axis = 1 : i64", {real({kN, 3}), integers({kN}, 3)}, "has the batch in both operands; gather takes each sample's own places"},
      {"take", "axis = 1 : i64", {real({kN, 3}), real({2})}, "expects an integer index, got 'f32'"},
      {"gather", "axis = 1 : i64", {real({kN, 3, 2}), integers({kN, 2, 3}, 3)},
       "expects an index of the input's sizes but on axis 1, got 4x2x3 for 4x3x2"},
      {"gather", "axis = 0 : i64", {real({kN, 3}), integers({kN, 3}, 3)}, "cannot run along the batch axis"},
      {"argmax", "axis = 0 : i64", {real({kN, 3})}, "cannot run along the batch axis"},
      {"argmin", "axis = 2 : i64", {real({kN, 3})}, "axis 2 is out of range for a 2-D input"},
      {"topk", "k = 4 : i64", {real({kN, 3})}, "needs k in [1, 3], got 4", 2},
      {"topk", "k = 1 : i64", {integers({kN, 3}, 2)}, "expects a floating-point input, got 'i32'", 2},
      {"hinge_loss", "", {real({kN, 3}), real({kN})}, "expects prediction and target of one shape, got 4x3 and 4"},
      {"huber_loss", "delta = 0.0 : f64", {real({kN}), real({kN})}, "needs delta > 0, got 0.00"},
      {"kl_divergence", "", {real({kN}), real({kN})}, "expects at least a 2-D input, got 4"},
      {"rmse", "", {real({kN}), real({kN, 1})}, "expects prediction and target of one shape, got 4 and 4x1"},
      {"perplexity", "", {real({kN, 3}), real({kN})}, "expects integer labels, got 'f32'"},
      {"f1_score", "positive = 2 : i64", {real({kN, 2}), integers({kN}, 2)}, "needs positive in [0, 2), got 2"},
      {"mcc", "positive = -1 : i64", {real({kN, 2}), integers({kN}, 2)}, "needs positive in [0, 2), got -1"},
      {"dropout", "rate = 1.0 : f64", {real({kN, 3})}, "needs a rate in [0, 1), got 1.000"},
  };
}

TEST(OpErrors, NameWhatWasWrong) {
  MLIRContext context;
  context.loadDialect<mx::MxDialect>();
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  for (const WrongUse& use : wrongUses()) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    Block block;
    b.setInsertionPointToEnd(&block);
    OperationState state(loc, "mx." + use.op);
    for (const Input& input : use.inputs) state.addOperands(block.addArgument(inputType(input, b.getF32Type()), loc));
    state.addAttributes(cast<DictionaryAttr>(parseAttribute("{" + use.attributes + "}", &context)).getValue());
    state.addTypes(SmallVector<Type>(use.results, UnrankedTensorType::get(b.getF32Type())));
    Operation* op = b.create(state);
    std::vector<std::string> messages;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic& diagnostic) { messages.push_back(diagnostic.str()); });
    EXPECT_TRUE(failed(cast<mx::OpRules>(op).inferTypes())) << use.op << " {" << use.attributes << "} should say: " << use.message;
    EXPECT_EQ(messages, std::vector<std::string>{"'mx." + use.op + "' op " + use.message});
    block.clear();
  }
}

}  // namespace
}  // namespace mxc::ops_test
