// What processes that train together exchange in a step. passes/distribute.cc places these; they compute nothing and have no lowering of their own: the Plan
// has their order (codegen/compile.cc), and the runtime's engine their places, from the steps that read and write the tensors.
#ifndef MXC_IR_OPS_COMM_TD
#define MXC_IR_OPS_COMM_TD
include "ir/mx.td"

class Mx_Transfer<string mnemonic, string text> : Mx_Op<mnemonic> {
  let summary = text;
  let description = [{`bytes` are those of the elements, without a layout's padding. What has the larger `priority` goes first.}];
  let arguments = (ins StrAttr:$key, AnyTensor:$value, I64Attr:$bytes, I64Attr:$priority);
  let assemblyFormat = "$key `,` $value attr-dict `:` type($value)";
}
def Mx_PullOp : Mx_Transfer<"pull", "the next kernel is the first that reads this value, which comes from the KVStore">;
def Mx_PushOp : Mx_Transfer<"push", "the contribution to this key is there, and leaves for the KVStore">;
#endif
