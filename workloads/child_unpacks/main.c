// Pictures are unpacked by another program, one after the other, and filtered by a pool of threads.
#define _GNU_SOURCE // environ
#include "../work.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define PICTURES 10
#define UNPACK_US 10000
#define FILTER_US 12000 // of both halves
#ifdef FIXED
#define AHEAD 3 // pictures that are unpacked ahead
#endif

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given, finished;
    long round, done, halves;
    uint64_t picture, checksum;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

// An unpacker at work, and the pipe that its picture comes by.
struct unpacker {
    pid_t process;
    int picture;
};

NAMED static uint64_t unpack_picture(long number)
{
    return compute((uint64_t)number, UNPACK_US);
}

NAMED static struct unpacker start_unpacker(char *program, long number)
{
    int ends[2];
    char text[32];
    snprintf(text, sizeof text, "%ld", number);
    if (pipe(ends) != 0)
        check(errno, "pipe");
    posix_spawn_file_actions_t actions;
    check(posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
    check(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO), "posix_spawn_file_actions_adddup2");
    check(posix_spawn_file_actions_addclose(&actions, ends[0]), "posix_spawn_file_actions_addclose");
    struct unpacker unpacker = {.picture = ends[0]};
    char *arguments[] = {program, "unpack", text, NULL};
    check(posix_spawn(&unpacker.process, program, &actions, NULL, arguments, environ), "posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    return unpacker;
}

NAMED static uint64_t read_picture(struct unpacker unpacker)
{
    uint64_t picture;
    int status;
    if (read(unpacker.picture, &picture, sizeof picture) != sizeof picture)
        check(EIO, "read");
    close(unpacker.picture);
    if (waitpid(unpacker.process, &status, 0) < 0 || status != 0)
        check(ECHILD, "waitpid");
    return picture;
}

NAMED static void *filter_half(void *argument)
{
    long number = (long)argument, seen = 0;
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    for (;;) {
        while (pool.round == seen)
            check(pthread_cond_wait(&pool.given, &pool.lock), "pthread_cond_wait");
        seen = pool.round;
        if (seen < 0)
            break;
        uint64_t picture = pool.picture + (uint64_t)number;
        check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
        uint64_t half = compute(picture, FILTER_US / pool.halves);
        check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
        pool.checksum += half;
        if (++pool.done == pool.halves)
            check(pthread_cond_signal(&pool.finished), "pthread_cond_signal");
    }
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
    return NULL;
}

NAMED static void begin_filter(uint64_t picture)
{
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    pool.picture = picture;
    pool.done = 0;
    pool.round++;
    check(pthread_cond_broadcast(&pool.given), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
}

NAMED static void end_filter(void)
{
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    while (pool.done < pool.halves)
        check(pthread_cond_wait(&pool.finished, &pool.lock), "pthread_cond_wait");
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "unpack") == 0) {
        uint64_t picture = unpack_picture(argument(argc, argv, 2, 1));
        return write(STDOUT_FILENO, &picture, sizeof picture) == sizeof picture ? 0 : 97;
    }
    long threads = argument(argc, argv, 1, 2), pictures = PICTURES * argument(argc, argv, 2, 4);
    pthread_t filters[threads];
    pool.halves = threads;
    for (long thread = 0; thread < threads; thread++)
        start_thread(&filters[thread], filter_half, (void *)thread);
#ifndef FIXED
    for (long number = 1; number <= pictures; number++) {
        begin_filter(read_picture(start_unpacker(argv[0], number))); // PLANTED: nothing is done while a picture is unpacked
        end_filter();
    }
#else
    struct unpacker ahead[AHEAD];
    for (long number = 1; number <= AHEAD && number <= pictures; number++)
        ahead[number % AHEAD] = start_unpacker(argv[0], number); // FIX: others are unpacked while one is filtered
    for (long number = 1; number <= pictures; number++) {
        uint64_t picture = read_picture(ahead[number % AHEAD]);
        if (number + AHEAD <= pictures)
            ahead[number % AHEAD] = start_unpacker(argv[0], number + AHEAD);
        begin_filter(picture);
        end_filter();
    }
#endif
    check(pthread_mutex_lock(&pool.lock), "pthread_mutex_lock");
    pool.round = -1;
    check(pthread_cond_broadcast(&pool.given), "pthread_cond_broadcast");
    check(pthread_mutex_unlock(&pool.lock), "pthread_mutex_unlock");
    for (long thread = 0; thread < threads; thread++)
        join_thread(filters[thread]);
    printf("child_unpacks checksum %016llx\n", (unsigned long long)pool.checksum);
    return 0;
}
