// A model that never ends.
// RUN: %exits 1 mxc compile %s --emit=graph --stage-time-limit=1 -o %t.json 2>&1 | FileCheck %s
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(endless) {
  // CHECK: stage_endless.cpp:[[@LINE+1]]:14: error: staging did not end within 1 s (--stage-time-limit); the last operation before that was input
  Symbol x = input("x", {3});
  for (volatile int i = 0;; i = i + 1) {
  }
}
