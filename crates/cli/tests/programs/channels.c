// The ways by which a thread can wait for another one through the kernel: when the thread "taker" is asleep, the main thread sends 42 to
// it, or, where a channel is full, takes what that has sent. The last three are ways to wait for something else.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A shell that answers 42 when it is given a line.
#define ANSWER "read line; printf '\\052\\0\\0\\0\\0\\0\\0\\0'"

static const char *how;
static int from, to, polled = -1;
static volatile pid_t taker_id;

static int is(const char *name) { return strcmp(how, name) == 0; }

static int must(int result)
{
    if (result < 0) {
        perror(how);
        exit(1);
    }
    return result;
}

// From here on the taker makes one call, in which it waits.
static void waits_now(void) { taker_id = (pid_t)syscall(SYS_gettid); }

static void until_the_taker_sleeps(void)
{
    char name[64], state = 0;
    while (taker_id == 0)
        usleep(1000);
    snprintf(name, sizeof name, "/proc/%d/stat", (int)taker_id);
    // Long enough to be a wait of note.
    for (int asleep = 0; asleep < 10; asleep = state == 'S' ? asleep + 1 : 0) {
        usleep(1000);
        FILE *stat = fopen(name, "r");
        if (stat == NULL || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            must(-1);
        fclose(stat);
    }
}

static void fill(int descriptor, size_t length)
{
    char *bytes = calloc(1, length);
    size_t sent = 0;
    waits_now();
    while (sent < length)
        sent += (size_t)must((int)write(descriptor, bytes + sent, length - sent));
    free(bytes);
}

static void *take(void *unused)
{
    uint64_t value = 42;
    (void)unused;
    pthread_setname_np(pthread_self(), "taker");
    if (is("full") || is("sockets-full")) {
        fill(to, 1 << 20);
        printf("42\n");
        return NULL;
    }
    waits_now();
    if (is("poll")) {
        struct pollfd one = { from, POLLIN, 0 };
        must(poll(&one, 1, -1));
    } else if (is("select")) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(from, &set);
        must(select(from + 1, &set, NULL, NULL, NULL));
    } else if (polled >= 0) {
        struct epoll_event event;
        must(epoll_wait(polled, &event, 1, -1));
    }
    must((int)read(from, &value, sizeof value));
    printf("%d\n", (int)value);
    return NULL;
}

static void make_pipe(void)
{
    int ends[2];
    must(pipe(ends));
    from = ends[0], to = ends[1];
}

static int epoll_of(int descriptor)
{
    struct epoll_event event = { .events = EPOLLIN };
    int made = must(epoll_create1(0));
    must(epoll_ctl(made, EPOLL_CTL_ADD, descriptor, &event));
    return made;
}

// What a child does: when it is given a line, it sends 42.
static int answer(int copy, int to)
{
    char line;
    uint64_t value = 42;
    // What it closes is not the last end of the pipe: the taker gets nothing by that.
    return read(0, &line, 1) != 1 || close(must(dup(copy))) != 0 || write(to, &value, sizeof value) != sizeof value;
}

// Sends a descriptor, or, where that is -1, receives one.
static int pass(int by, int descriptor)
{
    char byte = 0;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof descriptor)];
    } control = { .space = { 0 } };
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    if (descriptor >= 0) {
        control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
        return must((int)sendmsg(by, &message, 0));
    }
    must((int)recvmsg(by, &message, 0));
    memcpy(&descriptor, CMSG_DATA(&control.head), sizeof descriptor);
    return descriptor;
}

int main(int count, char **arguments)
{
    how = count > 1 ? arguments[1] : "pipe";
    uint64_t value = 42;
    int child = 0, go[2], pair[2];
    if (is("answers"))
        return answer(1, 1);
    if (is("waits")) {
        child = must(fork());
        if (child == 0) {
            taker_id = getppid();
            until_the_taker_sleeps();
            _exit(0);
        }
        must(waitpid(child, NULL, 0));
        printf("42\n");
        return 0;
    }
    must(pipe(go));
    must(dup2(go[0], 0));
    make_pipe();
    if (is("copy")) {
        int copies[] = { must(dup(from)), must(fcntl(to, F_DUPFD_CLOEXEC, 0)) };
        close(from), close(to);
        from = copies[0], to = must(dup2(copies[1], 50));
        close(copies[1]);
    } else if (is("sockets") || is("sockets-full")) {
        int ends[2];
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        from = ends[0], to = ends[1];
    } else if (is("event") || is("poll") || is("nested")) {
        from = to = must(eventfd(0, 0));
    } else if (is("child")) {
        child = must(fork());
        if (child == 0)
            _exit(answer(to, to));
        close(to), to = 1;
    } else if (is("sent")) {
        // The child was forked before the pipe was made.
        close(from), close(to);
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        child = must(fork());
        if (child == 0) {
            to = pass(pair[1], -1);
            _exit(answer(to, to));
        }
        make_pipe();
        pass(pair[0], to);
        close(to), to = 1;
    } else if (is("itself")) {
        // The child executes the same program anew, whose output is the pipe.
        child = must(vfork());
        if (child == 0) {
            dup2(to, 1), close(to);
            execl("/proc/self/exe", arguments[0], "answers", (char *)NULL);
            _exit(1);
        }
        close(to), to = 1;
    } else if (is("program")) {
        // The child uses this memory until it executes the shell: that its output is the pipe holds for no other process.
        child = must(vfork());
        if (child == 0) {
            dup2(to, 1), close(to);
            execl("/bin/sh", "sh", "-c", ANSWER, (char *)NULL);
            _exit(1);
        }
        close(to), to = 1;
    } else if (is("again")) {
        // The pipe's reading end is the shell's output from now on; the other one still leads to the pipe.
        must(dup(from));
        must(dup2(fileno(popen(ANSWER, "r")), from));
    }
    if (is("epoll"))
        polled = epoll_of(from);
    else if (is("nested"))
        polled = epoll_of(epoll_of(from));
    pthread_t taker;
    pthread_create(&taker, NULL, take, NULL);
    until_the_taker_sleeps();
    if (is("full") || is("sockets-full")) {
        char *bytes = malloc(1 << 20);
        for (size_t taken = 0; taken < 1 << 20;)
            taken += (size_t)must((int)read(from, bytes, 1 << 20));
        free(bytes);
    } else if (is("closed")) {
        must(close(to));
    } else if (child != 0 || is("again")) {
        must((int)write(to, &value, 0));
        must((int)write(go[1], "\n", 1));
    } else {
        must((int)write(to, &value, sizeof value));
    }
    pthread_join(taker, NULL);
    if (child != 0)
        waitpid(child, NULL, 0);
    return 0;
}
