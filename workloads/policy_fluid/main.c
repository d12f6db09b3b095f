// Particles in cells, with a lock for each cell at the edge of a thread's part (paper 4, after PARSEC's fluidanimate). The
// part of one thread has an eighth more particles than the others': a little more speed and nobody waits for it. `[threads] [scale]`
#include "../sim.h"

// A frame takes a hundred times as long as waking a thread, so that criticality is that of the work.
#define FRAMES 200
#define CELLS 120 // of a thread
#define PARTICLES 16 // of a cell

static float density[MOST_THREADS + 1][CELLS][LINE / sizeof(float)] __attribute__((aligned(4096)));
static pthread_mutex_t edges[MOST_THREADS + 1];

static long particles(long part)
{
#ifndef FIXED
    return part == 5 ? PARTICLES + PARTICLES / 8 : PARTICLES; // PLANTED: the part of thread 5 is denser
#else
    return PARTICLES + 0 * part; // FIX
#endif
}

NAMED static float interact(long count, float here)
{
    float sum = here;
    for (long one = 0; one < count; one++)
        for (long other = 0; other < 8; other++) {
            float apart = (float)(one - other) * 0.25f + sum * 1e-6f;
            sum += 1.0f / (1.0f + apart * apart);
        }
    return sum;
}

static void update(long me)
{
    for (long cell = 0; cell < CELLS; cell++) {
        float more = interact(particles(me), density[me][cell][0]);
        if (cell % 16 != 0) {
            density[me][cell][0] = more;
            continue;
        }
        // The cells at an edge are changed by the neighbour too.
        check(pthread_mutex_lock(&edges[me]), "pthread_mutex_lock");
        density[me][cell][0] = more;
        check(pthread_mutex_unlock(&edges[me]), "pthread_mutex_unlock");
        check(pthread_mutex_lock(&edges[me + 1]), "pthread_mutex_lock");
        density[me + 1][0][1] += 1.0f;
        check(pthread_mutex_unlock(&edges[me + 1]), "pthread_mutex_unlock");
    }
}

static void *animate(void *argument)
{
    long me = (intptr_t)argument;
    for (long frame = 0; frame < FRAMES * scale; frame++) {
        MEET();
        update(me);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long part = 0; part <= threads; part++)
        check(pthread_mutex_init(&edges[part], NULL), "pthread_mutex_init");
    run_with_main(animate);
    return finish("policy_fluid", CELLS, density[0][1][0] > 0);
}
