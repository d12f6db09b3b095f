// A signal handler without SA_RESTART interrupts waits: read, poll, select, epoll_wait, nanosleep, sem_wait,
// accept and waitpid end with EINTR, pthread waits do not end at all; with SA_RESTART read goes on. Then a
// handler that leaves by siglongjmp, out of read, nanosleep and sem_wait.
#include "harm.h"

#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static int silent[2], listener;
static sem_t empty;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t signals;
static sigjmp_buf escape;

static void count(int signal)
{
    (void)signal;
    signals++;
}

static void jump(int signal) { siglongjmp(escape, signal); }

static long in_read(void)
{
    char byte;
    return read(silent[0], &byte, 1);
}
static long in_poll(void) { return poll(&(struct pollfd){silent[0], POLLIN, 0}, 1, 60000); }
static long in_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(silent[0], &set);
    return select(silent[0] + 1, &set, NULL, NULL, NULL);
}
static long in_epoll(void)
{
    struct epoll_event event;
    int epoll = epoll_create1(0);
    long result = epoll_wait(epoll, &event, 1, 60000);
    int saved = errno;
    close(epoll);
    errno = saved;
    return result;
}
static long in_nanosleep(void) { return nanosleep(&(struct timespec){60, 0}, NULL); }
static long in_usleep(void) { return usleep(60000000); }
static long in_sem_wait(void) { return sem_wait(&empty); }
static long in_sem_timedwait(void)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 60000);
    return sem_timedwait(&empty, &late);
}
static long in_accept(void) { return accept(listener, NULL, NULL); }
static long in_pause(void) { return pause(); }
static long in_waitpid(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    long result = waitpid(child, NULL, 0);
    int saved = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = saved;
    return result;
}

static const struct {
    const char *name;
    long (*wait)(void);
} waits[] = {
    {"read", in_read},           {"poll", in_poll},         {"select", in_select},
    {"epoll_wait", in_epoll},    {"nanosleep", in_nanosleep}, {"usleep", in_usleep},
    {"sem_wait", in_sem_wait},   {"sem_timedwait", in_sem_timedwait}, {"accept", in_accept},
    {"pause", in_pause},         {"waitpid", in_waitpid},
};

static void handle(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

static void alarm_in_ms(long ms)
{
    struct itimerval once = {{0, 0}, {0, ms * 1000}};
    CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void *write_later(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    RETURNS(0, pthread_sigmask(SIG_BLOCK, &all, NULL));
    sleep_ms(30);
    CHECK(write(silent[1], "x", 1) == 1);
    return argument;
}

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CHECK(pipe(silent) == 0 && sem_init(&empty, 0, 0) == 0);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0 && listen(listener, 1) == 0);
    handle(count, 0);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        signals = 0;
        alarm_in_ms(15);
        errno = 0;
        long result = waits[i].wait();
        const char *why = errno == EINTR ? "EINTR" : strerror(errno);
        printf("%s: %ld, %s, %d signal\n", waits[i].name, result, why, signals);
    }
    struct timespec left = {0, 0};
    alarm_in_ms(15);
    RETURNS(EINTR, clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){60, 0}, &left));
    printf("clock_nanosleep: EINTR, about a minute left: %s\n", left.tv_sec >= 50 ? "yes" : "no");
    signals = 0;
    struct timespec end = in_ms(CLOCK_REALTIME, 40);
    RETURNS(0, pthread_mutex_lock(&mutex));
    alarm_in_ms(10);
    int result = 0;
    while (result == 0)
        result = pthread_cond_timedwait(&never, &mutex, &end);
    RETURNS(0, pthread_mutex_unlock(&mutex));
    printf("pthread_cond_timedwait: %s, %d signal\n", result == ETIMEDOUT ? "ETIMEDOUT" : "other", signals);
    handle(count, SA_RESTART);
    signals = 0;
    pthread_t thread;
    RETURNS(0, pthread_create(&thread, NULL, write_later, NULL));
    alarm_in_ms(10);
    long restarted = in_read();
    printf("read with SA_RESTART: %ld, %d signal\n", restarted, signals);
    RETURNS(0, pthread_join(thread, NULL));
    handle(jump, 0);
    for (volatile int i = 0; i < 6; i++) {
        if (sigsetjmp(escape, 1) == 0) {
            alarm_in_ms(5);
            if (i % 3 == 0)
                in_read();
            else if (i % 3 == 1)
                in_nanosleep();
            else
                in_sem_wait();
        }
    }
    RETURNS(0, pthread_mutex_lock(&mutex));
    RETURNS(0, pthread_mutex_unlock(&mutex));
    RETURNS(0, pthread_create(&thread, NULL, write_later, NULL));
    printf("after jumping out: %ld\n", in_read());
    RETURNS(0, pthread_join(thread, NULL));
    return 0;
}
