// Locks, barriers and flags that a program makes of the processor's own instructions.
//
// own_locks KIND THREADS ROUNDS INSIDE OUTSIDE
//
// Locks: each thread does ROUNDS times INSIDE steps with the lock held, and OUTSIDE steps without.
// Barriers: in each round one of the threads does INSIDE steps, and the others OUTSIDE.
// pipe: thread n begins a round when thread n-1 has ended it. turns: threads take turns. done: main begins when all have ended.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE __builtin_ia32_pause()
#define LINE __attribute__((aligned(128)))
enum { MOST = 64 };

struct word {
    LINE atomic_int is;
};

struct node {
    LINE struct node *_Atomic next;
    atomic_int locked;
};

static int threads;
static long rounds, inside, outside;
static const char *kind;

static struct word swapped, tested, compared, slept_on, next_ticket, served, next_slot, slots[MOST];
static struct word come, sense, flags[MOST], turn, ended;
static LINE struct {
    _Atomic unsigned short served, next;
} narrow;
static struct node nodes[MOST], spares[MOST + 1];
static struct node *_Atomic LINE tail;
static struct node *_Atomic LINE last;
static LINE volatile int raw;
static LINE pthread_spinlock_t spin;
static LINE volatile long sum;

__attribute__((noinline)) static void work(long steps) {
    unsigned value = 1;
    for (long i = 0; i < steps; i++) {
        value = value * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(value));
    }
}

static inline __attribute__((always_inline)) int load(struct word *word) {
    return atomic_load_explicit(&word->is, memory_order_acquire);
}

static inline __attribute__((always_inline)) void store(struct word *word, int value) {
    atomic_store_explicit(&word->is, value, memory_order_release);
}

static inline __attribute__((always_inline)) int swap(struct word *word, int value) {
    return atomic_exchange_explicit(&word->is, value, memory_order_acquire);
}

