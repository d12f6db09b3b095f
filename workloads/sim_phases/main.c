// Many phases between barriers, of three kinds that come again and again: what a sample of them tells must be what all
// tell.
#include "../sim.h"

#define PHASES 960
#define NUMBERS 750

static double numbers[MOST_THREADS][NUMBERS] __attribute__((aligned(4096)));
static uint32_t table[1 << 16];
static uint64_t results[MOST_THREADS];

NAMED static void multiply(long me)
{
    for (int i = 1; i < NUMBERS; i++)
        numbers[me][i] = numbers[me][i] * 0.75 + numbers[me][i - 1];
}

NAMED static void look_up(long me, uint64_t phase)
{
    for (uint64_t i = 0; i < NUMBERS / 2; i++)
        results[me] += table[scattered(phase * NUMBERS + i) >> 48];
}

NAMED static void sort(long me, uint64_t phase)
{
    uint32_t keys[64];
    for (int turn = 0; turn < 1; turn++) {
        for (int i = 0; i < 64; i++)
            keys[i] = (uint32_t)scattered(phase * 256 + (uint64_t)(turn * 64 + i));
        for (int i = 1; i < 64; i++)
            for (int j = i; j > 0 && keys[j - 1] > keys[j]; j--) {
                uint32_t key = keys[j];
                keys[j] = keys[j - 1];
                keys[j - 1] = key;
            }
        results[me] += keys[32];
    }
}

static void *work_through(void *argument)
{
    long me = (intptr_t)argument;
    for (long phase = 0; phase < PHASES * scale; phase++) {
        switch (phase % 3) {
        case 0: multiply(me); break;
        case 1: look_up(me, (uint64_t)(phase + me)); break;
        default: sort(me, (uint64_t)(phase + me)); break;
        }
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (uint64_t i = 0; i < 1 << 16; i++)
        table[i] = (uint32_t)scattered(i);
    for (long t = 0; t < threads; t++)
        for (int i = 0; i < NUMBERS; i++)
            numbers[t][i] = 1.0 + i % 7;
    run_with_main(work_through);
    int right = 1;
    for (long t = 0; t < threads; t++)
        right &= results[t] != 0 && numbers[t][NUMBERS - 1] > 0;
    return finish("sim_phases", PHASES, right);
}
