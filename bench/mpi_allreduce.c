// bench/mpi_allreduce.c: MPI's sum of an array of floats over all ranks, for kvstore_lab.py.
// Usage: mpi_allreduce ELEMENTS STEPS FIRST. Rank 0 shows the seconds that STEPS sums took, after FIRST others.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void sums(const float* from, float* to, int elements, int steps) {
  for (int step = 0; step < steps; ++step) MPI_Allreduce(from, to, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: %s ELEMENTS STEPS FIRST\n", argv[0]), 2;
  const int elements = atoi(argv[1]), steps = atoi(argv[2]), first = atoi(argv[3]);
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  float* from = malloc(sizeof(float) * elements);
  float* to = malloc(sizeof(float) * elements);
  for (int i = 0; i < elements; ++i) from[i] = 1;
  sums(from, to, elements, first);
  const double begin = MPI_Wtime();
  sums(from, to, elements, steps);
  const double seconds = MPI_Wtime() - begin;
  if (to[elements - 1] != size) return fprintf(stderr, "a wrong sum\n"), 1;
  if (rank == 0) printf("%.6f\n", seconds);
  MPI_Finalize();
  return 0;
}
