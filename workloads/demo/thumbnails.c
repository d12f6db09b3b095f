// holdup's demonstration: makes "thumbnails" with four threads, and two things hold it up.
//
// Build it with nothing but `cc -O2 -g -pthread thumbnails.c`. -DFIXED_CACHE fixes the first problem,
// -DFIXED_SPLIT the second, -DFIXED both. It always does the same work and prints the same line.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FIXED
#define FIXED_CACHE
#define FIXED_SPLIT
#endif

#if defined(__clang__)
#define NAMED __attribute__((noinline))
#else
#define NAMED __attribute__((noipa)) // keeps the function's symbol and frame
#endif

enum { THREADS = 4, IMAGES = 280, CACHE_SLOTS = 50, STRIPS = 12, FRAMES = 24 };

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t cache[CACHE_SLOTS];
static pthread_barrier_t frame_done;
static uint64_t pixels[THREADS][8]; // a cache line for each thread

// A fixed amount of computing: xorshift64, about 600 iterations in a microsecond.
static inline uint64_t compute(uint64_t seed, long us)
{
    uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
    for (long i = us * 600; i > 0; i--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static void check(int error, const char *call)
{
    if (error != 0) {
        fprintf(stderr, "thumbnails: %s failed (error %d)\n", call, error);
        exit(99);
    }
}

NAMED static uint64_t decode_image(int image)
{
    return compute((uint64_t)image + 1, 700);
}

NAMED static uint64_t compress_block(uint64_t block)
{
    return compute(block, 4000);
}

NAMED static void cache_put(int image, uint64_t block)
{
#ifndef FIXED_CACHE
    check(pthread_mutex_lock(&cache_lock), "pthread_mutex_lock");
    uint64_t compressed = compress_block(block); // PLANTED: 4 ms of compression with cache_lock held
#else
    uint64_t compressed = compress_block(block); // FIX: compress before cache_lock is taken
    check(pthread_mutex_lock(&cache_lock), "pthread_mutex_lock");
#endif
    cache[image % CACHE_SLOTS] += compressed;
    check(pthread_mutex_unlock(&cache_lock), "pthread_mutex_unlock");
}

NAMED static void fill_cache(int worker)
{
    for (int image = worker; image < IMAGES; image += THREADS)
        cache_put(image, decode_image(image));
}

NAMED static uint64_t resize_strip(int frame, int strip)
{
    return compute((uint64_t)(frame * STRIPS + strip + 1), 2500);
}

NAMED static void resize_frame(int worker, int frame)
{
#ifndef FIXED_SPLIT
    int first = worker;
    int end = worker < THREADS - 1 ? worker + 1 : STRIPS; // PLANTED: 9 of 12 strips to the last thread
#else
    int first = worker * STRIPS / THREADS;
    int end = (worker + 1) * STRIPS / THREADS; // FIX: the same number of strips for each thread
#endif
    for (int strip = first; strip < end; strip++)
        pixels[worker][0] += resize_strip(frame, strip);
    int result = pthread_barrier_wait(&frame_done);
    if (result != PTHREAD_BARRIER_SERIAL_THREAD)
        check(result, "pthread_barrier_wait");
}

static void *thumbnail_worker(void *argument)
{
    int worker = (int)(intptr_t)argument;
    fill_cache(worker);
    for (int frame = 0; frame < FRAMES; frame++)
        resize_frame(worker, frame);
    return NULL;
}

int main(void)
{
    pthread_t workers[THREADS];
    check(pthread_barrier_init(&frame_done, NULL, THREADS), "pthread_barrier_init");
    for (intptr_t t = 0; t < THREADS; t++)
        check(pthread_create(&workers[t], NULL, thumbnail_worker, (void *)t), "pthread_create");
    for (int t = 0; t < THREADS; t++)
        check(pthread_join(workers[t], NULL), "pthread_join");
    uint64_t checksum = 0;
    for (int slot = 0; slot < CACHE_SLOTS; slot++)
        checksum += cache[slot];
    for (int t = 0; t < THREADS; t++)
        checksum += pixels[t][0];
    printf("thumbnails: %d images, checksum %016llx\n", IMAGES, (unsigned long long)checksum);
    return 0;
}
