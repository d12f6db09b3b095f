// Threads that wait for I/O: each fetches pages, one at a time, from another program, which answers after 10 ms.
#define _GNU_SOURCE // memfd_create, environ
#include "../work.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 320 // of all threads
#define LATENCY_NS 10000000L
#define PARSE_US 1500
#ifndef FIXED
#define AHEAD 1 // PLANTED: the next page is asked for only after the last one has been parsed
#else
#define AHEAD 4 // FIX: four pages are under way while one is parsed
#endif

struct request {
    long page;
    int reply_to; // the server has the same descriptors
    struct timespec due;
};

static int to_server[2];
static int (*to_worker)[2];
static long threads, scale;
static uint64_t *results;

static void transfer(ssize_t done, size_t expected, const char *call)
{
    if (done != (ssize_t)expected)
        check(done < 0 ? errno : EIO, call);
}

NAMED static void ask_for_page(long worker, long page)
{
    struct request request = {.page = page, .reply_to = to_worker[worker][1]};
    clock_gettime(CLOCK_MONOTONIC, &request.due);
    request.due.tv_nsec += LATENCY_NS;
    if (request.due.tv_nsec >= 1000000000L) {
        request.due.tv_nsec -= 1000000000L;
        request.due.tv_sec++;
    }
    transfer(write(to_server[1], &request, sizeof request), sizeof request, "write");
}

NAMED static long fetch_page(long worker)
{
    long page;
    transfer(read(to_worker[worker][0], &page, sizeof page), sizeof page, "read"); // waits for the server
    return page;
}

// Answers each request when it is due; all take the same time, so they fall due in the order they come in.
NAMED static void slow_server(void)
{
    struct request request;
    for (long answered = 0; answered < PAGES * scale; answered++) {
        transfer(read(STDIN_FILENO, &request, sizeof request), sizeof request, "read");
        check(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &request.due, NULL), "clock_nanosleep");
        transfer(write(request.reply_to, &request.page, sizeof request.page), sizeof request.page, "write");
    }
}

NAMED static void *page_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    long end = PAGES * scale * (me + 1) / threads;
    long asked = PAGES * scale * me / threads;
    long left = end - asked;
    for (long ahead = 0; ahead < AHEAD && asked < end; ahead++)
        ask_for_page(me, asked++);
    for (; left > 0; left--) {
        long page = fetch_page(me);
#ifdef FIXED
        if (asked < end)
            ask_for_page(me, asked++);
#endif
        results[me * 8] += compute((uint64_t)page + 1, PARSE_US);
#ifndef FIXED
        if (asked < end)
            ask_for_page(me, asked++);
#endif
    }
    return NULL;
}

// What processes of one program send to each other is no I/O: the far side is another one, a copy.
static int copy_of_this_program(void)
{
    int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("server", MFD_CLOEXEC);
    struct stat program;
    if (from < 0 || to < 0 || fstat(from, &program) != 0)
        check(errno, "copy");
    for (off_t copied = 0; copied < program.st_size;)
        if (sendfile(to, from, &copied, (size_t)(program.st_size - copied)) <= 0)
            check(errno, "sendfile");
    return to;
}

int main(int argc, char **argv)
{
    int serves = argc > 1 && strcmp(argv[1], "serve") == 0;
    threads = serves ? 0 : argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    if (serves) {
        slow_server();
        return 0;
    }
    results = calloc((size_t)threads * 8, sizeof *results); // 8: a cache line each
    to_worker = calloc((size_t)threads, sizeof *to_worker);
    pthread_t workers[threads];
    if (pipe(to_server) != 0)
        check(errno, "pipe");
    for (long t = 0; t < threads; t++)
        if (pipe(to_worker[t]) != 0)
            check(errno, "pipe");
    pid_t server = fork();
    if (server < 0)
        check(errno, "fork");
    if (server == 0) {
        char scale_text[24];
        snprintf(scale_text, sizeof scale_text, "%ld", scale);
        dup2(to_server[0], STDIN_FILENO);
        char *arguments[] = {argv[0], "serve", scale_text, NULL};
        fexecve(copy_of_this_program(), arguments, environ);
        _exit(127);
    }
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], page_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    int status;
    if (waitpid(server, &status, 0) < 0 || status != 0)
        check(ECHILD, "waitpid");
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++)
        checksum += results[t * 8];
    printf("io_wait checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
