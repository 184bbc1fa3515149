// Names that C does not know, samples that do not lie one after another, integers with a bound, two outputs, and no loss.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(tokens) {
  Symbol words = input("class", {3, batch(4)}, i32);
  Symbol h = embedding(words, {.vocabulary = 5, .units = 2});
  output("state.last", h);
  output("state_last", tanh(h));
}
