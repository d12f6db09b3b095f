// A chain of pointers through a footprint that decides which level of the memory has to answer: `[threads] [scale] [KiB]`.
// Each step needs the step before, so the time of a step is the level's latency.
#include "../sim.h"

#define STEPS 400000

struct node {
    struct node *next;
    char rest[LINE - sizeof(struct node *)];
};

static long nodes;
static const struct node *reached[MOST_THREADS];

// One circle through all nodes, in an order that no stride describes: an odd constant added to an odd multiple of the
// place, modulo a power of two, comes by every place. They are written in the order of their addresses.
static struct node *make_circle(void)
{
    struct node *circle = fresh((size_t)nodes * sizeof *circle);
    for (long i = 0; i < nodes; i++)
        circle[i].next = &circle[(i * 1664525 + 1013904223) & (nodes - 1)];
    return circle;
}

NAMED static const struct node *walk(const struct node *from, long steps)
{
    for (long step = 0; step < steps; step++)
        from = from->next; // PLANTED: nothing to overlap with
    return from;
}

static void *chase(void *argument)
{
    long me = (intptr_t)argument;
    struct node *circle = make_circle();
    const struct node *at = circle;
    for (long round = 0; round < scale; round++)
        at = walk(at, STEPS);
    reached[me] = circle + (at - circle);
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    long kib = argument(argc, argv, 3, 512);
    for (nodes = 1; nodes * LINE < kib * 1024; nodes *= 2)
        continue;
    run_team(chase);
    int right = 1;
    for (long t = 0; t < threads; t++)
        right &= reached[t] != NULL;
    return finish("sim_chase", (uint64_t)nodes, right);
}
