// Three tasks of unequal length for each query, and a wait for them before the next one's are made.
#include "../openmp.h"

#define QUERIES 24
#define PARTS 3
#define UNIT_US 900

static uint64_t score[QUERIES][PARTS];
static const int units[PARTS] = {6, 2, 1};

NAMED static void align_part(int query, int part)
{
    score[query][part] = compute((uint64_t)(query * 17 + part), (uint64_t)(units[part] * UNIT_US));
}

NAMED static void align_all(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int query = 0; query < QUERIES; query++) {
            for (int part = 0; part < PARTS; part++) {
#pragma omp task firstprivate(query, part)
                align_part(query, part);
            }
#ifndef FIXED
#pragma omp taskwait // PLANTED: the next query's tasks are made only now
#endif
        }
    }
}

int main(int argc, char **argv)
{
    team_and_scale(argc, argv);
    align_all();
    uint64_t checksum = 0;
    for (int query = 0; query < QUERIES; query++)
        for (int part = 0; part < PARTS; part++)
            checksum += score[query][part];
    return finish("omp_rounds", checksum);
}
