// ub-tiny of paper 1: what each thread works on fits into its first cache, so that only synchronization can slow it down.
#include "../stack_ub.h"

NAMED static uint64_t visit(line_t *memory, long lines, uint64_t state, uint64_t *sum)
{
    uint64_t x = state;
    for (long i = 0; i < iterations; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *sum += memory[(long)(x % 16) % lines][1] += x;
    }
    return x;
}

int main(int argc, char **argv)
{
    return run("stack_tiny", argc, argv, 40000, 120, 8);
}
