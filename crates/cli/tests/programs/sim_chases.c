/* Threads that each follow a chain of pointers of their own, one load behind the other, eight in each round of the loop.
 * `[threads] [MiB of each] [loads of each]` */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, LINE = 64 };
static void **heads[MOST];
static long loads;

static void **chain(long lines)
{
    char *memory = aligned_alloc(4096, (size_t)lines * LINE);
    long *order = malloc((size_t)lines * sizeof *order);
    uint64_t random = 88172645463325252u;
    if (memory == NULL || order == NULL) {
        exit(1);
    }
    for (long at = 0; at < lines; at++) {
        order[at] = at;
    }
    for (long at = lines - 1; at > 0; at--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        long with = (long)((random >> 33) % (uint64_t)(at + 1)), other = order[at];
        order[at] = order[with];
        order[with] = other;
    }
    for (long at = 0; at < lines; at++) {
        *(void **)(memory + order[at] * LINE) = memory + order[(at + 1) % lines] * LINE;
    }
    free(order);
    return (void **)memory;
}

static void *chase(void *me)
{
    void **at = heads[(intptr_t)me];
    for (long done = 0; done < loads; done += 8) {
        at = *at, at = *at, at = *at, at = *at;
        at = *at, at = *at, at = *at, at = *at;
    }
    return at;
}

int main(int count, char **arguments)
{
    long threads = count > 1 ? atol(arguments[1]) : 1, mebibytes = count > 2 ? atol(arguments[2]) : 1;
    pthread_t all[MOST];
    loads = count > 3 ? atol(arguments[3]) : 1000;
    for (long at = 0; at < threads; at++) {
        heads[at] = chain(mebibytes * 1024 * 1024 / LINE);
    }
    for (intptr_t at = 0; at < threads; at++) {
        pthread_create(&all[at], NULL, chase, (void *)at);
    }
    for (long at = 0; at < threads; at++) {
        void *end;
        pthread_join(all[at], &end);
        printf("%d", end != NULL);
    }
    return 0;
}
