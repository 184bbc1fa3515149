// What compilers do: @file, -v, -###, -MD, --color, whole commands in any order.
// RUN: rm -rf %t && mkdir %t && cd %t && cp %s net.cpp && printf '#define UNITS 2\n' > units.h && printf '%%s' '--emit=obj -o "the net.o"' > flags
// RUN: mxc compile @flags net.cpp && test -e "the net.o"
// RUN: mxc compile net.cpp --emit=obj -o net.o -MD && FileCheck %s --check-prefix=RULE --input-file=net.d
// RULE: net.o: net.cpp {{.*}}units.h
// RUN: mxc compile net.cpp --emit=obj -o net.o -MD -MF rule -MT 'all' && FileCheck %s --check-prefix=TARGET --input-file=rule
// TARGET: all: net.cpp
// RUN: mxc compile net.cpp --emit=graph -o net.json && mxc compile net.json --emit=obj -MD && FileCheck %s --check-prefix=JSON --input-file=net.d
// JSON: net.o: net.json
// RUN: mxc compile net.cpp -DLOAD --emit=obj -o loaded.o -MD && FileCheck %s --check-prefix=LOADED --input-file=loaded.d
// LOADED: loaded.o: part.json
// RUN: mxc compile net.cpp '-###' -o never --model=net 2>&1 | FileCheck %s --check-prefix=COMMANDS
// RUN: test ! -e never
// COMMANDS: c++ -std=c++20 {{.*}}-x c++ net.cpp -o TEMPORARY/model.so
// COMMANDS-NEXT: mxc-stage TEMPORARY/model.so net TEMPORARY/model.json
// COMMANDS-NEXT: c++ -o TEMPORARY/program TEMPORARY/model.o {{.*}}libmxc_runtime_main.a
// RUN: mxc run --model=net '-###' net.cpp 2>&1 | FileCheck %s --check-prefix=COMMANDS
// RUN: mxc compile net.cpp -v --emit=obj -o verbose.o 2>&1 | FileCheck %s --check-prefix=VERBOSE
// VERBOSE: c++ -std=c++20 {{.*}}-x c++ net.cpp
// RUN: %exits 1 mxc compile net.cpp -DWRONG --color=always --emit=obj 2>&1 | FileCheck %s --check-prefix=COLOR
// COLOR: {{.\[1mnet.cpp:[0-9]+:12: .\[0m.\[1;31merror: .\[0m.\[1mdense needs at least one unit, got 0.\[0m}}
// COLOR: {{.\[1;32m\^~~~~.\[0m}}
// RUN: %exits 1 mxc compile net.cpp -DWRONG --color=never --emit=obj 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: {{^}}net.cpp:{{[0-9]+}}:12: error: dense needs at least one unit
// RUN: %exits 1 mxc compile net.cpp -DBROKEN --color=always --emit=obj 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: {{.\[01;31m}}
#include <mxc/mxc.h>
#include "units.h"
using namespace mxc;

MXC_MODEL(net) {
  Symbol x = input("x", {batch(4), 3});
#ifdef LOAD
  save("part.json", tanh(x));
  Scope scope("again");
  x = load("part.json")["again.tanh0"];
#endif
#ifdef BROKEN
  Symbol y = nothing;
#endif
#ifdef WRONG
  minimize(dense(x, {.units = 0}));
#else
  minimize(mean(dense(x, {.units = UNITS})));
#endif
}
