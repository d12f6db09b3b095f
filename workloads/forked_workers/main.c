// Worker processes that get jobs by a pipe from the process that forked them: it prepares each job itself, slower than they compute.
#include "../work.h"

#include <sys/wait.h>
#include <unistd.h>

#define JOBS 240
#define AHEAD 4 // jobs under way per worker
#define PREPARE_US 4000
#define ENCODE_US 1000

struct job {
    long number;
    uint64_t data;
};

static int jobs[2], results[2];

static int transferred(ssize_t done, size_t expected, const char *call)
{
    if (done != 0 && done != (ssize_t)expected)
        check(done < 0 ? errno : EIO, call);
    return done != 0;
}

NAMED static uint64_t prepare_job(long number)
{
    return compute((uint64_t)number + 1, PREPARE_US);
}

NAMED static uint64_t encode_job(struct job job)
{
#ifdef FIXED
    job.data = prepare_job(job.number); // FIX: whoever takes a job prepares it
#endif
    return compute(job.data, ENCODE_US);
}

// Jobs are smaller than what a pipe takes at once: each is read by one worker.
NAMED static void encoder(void)
{
    struct job job;
    while (transferred(read(jobs[0], &job, sizeof job), sizeof job, "read")) {
        uint64_t result = encode_job(job);
        transferred(write(results[1], &result, sizeof result), sizeof result, "write");
    }
}

NAMED static uint64_t collect_result(void)
{
    uint64_t result = 0;
    transferred(read(results[0], &result, sizeof result), sizeof result, "read");
    return result;
}

int main(int argc, char **argv)
{
    long workers = argument(argc, argv, 1, 2), count = JOBS * argument(argc, argv, 2, 1);
    pid_t children[workers];
    if (pipe(jobs) != 0 || pipe(results) != 0)
        check(errno, "pipe");
    for (long w = 0; w < workers; w++) {
        children[w] = fork();
        if (children[w] < 0)
            check(errno, "fork");
        if (children[w] == 0) {
            close(jobs[1]);
            close(results[0]);
            encoder();
            exit(0);
        }
    }
    uint64_t checksum = 0;
    long collected = 0;
    for (long number = 0; number < count; number++) {
        struct job job = {.number = number};
#ifndef FIXED
        job.data = prepare_job(number); // PLANTED: one after the other, while the workers have nothing to do
#endif
        transferred(write(jobs[1], &job, sizeof job), sizeof job, "write");
        if (number - collected >= workers * AHEAD) {
            checksum += collect_result();
            collected++;
        }
    }
    close(jobs[1]);
    for (; collected < count; collected++)
        checksum += collect_result();
    for (long w = 0; w < workers; w++) {
        int status;
        if (waitpid(children[w], &status, 0) < 0 || status != 0)
            check(ECHILD, "waitpid");
    }
    printf("forked_workers checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
