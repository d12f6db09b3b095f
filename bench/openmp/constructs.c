/* What one OpenMP construct costs, in the manner of the EPCC benchmarks (J. M. Bull, EWOMP 1999): the construct alone, very
 * often. `constructs NAME` prints `construct_ns`: ns for each time that a thread meets it. */
#include "timing.h"

#include <omp.h>

#define GROUPS 21
#define MOST_THREADS 256

static struct {
    _Alignas(128) volatile uint64_t value;
    omp_lock_t lock;
} place[MOST_THREADS];

static volatile uint64_t shared_count;

static void regions(long repetitions)
{
    for (long i = 0; i < repetitions; i++) {
#pragma omp parallel
        place[omp_get_thread_num()].value++;
    }
}

static void reductions(long repetitions)
{
    uint64_t sum = 0;
    for (long i = 0; i < repetitions; i++) {
#pragma omp parallel reduction(+ : sum)
        sum += 1;
    }
    shared_count = sum;
}

static void loops(long repetitions)
{
#pragma omp parallel
    for (long i = 0; i < repetitions; i++) {
#pragma omp for schedule(static)
        for (int thread = 0; thread < MOST_THREADS; thread++)
            place[thread].value++;
    }
}

static void barriers(long repetitions)
{
#pragma omp parallel
    for (long i = 0; i < repetitions; i++) {
#pragma omp barrier
    }
}

static void singles(long repetitions)
{
#pragma omp parallel
    for (long i = 0; i < repetitions; i++) {
#pragma omp single
        shared_count++;
    }
}

static void criticals(long repetitions)
{
#pragma omp parallel
    for (long i = 0; i < repetitions; i++) {
#pragma omp critical
        shared_count++;
    }
}

/* A chunk of one iteration. */
static void chunks(long repetitions)
{
    long all = repetitions * omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1)
    for (long i = 0; i < all; i++)
        place[omp_get_thread_num()].value++;
}

static void tasks(long repetitions)
{
#pragma omp parallel
    {
        for (long i = 0; i < repetitions; i++) {
#pragma omp task
            place[omp_get_thread_num()].value++;
        }
#pragma omp taskwait
    }
}

static void sections(long repetitions)
{
#pragma omp parallel
    for (long i = 0; i < repetitions; i++) {
#pragma omp sections
        {
#pragma omp section
            place[0].value++;
#pragma omp section
            place[1].value++;
        }
    }
}

/* An OpenMP lock that nobody else wants, every 100 ns or so (paper 5, section 5.3). */
static void locks(long repetitions)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        uint64_t state = 1;
        for (long i = 0; i < repetitions; i++) {
            state = work(state, 90);
            omp_set_lock(&place[me].lock);
            place[me].value += state & 1;
            omp_unset_lock(&place[me].lock);
        }
    }
}

static const struct {
    const char *name;
    void (*group)(long);
    long repetitions;
} all[] = {
    {"region", regions, 5000},    {"reduction", reductions, 5000}, {"for", loops, 10000},
    {"barrier", barriers, 20000}, {"single", singles, 15000},      {"critical", criticals, 30000},
    {"chunk", chunks, 60000},     {"task", tasks, 15000},          {"sections", sections, 10000},
    {"lock", locks, 60000},
};

int main(int argc, char **argv)
{
    for (int thread = 0; thread < MOST_THREADS; thread++)
        omp_init_lock(&place[thread].lock);
    for (size_t i = 0; argc == 2 && i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(argv[1], all[i].name) != 0)
            continue;
        measure("construct_ns", all[i].group, all[i].repetitions, GROUPS);
        return 0;
    }
    fprintf(stderr, "usage: %s region|reduction|for|barrier|single|critical|chunk|task|sections|lock\n", argv[0]);
    return 2;
}
