/*
 * Makes a program count by itself how often each thread takes which way, for `holdup why`.
 *
 *     cc -O2 -c holdup_counts.c
 *     gcc   … -g -fno-omit-frame-pointer -fsanitize-coverage=trace-pc               app.c holdup_counts.o
 *     clang … -g -fno-omit-frame-pointer -fsanitize-coverage=bb,no-prune,trace-pc   app.c holdup_counts.o
 *     holdup why -- ./app
 *
 * Compile this file itself without -fsanitize-coverage, at any level of optimisation. Nothing of the program changes in the
 * source. Without holdup it does as ever, more slowly. docs/counts.md says more, and has the flags for Rust.
 *
 * How it counts. The compiler calls __sanitizer_cov_trace_pc() at the beginning of each basic block. A thread counts pairs:
 * the block that it was in before *in the same call of the same function*, and the one that begins. So when a function has
 * returned, its caller's next block follows the caller's block with the call, not the last block of the function. Which
 * call a block belongs to is told by the frame pointer, and by the return address beside it.
 *
 * Where it goes. Into the file that HOLDUP_COUNTS names, if holdup's preloaded library is there and records: words of 64
 * bits, in chunks of one thread each, at the ends of parallel sections and threads. crates/collect/src/instrumented.rs of
 * holdup reads it. Chunks are written by single calls of write() to a file in append mode, so threads need no lock.
 *
 * Licence: MIT or Apache-2.0, as you like.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "holdup_counts.c is for x86-64 Linux"
#endif

#if defined(__clang__)
#define UNCOUNTED __attribute__((no_sanitize("coverage")))
#elif defined(__GNUC__) && __GNUC__ >= 12
#define UNCOUNTED __attribute__((no_sanitize_coverage))
#else
#define UNCOUNTED
#endif
#define RARELY __attribute__((cold, noinline)) UNCOUNTED
#define LIKELY(condition) __builtin_expect(!!(condition), 1)

/* The version of the file, and of what holdup's library and this file say to each other. */
#define VERSION 1

/* By this section holdup knows a program that counts by itself. */
__attribute__((section(".holdup_counts"), used)) static const uint32_t marker = VERSION;

/* What the words of a chunk begin with: the low 8 bits of a word; the others are its head. */
enum record {
    MODULE = 1, /* head: bytes of the path; first address, end, offset in the file, path */
    MARK = 2,   /* head: code; five fields */
    EDGE = 3,   /* head: number * 2 + 1 if it is a call; source (0 for none), target: addresses behind the compiler's calls */
    COUNTS = 4, /* head: how many; for each: number of the edge << COUNT_BITS | how often */
    LOOSE = 5,  /* head: steps whose frame was not to be had */
};
#define COUNT_BITS 40
#define MARK_FIELDS 5

struct edge {
    uintptr_t from;
    uintptr_t to;
    uint64_t count;
    /* The block that the thread is in then: the target, or still the source where the call was no block's beginning. */
    uintptr_t then;
    int calls; /* the target is the first block of a function that the source called */
};

/* A call of a function. */
struct frame {
    uintptr_t base;    /* its frame pointer */
    uintptr_t back;    /* its return address */
    uintptr_t block;   /* where it is */
    uintptr_t lowest;  /* its stack pointer there */
};

struct thread {
    struct frame *top;
    struct edge **slots; /* a hash table of the edges */
    uint64_t shift;
    struct edge *edges; /* in the order in which they were met; they never move */
    uint32_t *touched;  /* those that were taken since the last counts */
    uint32_t edge_count;
    uint32_t touched_count;
    uint32_t written_edges;
    uint32_t number; /* of the thread that has this; another may have it later, with the same edges */
    uint32_t table;
    uintptr_t stack_begin;
    uintptr_t stack_end;
    struct frame *frames;
    struct frame *last_frame;
    uint64_t loose;
    uint64_t *words;
    uint32_t used;
    volatile int busy; /* in its tables: a signal handler that interrupts it does not count */
    volatile int writing;
    struct thread *next;
    int is_free;
};

