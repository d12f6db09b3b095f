// What `server` and `load` say to each other, in lines: "GET <number>" and "<number> <what it comes to>".
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "../work.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_US 50
#define LONGEST_LINE 64
#define KINDS 32 // of requests: `load` computes what each comes to once

static inline int check_call(int result, const char *call)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", call, strerror(errno));
        exit(99);
    }
    return result;
}

// The work of a request.
NAMED static uint64_t handle_request(uint64_t number)
{
    return compute(number % KINDS, REQUEST_US);
}

// Takes "GET <number>" up to `end`; 0 where it is anything else.
static inline int parse_request(const char *line, const char *end, uint64_t *number)
{
    if (end - line < 5 || memcmp(line, "GET ", 4) != 0)
        return 0;
    *number = 0;
    for (line += 4; line < end; line++) {
        if (*line < '0' || *line > '9')
            return 0;
        *number = *number * 10 + (uint64_t)(*line - '0');
    }
    return 1;
}

static inline size_t print_answer(char *line, uint64_t number, uint64_t result)
{
    return (size_t)snprintf(line, LONGEST_LINE, "%" PRIu64 " %016" PRIx64 "\n", number, result);
}

static inline struct sockaddr_in local_address(long port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// Small messages leave at once.
static inline void send_at_once(int socket)
{
    int on = 1;
    check_call(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
}

// A read that a signal, or somebody who attaches, may interrupt.
static inline ssize_t read_some(int socket, char *buffer, size_t size)
{
    ssize_t length;
    do
        length = read(socket, buffer, size);
    while (length < 0 && errno == EINTR);
    return length;
}

// 0 where the other side has gone.
static inline int write_all(int socket, const char *buffer, size_t length)
{
    while (length > 0) {
        ssize_t written = write(socket, buffer, length);
        if (written < 0 && errno != EINTR)
            return 0;
        if (written > 0) {
            buffer += written;
            length -= (size_t)written;
        }
    }
    return 1;
}

#endif
