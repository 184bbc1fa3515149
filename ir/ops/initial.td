// Initial values that are more than independent draws.
#ifndef MXC_IR_OPS_INITIAL_TD
#define MXC_IR_OPS_INITIAL_TD
include "ir/mx.td"

def Mx_OrthonormaliseOp : Mx_ComputeOp<"orthonormalise"> {
  let extraClassDeclaration = [{
    ::mxc::Reading reading(unsigned) { return ::mxc::Reading::once; }
    bool storesFinal(unsigned) { return false; }
  }];
  let summary = "rows [m, k], m <= k, made orthogonal to those before and of length 1: Gram-Schmidt, each row twice";
  let arguments = (ins Mx_Tensor:$input);
  let results = (outs Mx_Tensor:$output);
}
def Mx_BilinearKernelOp : Mx_ComputeOp<"bilinear_kernel"> {
  let summary = "for a type [.., .., h, w]: the product of two triangles, the weights of bilinear enlargement";
  let arguments = (ins TypeAttr:$to);
  let results = (outs Mx_Tensor:$output);
}
#endif
