/* team MILLIONS: one OpenMP region whose threads share a fixed amount of work. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    long steps = (count > 1 ? atol(words[1]) : 1) * 1000000;
    uint64_t sum = 0;
#pragma omp parallel for reduction(^ : sum) schedule(static)
    for (long step = 0; step < steps; step++) {
        uint64_t x = (uint64_t)step;
        x ^= x << 13;
        x ^= x >> 7;
        sum ^= x;
    }
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
