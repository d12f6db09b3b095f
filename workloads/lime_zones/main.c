// Bodies that attract each other, summed up over a tree of squares that all threads walk for bodies of their own. Who has which
// bodies is found by walking the tree, too: each thread takes those of a zone of its costs. Before the first step no body's cost
// is known. The first thread of the program is one of the team, and threads meet in a macro.
#include "../lime.h"

#include <math.h>

#define BODIES 1500
#define STEPS 2
#define DEEPEST 20
#define NEAR 0.35 // a square is walked through if its side is more than this share of its distance
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
    double x, y, mass, cost;
    double left, low, side;
    double pull;
    struct node *quarters[4];
};

static struct node bodies[BODIES];
static struct node squares[BODIES * DEEPEST];
static long used;
static struct node *root;
static struct node *mine[MOST_THREADS][BODIES];
static long counts[MOST_THREADS];
static long pulls[MOST_THREADS];
static long drawn;

static struct node *new_square(double left, double low, double side)
{
    struct node *square = &squares[used++];
    *square = (struct node){.left = left, .low = low, .side = side};
    return square;
}

static void insert(struct node *square, struct node *body, int depth)
{
    double half = square->side / 2;
    int right = body->x >= square->left + half, upper = body->y >= square->low + half;
    struct node **quarter = &square->quarters[2 * upper + right];
    if (*quarter == NULL || depth == DEEPEST) {
        *quarter = body;
        return;
    }
    if ((*quarter)->is_body) {
        struct node *moved = *quarter;
        *quarter = new_square(square->left + right * half, square->low + upper * half, half);
        insert(*quarter, moved, depth + 1);
    }
    insert(*quarter, body, depth + 1);
}

static void sum_up(struct node *square)
{
    square->mass = square->cost = square->x = square->y = 0;
    for (int i = 0; i < 4; i++) {
        struct node *part = square->quarters[i];
        if (part == NULL)
            continue;
        if (!part->is_body)
            sum_up(part);
        square->mass += part->mass;
        square->cost += part->cost;
        square->x += part->x * part->mass;
        square->y += part->y * part->mass;
    }
    square->x /= square->mass;
    square->y /= square->mass;
}

// Takes the bodies whose costs begin in a zone; `before` is what those before them cost.
static double find(struct node *node, double before, double from, double to, long me)
{
    if (node->is_body) {
        if (before >= from && before < to)
            mine[me][counts[me]++] = node;
        return before + node->cost;
    }
    for (int i = 0; i < 4 && before < to; i++) {
        struct node *part = node->quarters[i];
        if (part == NULL)
            continue;
        if (before + part->cost > from)
            before = find(part, before, from, to, me);
        else
            before += part->cost;
    }
    return before;
}

static int is_near(const struct node *node, const struct node *body)
{
    double dx = node->x - body->x, dy = node->y - body->y;
    return node->side * node->side > NEAR * NEAR * (dx * dx + dy * dy);
}

static void attract(const struct node *node, struct node *body, long me)
{
    double dx = node->x - body->x, dy = node->y - body->y;
    body->pull += node->mass / (dx * dx + dy * dy + SOFT);
    pulls[me]++;
}

static void walk(const struct node *node, struct node *body, long me)
{
    if (!node->is_body && is_near(node, body)) { // PLANTED: bodies in dense parts have more near squares
        for (int i = 0; i < 4; i++)
            if (node->quarters[i] != NULL)
                walk(node->quarters[i], body, me); // PLANTED: the tree is deeper there
    } else if (node != body) {
        attract(node, body, me);
    }
}

static void pull(struct node *body, long me)
{
    pulls[me] = 0;
    body->pull = 0;
    walk(root, body, me);
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
    root = new_square(-0.5, -0.5, 1);
    for (int i = 0; i < BODIES; i++) {
        double spread = pow((double)(i + 20) / (BODIES + 20), 3);
        double x = ((double)(scattered((uint64_t)i * 2) >> 11) * 0x1p-53 - 0.5) * spread;
        double y = ((double)(scattered((uint64_t)i * 2 + 1) >> 11) * 0x1p-53 - 0.5) * spread;
        bodies[i] = (struct node){.is_body = 1, .x = x, .y = y, .mass = 1, .cost = 1};
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
