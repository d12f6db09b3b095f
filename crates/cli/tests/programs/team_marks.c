/* Regions of OpenMP: what is told of them is known to the last mark. */
#include <omp.h>
#include <stdio.h>

enum { REGIONS = 200, THREADS = 3, ITERATIONS = 300, CHUNK = 20, TASKS = 5 };

static double values[ITERATIONS];
/* What the lock guards is not what the critical section does. */
static long sum, locked;

int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp for schedule(dynamic, CHUNK)
            for (int i = 0; i < ITERATIONS; i++)
                values[i] += i;
#pragma omp critical
            sum++;
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp master
            for (int task = 0; task < TASKS; task++) {
#pragma omp task
                {
#pragma omp atomic
                    sum++;
                }
            }
        }
    }
    printf("%ld %g\n", sum + locked, values[ITERATIONS - 1]);
    return 0;
}
