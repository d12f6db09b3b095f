// The micro-benchmark of paper 5, Table 2: two regions in which each thread acquires an OpenMP lock, releases it and
// computes. In the first each thread has a lock of its own: all lock time is the algorithm's. In the second all have the
// same: it is contention.
#include "../openmp.h"

#define MOST_THREADS 256
#define OWN_ROUNDS (40000L * ITERATIONS_PER_US)
#define SHARED_ROUNDS (1217L * ITERATIONS_PER_US)

// 64: a cache line for each thread.
static struct {
    _Alignas(64) omp_lock_t lock;
    uint64_t count;
} own[MOST_THREADS], shared;

NAMED static void own_locks(long rounds)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        uint64_t state = (uint64_t)me + 1;
        long mine = rounds / omp_get_num_threads();
#ifndef FIXED
        for (long round = 0; round < mine; round++) {
            omp_set_lock(&own[me].lock); // PLANTED: nobody else wants it, but there are very many of these
            own[me].count++;
            omp_unset_lock(&own[me].lock);
            state = state * 6364136223846793005u + 1442695040888963407u;
        }
#else
        for (long round = 0; round < mine; round++)
            state = state * 6364136223846793005u + 1442695040888963407u;
        omp_set_lock(&own[me].lock); // FIX: one acquisition for all rounds
        own[me].count += (uint64_t)mine;
        omp_unset_lock(&own[me].lock);
#endif
        own[me].count += state == 0;
    }
}

NAMED static void shared_lock(long rounds)
{
#pragma omp parallel
    {
        uint64_t state = (uint64_t)omp_get_thread_num() + 1;
        long mine = rounds / omp_get_num_threads();
#ifndef FIXED
        for (long round = 0; round < mine; round++) {
            omp_set_lock(&shared.lock); // PLANTED: all threads want it
            state = state * 6364136223846793005u + 1442695040888963407u;
            for (int i = 0; i < 200; i++)
                state ^= state >> 9, state *= 0x9E3779B97F4A7C15u;
            shared.count += 1 + (state == 0);
            omp_unset_lock(&shared.lock);
        }
#else
        uint64_t here = 0;
        for (long round = 0; round < mine; round++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            for (int i = 0; i < 200; i++)
                state ^= state >> 9, state *= 0x9E3779B97F4A7C15u;
            here += 1 + (state == 0);
        }
        omp_set_lock(&shared.lock); // FIX: computes outside, adds once
        shared.count += here;
        omp_unset_lock(&shared.lock);
#endif
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    for (int thread = 0; thread < MOST_THREADS; thread++)
        omp_init_lock(&own[thread].lock);
    omp_init_lock(&shared.lock);
    // Rounds that no team of up to 16 threads divides with a rest: the checksum is the same for all of these.
    own_locks(OWN_ROUNDS * scale / 720720 * 720720);
    shared_lock(SHARED_ROUNDS * scale / 720720 * 720720);
    uint64_t checksum = shared.count * 31;
    for (int thread = 0; thread < MOST_THREADS; thread++)
        checksum += own[thread].count;
    return finish("omp_locks", checksum);
}
