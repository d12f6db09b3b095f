/* Floating-point work: a dense matrix split into lower and upper triangles, scalar, in one thread besides main.
 *
 * Prints kernel_ns, from the start of the thread to its end. Arguments: the order of the matrix. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../work.h"

static long order;
static double *matrix;

static void *factor(void *argument)
{
    (void)argument;
    for (long k = 0; k < order; k++)
        for (long i = k + 1; i < order; i++) {
            double ratio = matrix[i * order + k] /= matrix[k * order + k];
            for (long j = k + 1; j < order; j++)
                matrix[i * order + j] -= ratio * matrix[k * order + j];
        }
    return NULL;
}

int main(int argc, char **argv)
{
    order = argc > 1 ? atol(argv[1]) : 700;
    matrix = malloc((size_t)(order * order) * sizeof *matrix);
    if (matrix == NULL)
        return 1;
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < order * order; i++)
        matrix[i] = (double)((state = work(state, 1)) >> 40) + (i % (order + 1) == 0 ? 1e12 : 0);
    pthread_t thread;
    double begin = now_ns();
    if (pthread_create(&thread, NULL, factor, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    printf("kernel_ns %.0f\nlast %.6e\n", now_ns() - begin, matrix[order * order - 1]);
    return 0;
}
