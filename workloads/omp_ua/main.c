// In the manner of UA of the NAS benchmarks: contributions of elements are added to points that several elements share,
// each point under a lock of its own. There are 334,600 locks, so that hardly any two threads meet, and an acquisition
// every 100 ns (paper 5, section 5.3). -DHINT says that the locks are uncontended
// (gcc has that function from version 13 on), -DFIXED adds atomically.
#include "../openmp.h"

#define POINTS 334600
#define ELEMENTS 40000
#define POINTS_OF_ELEMENT 27
#define STEPS 7

static omp_lock_t point_lock[POINTS];
static double potential[POINTS];
static int point_of[ELEMENTS][POINTS_OF_ELEMENT];

NAMED static void gather(double factor)
{
#pragma omp parallel for schedule(static)
    for (int element = 0; element < ELEMENTS; element++) {
        // Whole numbers: the sums are exact, in whatever order.
        double contribution = (double)(compute((uint64_t)element, 1) % 1000) * factor;
        for (int corner = 0; corner < POINTS_OF_ELEMENT; corner++) {
            int point = point_of[element][corner];
#ifdef FIXED
#pragma omp atomic // FIX: one instruction in the place of two calls
            potential[point] += contribution;
#else
            omp_set_lock(&point_lock[point]); // PLANTED: a lock around one addition
            potential[point] = potential[point] + contribution;
            omp_unset_lock(&point_lock[point]);
#endif
        }
    }
}

NAMED static void set_up(void)
{
    for (int point = 0; point < POINTS; point++) {
#ifdef HINT
        omp_init_lock_with_hint(&point_lock[point], omp_sync_hint_uncontended);
#else
        omp_init_lock(&point_lock[point]);
#endif
    }
    uint64_t state = 1;
    for (int element = 0; element < ELEMENTS; element++) {
        // Corners of an element lie together, elements are spread over the points.
        state = state * 6364136223846793005u + 1442695040888963407u;
        int first = (int)((state >> 33) % (POINTS - 4 * POINTS_OF_ELEMENT));
        for (int corner = 0; corner < POINTS_OF_ELEMENT; corner++)
            point_of[element][corner] = first + corner * 4;
    }
}

int main(int argc, char **argv)
{
    long scale = team_and_scale(argc, argv);
    set_up();
    for (long step = 0; step < STEPS * scale; step++)
        gather((double)(step % 5 + 1));
    uint64_t checksum = 0;
    for (int point = 0; point < POINTS; point++)
        checksum += (uint64_t)potential[point] * (uint64_t)(point % 1009 + 1);
    return finish("omp_ua", checksum);
}
