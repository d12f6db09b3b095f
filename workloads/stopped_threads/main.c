// A long critical section in a program with two threads that look after something until they are stopped: one sleeps and looks at
// a flag, the other one reads from a pipe. Neither does any of the work, nor is the run as long as it is for them.
#include <stdatomic.h>
#include <unistd.h>

#include "../work.h"

#define TABLE_SIZE 64
#define UPDATES 480
#define UPDATE_US 2000
#define PREPARE_US 200
#define LOOK_US 20000

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t table[TABLE_SIZE];
static long threads, scale;
static atomic_int stop;
static int commands[2];

NAMED static uint64_t prepare_update(long update)
{
    return compute((uint64_t)update + 1, PREPARE_US);
}

#ifndef FIXED
NAMED static void update_table(long update, uint64_t input)
{
    check(pthread_mutex_lock(&table_lock), "pthread_mutex_lock");
    uint64_t value = compute(input, UPDATE_US); // PLANTED: 2 ms of computing with table_lock held
    table[update % TABLE_SIZE] += value;
    check(pthread_mutex_unlock(&table_lock), "pthread_mutex_unlock");
}
#else
NAMED static void update_table(long update, uint64_t input)
{
    uint64_t value = compute(input, UPDATE_US); // FIX: compute first, hold table_lock for the addition alone
    check(pthread_mutex_lock(&table_lock), "pthread_mutex_lock");
    table[update % TABLE_SIZE] += value;
    check(pthread_mutex_unlock(&table_lock), "pthread_mutex_unlock");
}
#endif

static void *table_worker(void *argument)
{
    long first = (long)(intptr_t)argument;
    for (long update = first; update < UPDATES * scale; update += threads)
        update_table(update, prepare_update(update));
    return NULL;
}

static void *progress_reporter(void *unused)
{
    while (!stop)
        usleep(LOOK_US);
    return unused;
}

static void *command_reader(void *unused)
{
    char command;
    if (read(commands[0], &command, 1) != 1)
        abort();
    return unused;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    pthread_t workers[threads], reporter, reader;
    if (pipe(commands) != 0)
        abort();
    start_thread(&reporter, progress_reporter, NULL);
    start_thread(&reader, command_reader, NULL);
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], table_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    stop = 1;
    if (write(commands[1], "q", 1) != 1)
        abort();
    join_thread(reader);
    join_thread(reporter);
    uint64_t checksum = 0;
    for (int i = 0; i < TABLE_SIZE; i++)
        checksum = checksum * 31 + table[i];
    printf("stopped_threads checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
