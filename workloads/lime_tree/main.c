// Bodies that attract each other, summed up over a tree of squares. The bodies lie ever denser towards the middle, and
// each thread has neighbours: those in the middle open more squares of the tree (paper 2, section 5.5.3).
#include "../lime.h"

#define BODIES 1024
#define STEPS 2
#define DEEPEST 24
#define OPENING 0.4 // a square is opened if its side is more than this share of its distance
#define SOFT 1e-6

struct body {
    double x, y;
};

struct square {
    double x, y; // the mean of its bodies
    double side, mass;
    double left, low;
    struct square *quarters[4];
    int body; // the only one, or -1
};

static struct body bodies[BODIES];
static double pulls[BODIES];
static struct square squares[BODIES * (DEEPEST + 1) * 2];
static long used;

static struct square *new_square(double left, double low, double side)
{
    struct square *square = &squares[used++];
    *square = (struct square){.side = side, .left = left, .low = low, .body = -1};
    return square;
}

static void insert(struct square *square, int body, int depth)
{
    struct square *at = square;
    const struct body *b = &bodies[body];
    at->x = (at->x * at->mass + b->x) / (at->mass + 1);
    at->y = (at->y * at->mass + b->y) / (at->mass + 1);
    at->mass += 1;
    if (at->mass == 1) {
        at->body = body;
        return;
    }
    if (depth == DEEPEST)
        return;
    int moved[2] = {at->body, body};
    at->body = -1;
    for (int i = 0; i < 2; i++) {
        if (moved[i] < 0)
            continue;
        double half = at->side / 2;
        int right = bodies[moved[i]].x >= at->left + half, upper = bodies[moved[i]].y >= at->low + half;
        struct square **quarter = &at->quarters[2 * upper + right];
        if (*quarter == NULL)
            *quarter = new_square(at->left + right * half, at->low + upper * half, half);
        insert(*quarter, moved[i], depth + 1);
    }
}

static int is_divided(const struct square *square)
{
    return square->quarters[0] || square->quarters[1] || square->quarters[2] || square->quarters[3];
}

static double pull(const struct square *square, const struct body *body)
{
    double dx = square->x - body->x, dy = square->y - body->y;
    double distance = dx * dx + dy * dy + SOFT;
    if (square->side * square->side < OPENING * OPENING * distance || !is_divided(square)) // PLANTED: near squares
        return square->mass / distance;
    double sum = 0;
    for (int i = 0; i < 4; i++)
        if (square->quarters[i] != NULL)
            sum += pull(square->quarters[i], body); // PLANTED: the tree is deeper in the middle
    return sum;
}

static void *attract(void *argument)
{
    long me = (intptr_t)argument;
    for (long step = 0; step < STEPS * scale; step++) {
#ifndef FIXED
        for (long i = me * BODIES / threads; i < (me + 1) * BODIES / threads; i++)
            pulls[i] = pull(&squares[0], &bodies[i]);
#else
        for (long i = me; i < BODIES; i += threads) // FIX: bodies are dealt out like cards
            pulls[i] = pull(&squares[0], &bodies[i]);
#endif
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (int i = 0; i < BODIES; i++) {
        double spread = (double)(i + 1) / BODIES;
        spread *= spread;
        bodies[i].x = ((double)(scattered((uint64_t)i * 2) >> 11) * 0x1p-53 - 0.5) * spread;
        bodies[i].y = ((double)(scattered((uint64_t)i * 2 + 1) >> 11) * 0x1p-53 - 0.5) * spread;
    }
    new_square(-0.5, -0.5, 1);
    for (int i = 0; i < BODIES; i++)
        insert(&squares[0], i, 0);
    run_team(attract);
    // The sum over the tree is near the sum over all bodies.
    int right = squares[0].mass == BODIES;
    uint64_t checksum = 0;
    for (int i = 0; i < BODIES; i++) {
        if (i % 64 == 0) {
            double all = 0;
            for (int j = 0; j < BODIES; j++) {
                double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
                all += 1 / (dx * dx + dy * dy + SOFT);
            }
            right &= pulls[i] > 0.8 * all && pulls[i] < 1.25 * all;
        }
        checksum = checksum * 31 + (uint64_t)(pulls[i] * 16);
    }
    return finish("lime_tree", checksum, right);
}
