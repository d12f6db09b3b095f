/* A team of three with what its threads wait for: `alone_team FILE TIMES`. What it computes goes to FILE; to TIMES goes the
   CPU time (ns) that each thread has computed in its static part. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

#define TEAM 3
#define WORK 3000000L

static long long cpu_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void work(long length)
{
	volatile double value = 1;
	for (long i = 0; i < length; i++)
		value = value * 1.0000001 + 0.5;
}

int main(int argc, char **argv)
{
	long long computed[TEAM] = {0};
	long sections = 0, chunks = 0;
	if (argc < 3)
		return 2;
	for (int round = 0; round < 4; round++) {
#pragma omp parallel num_threads(TEAM)
		{
			int own = omp_get_thread_num();
			for (int part = 0; part < 2; part++) {
				long long begin = cpu_now();
				work(WORK);
				computed[own] += cpu_now() - begin;
#pragma omp barrier
			}
			for (int entry = 0; entry < 5; entry++) {
#pragma omp critical
				sections++;
			}
#pragma omp for schedule(dynamic, 1)
			for (int chunk = 0; chunk < 150; chunk++) {
				work(WORK / 1000);
#pragma omp atomic
				chunks++;
			}
#pragma omp single
			for (int made = 0; made < 20; made++) {
#pragma omp task
				{
					work(WORK / 1000);
#pragma omp critical
					sections++;
				}
			}
		}
	}
	FILE *file = fopen(argv[1], "w"), *times = fopen(argv[2], "w");
	if (file == NULL || times == NULL)
		return 2;
	fprintf(file, "%ld %ld\n", sections, chunks);
	for (int own = 0; own < TEAM; own++)
		fprintf(times, "%lld\n", computed[own]);
	return fclose(file) != 0 || fclose(times) != 0;
}
