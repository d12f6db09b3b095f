// ub-rnd of paper 1: each thread reads its own memory in an order without pattern, one read after the other, so that it
// lives on what the shared cache holds of it, and asks little of the memory's bandwidth.
#include "../stack_ub.h"

NAMED static uint64_t visit(line_t *memory, long lines, uint64_t state, uint64_t *sum)
{
    uint64_t x = state;
    for (long i = 0; i < iterations; i++) {
        // The next place depends on what was read: all that memory holds at index 1 is 0, which nobody else knows.
        x = scattered(x + memory[x % (uint64_t)lines][1]);
        *sum += x;
    }
    return x;
}

int main(int argc, char **argv)
{
    return run("stack_rnd", argc, argv, 2000, 200, 24 * 1024);
}
