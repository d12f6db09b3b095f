// A threaded server: workers share one epoll and answer the requests of connections that stay open. Nothing is wrong
// with it: it is what holdup attaches to and detaches from while `load` checks that no request is lost.
//
//     server [workers] [port]
//
// It prints its port and serves until SIGTERM or SIGINT; then it prints how many requests it has answered.
#define _GNU_SOURCE
#include "protocol.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#define BUFFER 4096
#define EVENTS 8

struct connection {
    int socket;
    size_t length; // of a request that has come in part
    char buffer[BUFFER];
};

// What stands in epoll's place for a connection where there is none.
static char listener_mark, end_mark;

static int listener, epoll;
static atomic_long answered;
static atomic_int ending;

static void watch(int operation, int descriptor, void *mark, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = mark};
    check_call(epoll_ctl(epoll, operation, descriptor, &event), "epoll_ctl");
}

static void accept_connection(void)
{
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        if (connection == NULL)
            abort();
        connection->socket = socket;
        send_at_once(socket);
        watch(EPOLL_CTL_ADD, socket, connection, EPOLLIN | EPOLLONESHOT);
    }
    watch(EPOLL_CTL_MOD, listener, &listener_mark, EPOLLIN | EPOLLONESHOT);
}

// Answers all whole requests in the buffer. Gives 0 where the other side does not speak the protocol or has gone.
NAMED static int answer_requests(struct connection *connection)
{
    char answers[BUFFER];
    size_t at = 0, length = 0;
    for (char *end; (end = memchr(connection->buffer + at, '\n', connection->length - at)) != NULL;) {
        uint64_t number;
        if (!parse_request(connection->buffer + at, end, &number))
            return 0;
        length += print_answer(answers + length, number, handle_request(number));
        at = (size_t)(end - connection->buffer) + 1;
        atomic_fetch_add(&answered, 1);
        if (length > BUFFER - LONGEST_LINE) {
            if (!write_all(connection->socket, answers, length))
                return 0;
            length = 0;
        }
    }
    connection->length -= at;
    memmove(connection->buffer, connection->buffer + at, connection->length);
    return connection->length < LONGEST_LINE && write_all(connection->socket, answers, length);
}

NAMED static void serve(struct connection *connection)
{
    ssize_t length = read_some(connection->socket, connection->buffer + connection->length,
                               BUFFER - connection->length);
    if (length > 0) {
        connection->length += (size_t)length;
        if (answer_requests(connection)) {
            watch(EPOLL_CTL_MOD, connection->socket, connection, EPOLLIN | EPOLLONESHOT);
            return;
        }
    }
    close(connection->socket);
    free(connection);
}

static void *server_worker(void *argument)
{
    (void)argument;
    while (!atomic_load(&ending)) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, 1, -1);
        if (count < 0 && errno != EINTR)
            check_call(count, "epoll_wait");
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &listener_mark)
                accept_connection();
            else if (events[i].data.ptr == &end_mark)
                atomic_store(&ending, 1); // never read from, so that it wakes the other workers too
            else
                serve(events[i].data.ptr);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long workers = argument(argc, argv, 1, 4);
    long port = argc > 2 ? argument(argc, argv, 2, 1) : 0;
    signal(SIGPIPE, SIG_IGN);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    check(pthread_sigmask(SIG_BLOCK, &ends, NULL), "pthread_sigmask");
    int end = check_call(signalfd(-1, &ends, SFD_CLOEXEC), "signalfd");

    listener = check_call(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
    struct sockaddr_in address = local_address(port);
    socklen_t size = sizeof address;
    check_call(bind(listener, (struct sockaddr *)&address, size), "bind");
    check_call(listen(listener, 128), "listen");
    check_call(getsockname(listener, (struct sockaddr *)&address, &size), "getsockname");
    epoll = check_call(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    watch(EPOLL_CTL_ADD, listener, &listener_mark, EPOLLIN | EPOLLONESHOT);
    watch(EPOLL_CTL_ADD, end, &end_mark, EPOLLIN);
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);

    pthread_t threads[workers];
    for (long t = 0; t < workers; t++)
        start_thread(&threads[t], server_worker, NULL);
    for (long t = 0; t < workers; t++)
        join_thread(threads[t]);
    printf("answered %ld\n", atomic_load(&answered));
    return 0;
}
