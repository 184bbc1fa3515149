/* Prints the most samples of a run, and what the model makes of 1, 2, 3. */
#include <stdio.h>
#ifdef SHARED
#include "net_shared.h"
#else
#include "net.h"
#endif

int main(int argc, char** argv) {
  const float x[3] = {1, 2, 3};
  float y[1];
  net_context* context = net_create();
  net_inputs inputs = {.x = x};
  net_outputs outputs = {.y = y};
#ifdef SHARED
  const void* file;
  size_t bytes;
  if (argc != 2 || net_map_weights(argv[1], &file, &bytes) != NET_OK || net_set_weights(context, file, bytes) != NET_OK) return 2;
#else
  (void)argv;
  if (argc != 1) return 2;
#endif
  if (net_run(context, &inputs, &outputs, 1) != NET_OK) return 1;
  printf("%d %g\n", NET_BATCH, y[0]);
  return 0;
}
