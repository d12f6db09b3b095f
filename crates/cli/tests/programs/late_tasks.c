// One thread reads what the next task is to do, which takes three times as long as the task: the other waits for tasks.
#include "../../../../workloads/openmp.h"

#define TASKS 60
#define READ_US 1500
#define TASK_US 500

static uint64_t result[TASKS];

NAMED static uint64_t read_piece(long task)
{
    return compute((uint64_t)task, READ_US);
}

NAMED static void filter_piece(long task, uint64_t piece)
{
    result[task] = compute(piece, TASK_US);
}

NAMED static void filter_all(void)
{
#pragma omp parallel
#pragma omp single
    for (long task = 0; task < TASKS; task++) {
        uint64_t piece = read_piece(task);
#pragma omp task
        filter_piece(task, piece);
    }
}

int main(int argc, char **argv)
{
    (void)team_and_scale(argc, argv);
    filter_all();
    uint64_t checksum = 0;
    for (long task = 0; task < TASKS; task++)
        checksum += result[task];
    return finish("late_tasks", checksum);
}
