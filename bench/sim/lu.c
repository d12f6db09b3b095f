/* Floating-point work of a team: a dense matrix split into lower and upper triangles, scalar, rows by turns, with a barrier
 * after each step.
 *
 * Prints kernel_ns, from the start of the threads to their end. Arguments: threads, the order of the matrix. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../work.h"

static long threads, order;
static double *matrix;
static pthread_barrier_t step_done;

static void *factor(void *argument)
{
    long me = (intptr_t)argument;
    for (long k = 0; k < order; k++) {
        for (long i = k + 1; i < order; i++) {
            if (i % threads != me)
                continue;
            double ratio = matrix[i * order + k] /= matrix[k * order + k];
            for (long j = k + 1; j < order; j++)
                matrix[i * order + j] -= ratio * matrix[k * order + j];
        }
        pthread_barrier_wait(&step_done);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atol(argv[1]) : 1;
    order = argc > 2 ? atol(argv[2]) : 400;
    matrix = malloc((size_t)(order * order) * sizeof *matrix);
    pthread_t *team = calloc((size_t)threads, sizeof *team);
    if (matrix == NULL || team == NULL || pthread_barrier_init(&step_done, NULL, (unsigned)threads) != 0)
        return 1;
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < order * order; i++)
        matrix[i] = (double)((state = work(state, 1)) >> 40) + (i % (order + 1) == 0 ? 1e12 : 0);
    double begin = now_ns();
    for (long t = 0; t < threads; t++)
        if (pthread_create(&team[t], NULL, factor, (void *)(intptr_t)t) != 0)
            return 1;
    for (long t = 0; t < threads; t++)
        pthread_join(team[t], NULL);
    printf("kernel_ns %.0f\nlast %.6e\n", now_ns() - begin, matrix[order * order - 1]);
    return 0;
}