/* Address space, not memory: only what is touched is used. */
#define MOST_EDGES (1u << 20)
#define MOST_FRAMES (1u << 17)
#define FIRST_SLOTS_LOG 10
#define CHUNK_WORDS 8192
#define HEAD_WORDS 2

/* 1 from the first mark on that says that there is a second thread. */
static volatile int counting;
static int file = -1;
static volatile int has_left;
static uint32_t threads;
static uint32_t tables;
static struct thread *all;
static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static __thread int refused __attribute__((tls_model("initial-exec")));

void __sanitizer_cov_trace_pc(void);

UNCOUNTED static void *reserve(size_t bytes)
{
    int saved = errno;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    return at == MAP_FAILED ? NULL : at;
}

/* Writes a chunk: the first HEAD_WORDS of `words` are for its head. */
RARELY static void write_chunk(uint64_t *words, uint32_t number, uint32_t table, uint32_t count)
{
    int saved = errno;
    words[0] = (uint64_t)number << 32 | count;
    words[1] = table;
    /* What a full disk cuts off, the reader sees. */
    if (write(file, words, (HEAD_WORDS + count) * sizeof *words) < 0)
        counting = 0;
    errno = saved;
}

RARELY static void flush(struct thread *thread)
{
    uint32_t used = thread->used;
    thread->used = 0;
    if (used > 0 && file >= 0)
        write_chunk(thread->words, thread->number, thread->table, used);
}

UNCOUNTED static uint64_t *room(struct thread *thread, uint32_t words)
{
    if (thread->used + words > CHUNK_WORDS)
        flush(thread);
    thread->used += words;
    return thread->words + HEAD_WORDS + thread->used - words;
}

/* Writes what a thread has counted since it was called last. */
RARELY static void write_counts(struct thread *thread)
{
    while (thread->written_edges < thread->edge_count) {
        struct edge *edge = &thread->edges[thread->written_edges];
        uint64_t *words = room(thread, 3);
        words[0] = ((uint64_t)thread->written_edges++ << 1 | (edge->calls != 0)) << 8 | EDGE;
        words[1] = edge->from;
        words[2] = edge->to;
    }
    uint32_t left = thread->touched_count;
    thread->touched_count = 0;
    while (left > 0) {
        uint32_t many = left < CHUNK_WORDS - 1 ? left : CHUNK_WORDS - 1;
        uint64_t *words = room(thread, 1 + many);
        words[0] = (uint64_t)many << 8 | COUNTS;
        for (uint32_t at = 1; at <= many; at++) {
            uint64_t number = thread->touched[--left];
            struct edge *edge = &thread->edges[number];
            words[at] = number << COUNT_BITS | (edge->count & ((1ull << COUNT_BITS) - 1));
            edge->count = 0;
        }
    }
}

RARELY static void write_all_of(struct thread *thread)
{
    /* At the program's exit another thread may be at it. */
    if (__atomic_exchange_n(&thread->writing, 1, __ATOMIC_ACQUIRE))
        return;
    thread->busy++;
    write_counts(thread);
    if (thread->loose > 0)
        *room(thread, 1) = thread->loose << 8 | LOOSE;
    thread->loose = 0;
    flush(thread);
    thread->busy--;
    __atomic_store_n(&thread->writing, 0, __ATOMIC_RELEASE);
}

RARELY static struct thread *make(void)
{
    struct thread *thread = reserve(sizeof *thread);
    if (thread == NULL)
        return NULL;
    thread->slots = reserve(sizeof *thread->slots << FIRST_SLOTS_LOG);
    thread->edges = reserve(sizeof *thread->edges * MOST_EDGES);
    thread->touched = reserve(sizeof *thread->touched * MOST_EDGES);
    thread->frames = reserve(sizeof *thread->frames * MOST_FRAMES);
    thread->words = reserve(sizeof *thread->words * (HEAD_WORDS + CHUNK_WORDS));
    if (!thread->slots || !thread->edges || !thread->touched || !thread->frames || !thread->words)
        return NULL;
    thread->shift = 64 - FIRST_SLOTS_LOG;
    thread->frames->base = UINTPTR_MAX;
    thread->last_frame = thread->frames + MOST_FRAMES - 1;
    thread->table = __atomic_fetch_add(&tables, 1, __ATOMIC_RELAXED);
    thread->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all, &thread->next, thread, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return thread;
}

