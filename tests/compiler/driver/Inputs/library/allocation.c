/* Prints how often memory is allocated by making a context, and by a hundred runs. */
#include <stdio.h>

#include "lenet.h"

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
static int allocations;

void* malloc(size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return ++allocations, __libc_calloc(count, bytes); }
void* realloc(void* memory, size_t bytes) { return ++allocations, __libc_realloc(memory, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return ++allocations, __libc_memalign(alignment, bytes); }

int main(void) {
  static float image[LENET_BATCH * LENET_INPUT_IMAGE_ELEMENTS], probability[LENET_BATCH * LENET_OUTPUT_PROBABILITY_ELEMENTS];
  lenet_inputs inputs;
  lenet_outputs outputs;
  lenet_context* net;
  int i, before, made, ran, status = 0;
  inputs.image = image;
  outputs.probability = probability;
  before = allocations;
  net = lenet_create();
  made = allocations - before;
  before = allocations;
  for (i = 0; i < 100; ++i) status |= lenet_run(net, &inputs, &outputs, i % LENET_BATCH + 1);
  ran = allocations - before;
  lenet_destroy(net);
  printf("status %d, making %d, running %d\n", status, made, ran);
  return 0;
}
