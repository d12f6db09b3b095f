// Twelve small OpenMP programs that keep a log of their own and say what their threads' time was lost to, by the
// definitions of docs/scale.md: `[threads] program file`. What `holdup scale` says of the same run must be the same.
#include "openmp.h"

#include <stdbool.h>
#include <time.h>

enum mark { BEGIN, ARRIVE, LEAVE, END, WANT, GOT, WANT_TURN, GOT_TURN, ALONE, NOT_ALONE, TASK, TASKED, MAKE, MADE };

struct entry {
    enum mark mark;
    int64_t wall, cpu;
};

#define THREADS 64
#define ENTRIES 400000
static struct entry *log_of[THREADS];
static int entries[THREADS];

enum { IMBALANCE, WALKTHROUGH, STARTUP, LOCK_CONTENTION, SCHEDULING, SERIAL, STARVATION, OVERSUBSCRIPTION, PARTS };
static const char *const PART[PARTS] = {"imbalance",  "walkthrough", "startup",    "lock_contention",
                                        "scheduling", "serial",      "starvation", "oversubscription"};
static double lost[PARTS]; // Thread-time (ns).
static bool is_dealt; // The work of the legs is dealt out as threads become free.
static int64_t began, forked, in_regions, off_core_in_serial, serial_wall, serial_cpu;

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

