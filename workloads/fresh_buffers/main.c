// Threads clean scanned pages, each in planes that are allocated for it: what is freed goes back to the kernel, and comes again.
#include "../work.h"

#define PAGES 60 // of each thread
#define PLANES 3
#define PIXELS 200000

static long pages;

NAMED static double clean_page(double *const planes[PLANES], long page)
{
    double *low = planes[0], *high = planes[1], *mid = planes[2], sum = 0;
    for (long pixel = 0; pixel < PIXELS; pixel++)
        low[pixel] = (double)((pixel * 7 + page) & 255);
    for (long pixel = 1; pixel < PIXELS; pixel++)
        high[pixel] = low[pixel] - low[pixel - 1];
    for (long pixel = 1; pixel < PIXELS; pixel++)
        mid[pixel] = low[pixel] + 0.5 * high[pixel];
    for (long pixel = 1; pixel < PIXELS; pixel++)
        sum += mid[pixel];
    return sum;
}

NAMED static void take_planes(double *planes[PLANES])
{
    for (int plane = 0; plane < PLANES; plane++) {
        planes[plane] = malloc(PIXELS * sizeof *planes[plane]);
        if (planes[plane] == NULL)
            check(errno, "malloc");
    }
}

NAMED static void give_planes_back(double *planes[PLANES])
{
    for (int plane = PLANES - 1; plane >= 0; plane--)
        free(planes[plane]);
}

NAMED static void *page_cleaner(void *argument)
{
    double *sum = argument, *planes[PLANES];
#ifdef FIXED
    take_planes(planes); // FIX: each thread keeps its planes
#endif
    for (long page = 0; page < pages; page++) {
#ifndef FIXED
        take_planes(planes); // PLANTED: planes for each page
#endif
        *sum += clean_page(planes, page);
#ifndef FIXED
        give_planes_back(planes);
#endif
    }
#ifdef FIXED
    give_planes_back(planes);
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argument(argc, argv, 1, 2);
    pages = PAGES * argument(argc, argv, 2, 6);
    pthread_t cleaners[threads];
    double *sums = calloc((size_t)threads * 16, sizeof *sums), sum = 0;
    if (sums == NULL)
        check(errno, "calloc");
    for (long thread = 0; thread < threads; thread++)
        start_thread(&cleaners[thread], page_cleaner, &sums[thread * 16]);
    for (long thread = 0; thread < threads; thread++) {
        join_thread(cleaners[thread]);
        sum += sums[thread * 16];
    }
    free(sums);
    printf("fresh_buffers sum %.0f\n", sum);
    return 0;
}
