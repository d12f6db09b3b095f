// Points that are gone through again and again in an order without a stride, each member its own ones: with few caches they
// do not fit, with many they do, and then the lock and the barriers are what is left (paper 3, Fig. 4).
#include "../sim.h"

#define POINTS 98304 // 6 MiB
#define PASSES 8
#define BATCH 128

struct point {
    struct point *next;
    float place[4];
    char rest[LINE - sizeof(struct point *) - 4 * sizeof(float)];
};

static struct point *points;
static pthread_mutex_t best_lock = PTHREAD_MUTEX_INITIALIZER;
static float cost;

// The points between two places become a chain.
static struct point *make_chain(long first, long end)
{
    long count = end - first;
    struct point *last = NULL;
    for (long i = 0; i < count; i++) {
        struct point *point = &points[first + i * 7919 % count];
        point->next = last;
        for (int axis = 0; axis < 4; axis++)
            point->place[axis] = (float)(i % 64 + axis);
        last = point;
    }
    return last;
}

NAMED static void *open_centers(void *argument)
{
    long me = (intptr_t)argument;
    struct point *chain = make_chain(share(POINTS, me), share(POINTS, me + 1));
    for (long pass = 0; pass < PASSES * scale; pass++) {
        MEET();
        struct point *at = chain;
        while (at != NULL) {
            float sum = 0;
            for (long i = 0; i < BATCH && at != NULL; i++, at = at->next) {
                float along = at->place[0] - 3.0f, across = at->place[1] - 5.0f;
                sum += along * along + across * across;
            }
            check(pthread_mutex_lock(&best_lock), "pthread_mutex_lock");
            cost += sum > 0 ? 1.0f : 0.0f;
            check(pthread_mutex_unlock(&best_lock), "pthread_mutex_unlock");
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    points = fresh(POINTS * sizeof *points);
    run_with_main(open_centers);
    return finish("sim_cluster", POINTS, cost > 0);
}