// Asking for the CPU time is a system call, in which a thread may lose its core: that counts as work that is begun here,
// or was ended.
static void mark(enum mark mark)
{
    int me = omp_get_thread_num();
    struct entry *entry = &log_of[me][entries[me]++];
    bool begins = mark == BEGIN || mark == LEAVE || mark == GOT || mark == GOT_TURN || mark == TASK;
    entry->mark = mark;
    if (begins)
        entry->wall = now(CLOCK_MONOTONIC);
    entry->cpu = now(CLOCK_THREAD_CPUTIME_ID);
    if (!begins)
        entry->wall = now(CLOCK_MONOTONIC);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// What one thread did from one meeting to the next.
struct leg {
    int64_t start, arrival, idle_from, leave, off_core, alone, in_tasks;
};

// A thread's next leg: its entries from the one behind `at`, which it left at `start`.
static struct leg next_leg(int thread, int *at, int64_t start, int64_t joined)
{
    struct entry *log = log_of[thread];
    struct leg leg = {.start = start};
    bool arrived = false;
    for (;; (*at)++) {
        struct entry *one = &log[*at], *before = &log[*at - 1];
        int64_t took = one->wall - before->wall, off = most(0, took - (one->cpu - before->cpu));
        switch (one->mark) {
        case GOT:
            lost[LOCK_CONTENTION] += took;
            off = 0;
            break;
        case GOT_TURN:
            lost[SERIAL] += took;
            off = 0;
            break;
        case NOT_ALONE:
            leg.alone += took - off;
            break;
        case MADE:
            lost[SCHEDULING] += took - off;
            break;
        case TASK:
            off = arrived ? 0 : off;
            break;
        case TASKED:
            if (arrived) {
                leg.in_tasks += took;
                leg.idle_from = one->wall;
                lost[OVERSUBSCRIPTION] += off;
                off = 0;
            }
            break;
        case ARRIVE:
        case END:
            leg.arrival = leg.idle_from = one->wall;
            leg.leave = joined;
            arrived = true;
            break;
        case LEAVE:
            leg.leave = one->wall;
            return leg;
        default:
            break;
        }
        if (!arrived || one->mark == ARRIVE || one->mark == END)
            leg.off_core += off;
        if (*at + 1 >= entries[thread]) {
            (*at)++;
            return leg;
        }
    }
}

static void meet(const struct leg *legs, int threads)
{
    int64_t first = INT64_MAX, last = 0, length = 0, on_core = 0, shared = 0, all_on_core = 0, all_shared = 0;
    int64_t complete = 0, first_leave = INT64_MAX, waited = 0, in_tasks = 0, late = 0, off_core = 0;
    for (int j = 0; j < threads; j++) {
        first = legs[j].start < first ? legs[j].start : first;
        complete = most(complete, most(legs[j].arrival, legs[j].idle_from));
        first_leave = legs[j].leave < first_leave ? legs[j].leave : first_leave;
    }
    for (int j = 0; j < threads; j++) {
        int64_t w = legs[j].arrival - legs[j].start, c = w - legs[j].off_core, s = c - legs[j].alone;
        last = most(last, legs[j].arrival - first);
        length = most(length, w);
        on_core = most(on_core, c);
        shared = most(shared, s);
        all_on_core += c;
        all_shared += s;
        waited += complete - legs[j].arrival;
        in_tasks += legs[j].in_tasks;
        late += legs[j].start - first;
        off_core += legs[j].off_core;
    }
    lost[WALKTHROUGH] += (double)threads * (first_leave - complete);
    if (in_tasks > 0) {
        lost[STARTUP] += late;
        lost[OVERSUBSCRIPTION] += off_core;
        lost[STARVATION] += waited - in_tasks;
        return;
    }
    if (is_dealt) {
        int64_t beyond = most(0, threads - omp_get_num_procs()), lacking = most(0, beyond * last - off_core);
        int64_t by_start = lacking < late ? lacking : late, waiting = threads * last - late - all_on_core - off_core;
        int64_t by_waiting = lacking - by_start < waiting ? lacking - by_start : waiting;
        lost[STARTUP] += late - by_start;
        lost[OVERSUBSCRIPTION] += off_core + by_start + by_waiting;
        lost[IMBALANCE] += waiting - by_waiting;
        return;
    }
    int64_t uneven = threads * on_core - all_on_core, imbalance = threads * shared - all_shared;
    imbalance = imbalance < uneven ? imbalance : uneven;
    lost[STARTUP] += (double)threads * (last - length);
    lost[OVERSUBSCRIPTION] += (double)threads * (length - on_core);
    lost[IMBALANCE] += imbalance;
    lost[SERIAL] += uneven - imbalance;
}

static void fork_team(void)
{
    int64_t cpu = now(CLOCK_THREAD_CPUTIME_ID) - serial_cpu;
    forked = now(CLOCK_MONOTONIC);
    off_core_in_serial += most(0, forked - serial_wall - cpu);
    memset(entries, 0, sizeof entries);
}

static void join_team(void)
{
    int64_t joined = now(CLOCK_MONOTONIC), starts[THREADS], first = INT64_MAX;
    int threads = omp_get_max_threads(), at[THREADS];
    for (int j = 0; j < threads; j++) {
        starts[j] = log_of[j][0].wall;
        first = starts[j] < first ? starts[j] : first;
        at[j] = 1;
    }
    lost[SCHEDULING] += (double)threads * (first - forked);
    while (at[0] < entries[0]) {
        struct leg legs[THREADS];
        for (int j = 0; j < threads; j++) {
            legs[j] = next_leg(j, &at[j], starts[j], joined);
            starts[j] = legs[j].leave;
            at[j]++;
        }
        meet(legs, threads);
    }
    in_regions += joined - forked;
    serial_wall = now(CLOCK_MONOTONIC);
    serial_cpu = now(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t sum;

static void work(int microseconds)
{
    uint64_t done = compute((uint64_t)microseconds, microseconds);
#pragma omp atomic
    sum += done;
}

NAMED static void balanced(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
        work(4000);
        mark(END);
    }
    join_team();
}

NAMED static void uneven(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
        work(2000 * (omp_get_thread_num() + 1));
        mark(END);
    }
    join_team();
}

NAMED static void short_regions(void)
{
    // So many that a thread which loses its core between a mark and the runtime's call, for a time slice, changes little.
    for (int i = 0; i < 60; i++) {
        fork_team();
#pragma omp parallel
        {
            mark(BEGIN);
            work(100 + 10 * omp_get_thread_num());
            mark(END);
        }
        join_team();
    }
}

NAMED static void barriers(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
        for (int i = 0; i < 10; i++) {
            work(300 + 300 * ((omp_get_thread_num() + i) % omp_get_num_threads()));
            mark(ARRIVE);
#pragma omp barrier
            mark(LEAVE);
        }
        mark(END);
    }
    join_team();
}

