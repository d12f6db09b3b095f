// Asks `server`, over several connections at a time, and checks every answer: that it comes, is right, and comes in
// the order of the requests.
//
//     load PORT [connections] [requests]
//
// Each connection sends `requests` requests (default 2000), a few ahead of the answers; with 0, as many as it can
// until SIGTERM or SIGINT. Ends with 1 where an answer is lost or wrong, and says which.
#include "protocol.h"

#include <signal.h>
#include <stdatomic.h>

#define AHEAD 4
#define BUFFER 4096

static uint64_t expected[KINDS];
static long port, requests;
static atomic_long answers;
static volatile sig_atomic_t ending;

static void end_soon(int signal)
{
    (void)signal;
    ending = 1;
}

static void *fail(uint64_t number, const char *what)
{
    fprintf(stderr, "load: request %" PRIu64 ": %s\n", number, what);
    return "failed";
}

// Sends the requests of one connection, whose numbers start at `argument`, and gives NULL where all answers are right.
NAMED static void *ask(void *argument)
{
    uint64_t first = (uint64_t)(uintptr_t)argument, sent = first, next = first;
    char line[LONGEST_LINE], buffer[BUFFER];
    size_t length = 0;
    int connection = check_call(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    struct sockaddr_in address = local_address(port);
    check_call(connect(connection, (struct sockaddr *)&address, sizeof address), "connect");
    send_at_once(connection);
    for (;;) {
        int all_sent = requests > 0 ? sent - first == (uint64_t)requests : ending;
        if (all_sent && next == sent)
            break;
        if (!all_sent && sent - next < AHEAD) {
            size_t asked = (size_t)snprintf(line, sizeof line, "GET %" PRIu64 "\n", sent);
            if (!write_all(connection, line, asked))
                return fail(sent, "the server does not take it");
            sent++;
            continue;
        }
        ssize_t got = read_some(connection, buffer + length, BUFFER - length);
        if (got <= 0)
            return fail(next, "the connection ended without an answer");
        length += (size_t)got;
        size_t at = 0;
        for (char *end; (end = memchr(buffer + at, '\n', length - at)) != NULL; next++) {
            size_t wanted = print_answer(line, next, expected[next % KINDS]);
            size_t there = (size_t)(end - buffer) + 1 - at;
            if (next == sent || there != wanted || memcmp(buffer + at, line, wanted) != 0)
                return fail(next, "the answer is wrong or out of order");
            at += wanted;
            atomic_fetch_add(&answers, 1);
        }
        length -= at;
        memmove(buffer, buffer + at, length);
    }
    if (shutdown(connection, SHUT_WR) == 0 && read_some(connection, buffer, BUFFER) > 0)
        return fail(next, "an answer too many");
    close(connection);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: load PORT [connections] [requests]\n");
        return 98;
    }
    port = argument(argc, argv, 1, 1);
    long connections = argument(argc, argv, 2, 4);
    requests = argc > 3 && strcmp(argv[3], "0") == 0 ? 0 : argument(argc, argv, 3, 2000);
    signal(SIGPIPE, SIG_IGN);
    struct sigaction on_end = {.sa_handler = end_soon, .sa_flags = SA_RESTART};
    check_call(sigaction(SIGTERM, &on_end, NULL), "sigaction");
    check_call(sigaction(SIGINT, &on_end, NULL), "sigaction");
    for (uint64_t kind = 0; kind < KINDS; kind++)
        expected[kind] = handle_request(kind);
    pthread_t threads[connections];
    for (long t = 0; t < connections; t++)
        start_thread(&threads[t], ask, (void *)((uintptr_t)(t + 1) * 1000000000u));
    int failed = 0;
    for (long t = 0; t < connections; t++) {
        void *complaint;
        check(pthread_join(threads[t], &complaint), "pthread_join");
        failed |= complaint != NULL;
    }
    printf("load: %ld right answers over %ld connections\n", atomic_load(&answers), connections);
    return failed;
}
