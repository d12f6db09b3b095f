// A graph is searched level by level (paper 4, section 6, after Rodinia's BFS). Each level has two loops over all nodes, of
// which only the first one is divided among the threads. `[threads] [scale] [nodes]`
#include "../sim.h"

#define DEGREE 10
#define SEARCHES 4
#define FAR 255

static long nodes;
static uint32_t (*edges)[DEGREE];
static unsigned char *level, *is_reached, *is_next;
static int goes_on[2];

// Threads may write the same value to the same place.
static void put(unsigned char *place, unsigned char value)
{
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
}

static unsigned char get(unsigned char *place)
{
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}

static void make_graph(long first, long end)
{
    for (long node = first; node < end; node++) {
        for (long i = 0; i < DEGREE; i++)
            edges[node][i] = (uint32_t)((scattered((uint64_t)(node * DEGREE + i)) >> 32) * (uint64_t)nodes >> 32);
        is_next[node] = 0;
    }
}

// The search begins at one node.
static void begin(long first, long end, long root)
{
    for (long node = first; node < end; node++) {
        level[node] = node == root ? 0 : FAR;
        is_reached[node] = node == root;
    }
}

NAMED static void visit_edges(long first, long end)
{
    for (long node = first; node < end; node++) {
        if (!is_reached[node])
            continue;
        is_reached[node] = 0;
        for (long i = 0; i < DEGREE; i++) {
            uint32_t other = edges[node][i];
            if (get(&level[other]) == FAR) {
                put(&level[other], (unsigned char)(level[node] + 1));
                put(&is_next[other], 1);
            }
        }
    }
}

NAMED static int look_for_more(long first, long end)
{
    int found = 0;
    for (long node = first; node < end; node++)
        if (is_next[node]) {
            is_next[node] = 0;
            is_reached[node] = 1;
            found = 1;
        }
    return found;
}

static void *search(void *argument)
{
    long me = (intptr_t)argument, first = share(nodes, me), end = share(nodes, me + 1);
    make_graph(first, end);
    for (long search = 0; search < SEARCHES * scale; search++) {
        begin(first, end, nodes / SEARCHES * (search % SEARCHES));
        int more = 1;
        for (long step = 0; more; step++) {
            MEET();
            visit_edges(first, end);
            if (me == 0)
                goes_on[step % 2] = 0;
            MEET();
#ifndef FIXED
            if (me == 0)
                goes_on[step % 2] = look_for_more(0, nodes); // PLANTED: one thread goes through all nodes
#else
            if (look_for_more(first, end)) // FIX: each goes through its own
                __atomic_store_n(&goes_on[step % 2], 1, __ATOMIC_RELAXED);
#endif
            MEET();
            more = goes_on[step % 2];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    nodes = argument(argc, argv, 3, 24000);
    edges = fresh((size_t)nodes * sizeof *edges);
    level = fresh((size_t)nodes);
    is_reached = fresh((size_t)nodes);
    is_next = fresh((size_t)nodes);
    run_with_main(search);
    uint64_t sum = 0;
    for (long node = 0; node < nodes; node += 97)
        sum = sum * 31 + level[node];
    return finish("policy_bfs", sum, level[nodes / SEARCHES * (SEARCHES - 1)] == 0);
}
