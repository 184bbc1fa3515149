/* Runs the library on samples of a file, n at a time, and writes the probabilities to another: predict INPUT OUTPUT N.
 *
 * All memory that the library is given ends where a page begins that nobody may touch, and the arena begins behind one, too: at its exact
 * size it fits between both only one after the other, so there are two runs, which have to agree. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lenet.h"

enum { kPage = 4096 };

static size_t in_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/* Memory between two pages that nobody may touch: at its end, or at its start. */
static void* guarded(size_t bytes, int at_end) {
  size_t inner = in_pages(bytes);
  char* base = mmap(NULL, inner + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) exit(3);
  mprotect(base, kPage, PROT_NONE);
  mprotect(base + kPage + inner, kPage, PROT_NONE);
  memset(base + kPage, 0xff, inner); /* NaN: what is read before it is written shows */
  return base + kPage + (at_end ? inner - bytes : 0);
}

int main(int argc, char** argv) {
  int at_end;
  long n = argc == 4 ? atol(argv[3]) : 0, samples = 0, i;
  size_t pixels = LENET_INPUT_IMAGE_ELEMENTS, classes = LENET_OUTPUT_PROBABILITY_ELEMENTS;
  float *images, *results[2];
  FILE* file = argc == 4 ? fopen(argv[1], "rb") : NULL;
  if (!file || n < 1) return 2;
  fseek(file, 0, SEEK_END);
  samples = ftell(file) / (long)(pixels * sizeof(float));
  rewind(file);
  images = malloc((size_t)samples * pixels * sizeof(float));
  if (fread(images, pixels * sizeof(float), (size_t)samples, file) != (size_t)samples) return 2;
  fclose(file);
  for (at_end = 0; at_end < 2; ++at_end) {
    lenet_context* net = lenet_init(guarded(LENET_ARENA_BYTES, at_end), LENET_ARENA_BYTES);
    results[at_end] = malloc((size_t)samples * classes * sizeof(float));
    for (i = 0; i < samples; i += n) {
      size_t now = (size_t)(samples - i < n ? samples - i : n);
      lenet_inputs inputs;
      lenet_outputs outputs;
      float* image = guarded(now * pixels * sizeof(float), 1);
      int status;
      memcpy(image, images + (size_t)i * pixels, now * pixels * sizeof(float));
      inputs.image = image;
      outputs.probability = guarded(now * classes * sizeof(float), 1);
      status = lenet_run(net, &inputs, &outputs, (int64_t)now);
      if (status != LENET_OK) {
        fprintf(stderr, "%s\n", lenet_status_text(status));
        return 1;
      }
      memcpy(results[at_end] + (size_t)i * classes, outputs.probability, now * classes * sizeof(float));
    }
  }
  if (memcmp(results[0], results[1], (size_t)samples * classes * sizeof(float)) != 0) return 4;
  file = fopen(argv[2], "wb");
  fwrite(results[0], classes * sizeof(float), (size_t)samples, file);
  return fclose(file) ? 2 : 0;
}
