// What OpenMP programs do that recording could disturb, one mode each: `stress MODE`. A mode checks its own results, prints
// them, and ends with a status of its own; output is the same for any number of threads.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 5000

static int failures;

// Says what is wrong on stdout, where a difference is seen.
static void expect(long found, long wanted, const char *what)
{
    if (found != wanted) {
        printf("%s: %ld instead of %ld\n", what, found, wanted);
        failures++;
    }
}

static uint64_t spin(uint64_t x, long rounds)
{
    for (long i = 0; i < rounds; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

static long sum_of_squares(int threads)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(threads)
    for (long i = 0; i < 1000; i++)
        sum += i * i;
    return sum;
}

#define SQUARES 332833500L

// Ends of the process inside of a region.

static void warm_up(void)
{
    for (int i = 0; i < 20; i++)
        expect(sum_of_squares(2), SQUARES, "warm up");
    fflush(stdout);
}

static void end_by(void (*end)(void))
{
    warm_up();
#pragma omp parallel num_threads(2)
    {
        spin((uint64_t)omp_get_thread_num() + 1, 100000);
        if (omp_get_thread_num() == 1)
            end();
#pragma omp barrier
    }
}

static void leave(void) { exit(7); }
static void leave_at_once(void) { _exit(9); }
static void die(void) { raise(SIGKILL); }
static void exit_inside(void) { end_by(leave); }
static void quick_exit_inside(void) { end_by(leave_at_once); }
static void abort_inside(void) { end_by(abort); }
static void kill_inside(void) { end_by(die); }

static void exit_in_task(void)
{
    warm_up();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task firstprivate(i)
        if (i == 40)
            leave();
    }
}

static void exit_in_critical(void)
{
    warm_up();
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        if (omp_get_thread_num() == 0)
            leave();
    }
}

// Forks.

static int status_of(pid_t child)
{
    int status = 0;
    expect(waitpid(child, &status, 0), child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void fork_inside(void)
{
    warm_up();
    int status = -1;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            pid_t child = fork();
            if (child == 0)
                _exit((int)(spin(3, 10000) != 0) * 21);
            status = status_of(child);
        }
#pragma omp barrier
        spin(1, 10000);
    }
    expect(status, 21, "child");
    expect(sum_of_squares(2), SQUARES, "after");
    printf("fork inside: done\n");
}

// What a child may do with OpenMP after its parent used it: a team of one.
static void fork_after(void)
{
    warm_up();
    pid_t child = fork();
    if (child == 0) {
        long sum = sum_of_squares(1);
        omp_lock_t lock;
        omp_init_lock(&lock);
        for (int i = 0; i < 1000; i++) {
            omp_set_lock(&lock);
            omp_unset_lock(&lock);
        }
        _exit(sum == SQUARES ? 22 : 1);
    }
    expect(status_of(child), 22, "child");
    expect(sum_of_squares(2), SQUARES, "after");
    printf("fork after: done\n");
}

static void fork_before(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(sum_of_squares(2) == SQUARES ? 23 : 1);
    expect(status_of(child), 23, "child");
    expect(sum_of_squares(2), SQUARES, "after");
    printf("fork before: done\n");
}

static void exec_after(void)
{
    warm_up();
    execl("/proc/self/exe", "stress", "schedules", (char *)NULL);
    expect(1, 0, "exec");
}

// Cancellation (OMP_CANCELLATION=true).

static void cancel(void)
{
    expect(omp_get_cancellation(), 1, "OMP_CANCELLATION");
    for (int round = 0; round < 20; round++) {
        long done = 0, after = 0;
#pragma omp parallel num_threads(2) shared(done, after)
        {
#pragma omp for schedule(static, 1) // LLVM 19's runtime fails an assertion of its own when a dynamic one is cancelled
            for (int i = 0; i < N; i++) {
#pragma omp atomic
                done++;
                if (i == 5) {
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
#pragma omp atomic
            after++;
        }
        expect(done >= 1 && done <= N, 1, "cancelled loop");
        expect(after, 2, "threads after the loop");
#pragma omp parallel num_threads(2)
        {
#pragma omp cancel parallel if (omp_get_thread_num() == 1)
#pragma omp barrier
#pragma omp cancellation point parallel
        }
        long tasks = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
        for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(i) shared(tasks)
            {
                if (i == 3) {
#pragma omp cancel taskgroup
                }
#pragma omp atomic
                tasks++;
            }
        }
        expect(tasks <= 100, 1, "cancelled tasks");
    }
    expect(sum_of_squares(2), SQUARES, "after");
    printf("cancel: done\n");
}

// Teams.

static void nested(void)
{
    omp_set_max_active_levels(3);
    long sum = 0;
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(4) reduction(+ : sum)
        {
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(dynamic)
            for (int i = 0; i < 10; i++)
                sum += i;
#pragma omp barrier
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp single
            sum += 1;
        }
    }
    expect(sum, omp_get_thread_limit() < 8 ? sum : 10 * 4 * (45 + 1), "nested");
    printf("nested: done\n");
}

