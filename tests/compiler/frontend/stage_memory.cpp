// A model that takes all memory that there is.
// RUN: %exits 1 mxc compile %s --emit=graph --stage-memory-limit=256 -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(greedy) {
  // CHECK: stage_memory.cpp:[[@LINE+1]]:14: error: staging threw std::bad_alloc: std::bad_alloc
  Symbol x = input("x", {3});
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(1 << 24);
}
