// A serial phase: between fork-join phases the main thread prepares the next one alone.
#include "../work.h"

#define FRAMES 20
#define PREPARE_US 30000
#define RENDER_US 20000
#define TILES 120 // of each phase

static long threads, scale;
static uint64_t prepared[TILES], rendered[TILES];
static long frame;

static void prepare_tiles(long first, long end)
{
    for (long tile = first; tile < end; tile++)
        prepared[tile] = compute((uint64_t)(frame * TILES + tile + 1), PREPARE_US / TILES);
}

static void render_tiles(long first, long end)
{
    for (long tile = first; tile < end; tile++)
        rendered[tile] += compute(prepared[tile], RENDER_US / TILES);
}

NAMED static void *render_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    render_tiles(TILES * me / threads, TILES * (me + 1) / threads);
    return NULL;
}

// Runs `function` on every thread and waits for all of them.
NAMED static void fork_and_join(void *(*function)(void *))
{
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], function, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
}

#ifndef FIXED
NAMED static void prepare_frame(void)
{
    prepare_tiles(0, TILES); // PLANTED: 30 ms of computing by the main thread alone
}
#else
NAMED static void *prepare_worker(void *argument)
{
    long me = (long)(intptr_t)argument;
    prepare_tiles(TILES * me / threads, TILES * (me + 1) / threads);
    return NULL;
}

NAMED static void prepare_frame(void)
{
    fork_and_join(prepare_worker); // FIX: the threads share the preparation too
}
#endif

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    for (frame = 0; frame < FRAMES * scale; frame++) {
        prepare_frame();
        fork_and_join(render_worker);
    }
    uint64_t checksum = 0;
    for (int i = 0; i < TILES; i++)
        checksum = checksum * 31 + rendered[i];
    printf("serial_phase checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