/* One that a thread has left behind: programs may start a great many. */
RARELY static struct thread *take_free(void)
{
    struct thread *thread = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (thread != NULL && !__atomic_exchange_n(&thread->is_free, 0, __ATOMIC_ACQUIRE))
        thread = thread->next;
    return thread;
}

RARELY static struct thread *begin(void)
{
    if (self != NULL)
        return self;
    if (refused || file < 0)
        return NULL;
    /* Whatever is called below may be instrumented, and come back here. */
    refused = 1;
    struct thread *thread = take_free();
    if (thread == NULL && (thread = make()) == NULL)
        return NULL;
    thread->top = thread->frames;
    thread->top->block = 0;
    thread->stack_begin = thread->stack_end = UINTPTR_MAX;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *stack;
        size_t size;
        if (pthread_attr_getstack(&attributes, &stack, &size) == 0)
            thread->stack_end = (thread->stack_begin = (uintptr_t)stack) + size;
        pthread_attr_destroy(&attributes);
    }
    thread->number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    self = thread;
    return thread;
}

UNCOUNTED static uint64_t slot_of(const struct thread *thread, uintptr_t from, uintptr_t to)
{
    return ((from << 20 | from >> 44) ^ to) * 0x9E3779B97F4A7C15u >> thread->shift;
}

/* Whether the compiler's call stands before an address. A call in the place of a function's return (`jmp`, which gcc makes
   of it) seems to come from the function's caller: that is the beginning of no block. */
RARELY static int is_beginning(uintptr_t address)
{
    const uint8_t *code = (const uint8_t *)address;
    int32_t distance;
    memcpy(&distance, code - 4, sizeof distance);
    const uint8_t *target = code + distance;
    const uint8_t *own = (const uint8_t *)(uintptr_t)__sanitizer_cov_trace_pc;
    if (code[-6] == 0xFF && code[-5] == 0x15) /* call *__sanitizer_cov_trace_pc@GOTPCREL(%rip) */
        return memcmp(target, &own, sizeof own) == 0;
    if (code[-5] != 0xE8)
        return 0;
    if (target == own)
        return 1;
    /* From another library: a stub of the linker. */
    if (memcmp(target, "\xF3\x0F\x1E\xFA", 4) == 0)
        target += 4;
    if (*target == 0xF2)
        target++;
    return target[0] == 0xFF && target[1] == 0x25;
}

RARELY static void grow(struct thread *thread)
{
    uint64_t many = 2ull << (64 - thread->shift);
    struct edge **old = thread->slots;
    struct edge **slots = reserve(sizeof *slots * many);
    if (slots == NULL)
        return;
    thread->shift--;
    for (uint32_t number = 0; number < thread->edge_count; number++) {
        struct edge *edge = &thread->edges[number];
        uint64_t at = slot_of(thread, edge->from, edge->to);
        while (slots[at] != NULL)
            at = (at + 1) & (many - 1);
        slots[at] = edge;
    }
    thread->slots = slots;
    munmap(old, sizeof *old * many / 2);
}

/* The edge, which is a new one or not at its first place of the table; NULL if there are too many. */
RARELY static struct edge *find(struct thread *thread, uintptr_t from, uintptr_t to, int calls)
{
    uint64_t mask = (1ull << (64 - thread->shift)) - 1;
    uint64_t at = slot_of(thread, from, to);
    for (; thread->slots[at] != NULL; at = (at + 1) & mask)
        if (thread->slots[at]->from == from && thread->slots[at]->to == to)
            return thread->slots[at];
    if (thread->edge_count == MOST_EDGES || thread->edge_count > mask / 4 * 3 + 1)
        return NULL;
    struct edge *edge = &thread->edges[thread->edge_count];
    edge->from = from;
    edge->to = to;
    edge->then = is_beginning(to) ? to : from;
    edge->count = 0;
    edge->calls = calls;
    thread->edge_count++;
    thread->slots[at] = edge;
    if (thread->edge_count > mask / 2)
        grow(thread);
    return edge;
}

