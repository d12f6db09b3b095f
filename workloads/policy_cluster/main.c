// Many short passes between barriers, at the end of which now this thread is late and now that one (paper 4, after PARSEC's
// streamcluster): three threads are somewhat more critical than the others. `[threads] [scale]`
#include "../sim.h"

#define PASSES 80
#define POINTS 96 // of a thread
#define AXES 16

static float places[MOST_THREADS][POINTS][AXES] __attribute__((aligned(4096)));
static float centres[AXES];
static float costs[MOST_THREADS][LINE / sizeof(float)] __attribute__((aligned(4096)));

// Who has more points in a pass: half of the passes 2, a quarter 5, a quarter 6.
static long late(long pass)
{
    static const long by_turns[] = {2, 5, 2, 6};
    return by_turns[pass % 4];
}

NAMED static void weigh(long me, long times)
{
    float sum = 0;
    for (long turn = 0; turn < times; turn++)
        for (long i = 0; i < POINTS; i++) {
            float distance = 0;
            for (long axis = 0; axis < AXES; axis++) {
                float along = places[me][i][axis] - centres[axis];
                distance += along * along;
            }
            sum += distance > 4.0f ? 1.0f : distance;
        }
    costs[me][0] += sum;
}

static void *cluster(void *argument)
{
    long me = (intptr_t)argument;
    for (long i = 0; i < POINTS; i++)
        for (long axis = 0; axis < AXES; axis++)
            places[me][i][axis] = (float)((i * 5 + axis) % 16);
    for (long pass = 0; pass < PASSES * scale; pass++) {
        MEET();
#ifndef FIXED
        weigh(me, me == late(pass) ? 21 : 14); // PLANTED: one thread has half as many points again
#else
        weigh(me, 14); // FIX
#endif
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    run_with_main(cluster);
    return finish("policy_cluster", POINTS, costs[0][0] > 0);
}
