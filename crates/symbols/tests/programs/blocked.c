/* Blocks for ever at the end of a chain of calls: blocked SHAPE KIND. Writes a line with its process and thread id first. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

typedef int (*function)(int);

static const char *kind;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2];
volatile int sink;

/* Leaves the frames of many calls, direct and indirect, below the stack pointer. */
NOINLINE static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

NOINLINE static int noise(int depth) {
    int numbers[40];
    char text[400];
    for (int i = 0; i < 40; i++) numbers[i] = (i * 7919) % 41;
    qsort(numbers, 40, sizeof numbers[0], by_number);
    snprintf(text, sizeof text, "%d %s %f", numbers[3], "text", 3.5 * depth);
    sink += text[0] + (depth > 0 ? noise(depth - 1) : 0);
    NO_TAIL_CALL;
    return sink;
}

NOINLINE static void block(int x) {
    char byte;
    printf("%d %ld\n", getpid(), syscall(SYS_gettid));
    fflush(stdout);
    if (!strcmp(kind, "read")) sink = read(ends[0], &byte, 1);
    else if (!strcmp(kind, "nanosleep")) nanosleep(&(struct timespec){1000, x}, NULL);
    else if (!strcmp(kind, "sleep")) sink = sleep(1000);
    else if (!strcmp(kind, "mutex")) sink = pthread_mutex_lock(&mutex);
    else if (!strcmp(kind, "semaphore")) sink = sem_wait(&semaphore);
    else if (!strcmp(kind, "poll")) sink = poll(NULL, 0, 1000000);
    else if (!strcmp(kind, "condition")) sink = pthread_cond_wait(&condition, &mutex);
    else if (!strcmp(kind, "raw")) {
        long result, number = SYS_pause;
        __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
    } else exit(8);
    NO_TAIL_CALL;
}

NOINLINE static int inner(int x) {
    block(x + 1);
    NO_TAIL_CALL;
    return x + sink;
}

NOINLINE static int middle(int x) {
    int y = inner(x * 3);
    NO_TAIL_CALL;
    return y + sink;
}

static function table[] = {inner, middle};

NOINLINE static int indirect(int x) {
    function next = table[x & 1];
    sink += noise(2);
    x += next(x);
    NO_TAIL_CALL;
    return x;
}

NOINLINE static int broad(int x) {
    volatile char room[6 * 1024];
    if (x > 1000) room[x] = 1;
    x += middle(x);
    NO_TAIL_CALL;
    return x + room[x & 1023];
}

NOINLINE static int many(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    volatile char *room = __builtin_alloca(a * 100 + 16);
    room[b] = c;
    a += middle(a + d + e + f + g + h + i);
    NO_TAIL_CALL;
    return a + room[b];
}

NOINLINE static int aligned(int x) {
    __attribute__((aligned(64))) volatile int numbers[32];
    numbers[x & 31] = 2;
    x += middle(x);
    NO_TAIL_CALL;
    return x + numbers[0];
}

NOINLINE static int recursive(int x) {
    int y = x > 0 ? recursive(x - 1) : middle(x);
    NO_TAIL_CALL;
    return y + sink;
}

NOINLINE static int in_the_end(int x) { return middle(x + 4); }

NOINLINE static int compare(const void *a, const void *b) {
    middle(1);
    NO_TAIL_CALL;
    return *(const int *)a - *(const int *)b;
}

NOINLINE static int sorter(int count) {
    int numbers[300];
    for (int i = 0; i < count; i++) numbers[i] = i * 7919 % 301;
    qsort(numbers, count, sizeof numbers[0], compare);
    NO_TAIL_CALL;
    return numbers[1];
}

NOINLINE static void *thread_main(void *argument) {
    sink += noise(1);
    sink += middle(*(int *)argument);
    return NULL;
}

NOINLINE static void *broad_thread(void *argument) {
    volatile char room[3 * 1024];
    int x = *(int *)argument;
    if (x > 1000) room[x] = 1;
    sink += middle(x);
    NO_TAIL_CALL;
    return (void *)(long)room[x];
}

static void *locker(void *argument) {
    pthread_mutex_lock(&mutex);
    (void)argument;
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    int x = count & 1;
    if (count != 3) return 7;
    const char *shape = arguments[1];
    kind = arguments[2];
    if (pipe(ends) || sem_init(&semaphore, 0, 0)) return 7;
    if (!strcmp(kind, "mutex")) {
        if (pthread_create(&thread, NULL, locker, NULL)) return 7;
        pthread_join(thread, NULL);
    }
    sink += noise(6);
    if (!strcmp(shape, "direct")) sink += middle(x);
    else if (!strcmp(shape, "indirect")) sink += indirect(1);
    else if (!strcmp(shape, "broad")) sink += broad(x);
    else if (!strcmp(shape, "many")) sink += many(x, 2, 3, 4, 5, 6, 7, 8, 9);
    else if (!strcmp(shape, "aligned")) sink += aligned(x);
    else if (!strcmp(shape, "recursive")) sink += recursive(2);
    else if (!strcmp(shape, "tail")) sink += in_the_end(x);
    else if (!strcmp(shape, "callback")) sink += sorter(200);
    else if (!strcmp(shape, "thread") || !strcmp(shape, "broad_thread")) {
        void *(*start)(void *) = shape[0] == 't' ? thread_main : broad_thread;
        if (pthread_create(&thread, NULL, start, &x)) return 7;
        pthread_join(thread, NULL);
    } else return 8;
    NO_TAIL_CALL;
    return 0;
}