/* Whether a frame pointer is one: it may be any number in code without. */
UNCOUNTED static int is_framed(const struct thread *thread, uintptr_t base, uintptr_t lowest)
{
    return base >= lowest && base + 2 * sizeof base <= thread->stack_end && base % sizeof base == 0;
}

/* Whether a frame is still that of the call that it was, as far as its return address tells. A stack of the program's own
   making may be gone: that is not looked at. */
UNCOUNTED static int is_live(const struct thread *thread, const struct frame *frame)
{
    int is_on_stack = frame->base >= thread->stack_begin && frame->base < thread->stack_end;
    return !is_on_stack || ((const uintptr_t *)frame->base)[1] == frame->back;
}

/* The frame that a block begins in, where that is not the one of the block before: functions were left, or one was called.
   The frame of a called function has no block yet. */
RARELY static struct frame *enter(struct thread *thread, uintptr_t base, uintptr_t back)
{
    struct frame *top = thread->top;
    while (top->base < base)
        top--;
    if (top->base == base) {
        if (top->back == back)
            return thread->top = top;
        /* Another function was called from the same place of the stack. */
        top--;
    } else {
        /* What lies above on the stack is the caller, unless it has been left and its place is used for arguments. */
        while (top->base != UINTPTR_MAX && (base >= top->lowest || !is_live(thread, top)))
            top--;
    }
    if (top < thread->last_frame)
        top++;
    top->base = base;
    top->back = back;
    top->block = 0;
    return thread->top = top;
}

RARELY static void step_slowly(struct thread *thread, uintptr_t to, uintptr_t base, uintptr_t back, uintptr_t lowest)
{
    if (thread->busy)
        return;
    thread->busy = 1;
    struct frame *top = thread->top;
    if (!is_framed(thread, base, lowest)) {
        /* Code without frame pointers, or on a stack of its own: the block before is all that is known. */
        thread->loose++;
    } else if (top->base != base || top->back != back) {
        top = enter(thread, base, back);
    }
    uintptr_t from = top->block;
    int calls = from == 0 && top > thread->frames;
    if (calls)
        from = top[-1].block;
    struct edge *edge = find(thread, from, to, calls);
    if (edge != NULL) {
        if (edge->then == to) {
            if (edge->count++ == 0)
                thread->touched[thread->touched_count++] = (uint32_t)(edge - thread->edges);
            top->block = to;
        }
        top->lowest = lowest;
    }
    thread->busy = 0;
}

RARELY static void step_first(uintptr_t to, uintptr_t base, uintptr_t lowest)
{
    struct thread *thread = begin();
    if (thread != NULL)
        step_slowly(thread, to, base, is_framed(thread, base, lowest) ? ((const uintptr_t *)base)[1] : 0, lowest);
}

/* Counts an edge that was taken since the last counts; 0 if that is not what it is. */
UNCOUNTED static inline int count_again(const struct thread *thread, uintptr_t from, uintptr_t to)
{
    struct edge *edge = thread->slots[slot_of(thread, from, to)];
    if (!LIKELY(edge != NULL && edge->from == from && edge->to == to && edge->count > 0))
        return 0;
    edge->count++;
    return 1;
}

/* What is most common is done here, as enter() and step_slowly() would do it: a block of the same call of a function, of one
   of its callers again, or the first of a function that was called. */
UNCOUNTED __attribute__((visibility("default"), noinline)) void __sanitizer_cov_trace_pc(void)
{
    if (LIKELY(!counting))
        return;
    struct thread *thread = self;
    uintptr_t to = (uintptr_t)__builtin_return_address(0);
    const uintptr_t *own = __builtin_frame_address(0);
    uintptr_t base = own[0];
    uintptr_t lowest = (uintptr_t)(own + 2);
    if (!LIKELY(thread != NULL)) {
        step_first(to, base, lowest);
        return;
    }
    if (!LIKELY(is_framed(thread, base, lowest))) {
        step_slowly(thread, to, base, 0, lowest);
        return;
    }
    uintptr_t back = ((const uintptr_t *)base)[1];
    struct frame *top = thread->top;
    if (LIKELY(top->base == base && top->back == back)) {
        if (LIKELY(count_again(thread, top->block, to))) {
            top->block = to;
            top->lowest = lowest;
            return;
        }
    } else {
        while (top->base < base)
            top--;
        uintptr_t from;
        int is_usual = 1;
        if (top->base == base) {
            from = top->back == back ? top->block : top[-1].block;
        } else {
            is_usual = base < top->lowest && is_live(thread, top) && top < thread->last_frame && !thread->busy;
            from = top->block;
            top++;
        }
        if (LIKELY(is_usual && count_again(thread, from, to))) {
            *top = (struct frame){base, back, to, lowest};
            thread->top = top;
            return;
        }
    }
    step_slowly(thread, to, base, back, lowest);
}

