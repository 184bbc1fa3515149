// A view of an input is read where the input is bound at run time.
// RUN: mkdir -p %t && cd %t && mxc compile %s -o view
// RUN: printf '3,4\n5,6\n' > two.csv && ./view train --data csv:two.csv --steps 1 --save trained
// RUN: ./view predict --data csv:two.csv --load trained --output out.csv && FileCheck %s --input-file=out.csv
// CHECK: sample,y[0],y[1]
// CHECK-NEXT: 0,13,14
// CHECK-NEXT: 1,15,16
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(2), 2});
  Symbol y = reshape(x, {.shape = {-1}}) + 10;
  minimize(y * parameter("w", {1}, {.init = zeros()}));
  output("y", reshape(y, {.shape = {-1, 2}}));
}
