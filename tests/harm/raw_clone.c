// fork by the bare system call and by _Fork: no atfork handler runs, yet child and parent must work. Also a
// child that shares the memory (CLONE_VM | CLONE_VFORK), and a thread that no pthread_create has made.
#include "harm.h"
#include "use_threads.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

extern pid_t _Fork(void) __attribute__((weak)); // glibc 2.34

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int child_work(int code)
{
    for (int i = 0; i < 1000; i++) {
        RETURNS(0, pthread_mutex_lock(&lock));
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    sleep_ms(1);
    return code;
}

static int vm_child(void *argument)
{
    return *(int *)argument + 1;
}

static int bare_word;

// Runs without thread-local storage of its own, so it may do no more than system calls by number.
static int bare_thread(void *argument)
{
    (void)argument;
    struct timespec short_time = {0, 100000};
    for (int i = 0; i < 200; i++) {
        syscall(SYS_futex, &bare_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        syscall(SYS_futex, &bare_word, FUTEX_WAIT_PRIVATE, 0, &short_time, NULL, 0);
    }
    return 0;
}

static void run_bare_thread(char *stack)
{
    int alive = 1;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_CHILD_CLEARTID;
    CHECK(clone(bare_thread, stack + 65536, flags, NULL, NULL, NULL, &alive) > 0);
    for (int i = 0; i < 1000; i++) {
        RETURNS(0, pthread_mutex_lock(&lock));
        RETURNS(0, pthread_mutex_unlock(&lock));
    }
    while (__atomic_load_n(&alive, __ATOMIC_SEQ_CST) != 0)
        sleep_ms(1);
}

int main(void)
{
    printf("before %ld\n", use_threads(2, 1000));
    for (int i = 0; i < 5; i++) {
        fflush(stdout);
        long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        CHECK(child >= 0);
        if (child == 0)
            _exit(child_work(10 + i));
        printf("raw clone %d\n", status_of((pid_t)child));
    }
    fflush(stdout);
    long child = syscall(SYS_fork);
    CHECK(child >= 0);
    if (child == 0)
        _exit(child_work(30));
    printf("raw fork %d\n", status_of((pid_t)child));
    fflush(stdout);
    child = _Fork ? _Fork() : (pid_t)syscall(SYS_fork);
    CHECK(child >= 0);
    if (child == 0)
        _exit(child_work(31));
    printf("_Fork %d\n", status_of((pid_t)child));
    int code = 41;
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    child = clone(vm_child, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, &code);
    CHECK(child > 0);
    printf("clone with shared memory %d\n", status_of((pid_t)child));
    run_bare_thread(stack);
    printf("a bare thread has ended\n");
    printf("after %ld\n", use_threads(2, 1000));
    return 0;
}
