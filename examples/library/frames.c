/* examples/library/frames.c: frames come at a steady pace, and two models look at each of them, every one on a thread of its own.
 *
 *   frames PICTURES PROBABILITIES RESTORED [FRAMES_PER_SECOND]
 *
 * The first reads the digit, the second restores the picture from eight numbers. Both models lie in this program; they share no state. A
 * frame's latency is the time from its coming until a model is done with it. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "autoencoder.h"
#include "digits.h"

enum { kPixels = DIGITS_INPUT_IMAGE_ELEMENTS };

static double now(void) { /* milliseconds */
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* What has come so far. `lock` guards `count`; frames before it are written no more. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t more;
  long count, total;
  float* pictures;
  double* came;
} frames = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void wait_for(long frame) {
  pthread_mutex_lock(&frames.lock);
  while (frames.count <= frame) pthread_cond_wait(&frames.more, &frames.lock);
  pthread_mutex_unlock(&frames.lock);
}

/* A thread's own: its model, and what it found. */
typedef struct {
  const char* name;
  int (*look)(void* context, const float* picture, float* result);
  void* context;
  size_t elements; /* of a result */
  float* results;
  double* latencies;
  int status;
} viewer;

static int look_digits(void* context, const float* picture, float* result) {
  digits_inputs inputs = {.image = picture};
  digits_outputs outputs = {.probability = result};
  return digits_run(context, &inputs, &outputs, 1);
}

static int look_autoencoder(void* context, const float* picture, float* result) {
  autoencoder_inputs inputs = {.image = picture};
  autoencoder_outputs outputs = {.code = NULL, .restored = result}; /* the code is not wanted */
  return autoencoder_run(context, &inputs, &outputs, 1);
}

static void* view(void* argument) {
  viewer* self = argument;
  for (long i = 0; i < frames.total && self->status == 0; ++i) {
    wait_for(i);
    self->status = self->look(self->context, frames.pictures + i * kPixels, self->results + (size_t)i * self->elements);
    self->latencies[i] = now() - frames.came[i];
  }
  return NULL;
}

static int ascending(const void* a, const void* b) {
  double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

/* Prints the latencies and writes the results, which end with it. */
static int finish(viewer* self, const char* path) {
  FILE* file = self->status == 0 ? fopen(path, "wb") : NULL;
  int failed = !file;
  if (self->status == 0 && !file) perror(path);
  if (file) {
    qsort(self->latencies, (size_t)frames.total, sizeof(double), ascending);
    printf("%-12s %ld frames, latency in ms: median %.3f, 99 %% %.3f, worst %.3f\n", self->name, frames.total,
           self->latencies[frames.total / 2], self->latencies[frames.total * 99 / 100], self->latencies[frames.total - 1]);
    fwrite(self->results, self->elements * sizeof(float), (size_t)frames.total, file);
    failed = fclose(file) != 0;
  }
  free(self->results);
  free(self->latencies);
  return failed;
}

int main(int argc, char** argv) {
  FILE* file;
  double period = argc > 4 && atof(argv[4]) > 0 ? 1e3 / atof(argv[4]) : 2, start;
  viewer viewers[2] = {{"digits", look_digits, digits_create(), DIGITS_OUTPUT_PROBABILITY_ELEMENTS, NULL, NULL, 0},
                       {"autoencoder", look_autoencoder, autoencoder_create(), AUTOENCODER_OUTPUT_RESTORED_ELEMENTS, NULL, NULL, 0}};
  pthread_t threads[2];
  if (argc < 4) {
    fprintf(stderr, "usage: frames PICTURES PROBABILITIES RESTORED [FRAMES_PER_SECOND]\n");
    return 2;
  }
  file = fopen(argv[1], "rb");
  if (!file) {
    perror(argv[1]);
    return 1;
  }
  fseek(file, 0, SEEK_END);
  frames.total = ftell(file) / (long)(kPixels * sizeof(float));
  rewind(file);
  if (frames.total < 1 || !viewers[0].context || !viewers[1].context) return 1;
  frames.pictures = malloc((size_t)frames.total * kPixels * sizeof(float));
  frames.came = malloc((size_t)frames.total * sizeof(double));
  for (int v = 0; v < 2; ++v) {
    viewers[v].results = malloc((size_t)frames.total * viewers[v].elements * sizeof(float));
    viewers[v].latencies = malloc((size_t)frames.total * sizeof(double));
    pthread_create(&threads[v], NULL, view, &viewers[v]);
  }

  /* The camera: a frame a period, whoever may be late. */
  start = now();
  for (long i = 0; i < frames.total; ++i) {
    double wait = start + (double)i * period - now();
    if (wait > 0) nanosleep(&(struct timespec){(time_t)(wait / 1e3), (long)(wait * 1e6) % 1000000000L}, NULL);
    if (fread(frames.pictures + i * kPixels, sizeof(float), kPixels, file) != kPixels) return 1;
    pthread_mutex_lock(&frames.lock);
    frames.came[i] = now();
    frames.count = i + 1;
    pthread_cond_broadcast(&frames.more);
    pthread_mutex_unlock(&frames.lock);
  }
  for (int v = 0; v < 2; ++v) pthread_join(threads[v], NULL);
  fclose(file);
  int failed = finish(&viewers[0], argv[2]) | finish(&viewers[1], argv[3]);
  if (viewers[0].status) fprintf(stderr, "frames: digits: %s\n", digits_status_text(viewers[0].status));
  if (viewers[1].status) fprintf(stderr, "frames: autoencoder: %s\n", autoencoder_status_text(viewers[1].status));
  digits_destroy(viewers[0].context);
  autoencoder_destroy(viewers[1].context);
  free(frames.pictures);
  free(frames.came);
  return failed;
}
