// A pipeline whose stages send to each other through the kernel: the reader to an event loop by an eventfd, the loop to the compressors by
// a pipe, these to the writer by a pair of sockets. No stage shares a lock with another but the reader with the loop.
#include "../work.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ITEMS 220
#define READ_US 300
#define ROUTE_US 500
#define COMPRESS_US 4000
#define WRITE_US 200

#ifndef FIXED
#define COMPRESSORS 1 // PLANTED: one thread for the stage that takes four fifths of the work
#else
#define COMPRESSORS 2 // FIX: a second thread for the slow stage
#endif

static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *inbox;
static long arrived, items, compressors;
static int arrivals, to_compress[2], to_write[2];
static uint64_t checksum;

NAMED static void put(int descriptor, uint64_t item)
{
    if (write(descriptor, &item, sizeof item) != sizeof item)
        check(errno, "write");
}

// Takes an item into `item`; 0 where there will be none any more.
NAMED static int get(int descriptor, uint64_t *item)
{
    ssize_t length = read(descriptor, item, sizeof *item);
    if (length < 0)
        check(errno, "read");
    return length == sizeof *item;
}

NAMED static void *read_stage(void *argument)
{
    (void)argument;
    for (long item = 0; item < items; item++) {
        uint64_t read = compute((uint64_t)item + 1, READ_US);
        check(pthread_mutex_lock(&inbox_lock), "pthread_mutex_lock");
        inbox[arrived++] = read;
        check(pthread_mutex_unlock(&inbox_lock), "pthread_mutex_unlock");
        put(arrivals, 1);
    }
    return NULL;
}

NAMED static void *route_stage(void *argument)
{
    (void)argument;
    int loop = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN };
    if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, arrivals, &event) != 0)
        check(errno, "epoll");
    uint64_t new_ones;
    for (long routed = 0; routed < items; routed += (long)new_ones) {
        if (epoll_wait(loop, &event, 1, -1) != 1)
            check(errno, "epoll_wait");
        get(arrivals, &new_ones);
        for (long item = routed; item < routed + (long)new_ones; item++) {
            check(pthread_mutex_lock(&inbox_lock), "pthread_mutex_lock");
            uint64_t next = inbox[item];
            check(pthread_mutex_unlock(&inbox_lock), "pthread_mutex_unlock");
            put(to_compress[1], compute(next, ROUTE_US));
        }
    }
    close(to_compress[1]);
    close(loop);
    return NULL;
}

NAMED static uint64_t compress_item(uint64_t item)
{
    return compute(item, COMPRESS_US);
}

NAMED static void *compress_stage(void *argument)
{
    uint64_t item;
    (void)argument;
    while (get(to_compress[0], &item))
        put(to_write[1], compress_item(item));
    return NULL;
}

NAMED static void *write_stage(void *argument)
{
    uint64_t item;
    (void)argument;
    for (long written = 0; written < items && get(to_write[0], &item); written++)
        checksum += compute(item, WRITE_US);
    return NULL;
}

// The first argument is the number of threads of the compress stage.
int main(int argc, char **argv)
{
    compressors = argument(argc, argv, 1, COMPRESSORS);
    items = ITEMS * argument(argc, argv, 2, 1);
    inbox = calloc((size_t)items, sizeof *inbox);
    arrivals = eventfd(0, 0);
    if (inbox == NULL || arrivals < 0 || pipe(to_compress) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, to_write) != 0)
        check(errno, "main");
    pthread_t reader, router, writer, compressor[compressors];
    start_thread(&reader, read_stage, NULL);
    start_thread(&router, route_stage, NULL);
    for (long t = 0; t < compressors; t++)
        start_thread(&compressor[t], compress_stage, NULL);
    start_thread(&writer, write_stage, NULL);
    join_thread(reader);
    join_thread(router);
    for (long t = 0; t < compressors; t++)
        join_thread(compressor[t]);
    join_thread(writer);
    printf("piped_stage checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
