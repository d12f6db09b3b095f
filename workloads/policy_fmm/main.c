// Two threads that have as much more to do than the others: while one is made faster all wait for the other one (paper 4,
// after SPLASH-2's FMM). A third one is less critical, and alone. `[threads] [scale] [steps]`
#include "../sim.h"

#define BOXES 60

static long steps;
static double boxes[MOST_THREADS][BOXES] __attribute__((aligned(4096)));

NAMED static void add_up(long me, long times)
{
    for (long turn = 0; turn < times; turn++)
        for (long box = 1; box < BOXES; box++)
            boxes[me][box] = boxes[me][box] * 0.5 + boxes[me][box - 1] * 0.25;
}

static long forces(long me)
{
#ifndef FIXED
    return me == 2 || me == 7 ? 110 : 50; // PLANTED: threads 2 and 7 hide each other
#else
    return 50 + 0 * me; // FIX
#endif
}

static long moments(long me)
{
#ifndef FIXED
    return me == 4 ? 64 : 40; // SECOND: thread 4 is less critical, and nobody hides it
#else
    return 40 + 0 * me;
#endif
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    for (long box = 0; box < BOXES; box++)
        boxes[me][box] = (double)(box + 1);
    for (long step = 0; step < steps * scale; step++) {
        MEET();
        add_up(me, moments(me));
        MEET();
        add_up(me, forces(me));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    steps = argument(argc, argv, 3, 50);
    run_with_main(run);
    return finish("policy_fmm", BOXES, boxes[0][0] == 1.0);
}
