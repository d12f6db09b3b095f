// Threads hash keys and count those that pass a filter, all of them in one atomic counter.
#include "../work.h"

#include <stdatomic.h>

#define KEYS 240000000L

static _Atomic uint64_t passed;
static long threads, scale;

NAMED static void filter_keys(uint64_t begin, uint64_t end)
{
#ifdef FIXED
    uint64_t own = 0;
#endif
    for (uint64_t key = begin; key < end; key++) {
        uint64_t hash = (key ^ key >> 33) * 0xff51afd7ed558ccdu;
        if ((hash ^ hash >> 33) & 3) {
#ifdef FIXED
            own++; // FIXED: counted by each thread for itself
#else
            atomic_fetch_add_explicit(&passed, 1, memory_order_relaxed); // PLANTED: one counter for all threads
#endif
        }
    }
#ifdef FIXED
    atomic_fetch_add(&passed, own);
#endif
}

static void *filter(void *argument)
{
    uint64_t share = (uint64_t)(KEYS * scale / threads), begin = (uint64_t)(intptr_t)argument * share;
    filter_keys(begin, begin + share);
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 1);
    pthread_t *others = calloc((size_t)threads, sizeof *others);
    if (others == NULL)
        return 97;
    for (long i = 1; i < threads; i++)
        check(pthread_create(&others[i], NULL, filter, (void *)(intptr_t)i), "pthread_create");
    filter(NULL);
    for (long i = 1; i < threads; i++)
        check(pthread_join(others[i], NULL), "pthread_join");
    printf("passed: %llu\n", (unsigned long long)passed);
    return 0;
}
