/* A library whose weights lie beside it. beside FILE: maps it, shows the status; if it is 0, runs one sample of zeros, also in a context
 * that shares the weights, and from a copy in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lenet.h"

static float image[LENET_INPUT_IMAGE_ELEMENTS], probability[3][LENET_OUTPUT_PROBABILITY_ELEMENTS];

static int run(lenet_context* net, float* result) {
  lenet_inputs inputs;
  lenet_outputs outputs;
  inputs.image = image;
  outputs.probability = result;
  return lenet_run(net, &inputs, &outputs, 1);
}

int main(int argc, char** argv) {
  static char copy[LENET_WEIGHTS_BYTES + 64] __attribute__((aligned(LENET_ALIGN)));
  const void* file;
  size_t bytes, i;
  lenet_context *net = lenet_create(), *other = lenet_create();
  int status = lenet_map_weights(argc > 1 ? argv[1] : NULL, &file, &bytes);
  if (status != LENET_OK) {
    printf("%d %s%s\n", status, lenet_status_text(status), file == NULL && bytes == 0 ? "" : ", but mapped");
    return 0;
  }
  printf("before %d\n", run(net, probability[0]));
  printf("nothing to share %d\n", lenet_share_weights(other, net));
  printf("null %d\n", lenet_set_weights(net, NULL, bytes));
  printf("misaligned %d\n", lenet_set_weights(net, (const char*)file + 1, bytes - 1));
  printf("no context %d\n", lenet_set_weights(NULL, file, bytes));
  printf("set %d\n", lenet_set_weights(net, file, bytes));
  printf("run %d\n", run(net, probability[0]));
  printf("shared %d\n", lenet_share_weights(other, net));
  printf("run %d\n", run(other, probability[1]));
  memcpy(copy, file, bytes);
  lenet_destroy(net);
  lenet_destroy(other);
  lenet_unmap_weights(file, bytes);
  lenet_unmap_weights(NULL, 0);
  net = lenet_create();
  printf("from memory %d\n", lenet_set_weights(net, copy, bytes));
  printf("run %d\n", run(net, probability[2]));
  printf("same %d\n", memcmp(probability[0], probability[1], sizeof probability[0]) == 0 &&
                          memcmp(probability[0], probability[2], sizeof probability[0]) == 0);
  for (i = 0; i < LENET_OUTPUT_PROBABILITY_ELEMENTS; ++i) printf("%.9g\n", (double)probability[0][i]);
  lenet_destroy(net);
  return 0;
}
