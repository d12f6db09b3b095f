// A library with regions of its own, of whatever runtime it was built for.
#include <omp.h>

static int module_level;

// The sum of 0 to n - 1, by a team of `threads`, with a lock, a critical section and tasks on the way; -1 where the team or
// its threads' numbers are wrong.
long module_sum(long n, int threads)
{
    long sum = 0;
    int size = 0, numbers = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        size = omp_get_num_threads();
#pragma omp atomic
        numbers += omp_get_thread_num();
#pragma omp for schedule(dynamic, 10) reduction(+ : sum)
        for (long i = 0; i < n; i++)
            sum += i;
        omp_set_lock(&lock);
        module_level = omp_get_level();
        omp_unset_lock(&lock);
#pragma omp critical(in_module)
        sum += 1;
        // The tasks add to it atomically, which is no protection from a thread that is still in the critical section.
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task shared(sum)
            {
#pragma omp atomic
                sum += 2;
            }
        }
    }
    omp_destroy_lock(&lock);
    if (numbers != size * (size - 1) / 2)
        return -1;
    return sum - size - 20;
}