static void lock_on_futex(void) {
    int was = 0;
    if (atomic_compare_exchange_strong(&slept_on.is, &was, 1))
        return;
    if (was != 2)
        was = atomic_exchange(&slept_on.is, 2);
    while (was != 0) {
        syscall(SYS_futex, &slept_on.is, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
        was = atomic_exchange(&slept_on.is, 2);
    }
}

static void unlock_on_futex(void) {
    if (atomic_fetch_sub(&slept_on.is, 1) != 1) {
        atomic_store(&slept_on.is, 0);
        syscall(SYS_futex, &slept_on.is, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    }
}

static void lock_by_compare(void) {
    int was = 0, times = 1;
    while (!atomic_compare_exchange_weak(&compared.is, &was, 1)) {
        for (int i = 0; i < times; i++)
            PAUSE;
        times += times < 64 ? times : 0;
        was = 0;
    }
}

static void lock_mcs(struct node *me) {
    me->next = 0;
    me->locked = 1;
    struct node *before = atomic_exchange(&tail, me);
    if (before) {
        before->next = me;
        while (atomic_load_explicit(&me->locked, memory_order_acquire))
            PAUSE;
    }
}

static void unlock_mcs(struct node *me) {
    struct node *next = me->next;
    if (!next) {
        struct node *was = me;
        if (atomic_compare_exchange_strong(&tail, &was, 0))
            return;
        while (!(next = atomic_load_explicit(&me->next, memory_order_acquire)))
            PAUSE;
    }
    atomic_store_explicit(&next->locked, 0, memory_order_release);
}

static void pass_by_sense(int *mine) {
    *mine = !*mine;
    if (atomic_fetch_add(&come.is, 1) == threads - 1) {
        atomic_store(&come.is, 0);
        store(&sense, *mine);
    } else {
        while (load(&sense) != *mine)
            PAUSE;
    }
}

static void pass_by_generation(void) {
    int generation = atomic_load(&sense.is);
    if (atomic_fetch_add(&come.is, 1) == threads - 1) {
        atomic_store_explicit(&come.is, 0, memory_order_relaxed);
        atomic_fetch_add(&sense.is, 1);
    } else {
        while (load(&sense) == generation)
            PAUSE;
    }
}

static int is(const char *name) {
    return !strcmp(kind, name);
}

static void *run(void *number) {
    long me = (long)number;
    int mine = 0;
    struct node *spare = &spares[me + 1];
#define EACH_ROUND(...)                                                                                                \
    for (long i = 0; i < rounds; i++) {                                                                               \
        __VA_ARGS__;                                                                                                  \
    }
#define LOCKED(lock, unlock) EACH_ROUND(lock; sum++; work(inside); unlock; work(outside))
#define BARRIER(...) EACH_ROUND(work(me == i % threads ? inside : outside); __VA_ARGS__)
    if (is("swap"))
        LOCKED(while (swap(&swapped, 1)), store(&swapped, 0))
    else if (is("swap-both"))
        LOCKED(while (atomic_exchange(&swapped.is, 1)) PAUSE, atomic_exchange(&swapped.is, 0))
    else if (is("test-first"))
        LOCKED(while (load(&tested) || swap(&tested, 1)) PAUSE, store(&tested, 0))
    else if (is("test-after"))
        LOCKED(while (swap(&tested, 1)) while (load(&tested)) PAUSE, atomic_store(&tested.is, 0))
    else if (is("sync"))
        LOCKED(while (__sync_lock_test_and_set(&raw, 1)) while (raw) PAUSE, __sync_lock_release(&raw))
    else if (is("compare"))
        LOCKED(lock_by_compare(), store(&compared, 0))
    else if (is("ticket"))
        LOCKED(int own = atomic_fetch_add(&next_ticket.is, 1); while (load(&served) != own) PAUSE,
               store(&served, own + 1))
    else if (is("ticket-no-pause"))
        LOCKED(int own = atomic_fetch_add(&next_ticket.is, 1); while (served.is != own),
               atomic_fetch_add(&served.is, 1))
    else if (is("ticket-narrow"))
        LOCKED(unsigned short own = atomic_fetch_add(&narrow.next, 1);
               while (atomic_load_explicit(&narrow.served, memory_order_acquire) != own) PAUSE,
               atomic_store_explicit(&narrow.served, own + 1, memory_order_release))
    else if (is("mcs"))
        LOCKED(lock_mcs(&nodes[me]), unlock_mcs(&nodes[me]))
    else if (is("clh"))
        LOCKED(atomic_store_explicit(&spare->locked, 1, memory_order_relaxed);
               struct node *before = atomic_exchange(&last, spare);
               while (atomic_load_explicit(&before->locked, memory_order_acquire)) PAUSE,
               atomic_store_explicit(&spare->locked, 0, memory_order_release);
               spare = before)
    else if (is("array"))
        LOCKED(int own = atomic_fetch_add(&next_slot.is, 1) % threads; while (!load(&slots[own])) PAUSE;
               atomic_store_explicit(&slots[own].is, 0, memory_order_relaxed),
               store(&slots[(own + 1) % threads], 1))
    else if (is("futex"))
        LOCKED(lock_on_futex(), unlock_on_futex())
    else if (is("pthread-spin"))
        LOCKED(pthread_spin_lock(&spin), pthread_spin_unlock(&spin))
    else if (is("sense-barrier"))
        BARRIER(pass_by_sense(&mine))
    else if (is("generation-barrier"))
        BARRIER(pass_by_generation())
    else if (is("count-barrier"))
        BARRIER(atomic_fetch_add(&come.is, 1); while (load(&come) < threads * (i + 1)) PAUSE)
    else if (is("pipe"))
        EACH_ROUND(if (me > 0) while (load(&flags[me - 1]) <= i) PAUSE; work(inside); store(&flags[me], i + 1))
    else if (is("turns"))
        EACH_ROUND(while (load(&turn) != me) PAUSE; work(inside); store(&turn, (me + 1) % threads))
    else if (is("done") && me) {
        work(inside * rounds * me);
        atomic_fetch_add(&ended.is, 1);
    } else if (is("done")) {
        while (load(&ended) < threads - 1)
            PAUSE;
        work(inside * rounds);
    } else
        exit(2);
    return 0;
}

int main(int count, char **words) {
    if (count < 6)
        return 2;
    kind = words[1];
    threads = atoi(words[2]);
    rounds = atol(words[3]);
    inside = atol(words[4]);
    outside = atol(words[5]);
    if (threads < 1 || threads > MOST)
        return 2;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    slots[0].is = 1;
    last = &spares[0];
    pthread_t others[MOST];
    for (long i = 1; i < threads; i++)
        pthread_create(&others[i], 0, run, (void *)i);
    run(0);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], 0);
    printf("%s %ld\n", kind, sum);
    return 0;
}
