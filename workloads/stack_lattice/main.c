// In kind after lbm: a stencil over a lattice in space that no cache holds. A plane and its neighbours fit, so that cache gives
// nothing; each sweep takes as much of memory's bandwidth as there is.
#include "../stack.h"

static long side, planes;
static double *now, *next;

#define AT(x, y, z) (((z) * side + (y)) * side + (x))

NAMED static void sweep(long first, long end)
{
    for (long z = first; z < end; z++)
        for (long y = 1; y < side - 1; y++)
            for (long x = 1; x < side - 1; x++)
                next[AT(x, y, z)] = (now[AT(x, y, z)] + now[AT(x - 1, y, z)] + now[AT(x + 1, y, z)] + now[AT(x, y - 1, z)]
                                     + now[AT(x, y + 1, z)] + now[AT(x, y, z - 1)] + now[AT(x, y, z + 1)])
                                    / 7;
}

static void *member(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < scale; round++) {
        sweep(1 + first_of(planes - 2, me), 1 + first_of(planes - 2, me + 1));
        members[me].done += (uint64_t)(first_of(planes - 2, me + 1) - first_of(planes - 2, me));
        ALL_MEET();
#ifdef NO_SYNC
        // Without the barrier each sweeps the same lattice again: the same accesses, and no thread needs another's result.
#else
        if (me == 0) {
            double *other = now;
            now = next;
            next = other;
        }
        ALL_MEET();
#endif
    }
    return NULL;
}

// `[threads] [scale] [points of a side]`
int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 8);
    side = planes = argument(argc, argv, 3, 256);
    long bytes = side * side * planes * (long)sizeof *now;
    now = (double *)own_memory(bytes);
    next = (double *)own_memory(bytes);
    for (long i = 0; i < side * side * planes; i++)
        now[i] = next[i] = (double)(i % 13);
    run_team(member);
    return finish("stack_lattice", all_done(), all_done() == (uint64_t)((planes - 2) * scale));
}
