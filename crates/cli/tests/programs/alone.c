/* What threads can wait for, one kind for each mode: `alone MODE FILE TIMES`. What it computes goes to FILE, and is the
   same however its threads are scheduled. To TIMES go lines `THREAD COMPUTED SEEN`: the CPU time (ns) of the thread's own
   work, and how many steps of others it has seen in that work. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS 4
#define WORK 3000000L

static atomic_long steps[THREADS];
static long long computed[THREADS];
static long seen[THREADS];
static long result;

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static sem_t semaphores[THREADS];
static atomic_int turn;
static int items[4], count, taken, pipes[2];

static long long cpu_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long steps_of_others(int own)
{
	long sum = 0;
	for (int thread = 0; thread < THREADS; thread++)
		if (thread != own)
			sum += atomic_load(&steps[thread]);
	return sum;
}

static void work(int own, long length)
{
	long long begin = cpu_now();
	long before = steps_of_others(own);
	volatile double value = 1;
	for (long i = 0; i < length; i++) {
		value = value * 1.0000001 + 0.5;
		if (i % 1024 == 0)
			atomic_fetch_add(&steps[own], 1);
	}
	seen[own] += steps_of_others(own) - before;
	computed[own] += cpu_now() - begin;
}

static void *meet(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < ROUNDS; round++) {
		work(own, WORK);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *lock(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 40; round++) {
		work(own, WORK / 20);
		pthread_mutex_lock(&mutex);
		result++;
		work(own, WORK / 80);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *read_and_write(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 40; round++) {
		pthread_rwlock_rdlock(&rwlock);
		work(own, WORK / 20);
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_wrlock(&rwlock);
		result++;
		pthread_rwlock_unlock(&rwlock);
	}
	return NULL;
}

/* The first thread makes items, the others take them, through a small buffer. */
static void *pass(void *argument)
{
	int own = (int)(long)argument;
	const int all = 60;
	for (int item = 1; own == 0 && item <= all; item++) {
		work(own, WORK / 20);
		pthread_mutex_lock(&mutex);
		while (count == 4)
			pthread_cond_wait(&not_full, &mutex);
		items[count++] = item;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&mutex);
	}
	while (own != 0) {
		pthread_mutex_lock(&mutex);
		while (count == 0 && taken < all)
			pthread_cond_wait(&not_empty, &mutex);
		if (taken == all) {
			pthread_cond_broadcast(&not_empty);
			pthread_mutex_unlock(&mutex);
			break;
		}
		result += items[--count];
		taken++;
		pthread_cond_signal(&not_full);
		pthread_mutex_unlock(&mutex);
		work(own, WORK / 20);
	}
	return NULL;
}

static void *post(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 20; round++) {
		sem_wait(&semaphores[own]);
		work(own, WORK / 20);
		result = result * 31 % 1000003 + own;
		sem_post(&semaphores[(own + 1) % THREADS]);
	}
	return NULL;
}

static void *spin(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 3; round++) {
		while (atomic_load(&turn) != own)
			;
		work(own, WORK / 100);
		result = result * 31 % 1000003 + own;
		atomic_store(&turn, (own + 1) % THREADS);
	}
	return NULL;
}

/* The same with a lock around each look. */
static void *poll(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 3; round++) {
		for (;;) {
			pthread_mutex_lock(&mutex);
			int now = atomic_load(&turn);
			pthread_mutex_unlock(&mutex);
			if (now == own)
				break;
		}
		work(own, WORK / 100);
		result = result * 31 % 1000003 + own;
		atomic_store(&turn, (own + 1) % THREADS);
	}
	return NULL;
}

/* Who waits gives its core away. */
static void *yield(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 20; round++) {
		while (atomic_load(&turn) != own)
			sched_yield();
		work(own, WORK / 100);
		result = result * 31 % 1000003 + own;
		atomic_store(&turn, (own + 1) % THREADS);
	}
	return NULL;
}

/* Who waits tries to get a lock again and again. */
static void *try_again(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 50; round++) {
		while (pthread_mutex_trylock(&mutex) != 0)
			;
		work(own, WORK / 100);
		result++;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *doze(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < ROUNDS; round++) {
		struct timespec until;
		usleep(2000);
		work(own, WORK / 4);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 2000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (sem_timedwait(&semaphores[1], &until) != 0 && errno == ETIMEDOUT)
			__sync_fetch_and_add(&result, 1);
	}
	return NULL;
}

/* Threads that wait for each other by a pipe. */
static void *pipe_on(void *argument)
{
	int own = (int)(long)argument;
	for (int round = 0; round < 50; round++) {
		char byte;
		work(own, WORK / 100);
		if (own == 0 && write(pipes[1], "xy", 2) != 2)
			abort();
		if (own != 0 && read(pipes[0], &byte, 1) == 1)
			__sync_fetch_and_add(&result, 1);
	}
	return NULL;
}

static void *fork_off(void *argument)
{
	int own = (int)(long)argument, status = 0;
	for (int round = 0; round < 3; round++) {
		work(own, WORK / 10);
		pid_t child = fork();
		if (child == 0) {
			pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
			_exit(own + 1);
		}
		waitpid(child, &status, 0);
		__sync_fetch_and_add(&result, WEXITSTATUS(status));
	}
	return NULL;
}

static void *twice(void *argument)
{
	int own = (int)(long)argument;
	work(own, WORK);
	__sync_fetch_and_add(&result, own + 1);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*run)(void *);
		int times;
	} modes[] = {
		{"barrier", meet, 1}, {"mutex", lock, 1}, {"rwlock", read_and_write, 1}, {"condition", pass, 1},
		{"semaphore", post, 1}, {"spin", spin, 1}, {"poll", poll, 1}, {"yield", yield, 1}, {"try", try_again, 1},
		{"doze", doze, 1}, {"pipe", pipe_on, 1}, {"fork", fork_off, 1}, {"join", twice, 5},
		{"long", lock, 40},
	};
	if (argc < 4)
		return 2;
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&semaphores[0], 0, strcmp(argv[1], "semaphore") == 0);
	sem_init(&semaphores[1], 0, 0);
	sem_init(&semaphores[2], 0, 0);
	if (pipe(pipes) != 0)
		return 2;
	for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
		for (int time = 0; strcmp(argv[1], modes[mode].name) == 0 && time < modes[mode].times; time++) {
			pthread_t threads[THREADS];
			for (long own = 0; own < THREADS; own++)
				pthread_create(&threads[own], NULL, modes[mode].run, (void *)own);
			for (int own = 0; own < THREADS; own++)
				pthread_join(threads[own], NULL);
		}
	}
	FILE *file = fopen(argv[2], "w"), *times = fopen(argv[3], "w");
	if (file == NULL || times == NULL)
		return 2;
	fprintf(file, "%ld\n", result);
	for (int own = 0; own < THREADS; own++)
		fprintf(times, "%d %lld %ld\n", own, computed[own], seen[own]);
	return fclose(file) != 0 || fclose(times) != 0;
}
