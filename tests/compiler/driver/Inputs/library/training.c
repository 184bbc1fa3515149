/* Trains the last layer in memory that is not a byte too large, saves it, and goes on in another context. */
#include <stdio.h>
#include <string.h>

#include "digits.h"

static char arenas[2][DIGITS_ARENA_BYTES] __attribute__((aligned(DIGITS_ALIGN)));
static unsigned char state[DIGITS_STATE_BYTES], again[DIGITS_STATE_BYTES];
static float image[DIGITS_BATCH * DIGITS_TRAIN_INPUT_IMAGE_ELEMENTS];
static int32_t label[DIGITS_BATCH];

static int fail(const char* what, int status) {
  printf("%s: %s\n", what, digits_status_text(status));
  return 1;
}

int main(void) {
  digits_context *net = digits_init(arenas[0], sizeof arenas[0]), *other = digits_init(arenas[1], sizeof arenas[1]);
  digits_train_inputs inputs = {0};
  digits_train_outputs outputs = {0};
  digits_hypers hypers;
  float loss = 0, first = 0;
  int64_t steps = 0;
  int i, status;
  inputs.image = image;
  inputs.label = label;
  outputs.loss = &loss;
  for (i = 0; i < DIGITS_BATCH * DIGITS_TRAIN_INPUT_IMAGE_ELEMENTS; ++i) image[i] = (float)(i % 7) / 7;
  for (i = 0; i < DIGITS_BATCH; ++i) label[i] = i % 10;
  status = digits_get_hypers(net, &hypers);
  if (status != DIGITS_OK) return fail("get_hypers", status);
  hypers.lr = 0.01;
  status = digits_set_hypers(net, &hypers);
  if (status != DIGITS_OK) return fail("set_hypers", status);
  for (i = 0; i < 20; ++i) {
    status = digits_train_step(net, &inputs, &outputs, 1 + i % DIGITS_BATCH);
    if (status != DIGITS_OK) return fail("train_step", status);
    if (i == 0) first = loss;
  }
  label[3] = 10; /* there are ten digits */
  status = digits_train_step(net, &inputs, &outputs, DIGITS_BATCH);
  if (status != DIGITS_OUT_OF_RANGE) return fail("a label that is none", status);
  digits_count_steps(net, &steps);
  if (steps != 20 || !(first > 0)) return fail("steps", (int)steps);
  status = digits_save(net, state, sizeof state);
  if (status != DIGITS_OK) return fail("save", status);
  status = digits_load(other, state, sizeof state);
  if (status != DIGITS_OK) return fail("load", status);
  digits_save(other, again, sizeof again);
  if (memcmp(state, again, sizeof state) != 0) return fail("the state again", status);
  printf("%s\n", digits_status_text(status));
  return 0;
}
