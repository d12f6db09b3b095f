// A task for each of many small elements, all made by one thread: handing one out takes longer than the task.
#include "../openmp.h"

#define ELEMENTS 60000

static uint64_t squares[ELEMENTS];

NAMED static void visit_element(long element)
{
    squares[element] = (uint64_t)element * (uint64_t)element;
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
#pragma omp parallel
#pragma omp single
    for (long element = 0; element < ELEMENTS * scale; element++) {
#pragma omp task
        visit_element(element % ELEMENTS);
    }
    uint64_t checksum = 0;
    for (int element = 0; element < ELEMENTS; element++)
        checksum += squares[element];
    return finish("omp_tasks", checksum);
}
