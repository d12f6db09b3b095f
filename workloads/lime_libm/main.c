// Every thread asks for as many sines as the others; those of huge angles take the library several times as long.
#include "../lime.h"

#include <math.h>

#define ANGLES 16384
#define ROUNDS 4

static double angles[ANGLES];
static double sines[ANGLES];

static void *wave(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        for (long i = me * ANGLES / threads; i < (me + 1) * ANGLES / threads; i++)
            sines[i] = sin(angles[i]); // PLANTED: the same number of calls
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long i = 0; i < ANGLES; i++) {
        uint64_t random = scattered((uint64_t)i);
#ifndef FIXED
        long huge = i;
#else
        long huge = ANGLES / 2; // FIX: as many huge ones everywhere
#endif
        double angle = (double)(random >> 11) * 0x1p-53 + 0.5;
        angles[i] = random % ANGLES < (uint64_t)huge ? angle * 1e12 : angle;
    }
    run_team(wave);
    // The sum differs between the forms; that a sine squared and a cosine squared are one does not.
    int right = 1;
    for (long i = 0; i < ANGLES; i++) {
        double cosine = cos(angles[i]);
        double one = sines[i] * sines[i] + cosine * cosine;
        right &= one > 1 - 1e-12 && one < 1 + 1e-12;
    }
    return finish("lime_libm", ANGLES, right);
}
