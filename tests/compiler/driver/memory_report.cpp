// What --report says of a model: sums by role, the peak of each graph, and the lines of what is alive there.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: mxc compile %s --emit=obj --report=memory | FileCheck %s --check-prefix=TEXT
// RUN: mxc compile %s --emit=obj --report=memory,json --report-file=r.json
// RUN: python3 -c 'import json; r = json.load(open("r.json")); print([(x["role"], x["bytes"] - x["padding"]) for x in r["roles"]])' | FileCheck %s --check-prefix=JSON
// RUN: python3 -c 'import json; r = json.load(open("r.json")); print([g["name"] for g in r["graphs"] if g["peak_bytes"] > g["arena_bytes"] or g["arena_bytes"] > r["arena_bytes"]])' | FileCheck %s --check-prefix=NONE
// RUN: mxc compile %s --emit=obj --report=memory,svg | FileCheck %s --check-prefix=SVG
// RUN: %exits 1 mxc compile %s --memory-limit=2KiB 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: %exits 2 mxc compile %s --memory-limit=much 2>&1 | FileCheck %s --check-prefix=MUCH
// RUN: %exits 2 mxc compile %s --report=time 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: %exits 1 mxc compile %s --emit=obj --report=memory --report-file=no/where 2>&1 | FileCheck %s --check-prefix=NOWHERE
//
// 8x16 and 16x4 weights of 4 bytes, with biases: 848 bytes; the 4 units are a block of 16: 12 times 64 bytes of padding. A velocity
// for each; 16 samples of 8 and a label.
// TEXT: memory of net
// TEXT: parameters {{ *}}1,616 {{.*}}MiB, of which padding 768
// TEXT: optimizer state {{ *}}1,616 {{.*}}MiB, of which padding 768
// TEXT: inputs {{ *}}576 {{.*}}MiB
// TEXT: arena of all graphs
// TEXT: total
// TEXT: graph train, up to 16 samples: arena {{[0-9,]+}} bytes, peak {{[0-9,]+}} at step {{[0-9]+}} of {{[0-9]+}}
// TEXT: alive there: bytes role steps tensor
// TEXT: {{gradient|activation}} {{.*}}memory_report.cpp:[[#]]:[[#]]
// JSON: ('parameters', 848), ('optimizer state', 848), {{.*}}('inputs', 576)
// NONE: []
// SVG: <svg xmlns
// SVG: <title>{{.*}}memory_report.cpp:{{.*}} bytes at {{.*}}, steps
// SVG: </svg>
// LIMIT: error: the memory limit of 2048 bytes is {{[0-9]+}} bytes too small: {{[a-z]+}} needs an arena of {{[0-9]+}} with all that recomputing saves, parameters, states, inputs and outputs need {{[0-9]+}}
// MUCH: error: --memory-limit=much: a size as 512MiB, 1.5GiB or 100000 (bytes) is expected
// WRONG: --report: {{.*}}memory,json
// NOWHERE: error: cannot write 'no/where': No such file
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(16), 8});
  Symbol label = input("label", {batch(16)}, i32);
  Symbol y = dense(tanh(dense(x, {.units = 16})), {.units = 4});
  minimize(softmax_cross_entropy(y, label));
  optimizer(sgd{.lr = 0.1, .momentum = 0.9});
}
