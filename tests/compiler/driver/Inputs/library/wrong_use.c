/* Uses the library wrongly in every way; a line each: the case, the status, its text. */
#include <stdio.h>

#include "lenet.h"

static char arena[LENET_ARENA_BYTES + LENET_ALIGN] __attribute__((aligned(LENET_ALIGN)));
static char foreign[256] __attribute__((aligned(LENET_ALIGN)));
static float image[LENET_BATCH * LENET_INPUT_IMAGE_ELEMENTS + 1], probability[LENET_BATCH * LENET_OUTPUT_PROBABILITY_ELEMENTS + 1];

static void show(const char* name, int status) { printf("%s: %d %s\n", name, status, lenet_status_text(status)); }

static void show_open(const char* name, void* memory, size_t bytes, uint64_t build) {
  lenet_context* net = (lenet_context*)foreign;
  show(name, lenet_open(memory, bytes, build, &net));
  if (net != NULL) printf("%s: there is a context\n", name);
}

int main(void) {
  lenet_context* net = lenet_init(arena, sizeof arena);
  lenet_inputs inputs = {0};
  lenet_outputs outputs = {0};
  inputs.image = image;
  outputs.probability = probability;

  show_open("null arena", NULL, sizeof arena, LENET_BUILD);
  show_open("misaligned arena", arena + 4, LENET_ARENA_BYTES, LENET_BUILD);
  show_open("short arena", arena, LENET_ARENA_BYTES - 1, LENET_BUILD);
  show_open("no arena at all", arena, 0, LENET_BUILD);
  show_open("other build", arena, sizeof arena, LENET_BUILD + 1);
  show("nowhere to put the context", lenet_open(arena, sizeof arena, LENET_BUILD, NULL));
  show("nowhere to put the allocated", lenet_allocate(LENET_BUILD, NULL));
  show("allocated for other build", lenet_allocate(LENET_BUILD + 1, &net));
  if (net != NULL) printf("there is a context\n");

  net = lenet_init(arena, sizeof arena);
  show("null context", lenet_run(NULL, &inputs, &outputs, 1));
  show("foreign context", lenet_run((lenet_context*)foreign, &inputs, &outputs, 1));
  show("misaligned context", lenet_run((lenet_context*)(foreign + 1), &inputs, &outputs, 1));
  show("null inputs", lenet_run(net, NULL, &outputs, 1));
  show("null outputs", lenet_run(net, &inputs, NULL, 1));
  show("no samples", lenet_run(net, &inputs, &outputs, 0));
  show("fewer than none", lenet_run(net, &inputs, &outputs, -1));
  show("too many samples", lenet_run(net, &inputs, &outputs, LENET_BATCH + 1));
  inputs.image = NULL;
  show("null input", lenet_run(net, &inputs, &outputs, 1));
  inputs.image = (const float*)((const char*)image + 1);
  show("misaligned input", lenet_run(net, &inputs, &outputs, 1));
  inputs.image = image;
  outputs.probability = (float*)((char*)probability + 2);
  show("misaligned output", lenet_run(net, &inputs, &outputs, 1));
  outputs.probability = NULL;
  show("output not wanted", lenet_run(net, &inputs, &outputs, LENET_BATCH));
  lenet_destroy(NULL);
  lenet_destroy((lenet_context*)foreign);
  lenet_destroy(net);
  show("after the end", lenet_run(net, &inputs, &outputs, 1));
  show("no status", 99);
  show("no status either", -1);
  return 0;
}
