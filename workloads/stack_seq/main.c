// ub-seq of paper 1: each thread goes through its own memory in order, as fast as memory delivers it. No cache helps, and the
// threads share what memory can deliver.
#define DEALT
#include "../stack_ub.h"

NAMED static uint64_t visit(line_t *memory, long lines, uint64_t state, uint64_t *sum)
{
    long at = (long)(state % (uint64_t)lines);
    uint64_t total = 0;
    for (long i = 0; i < iterations; i++) {
        total += memory[at][0] + memory[at][4];
        at = at + 1 < lines ? at + 1 : 0;
    }
    *sum += total;
    return (uint64_t)at;
}

int main(int argc, char **argv)
{
    return run("stack_seq", argc, argv, 1500, 4000, 256 * 1024);
}
