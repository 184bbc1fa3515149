/* Prints the most samples of a run and of each set, and what the model makes of four times 1, 2, 3. */
#include <stdio.h>

#include "net_sets.h"

int main(void) {
  const float x[12] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
  float y[4];
  net_context* context = net_create();
  net_inputs inputs = {.x = x};
  net_outputs outputs = {.y = y};
  if (net_run(context, &inputs, &outputs, 4) != NET_OK) return 1;
  printf("%d %d %d %g\n", NET_BATCH, NET_BATCH_SET_BATCH_1, NET_BATCH_SET_BATCH_4, y[3]);
  return 0;
}
