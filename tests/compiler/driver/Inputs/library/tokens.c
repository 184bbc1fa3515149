/* Two of four samples, which do not lie one after another; then an integer too large, one below zero, and one in a sample that is not run.
 * Prints what came out. */
#include <stdio.h>

#include "tokens.h"

int main(void) {
  int32_t words[TOKENS_INPUT_CLASS__ELEMENTS] = {4, 0, -7, 99, 1, 2, 99, -7, 3, 4, 99, 99};
  float last[TOKENS_OUTPUT_STATE_LAST_ELEMENTS] = {0}, squashed[TOKENS_OUTPUT_STATE_LAST__ELEMENTS] = {0};
  static char arena[TOKENS_ARENA_BYTES] __attribute__((aligned(TOKENS_ALIGN)));
  tokens_context* net = tokens_init(arena, sizeof arena);
  tokens_inputs inputs;
  tokens_outputs outputs;
  size_t i;
  inputs.class_ = words;
  outputs.state_last = last;
  outputs.state_last_ = squashed;
  printf("%d\n", tokens_run(net, &inputs, &outputs, 2));
  for (i = 0; i < TOKENS_OUTPUT_STATE_LAST_ELEMENTS; ++i) printf("%.9g %.9g\n", (double)last[i], (double)squashed[i]);
  words[5] = 5;
  printf("%d\n", tokens_run(net, &inputs, &outputs, 2));
  words[5] = -1;
  printf("%d\n", tokens_run(net, &inputs, &outputs, 2));
  words[5] = 4;
  outputs.state_last = NULL;
  printf("%d\n", tokens_run(net, &inputs, &outputs, 2));
  printf("%.9g\n", (double)squashed[TOKENS_BATCH * 2 + 2]);
  return 0;
}
