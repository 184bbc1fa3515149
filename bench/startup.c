/* Runs a library's model once on zeros and prints, for bench/startup.py: the clock when the first result was there and the processor time that the
 * process had taken, both in ns, and the most memory that it has had resident by then, in KiB. Compiled with the library's own names: HEADER, CREATE, RUN, INPUTS, OUTPUTS, ELEMENTS, RESULTS,
 * and for weights beside it MAP and USE. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include HEADER

static float image[ELEMENTS], probability[RESULTS];

static long resident(void) {
  char line[256];
  long kib = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kib);
  return kib;
}

int main(int argc, char** argv) {
  struct timespec time, processor;
  INPUTS inputs = {.image = image};
  OUTPUTS outputs = {.probability = probability};
  void* net = CREATE();
#ifdef MAP
  const void* file;
  size_t bytes;
  if (argc != 2 || MAP(argv[1], &file, &bytes) != 0 || USE(net, file, bytes) != 0) return 2;
#else
  (void)argv;
  if (argc != 1) return 2;
#endif
  if (RUN(net, &inputs, &outputs, 1) != 0) return 1;
  clock_gettime(CLOCK_MONOTONIC, &time);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
  printf("%lld %lld %ld\n", (long long)time.tv_sec * 1000000000 + time.tv_nsec, (long long)processor.tv_sec * 1000000000 + processor.tv_nsec,
         resident());
  return probability[0] >= 0 && probability[0] <= 1 ? 0 : 3;
}
