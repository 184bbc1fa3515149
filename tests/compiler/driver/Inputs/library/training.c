/* Trains the last layer in memory that is not a byte too large, with pages around that nobody may touch, saves it, and takes it over in
 * another context. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "digits.h"

enum { PAGE = 4096, PIXELS = DIGITS_TRAIN_INPUT_IMAGE_ELEMENTS };

/* Memory that ends where a forbidden page begins, or begins where one ends. */
static void* guarded(size_t bytes, int at_end) {
  size_t inner = (bytes + PAGE - 1) / PAGE * PAGE;
  char* base = mmap(NULL, inner + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(base, PAGE, PROT_NONE);
  mprotect(base + PAGE + inner, PAGE, PROT_NONE);
  return base + PAGE + (at_end ? inner - bytes : 0);
}

static int fail(const char* what, int status) {
  printf("%s: %s\n", what, digits_status_text(status));
  return 1;
}

static int learn(int at_end) {
  digits_context* net = digits_init(guarded(DIGITS_ARENA_BYTES, at_end), DIGITS_ARENA_BYTES);
  digits_context* other = digits_init(guarded(DIGITS_ARENA_BYTES, at_end), DIGITS_ARENA_BYTES);
  unsigned char *state = guarded(DIGITS_STATE_BYTES, at_end), *again = guarded(DIGITS_STATE_BYTES, at_end);
  float *image = guarded(sizeof(float) * DIGITS_BATCH * PIXELS, at_end), *loss = guarded(sizeof *loss, at_end), first = 0;
  int32_t* label = guarded(sizeof *label * DIGITS_BATCH, at_end);
  digits_train_inputs inputs = {0};
  digits_train_outputs outputs = {0};
  digits_hypers hypers;
  int64_t steps = 0;
  int i, status;
  inputs.image = image;
  inputs.label = label;
  outputs.loss = loss;
  for (i = 0; i < DIGITS_BATCH * PIXELS; ++i) image[i] = (float)(i % 7) / 7;
  for (i = 0; i < DIGITS_BATCH; ++i) label[i] = i % 10;
  status = digits_get_hypers(net, &hypers);
  if (status != DIGITS_OK) return fail("get_hypers", status);
  hypers.lr = 0.01;
  status = digits_set_hypers(net, &hypers);
  if (status != DIGITS_OK) return fail("set_hypers", status);
  for (i = 0; i < 20; ++i) {
    status = digits_train_step(net, &inputs, &outputs, 1 + i % DIGITS_BATCH);
    if (status != DIGITS_OK) return fail("train_step", status);
    if (i == 0) first = *loss;
  }
  label[3] = 10; /* there are ten digits */
  status = digits_train_step(net, &inputs, &outputs, DIGITS_BATCH);
  if (status != DIGITS_OUT_OF_RANGE) return fail("a label that is none", status);
  digits_count_steps(net, &steps);
  if (steps != 20 || !(first > 0)) return fail("steps", (int)steps);
  status = digits_save(net, state, DIGITS_STATE_BYTES);
  if (status != DIGITS_OK) return fail("save", status);
  status = digits_load(other, state, DIGITS_STATE_BYTES);
  if (status != DIGITS_OK) return fail("load", status);
  digits_save(other, again, DIGITS_STATE_BYTES);
  if (memcmp(state, again, DIGITS_STATE_BYTES) != 0) return fail("the state again", status);
  return 0;
}

int main(void) {
  if (learn(0) != 0 || learn(1) != 0) return 1;
  printf("%s\n", digits_status_text(DIGITS_OK));
  return 0;
}
