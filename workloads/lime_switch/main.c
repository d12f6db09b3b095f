// An interpreter of a small language; the programs of the last threads have more of the one operation that takes long.
#include "../lime.h"

#define OPERATIONS 32768
#define ROUNDS 3
#define PRIME 4294967291u

enum { ADD, TURN, INVERT, MULTIPLY, SHIFT, MIRROR, SUBTRACT, POWER };

static uint8_t program[OPERATIONS];
static uint64_t results[ROUNDS][OPERATIONS];

static uint64_t power(uint64_t base)
{
    uint64_t result = 1;
    for (uint32_t exponent = PRIME - 1; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            result = result * base % PRIME;
        base = base * base % PRIME;
    }
    return result;
}

static uint64_t step(uint8_t operation, uint64_t value)
{
    switch (operation) { // PLANTED: operations are not spread evenly
    case ADD:
        return value + 12345;
    case TURN:
        return value << 7 | value >> 57;
    case INVERT:
        return ~value;
    case MULTIPLY:
        return value * 0x9E3779B97F4A7C15u;
    case SHIFT:
        return value ^ value >> 31;
    case MIRROR:
        return __builtin_bswap64(value) + value;
    case SUBTRACT:
        return value - 777;
    default:
        return value + power(value % (PRIME - 1) + 1);
    }
}

static void *interpret(void *argument)
{
    long me = (intptr_t)argument;
    long length = OPERATIONS / threads;
    for (long round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < length; i++) {
#ifndef FIXED
            long at = me * length + i;
#else
            long at = i * threads + me; // FIX: operations are dealt out like cards
#endif
            results[round][at] = step(program[at], (uint64_t)(at + round));
        }
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long i = 0; i < OPERATIONS; i++) {
        uint64_t random = scattered((uint64_t)i);
        program[i] = random % OPERATIONS < (uint64_t)i ? POWER : (uint8_t)(random >> 40) % POWER;
    }
    run_team(interpret);
    // What is no multiple of a prime, to the power of the prime less one, is one (Fermat).
    int right = 1;
    uint64_t checksum = 0;
    for (long i = 0; i < OPERATIONS / threads * threads; i++) {
        if (program[i] == POWER)
            right &= results[0][i] == (uint64_t)i + 1;
        checksum = checksum * 31 + results[ROUNDS - 1][i];
    }
    return finish("lime_switch", checksum, right);
}
