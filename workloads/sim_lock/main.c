// A lock that two members take by turns all the time: main, and the member with the number `[threads] [scale] [partner]`.
// The others have nothing to do: the partner's number decides whether it is a neighbour of main or on another socket.
#include "../sim.h"

#define HOLDS 4000

static struct {
    pthread_mutex_t lock;
    char between[LINE];
    uint64_t ledger[4][LINE / sizeof(uint64_t)]; // changed by whoever holds the lock: these lines go with it
} shared __attribute__((aligned(4096))) = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long partner;

NAMED static void post(long times)
{
    for (long i = 0; i < times; i++) {
        check(pthread_mutex_lock(&shared.lock), "pthread_mutex_lock"); // PLANTED: always taken
        for (int step = 0; step < 8; step++)
            for (int line = 0; line < 4; line++)
                shared.ledger[line][0] = shared.ledger[line][0] * 3 + 1;
        check(pthread_mutex_unlock(&shared.lock), "pthread_mutex_unlock");
    }
}

static void *run(void *argument)
{
    long me = (intptr_t)argument;
    MEET();
    if (me == 0 || me == partner)
        post(HOLDS * scale);
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    partner = argument(argc, argv, 3, 1);
    run_with_main(run);
    return finish("sim_lock", shared.ledger[0][0], threads > partner);
}
