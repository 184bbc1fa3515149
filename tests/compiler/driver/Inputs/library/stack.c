/* Runs the model on a thread whose stack is painted; prints the status, the bytes of it that the run took, and those that the header states. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lenet.h"

enum { PAINT = 0xa5 };

static unsigned char stack[1 << 20] __attribute__((aligned(4096)));
static float image[LENET_BATCH * LENET_INPUT_IMAGE_ELEMENTS], probability[LENET_BATCH * LENET_OUTPUT_PROBABILITY_ELEMENTS];
static lenet_context* net;
static int status;
static long taken;

static void* run(void* unused) {
  const unsigned char *top = __builtin_frame_address(0), *lowest = stack;
  lenet_inputs inputs = {image};
  lenet_outputs outputs = {probability};
  status = lenet_run(net, &inputs, &outputs, LENET_BATCH);
  while (*lowest == PAINT) ++lowest;
  taken = (long)(top - lowest);
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  net = lenet_create();
  memset(stack, PAINT, sizeof stack);
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, sizeof stack) != 0) return 1;
  if (pthread_create(&thread, &attributes, run, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
  printf("%d %ld %ld\n", status, taken, (long)LENET_STACK_BYTES);
  return 0;
}
