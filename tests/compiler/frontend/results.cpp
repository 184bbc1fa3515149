// Operations with several results, and initialisers with numbers; multipliers of rate and decay reach the update.
// RUN: mxc compile %s --emit=mlir | FileCheck %s
// RUN: mxc compile %s --emit=graph -o %t.json && mxc compile %t.json --emit=mlir | FileCheck %s
// RUN: mxc compile %s --print-ir-after-all --emit=plan -o %t.plan 2>&1 | FileCheck %s --check-prefix=UPDATE
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(8), 6});
  // CHECK: mx.parameter "fc.weight" {init = "xavier", init_args = array<f64: 1.0{{.*}}, 0.0{{.*}}, 2.5{{.*}}>, lr_mult = 3.0{{.*}}, wd_mult = 0.0{{.*}}}
  // UPDATE: after build-graphs
  // UPDATE: mx.sgd_update {{.*}}lr_mult = 3.0{{.*}}wd_mult = 0.0
  Symbol y = dense(x, {.units = 6, .weight = {.init = xavier(Distribution::normal, Fan::in, 2.5), .lr_mult = 3, .wd_mult = 0}, .name = "fc"});
  // CHECK: %[[PARTS:.*]]:3 = mx.split %{{.*}} {parts = 3 : i64}
  std::vector<Symbol> parts = split(y, {.parts = 3});
  // CHECK: %{{.*}}, %[[PLACES:.*]] = mx.topk %[[PARTS]]#2 {k = 1 : i64}
  auto [values, places] = topk(parts[2], {.k = 1});
  // CHECK: mx.sub %[[PARTS]]#0, %[[PARTS]]#1
  minimize(square(parts[0] - parts[1]));
  // CHECK: mx.output "places", %[[PLACES]]
  output("places", places);
  output("values", values);
}