static void oversubscribed(void)
{
    static long steps[64];
    memset(steps, 0, sizeof steps);
    int size = 0;
#pragma omp parallel num_threads(8)
    {
#pragma omp single
        size = omp_get_num_threads();
        for (int round = 0; round < 100; round++) {
            spin(1, 200);
            steps[omp_get_thread_num()]++;
#pragma omp barrier
#pragma omp for schedule(dynamic, 3) nowait
            for (int i = 0; i < 50; i++)
                spin((uint64_t)i + 1, 50);
#pragma omp barrier
        }
    }
    for (int i = 0; i < size; i++)
        expect(steps[i], 100, "steps");
    printf("oversubscribed: done\n");
}

static void *own_root(void *argument)
{
    for (int i = 0; i < 30; i++)
        expect(sum_of_squares(2), SQUARES, "root");
    return argument;
}

// Threads that OpenMP did not make, each with teams of its own, at once and one after the other.
static void roots(void)
{
    pthread_t threads[3];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, own_root, NULL);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    }
    printf("roots: done\n");
}

static void sizes(void)
{
    for (int round = 0; round < 5; round++)
        for (int threads = 1; threads <= 6; threads++)
            expect(sum_of_squares(threads), SQUARES, "sizes");
    printf("sizes: done\n");
}

static void teams(void)
{
    long sum = 0;
#pragma omp teams num_teams(2) reduction(+ : sum)
    {
#pragma omp distribute parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            sum += i;
    }
    expect(sum, 499500, "teams");
    printf("teams: done\n");
}

// Jumps, signals.

static void jumps(void)
{
    long jumped = 0;
#pragma omp parallel num_threads(2) reduction(+ : jumped)
    for (int i = 0; i < 1000; i++) {
        jmp_buf here;
        if (setjmp(here) == 0) {
#pragma omp critical
            spin(1, 10);
            longjmp(here, 1);
        }
        jumped++;
    }
    expect(jumped % 1000 == 0 && jumped > 0, 1, "jumps");
    printf("jumps: done\n");
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    ticks++;
}

static void signals(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int round = 0; round < 400; round++) {
        expect(sum_of_squares(2), SQUARES, "under signals");
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp critical
            spin(1, 500);
        }
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("signals: done\n");
}

// Worksharing, tasks and locks of every kind.

static int times[N];

static void check_loop(const char *what)
{
    for (int i = 0; i < N; i++) {
        if (times[i] != 1)
            expect(times[i], 1, what);
        times[i] = 0;
    }
}

static void schedules(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++)
        times[i]++;
    check_loop("static");
#pragma omp parallel for schedule(static, 7)
    for (int i = 0; i < N; i++)
        times[i]++;
    check_loop("static, 7");
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < N; i++)
        times[i]++;
    check_loop("dynamic");
#pragma omp parallel for schedule(monotonic : dynamic, 5)
    for (int i = N - 1; i >= 0; i--)
        times[i]++;
    check_loop("dynamic, 5, downwards");
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < N; i++)
        times[i]++;
    check_loop("guided");
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++)
        times[i]++;
    check_loop("runtime");
#pragma omp parallel for schedule(auto)
    for (int i = 0; i < N; i++)
        times[i]++;
    check_loop("auto");
#pragma omp parallel for schedule(dynamic, 3)
    for (unsigned long long i = 0; i < N; i++)
        times[i]++;
    check_loop("dynamic, unsigned");
