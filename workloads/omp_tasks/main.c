// A sum over a tree with a task for each node: a node takes less time than making the task does.
#include "../openmp.h"

#define DEPTH 18
#define TREES 2

NAMED static uint64_t visit_node(uint64_t node)
{
    uint64_t x = node;
    for (int i = 0; i < 64; i++)
        x ^= x >> 29, x *= 0x9E3779B97F4A7C15u;
    return x >> 40;
}

#ifdef FIXED
NAMED static uint64_t sum_alone(uint64_t node, int depth)
{
    uint64_t here = visit_node(node);
    if (depth == 0)
        return here;
    return here + sum_alone(2 * node, depth - 1) + sum_alone(2 * node + 1, depth - 1);
}
#endif

NAMED static uint64_t sum_tree(uint64_t node, int depth)
{
#ifdef FIXED
    if (depth <= DEPTH - 6) // FIX: a cut-off: tasks for the upper nodes only
        return sum_alone(node, depth);
#endif
    if (depth == 0)
        return visit_node(node);
    uint64_t left, right;
#pragma omp task shared(left) // PLANTED: a task for each node
    left = sum_tree(2 * node, depth - 1);
#pragma omp task shared(right)
    right = sum_tree(2 * node + 1, depth - 1);
#pragma omp taskwait
    return visit_node(node) + left + right;
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    uint64_t checksum = 0;
    for (long tree = 0; tree < TREES * scale; tree++) {
        uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
        sum = sum_tree((uint64_t)tree + 1, DEPTH);
        checksum += sum;
    }
    return finish("omp_tasks", checksum);
}
