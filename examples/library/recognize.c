/* examples/library/recognize.c: a trained model in a C program.
 *
 *   recognize_c PICTURES PROBABILITIES N
 *
 * Float32 numbers, 64 a picture in and 10 a picture out; N pictures a run. All memory is that of this file: nothing is allocated. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

static char arena[DIGITS_ARENA_BYTES] __attribute__((aligned(DIGITS_ALIGN)));
static float pictures[DIGITS_BATCH * DIGITS_INPUT_IMAGE_ELEMENTS];
static float probabilities[DIGITS_BATCH * DIGITS_OUTPUT_PROBABILITY_ELEMENTS];

int main(int argc, char** argv) {
  const size_t picture = DIGITS_INPUT_IMAGE_ELEMENTS * sizeof(float), answer = DIGITS_OUTPUT_PROBABILITY_ELEMENTS * sizeof(float);
  digits_context* net = digits_init(arena, sizeof arena);
  size_t n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0, count;
  FILE *in, *out;
  if (n < 1 || n > DIGITS_BATCH) {
    fprintf(stderr, "usage: recognize_c PICTURES PROBABILITIES N, N from 1 to %d\n", DIGITS_BATCH);
    return 2;
  }
  in = fopen(argv[1], "rb");
  out = fopen(argv[2], "wb");
  if (!in || !out) {
    perror(in ? argv[2] : argv[1]);
    return 1;
  }
  while ((count = fread(pictures, picture, n, in)) > 0) {
    digits_inputs inputs = {.image = pictures};
    digits_outputs outputs = {.probability = probabilities};
    int status = digits_run(net, &inputs, &outputs, (int64_t)count);
    if (status != DIGITS_OK) {
      fprintf(stderr, "recognize_c: %s\n", digits_status_text(status));
      return 1;
    }
    fwrite(probabilities, answer, count, out);
  }
  fclose(in);
  return fclose(out) ? 1 : 0;
}