#pragma omp parallel for schedule(guided, 3)
    for (unsigned long long i = 0; i < N; i++)
        times[i]++;
    check_loop("guided, unsigned");
#pragma omp parallel for collapse(2) schedule(dynamic, 2)
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < N / 50; j++)
            times[i * (N / 50) + j]++;
    check_loop("collapse");
    long last = -1, out_of_order = 0;
#pragma omp parallel for ordered schedule(dynamic, 4)
    for (int i = 0; i < N; i++) {
        times[i]++;
#pragma omp ordered
        {
            out_of_order += last != i - 1;
            last = i;
        }
    }
    check_loop("ordered");
    expect(out_of_order, 0, "out of order");
#pragma omp parallel for ordered(1) schedule(static, 1)
    for (int i = 1; i < 200; i++) {
#pragma omp ordered depend(sink : i - 1)
        times[i] = times[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    expect(times[199], 199, "doacross");
    memset(times, 0, sizeof times);
    long met = 0, copied = 0;
#pragma omp parallel reduction(+ : copied)
    {
        int value = 0;
#pragma omp sections nowait
        {
#pragma omp section
            times[0]++;
#pragma omp section
            times[1]++;
#pragma omp section
            times[2]++;
        }
#pragma omp single copyprivate(value)
        value = 5;
        copied += value == 5;
#pragma omp single nowait
#pragma omp atomic
        met++;
#pragma omp master
        {
#pragma omp atomic
            met++;
        }
    }
    expect(times[0] + times[1] + times[2], 3, "sections");
    expect(met, 2, "single and master");
    expect(copied > 0, 1, "copyprivate");
    printf("schedules: done\n");
}

static long fibonacci(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) untied
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 8)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
    long result = 0, order = 0, chain = 0, looped = 0, late = 0;
#pragma omp parallel
#pragma omp single
    {
        result = fibonacci(13);
        for (int i = 0; i < 200; i++) {
#pragma omp task depend(inout : chain) firstprivate(i)
            {
                order += chain != i;
                chain = i + 1;
            }
        }
#pragma omp task depend(in : chain) shared(late)
        late = chain;
#pragma omp taskwait
#pragma omp taskloop grainsize(16) shared(looped)
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            looped += i;
        }
#pragma omp taskgroup
        {
            for (int i = 0; i < 100; i++) {
#pragma omp task shared(looped) final(i > 50)
#pragma omp task shared(looped) mergeable
#pragma omp atomic
                looped++;
            }
#pragma omp taskyield
        }
    }
    expect(result, 233, "fibonacci");
    expect(order, 0, "out of order");
    expect(late, 200, "chain");
    expect(looped, 499500 + 100, "taskloop and taskgroup");
    printf("tasks: done\n");
}

static void locks(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long counts[5] = {0}, threads = 0, refused = 0;
#pragma omp parallel reduction(+ : threads, refused)
    {
        threads++;
        for (int i = 0; i < 2000; i++) {
            omp_set_lock(&lock);
            counts[0]++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            counts[1]++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            while (!omp_test_lock(&lock))
                refused++;
            counts[2]++;
            omp_unset_lock(&lock);
#pragma omp critical
            counts[3]++;
#pragma omp critical(named)
            counts[4]++;
        }
    }
    for (int i = 0; i < 5; i++)
        expect(counts[i], threads * 2000, "locks");
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    expect(refused >= 0, 1, "refused");
    printf("locks: done\n");
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"exit_inside", exit_inside},
    {"quick_exit_inside", quick_exit_inside},
    {"abort_inside", abort_inside},
    {"kill_inside", kill_inside},
    {"exit_in_task", exit_in_task},
    {"exit_in_critical", exit_in_critical},
    {"fork_inside", fork_inside},
    {"fork_after", fork_after},
    {"fork_before", fork_before},
    {"exec_after", exec_after},
    {"cancel", cancel},
    {"nested", nested},
    {"oversubscribed", oversubscribed},
    {"roots", roots},
    {"sizes", sizes},
    {"teams", teams},
    {"jumps", jumps},
    {"signals", signals},
    {"schedules", schedules},
    {"tasks", tasks},
    {"locks", locks},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            return failures == 0 ? 0 : 1;
        }
    fprintf(stderr, "no mode %s\n", argc == 2 ? argv[1] : "");
    return 2;
}
