/* Two models in one program; sixteen threads with contexts of their own; a pool of threads inside a run. Prints how many samples differ
 * from those that one thread computes. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "digits.h"
#include "lenet.h"

enum { kThreads = 16, kPool = 4 };

static float images[kThreads][LENET_INPUT_IMAGE_ELEMENTS], small[kThreads][DIGITS_INPUT_IMAGE_ELEMENTS];
static float serial[kThreads][LENET_OUTPUT_PROBABILITY_ELEMENTS], small_serial[kThreads][DIGITS_OUTPUT_PROBABILITY_ELEMENTS];

static int run_lenet(lenet_context* net, int i, float* result) {
  lenet_inputs inputs;
  lenet_outputs outputs;
  inputs.image = images[i];
  outputs.probability = result;
  return lenet_run(net, &inputs, &outputs, 1);
}

static int run_digits(digits_context* net, int i, float* result) {
  digits_inputs inputs;
  digits_outputs outputs;
  inputs.image = small[i];
  outputs.probability = result;
  return digits_run(net, &inputs, &outputs, 1);
}

/* Both models in turn, each with a context of this thread's own. The number of results that differ. */
static void* alone(void* argument) {
  int first = *(int*)argument, i, wrong = 0;
  float result[LENET_OUTPUT_PROBABILITY_ELEMENTS];
  lenet_context* net = lenet_create();
  digits_context* little = digits_create();
  for (i = 0; i < kThreads; ++i) {
    int sample = (first + i) % kThreads;
    wrong += run_lenet(net, sample, result) || memcmp(result, serial[sample], sizeof result);
    wrong += run_digits(little, sample, result) || memcmp(result, small_serial[sample], sizeof result);
  }
  lenet_destroy(net);
  digits_destroy(little);
  *(int*)argument = wrong;
  return NULL;
}

/* A pool that makes a thread a task. */
struct task {
  void (*run)(void*);
  void* argument;
  pthread_t thread;
};
struct pool {
  struct task tasks[kPool];
  int count, submitted;
};
static int pool_threads(void* self) { return self ? kPool : 0; }
static void* run_task(void* argument) {
  struct task* task = argument;
  task->run(task->argument);
  return NULL;
}
static void pool_submit(void* self, void (*run)(void*), void* argument) {
  struct pool* pool = self;
  struct task* task = &pool->tasks[pool->count++];
  task->run = run;
  task->argument = argument;
  pthread_create(&task->thread, NULL, run_task, task);
  ++pool->submitted;
}
static void pool_wait(void* self) {
  struct pool* pool = self;
  while (pool->count > 0) pthread_join(pool->tasks[--pool->count].thread, NULL);
}

int main(void) {
  static float batch[LENET_BATCH * LENET_INPUT_IMAGE_ELEMENTS], results[2][LENET_BATCH * LENET_OUTPUT_PROBABILITY_ELEMENTS];
  static struct pool own;
  pthread_t threads[kThreads];
  int numbers[kThreads], i, wrong = 0, status = 0;
  unsigned seed = 1;
  size_t p;
  lenet_context* net = lenet_create();
  digits_context* little = digits_create();
  lenet_pool pool;
  lenet_inputs inputs;
  lenet_outputs outputs;
  for (i = 0; i < kThreads; ++i) {
    for (p = 0; p < LENET_INPUT_IMAGE_ELEMENTS; ++p) images[i][p] = (float)((seed = seed * 1103515245u + 12345u) >> 16 & 255) / 255;
    for (p = 0; p < DIGITS_INPUT_IMAGE_ELEMENTS; ++p) small[i][p] = images[i][p];
    status |= run_lenet(net, i, serial[i]) | run_digits(little, i, small_serial[i]);
  }
  for (i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, alone, (numbers[i] = i, &numbers[i]));
  for (i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    wrong += numbers[i];
  }
  printf("status %d, wrong %d, told apart %d\n", status, wrong, memcmp(serial[0], serial[1], sizeof serial[0]) != 0);

  for (p = 0; p < sizeof batch / sizeof *batch; ++p) batch[p] = images[p / LENET_INPUT_IMAGE_ELEMENTS % kThreads][p % LENET_INPUT_IMAGE_ELEMENTS];
  inputs.image = batch;
  outputs.probability = results[0];
  status = lenet_run(net, &inputs, &outputs, LENET_BATCH);
  pool.self = &own;
  pool.threads = pool_threads;
  pool.submit = pool_submit;
  pool.wait = pool_wait;
  status |= lenet_set_pool(net, &pool);
  outputs.probability = results[1];
  status |= lenet_run(net, &inputs, &outputs, LENET_BATCH);
  printf("status %d, with a pool the same %d, shared out %d\n", status, memcmp(results[0], results[1], sizeof results[0]) == 0, own.submitted > 0);
  own.submitted = 0;
  status = lenet_set_pool(net, NULL) | lenet_run(net, &inputs, &outputs, LENET_BATCH);
  printf("status %d, without it %d\n", status, own.submitted);
  pool.wait = NULL;
  printf("half a pool %d, no context %d\n", lenet_set_pool(net, &pool), lenet_set_pool(NULL, NULL));
  lenet_destroy(net);
  digits_destroy(little);
  return 0;
}
