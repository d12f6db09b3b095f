// Threads that are joined too early: each before the next one is started, so that never two are at work.
#include "../work.h"

#define FRAMES 20
#define BANDS 4
#define BAND_US 10000

static long scale;
static uint64_t rendered[BANDS];

NAMED static void *render_band(void *argument)
{
    long band = (long)(intptr_t)argument;
    rendered[band] = compute(rendered[band] + (uint64_t)band + 1, BAND_US);
    return NULL;
}

NAMED static void render_frame(void)
{
    pthread_t bands[BANDS];
    for (long b = 0; b < BANDS; b++) {
        start_thread(&bands[b], render_band, (void *)(intptr_t)b);
#ifndef FIXED
        join_thread(bands[b]); // PLANTED: the next band waits for the end of this one
    }
#else
    }
    for (long b = 0; b < BANDS; b++)
        join_thread(bands[b]); // FIX: all bands are under way before the first is waited for
#endif
}

int main(int argc, char **argv)
{
    (void)argument(argc, argv, 1, BANDS);
    scale = argument(argc, argv, 2, 1);
    for (long frame = 0; frame < FRAMES * scale; frame++)
        render_frame();
    uint64_t checksum = 0;
    for (int b = 0; b < BANDS; b++)
        checksum = checksum * 31 + rendered[b];
    printf("early_join checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