NAMED static void ordered(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
#pragma omp for ordered schedule(static, 1) nowait
        for (int i = 0; i < 16; i++) {
            work(600);
            mark(WANT_TURN);
#pragma omp ordered
            {
                mark(GOT_TURN);
                work(400);
            }
        }
        mark(END);
    }
    join_team();
}

NAMED static void critical(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
        for (int i = 0; i < 8; i++) {
            work(300);
            mark(WANT);
#pragma omp critical
            {
                mark(GOT);
                work(600);
            }
        }
        mark(END);
    }
    join_team();
}

NAMED static void serial(void)
{
    work(3000);
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
        work(3000);
        mark(END);
    }
    join_team();
}

NAMED static void single(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
        work(1000);
#pragma omp single nowait
        {
            mark(ALONE);
            work(2000);
            mark(NOT_ALONE);
        }
        mark(ARRIVE);
#pragma omp barrier
        mark(LEAVE);
        work(1000);
        mark(END);
    }
    join_team();
}

static void task_of(int microseconds)
{
    mark(TASK);
    work(microseconds);
    mark(TASKED);
}

// The thread that makes them works at something else first.
NAMED static void tasks(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
#pragma omp masked
        for (int i = 0; i < 24; i++) {
            mark(MAKE);
#pragma omp task
            task_of(200 + 50 * (i % 8));
            mark(MADE);
        }
        mark(END);
    }
    join_team();
}

// Fewer tasks than threads.
NAMED static void few_tasks(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
#pragma omp masked
        for (int i = 0; i < omp_get_num_threads() - 1; i++) {
            mark(MAKE);
#pragma omp task
            task_of(4000);
            mark(MADE);
        }
        mark(END);
    }
    join_team();
}

NAMED static void dynamic(void)
{
    is_dealt = true;
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
#pragma omp for schedule(dynamic, 1) nowait
        for (int i = 0; i < 9; i++)
            work(500 + 200 * i);
        mark(END);
    }
    join_team();
}

NAMED static void sections(void)
{
    fork_team();
#pragma omp parallel
    {
        mark(BEGIN);
#pragma omp sections nowait
        {
#pragma omp section
            work(4000);
#pragma omp section
            work(2000);
#pragma omp section
            work(3000);
        }
        mark(END);
    }
    join_team();
}

static const struct {
    const char *name;
    void (*run)(void);
} PROGRAMS[] = {{"balanced", balanced}, {"uneven", uneven},     {"short_regions", short_regions}, {"barriers", barriers},
                {"ordered", ordered},   {"critical", critical}, {"serial", serial},               {"single", single},
                {"tasks", tasks},       {"few_tasks", few_tasks}, {"dynamic", dynamic},           {"sections", sections}};

int main(int argc, char **argv)
{
    began = serial_wall = now(CLOCK_MONOTONIC);
    serial_cpu = now(CLOCK_THREAD_CPUTIME_ID);
    omp_set_num_threads((int)argument(argc, argv, 1, omp_get_max_threads()));
    const char *name = argc > 2 ? argv[2] : "balanced";
    int threads = omp_get_max_threads();
    for (int j = 0; j < threads; j++)
        log_of[j] = malloc(ENTRIES * sizeof(struct entry));
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof PROGRAMS[0]; i++)
        if (strcmp(PROGRAMS[i].name, name) == 0)
            for (int round = 0; round < 50; round++)
                PROGRAMS[i].run();
    fork_team();
    FILE *out = argc > 3 ? fopen(argv[3], "w") : stdout;
    double wall = forked - began, serial_part = wall - in_regions;
    lost[SERIAL] += (threads - 1) * serial_part;
    lost[OVERSUBSCRIPTION] += off_core_in_serial;
    fprintf(out, "wall\t%.0f\n", wall);
    for (int part = 0; part < PARTS; part++)
        fprintf(out, "%s\t%.0f\n", PART[part], lost[part] / threads);
    return finish(name, sum);
}
