// Threads that are started for each step of a grid, and end with it: they live for less than a tenth of a millisecond.
#include "../work.h"

#define STEPS 200
#define STEP_US 60 // of both bands

static long threads, steps;
static uint64_t *bands;

NAMED static void relax_band(long band, long step)
{
    bands[band] += compute((uint64_t)(band * steps + step), STEP_US / threads);
}

#ifndef FIXED
static long current;

NAMED static void *band_of_a_step(void *argument)
{
    relax_band((long)argument, current);
    return NULL;
}

NAMED static void run_steps(void)
{
    pthread_t started[threads];
    for (current = 0; current < steps; current++) {
        for (long band = 0; band < threads; band++)
            start_thread(&started[band], band_of_a_step, (void *)band); // PLANTED: threads for a step
        for (long band = 0; band < threads; band++)
            join_thread(started[band]);
    }
}
#else
static pthread_barrier_t step_done;

NAMED static void *band_of_all_steps(void *argument)
{
    for (long step = 0; step < steps; step++) {
        relax_band((long)argument, step);
        int error = pthread_barrier_wait(&step_done);
        check(error == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : error, "pthread_barrier_wait");
    }
    return NULL;
}

NAMED static void run_steps(void)
{
    pthread_t started[threads];
    check(pthread_barrier_init(&step_done, NULL, (unsigned)threads), "pthread_barrier_init");
    for (long band = 0; band < threads; band++)
        start_thread(&started[band], band_of_all_steps, (void *)band); // FIX: the same threads for all steps
    for (long band = 0; band < threads; band++)
        join_thread(started[band]);
}
#endif

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 2);
    steps = STEPS * argument(argc, argv, 2, 10);
    bands = calloc((size_t)threads, sizeof *bands);
    if (bands == NULL)
        check(errno, "calloc");
    run_steps();
    uint64_t checksum = 0;
    for (long band = 0; band < threads; band++)
        checksum ^= bands[band];
    free(bands);
    printf("short_threads checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
