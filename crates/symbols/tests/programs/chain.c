/* Calls of every shape, each ending in capture(). The marks in comments give the test its line numbers. */
#define _GNU_SOURCE
#include "capture.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

struct shard {
    long hits;
    pthread_mutex_t lock;
};

struct settings {
    struct shard first;
    struct {
        int pad;
        pthread_cond_t changed;
    } inner[2];
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER; /* declares cache_lock */
struct shard table[4];
struct settings settings;
static long grid[3][5];
volatile int sink;

#ifdef LABEL
/* As hand-written assembly often has it: exported, without a size, in front of functions that are not exported. */
__asm__(".text\n.globl label\nlabel: ret\n");
#endif

NOINLINE static int leaf(int x) {
    capture(); /* calls capture */
    NO_TAIL_CALL;
    return x + sink;
}

INLINE int inner(int x) {
    int y = leaf(x + 1); /* calls leaf */
    return y * 3;
}

INLINE int outer(int x) {
    return inner(x ^ 5) + 7; /* calls inner */
}

NOINLINE static int middle(int x) {
    int y = outer(x); /* calls outer */
    NO_TAIL_CALL;
    return y + sink;
}

static int already;

NOINLINE static int compare(const void *a, const void *b) {
    if (!already) {
        already = 1;
        middle(*(const int *)a);
    }
    return *(const int *)a - *(const int *)b;
}

NOINLINE static int sorter(int count) {
    int numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = (i * 7919) % 64;
    qsort(numbers, count, sizeof numbers[0], compare);
    NO_TAIL_CALL;
    return numbers[count / 2];
}

NOINLINE static void *thread_main(void *argument) {
    sink += middle(*(int *)argument);
    return NULL;
}

NOINLINE static void on_signal(int number) {
    sink += middle(number);
}

NOINLINE static int raiser(int x) {
    raise(SIGUSR1);
    NO_TAIL_CALL;
    return x;
}

NOINLINE static int deep(int x) {
    int y = x > 0 ? deep(x - 1) : leaf(x);
    NO_TAIL_CALL;
    return y + sink;
}

NOINLINE static int broad(int x) {
    volatile char room[32 * 1024];
    room[x] = 1;
    room[sizeof room - 1 - x] = 2;
    x += middle(x);
    return x + room[x & 1023];
}

/* The compiler realigns the stack here: the canonical frame address is an expression or in another register. */
NOINLINE static int aligned(int x) {
    __attribute__((aligned(64))) volatile int numbers[32];
    volatile char *more = __builtin_alloca(x & 63);
    more[0] = 1;
    numbers[x & 31] = 2;
    x += middle(x);
    return x + numbers[0] + more[0];
}

static ucontext_t back, other;

static void in_context(void) {
    middle(2);
    NO_TAIL_CALL;
}

NOINLINE static void switcher(void) {
    static char stack[64 * 1024] __attribute__((aligned(16)));
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack / 2; /* capture() reads on above */
    other.uc_link = &back;
    makecontext(&other, in_context, 0);
    swapcontext(&back, &other);
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    if (!strcmp(how, "chain")) sink += middle(count);
    else if (!strcmp(how, "qsort")) sink += sorter(64);
    else if (!strcmp(how, "thread")) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, thread_main, &count)) return 7;
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "signal")) {
        signal(SIGUSR1, on_signal);
        sink += raiser(count);
    } else if (!strcmp(how, "deep")) sink += deep(300);
    else if (!strcmp(how, "broad")) sink += broad(count);
    else if (!strcmp(how, "aligned")) sink += aligned(count + 13);
    else if (!strcmp(how, "context")) switcher();
    else if (!strcmp(how, "data")) {
        pthread_mutex_lock(&cache_lock);
        pthread_mutex_unlock(&cache_lock);
        tell(&cache_lock);
        tell(&table[2].lock);
        tell(&table[0]);
        tell(&settings);
        tell(&settings.inner[1].changed);
        tell(&grid[2][3]);
        tell(&table[1].hits);
        grid[sink & 1][0] = sink;
        capture();
    } else return 8;
    NO_TAIL_CALL;
    return 0;
}
