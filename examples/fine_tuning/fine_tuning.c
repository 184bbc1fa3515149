/* examples/fine_tuning/fine_tuning.c: a library learns on the device that it runs on.
 *
 * The model of examples/digits has been trained on the digits from 0 to 4 alone. Here its last layer is trained on digits of all kinds, in
 * a program of C without anything else; what it has learned is kept, and taken over by another context.
 *
 *   mxc compile digits.cpp --params digits.safetensors --emit=lib --train=dense1 -o libdigits.a
 *   cc fine_tuning.c libdigits.a -lm -o fine_tuning && ./fine_tuning digits.csv digits.state
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"

enum { PIXELS = DIGITS_INPUT_IMAGE_ELEMENTS, CLASSES = DIGITS_OUTPUT_PROBABILITY_ELEMENTS, MOST = 4096, EPOCHS = 20 };

/* All the memory of two contexts, and of what one has learned. */
static char arena[2][DIGITS_ARENA_BYTES] __attribute__((aligned(DIGITS_ALIGN)));
static unsigned char state[DIGITS_STATE_BYTES];

typedef struct {
  int count;
  float images[MOST][PIXELS];
  int32_t labels[MOST];
} dataset;

static dataset known, unseen;

static void check(int status, const char* what) {
  if (status == DIGITS_OK) return;
  fprintf(stderr, "%s: %s\n", what, digits_status_text(status));
  exit(1);
}

/* Lines of 64 numbers from 0 to 16 and the digit; each fifth is kept to test with. */
static void read_digits(const char* path) {
  FILE* file = fopen(path, "r");
  int line, i;
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  for (line = 0;; ++line) {
    dataset* set = line % 5 == 4 ? &unseen : &known;
    float* image = set->images[set->count];
    int digit;
    if (set->count == MOST || fscanf(file, " %f", &image[0]) != 1) break;
    for (i = 1; i < PIXELS; ++i) {
      if (fscanf(file, " , %f", &image[i]) != 1) break;
    }
    if (i < PIXELS || fscanf(file, " , %d", &digit) != 1) {
      fprintf(stderr, "%s:%d: 64 numbers and a digit are expected\n", path, line + 1);
      exit(1);
    }
    for (i = 0; i < PIXELS; ++i) image[i] /= 16;
    set->labels[set->count++] = digit;
  }
  fclose(file);
}

static int samples_from(const dataset* set, int first) { return set->count - first < DIGITS_BATCH ? set->count - first : DIGITS_BATCH; }

/* The part of the digits that are recognised. */
static double accuracy(digits_context* net, const dataset* set) {
  static float probability[DIGITS_BATCH][CLASSES];
  int right = 0, first, i, c;
  for (first = 0; first < set->count; first += DIGITS_BATCH) {
    int n = samples_from(set, first);
    digits_inputs inputs = {set->images[first]};
    digits_outputs outputs = {probability[0]};
    check(digits_run(net, &inputs, &outputs, n), "run");
    for (i = 0; i < n; ++i) {
      int best = 0;
      for (c = 1; c < CLASSES; ++c) best = probability[i][c] > probability[i][best] ? c : best;
      right += best == set->labels[first + i];
    }
  }
  return (double)right / set->count;
}

/* One pass over the data; returns the mean loss. */
static double train(digits_context* net, const dataset* set) {
  double sum = 0;
  int first;
  for (first = 0; first < set->count; first += DIGITS_BATCH) {
    int n = samples_from(set, first);
    float loss;
    digits_train_inputs inputs = {set->images[first], &set->labels[first]};
    digits_train_outputs outputs = {&loss, NULL};
    check(digits_train_step(net, &inputs, &outputs, n), "train_step");
    sum += (double)loss * n;
  }
  return sum / set->count;
}

static void keep(digits_context* net, const char* path) {
  FILE* file = fopen(path, "wb");
  check(digits_save(net, state, sizeof state), "save");
  if (file == NULL || fwrite(state, sizeof state, 1, file) != 1 || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

static void take_over(digits_context* net, const char* path) {
  FILE* file = fopen(path, "rb");
  size_t bytes = 0;
  memset(state, 0, sizeof state);
  if (file != NULL) {
    bytes = fread(state, 1, sizeof state, file);
    fclose(file);
  }
  check(digits_load(net, state, bytes), path);
}

int main(int argc, char** argv) {
  digits_context *net = digits_init(arena[0], sizeof arena[0]), *other = digits_init(arena[1], sizeof arena[1]);
  digits_hypers hypers;
  int epoch;
  if (argc != 3 || net == NULL || other == NULL) {
    fprintf(stderr, "usage: fine_tuning DIGITS.csv STATE\n");
    return 2;
  }
  read_digits(argv[1]);
  if (known.count == 0 || unseen.count == 0) {
    fprintf(stderr, "%s: there are too few digits in it\n", argv[1]);
    return 1;
  }
  check(digits_get_hypers(net, &hypers), "get_hypers");
  hypers.lr = 0.01;
  check(digits_set_hypers(net, &hypers), "set_hypers");
  printf("before: %.3f of %d unseen digits\n", accuracy(net, &unseen), unseen.count);
  for (epoch = 1; epoch <= EPOCHS; ++epoch) {
    double loss = train(net, &known);
    if (epoch % 5 == 0) printf("epoch %d: loss %.3f, %.3f\n", epoch, loss, accuracy(net, &unseen));
  }
  keep(net, argv[2]);
  take_over(other, argv[2]);
  printf("after: %.3f, and in another context %.3f\n", accuracy(net, &unseen), accuracy(other, &unseen));
  /* They go on alike, too: the optimizer's state and the random numbers are part of what was kept. */
  printf("one more epoch: %s\n", train(net, &known) == train(other, &known) ? "the same loss" : "another loss");
  return 0;
}
