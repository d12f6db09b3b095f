// Spectra are classified, and each is added to its class in a critical section, which takes longer than what is done in it.
#include "../openmp.h"

#define SPECTRA 500000
#define CLASSES 16
#define ROUNDS 24

struct tally {
    long members;
    uint64_t sum;
};

static struct tally tallies[CLASSES];

NAMED static uint64_t closest_class(uint64_t spectrum)
{
    uint64_t x = spectrum * 0x9E3779B97F4A7C15u + 1;
    for (int round = 0; round < ROUNDS; round++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

NAMED static void classify(long spectra)
{
#pragma omp parallel
    {
#ifdef FIXED
        struct tally own[CLASSES] = {{0, 0}};
#endif
#pragma omp for schedule(static)
        for (long spectrum = 0; spectrum < spectra; spectrum++) {
            uint64_t found = closest_class((uint64_t)spectrum);
#ifndef FIXED
#pragma omp critical(tallies) // PLANTED: for each spectrum
            {
                tallies[found % CLASSES].members++;
                tallies[found % CLASSES].sum += found;
            }
#else
            own[found % CLASSES].members++;
            own[found % CLASSES].sum += found;
#endif
        }
#ifdef FIXED
#pragma omp critical(tallies) // FIX: once for each thread
        for (int class = 0; class < CLASSES; class++) {
            tallies[class].members += own[class].members;
            tallies[class].sum += own[class].sum;
        }
#endif
    }
}

int main(int argc, char **argv)
{
    omp_set_num_threads((int)argument(argc, argv, 1, omp_get_max_threads()));
    classify(SPECTRA * argument(argc, argv, 2, 8));
    uint64_t checksum = 0;
    for (int class = 0; class < CLASSES; class++)
        checksum = checksum * 31 + tallies[class].sum + (uint64_t)tallies[class].members;
    return finish("omp_tallies", checksum);
}
