#include <mxc/mxc.h>

#include "sizes.h"
using namespace mxc;

MXC_MODEL(net) {
  Symbol y = dense(input("x", {batch(8), 3}), {.units = kUnits}) * kFactor;
  minimize(mse_loss(y, input("target", {batch(8), kUnits})));
  output("y", y);
}
