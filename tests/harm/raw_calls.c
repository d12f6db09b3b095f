// syscall() by number: futex with its return values and errno (wait, timeout, EAGAIN, wake counts, requeue,
// bitset, wake-op), six arguments for another call, pointers and large results, errors, and the registers
// kept.
#include "harm.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static int word, other_word;
static volatile int arrived;

static long futex(int *address, int operation, int value, const void *timeout, int *address2, int value3)
{
    return syscall(SYS_futex, address, operation, value, timeout, address2, value3);
}

static void *waiter(void *argument)
{
    (void)argument;
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
        long result = futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        CHECK(result == 0 || errno == EAGAIN || errno == EINTR);
    }
    return NULL;
}

// A mutex as a language's library makes it: 0 free, 1 held, 2 held and waited for.
static int state;
static long count;

static void lock(void)
{
    int free = 0;
    if (__atomic_compare_exchange_n(&state, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&state, 2, __ATOMIC_ACQUIRE) != 0)
        futex(&state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void)
{
    if (__atomic_exchange_n(&state, 0, __ATOMIC_RELEASE) == 2) {
        long woken = futex(&state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        CHECK(woken == 0 || woken == 1);
    }
}

static void *use_own_mutex(void *argument)
{
    for (int i = 0; i < 20000; i++) {
        lock();
        count++;
        unlock();
    }
    return argument;
}

int main(void)
{
    pthread_t threads[4];
    struct timespec short_time = {0, 10000000}, bad = {0, -1}, past = {1, 0};
    FAILS_WITH(EAGAIN, futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0));
    FAILS_WITH(ETIMEDOUT, futex(&word, FUTEX_WAIT_PRIVATE, 0, &short_time, NULL, 0));
    FAILS_WITH(EINVAL, futex(&word, FUTEX_WAIT_PRIVATE, 0, &bad, NULL, 0));
    FAILS_WITH(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, -1));
    FAILS_WITH(EFAULT, futex((int *)8, FUTEX_WAIT, 0, NULL, NULL, 0));
    FAILS_WITH(EINVAL, futex((int *)((char *)&word + 1), FUTEX_WAIT, 0, NULL, NULL, 0));
    FAILS_WITH(ENOSYS, futex(&word, 99, 0, NULL, NULL, 0));
    errno = 55;
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0) == 0 && errno == 55);
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, waiter, NULL));
    while (arrived < 4)
        sleep_ms(1);
    sleep_ms(20);
    long moved = futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2, &other_word, 0);
    CHECK(moved >= 0);
    FAILS_WITH(EAGAIN, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2, &other_word, 7));
    int set_to_1 = FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0);
    CHECK(futex(&other_word, FUTEX_WAKE_OP_PRIVATE, 10, (void *)10, &word, set_to_1) >= 0);
    CHECK(word == 1);
    for (int i = 0; i < 3; i++) {
        CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0) >= 0);
        CHECK(futex(&other_word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0) >= 0);
        sleep_ms(1);
    }
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("futex: as the kernel says\n");
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, use_own_mutex, NULL));
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    printf("own mutex: %ld\n", count);
    int file[2];
    CHECK(syscall(SYS_pipe2, file, 0) == 0);
    int own = MAP_PRIVATE | MAP_ANONYMOUS;
    char *memory = (char *)syscall(SYS_mmap, NULL, 8192L, PROT_READ | PROT_WRITE, own, -1, 0L);
    CHECK(memory != MAP_FAILED && memory[8191] == 0);
    memory[8191] = 1;
    CHECK((intptr_t)memory > 0x100000000); // all 64 bits of the result came back
    char *nowhere = (char *)syscall(SYS_mmap, NULL, 8192L, PROT_READ, MAP_PRIVATE, -1, 0L);
    CHECK(nowhere == MAP_FAILED && errno == EBADF);
    FAILS_WITH(EINVAL, syscall(SYS_mmap, NULL, 4096L, PROT_READ, own, -1, 1L)); // the sixth
    CHECK(syscall(SYS_munmap, memory, 8192L) == 0);
    CHECK(syscall(SYS_getpid) == getpid());
    FAILS_WITH(ENOSYS, syscall(100000));
    FAILS_WITH(EBADF, syscall(SYS_close, 9999));
    printf("six arguments, results and errors\n");
    return 0;
}
