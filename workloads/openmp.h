// What the OpenMP workloads share beyond `work.h`.
#ifndef OPENMP_H
#define OPENMP_H

#include "work.h"

#include <omp.h>

// `[threads] [scale]`: without the first, OMP_NUM_THREADS or the number of cores decides. Gives the scale.
static inline long team_and_scale(int argc, char **argv)
{
    omp_set_num_threads((int)argument(argc, argv, 1, omp_get_max_threads()));
    return argument(argc, argv, 2, 1);
}

// Ends the program with a line that is the same in every form, on every number of threads and from every compiler.
static inline int finish(const char *name, uint64_t checksum)
{
    printf("%s checksum %016llx\n", name, (unsigned long long)checksum);
    return 0;
}

#endif
