// In kind after fluidanimate: each thread moves the particles of its part of space, and locks a cell where a particle reaches
// over the border; in each frame there are some steps with a barrier after each. With -DONE_LOCK one lock stands for all.
#include "../stack.h"

#ifndef CELLS
#define CELLS 4096L
#define STEPS 5 // of a frame
#endif

static struct cell {
    pthread_mutex_t lock;
    uint64_t density;
} cells[CELLS] __attribute__((aligned(LINE)));

#ifdef ONE_LOCK
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static pthread_mutex_t *lock_of(long cell)
{
#ifdef ONE_LOCK
    (void)cell;
    return &mutex;
#else
    return &cells[cell].lock;
#endif
}

NAMED static void add_to(long cell, uint64_t share, uint64_t *x)
{
    LOCK(lock_of(cell));
    // A sum does not depend on the order of who adds.
    cells[cell].density += share;
    *x = compute(*x, 1);
    UNLOCK(lock_of(cell));
}

NAMED static uint64_t move(long first, long end, uint64_t x)
{
    for (long cell = first; cell < end; cell++) {
        x = compute(x, 2);
        add_to(cell, 1, &x);
        add_to((cell + 1) % CELLS, 1, &x);
    }
    return x;
}

static void *member(void *argument)
{
    long me = (intptr_t)argument;
    long first = first_of(CELLS, me), end = first_of(CELLS, me + 1);
    uint64_t x = (uint64_t)me;
    for (long frame = 0; frame < scale; frame++)
        for (int step = 0; step < STEPS; step++) {
            x = move(first, end, x);
            ALL_MEET();
        }
    members[me].sum = x;
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 10);
    for (long cell = 0; cell < CELLS; cell++)
        check(pthread_mutex_init(&cells[cell].lock, NULL), "pthread_mutex_init");
    run_team(member);
    uint64_t sum = 0;
    for (long cell = 0; cell < CELLS; cell++)
        sum += cells[cell].density;
#ifdef NO_SYNC
    sum = (uint64_t)(2 * CELLS * scale * STEPS); // neighbours may have lost each other's shares
#endif
    return finish("stack_fluid", sum, sum == (uint64_t)(2 * CELLS * scale * STEPS));
}