/* What holdup's library says at its hooks, in the thread that it is about. `cuts` is not 0 where a section begins or ends. */
RARELY static void mark(uint64_t code, uint64_t cuts, const uint64_t *fields)
{
    enum { THREAD_BEGIN = 1, THREAD_END = 2, CREATED = 3 };
    struct thread *thread = begin();
    if (thread == NULL || file < 0 || __atomic_exchange_n(&thread->writing, 1, __ATOMIC_ACQUIRE))
        return;
    thread->busy++;
    /* A thread may work before the one that created it is told so. The first thread has the number 0. */
    if ((code == CREATED || (code == THREAD_BEGIN && fields[0] != 0)) && !has_left)
        counting = 1;
    if (cuts)
        write_counts(thread);
    uint64_t *words = room(thread, 1 + MARK_FIELDS);
    words[0] = code << 8 | MARK;
    memcpy(words + 1, fields, MARK_FIELDS * sizeof *fields);
    thread->busy--;
    __atomic_store_n(&thread->writing, 0, __ATOMIC_RELEASE);
    if (code == THREAD_END || has_left)
        write_all_of(thread);
    if (code == THREAD_END) {
        self = NULL;
        __atomic_store_n(&thread->is_free, 1, __ATOMIC_RELEASE);
    }
}

RARELY static int write_module(struct dl_phdr_info *object, size_t size, void *path_of_program)
{
    (void)size;
    const char *path = object->dlpi_name[0] != 0 ? object->dlpi_name : path_of_program;
    size_t bytes = strlen(path);
    uint64_t words[HEAD_WORDS + 4 + 512] = {0}, *told = words + HEAD_WORDS;
    if (bytes > 512 * sizeof *words)
        return 0;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[at];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        told[0] = (uint64_t)bytes << 8 | MODULE;
        told[1] = object->dlpi_addr + segment->p_vaddr;
        told[2] = told[1] + segment->p_memsz;
        told[3] = segment->p_offset;
        memcpy(told + 4, path, bytes);
        write_chunk(words, UINT32_MAX, 0, 4 + (uint32_t)((bytes + 7) / 8));
    }
    return 0;
}

RARELY static void write_modules(void)
{
    char path[4096];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes < 0 ? 0 : bytes] = 0;
    dl_iterate_phdr(write_module, path);
}

RARELY static void in_child(void)
{
    counting = 0;
    file = -1;
}

RARELY __attribute__((constructor)) static void join(void)
{
    typedef int join_function(uint32_t, void (*)(uint64_t, uint64_t, const uint64_t *));
    const char *path = getenv("HOLDUP_COUNTS");
    if (path == NULL)
        return;
    join_function *join_holdup = (join_function *)dlsym(RTLD_DEFAULT, "holdup_counts_join");
    if (join_holdup == NULL)
        return;
    /* The first program of a recording has the file; others run as ever. */
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    pthread_atfork(NULL, NULL, in_child);
    uint64_t head[] = {0x31746E6370646C68 /* "hldpcnt1" */};
    if (write(file, head, sizeof head) != sizeof head || !join_holdup(VERSION, mark)) {
        close(file);
        unlink(path);
        file = -1;
        return;
    }
    write_modules();
}

RARELY __attribute__((destructor)) static void leave(void)
{
    if (file < 0)
        return;
    /* Threads that still run count no further. */
    has_left = 1;
    counting = 0;
    write_modules();
    for (struct thread *thread = __atomic_load_n(&all, __ATOMIC_ACQUIRE); thread != NULL; thread = thread->next)
        write_all_of(thread);
}
