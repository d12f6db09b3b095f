// A lock that two members take by turns all the time: main, and the member with the number `[threads] [scale] [partner]`.
// The others have nothing to do: the partner's number decides whether it is a neighbour of main or on another socket.
#include "../sim.h"

#define HOLDS 120
#define LINES 256

static struct {
    pthread_mutex_t lock;
    char between[LINE];
    uint64_t ledger[LINES][LINE / sizeof(uint64_t)]; // changed by whoever holds the lock: these lines go with it
} shared __attribute__((aligned(4096))) = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long partner;
static volatile uint64_t own[MOST_THREADS][LINE / sizeof(uint64_t)] __attribute__((aligned(4096)));

NAMED static void post(long me, long times)
{
    for (long i = 0; i < times; i++) {
        check(pthread_mutex_lock(&shared.lock), "pthread_mutex_lock"); // PLANTED: taken most of the time
        for (int pass = 0; pass < 40; pass++)
            for (int line = 0; line < LINES; line++)
                shared.ledger[line][0] = shared.ledger[line][0] * 3 + 1;
        check(pthread_mutex_unlock(&shared.lock), "pthread_mutex_unlock");
        // Longer than it takes to wake the other, and shorter than that one then holds the lock.
        uint64_t x = (uint64_t)i + 1;
        for (int step = 0; step < 1600; step++)
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        own[me][0] += x;
    }
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    MEET();
    if (me == 0 || me == partner)
        post(me, HOLDS * scale);
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    partner = argument(argc, argv, 3, 1);
    run_with_main(run);
    return finish("sim_lock", shared.ledger[0][0], threads > partner);
}
