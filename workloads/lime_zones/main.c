// Bodies that attract each other, summed up over a tree of cubes that all threads walk for bodies of their own. Who has which
// bodies is found by walking the tree, too: each thread takes those of a zone of its costs. Before the first step no body's cost
// is known. The first thread of the program is one of the team, and threads meet in a macro.
#include "../lime.h"

#include <math.h>

#define BODIES 1500
#define STEPS 3
#define DEEPEST 20
#define NEAR 0.7 // a cube is walked through if its side is more than this share of its distance
#define SOFT 1e-4

#define ZONES_MEET()                                                                                                   \
    do {                                                                                                               \
        check(pthread_mutex_lock(&gate.lock), "pthread_mutex_lock");                                                   \
        long round = gate.round;                                                                                       \
        if (++gate.here == threads) {                                                                                  \
            gate.here = 0;                                                                                             \
            gate.round++;                                                                                              \
            check(pthread_cond_broadcast(&gate.opens), "pthread_cond_broadcast");                                      \
        } else {                                                                                                       \
            while (gate.round == round)                                                                                \
                check(pthread_cond_wait(&gate.opens, &gate.lock), "pthread_cond_wait");                                \
        }                                                                                                              \
        check(pthread_mutex_unlock(&gate.lock), "pthread_mutex_unlock");                                               \
    } while (0)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opens;
    long here, round;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .opens = PTHREAD_COND_INITIALIZER};

struct node {
    int is_body;
    double at[3], mass, cost;
    double middle[3], half; // of a cube
    double pull;
    struct node *parts[8];
};

static struct node bodies[BODIES];
static struct node cubes[BODIES * DEEPEST];
static long used;
static struct node *root;
static struct node *mine[MOST_THREADS][BODIES];
static long counts[MOST_THREADS];
static long pulls[MOST_THREADS];
static long drawn;

static struct node *new_cube(const double *middle, double half)
{
    struct node *cube = &cubes[used++];
    *cube = (struct node){.middle = {middle[0], middle[1], middle[2]}, .half = half};
    return cube;
}

static void insert(struct node *cube, struct node *body, int depth)
{
    int which = 0;
    double middle[3];
    for (int d = 0; d < 3; d++) {
        int beyond = body->at[d] >= cube->middle[d];
        which |= beyond << d;
        middle[d] = cube->middle[d] + (beyond ? cube->half : -cube->half) / 2;
    }
    struct node **part = &cube->parts[which];
    if (*part == NULL || depth == DEEPEST) {
        *part = body;
        return;
    }
    if ((*part)->is_body) {
        struct node *moved = *part;
        *part = new_cube(middle, cube->half / 2);
        insert(*part, moved, depth + 1);
    }
    insert(*part, body, depth + 1);
}

static void sum_up(struct node *cube)
{
    cube->mass = cube->cost = cube->at[0] = cube->at[1] = cube->at[2] = 0;
    for (int i = 0; i < 8; i++) {
        struct node *part = cube->parts[i];
        if (part == NULL)
            continue;
        if (!part->is_body)
            sum_up(part);
        cube->mass += part->mass;
        cube->cost += part->cost;
        for (int d = 0; d < 3; d++)
            cube->at[d] += part->at[d] * part->mass;
    }
    for (int d = 0; d < 3; d++)
        cube->at[d] /= cube->mass;
}

// Takes the bodies whose costs begin in a zone; `before` is what those before them cost.
static double find(struct node *node, double before, double from, double to, long me)
{
    if (node->is_body) {
        if (before >= from && before < to)
            mine[me][counts[me]++] = node;
        return before + node->cost;
    }
    for (int i = 0; i < 8 && before < to; i++) {
        struct node *part = node->parts[i];
        if (part == NULL)
            continue;
        if (before + part->cost > from)
            before = find(part, before, from, to, me);
        else
            before += part->cost;
    }
    return before;
}

static double distance(const struct node *node, const struct node *body)
{
    double sum = 0;
    for (int d = 0; d < 3; d++)
        sum += (node->at[d] - body->at[d]) * (node->at[d] - body->at[d]);
    return sum;
}

static int is_near(const struct node *node, const struct node *body, double reach)
{
    return distance(node, body) < reach;
}

static void attract(const struct node *node, struct node *body, long me)
{
    body->pull += node->mass / (distance(node, body) + SOFT);
    pulls[me]++;
}

static void walk(const struct node *node, struct node *body, double reach, long me)
{
    if (!node->is_body && is_near(node, body, reach)) { // PLANTED: bodies in dense parts have more near cubes
        for (int i = 0; i < 8; i++)
            if (node->parts[i] != NULL)
                walk(node->parts[i], body, reach / 4, me); // PLANTED: the tree is deeper there
    } else if (node != body) {
        attract(node, body, me);
    }
}

static void pull(struct node *body, long me)
{
    pulls[me] = 0;
    body->pull = 0;
    walk(root, body, 1 / (NEAR * NEAR), me);
    body->cost = (double)pulls[me];
}

static void *move_bodies(void *unused)
{
    (void)unused;
    check(pthread_mutex_lock(&gate.lock), "pthread_mutex_lock");
    long me = drawn++;
    check(pthread_mutex_unlock(&gate.lock), "pthread_mutex_unlock");
    for (long step = 0; step < STEPS * scale; step++) {
        if (me == 0)
            sum_up(root);
        ZONES_MEET();
        counts[me] = 0;
        find(root, 0, me * root->cost / threads, (me + 1) * root->cost / threads, me);
        ZONES_MEET();
        for (long i = 0; i < counts[me]; i++)
            pull(mine[me][i], me);
        ZONES_MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    root = new_cube((double[]){0, 0, 0}, 0.5);
    for (int i = 0; i < BODIES; i++) {
        double spread = pow((double)(i + 20) / (BODIES + 20), 2);
        bodies[i] = (struct node){.is_body = 1, .mass = 1, .cost = 1};
        for (int d = 0; d < 3; d++)
            bodies[i].at[d] = ((double)(scattered((uint64_t)(i * 3 + d)) >> 11) * 0x1p-53 - 0.5) * spread;
        insert(root, &bodies[i], 0);
    }
#ifdef FIXED
    sum_up(root); // FIX: what a body costs is found out before the first step
    for (int i = 0; i < BODIES; i++)
        pull(&bodies[i], 0);
#endif
    pthread_t team[MOST_THREADS];
    for (long t = 1; t < threads; t++)
        start_thread(&team[t], move_bodies, NULL);
    move_bodies(NULL);
    for (long t = 1; t < threads; t++)
        join_thread(team[t]);
    uint64_t checksum = 0;
    int right = 1;
    for (int i = 0; i < BODIES; i++) {
        right &= bodies[i].pull > 0;
        checksum = checksum * 31 + (uint64_t)bodies[i].cost;
    }
    return finish("lime_zones", checksum, right);
}
