// fork by the bare system call and by _Fork: no atfork handler runs, the child must still work and the parent too.
// Also a child that shares memory and descriptors on a stack of its own (clone with CLONE_VM | CLONE_VFORK).
#include "harm.h"
#include "use_threads.h"

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
    printf("after %ld\n", use_threads(2, 1000));
    return 0;
}
