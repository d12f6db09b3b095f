// Messages that are handled by way of a table of functions; the last threads have more of those that take long.
#include "../lime.h"

#define MESSAGES 16384
#define ROUNDS 3

typedef uint64_t (*handler)(uint64_t);

struct message {
    uint64_t number;
    unsigned kind;
};

static struct message messages[MESSAGES];
static uint64_t answers[MESSAGES];

static uint64_t count(uint64_t number)
{
    return number + 1;
}

static uint64_t turn(uint64_t number)
{
    return number << 13 | number >> 51;
}

static uint64_t encrypt(uint64_t number)
{
    for (int i = 0; i < 48; i++)
        number = (number ^ number >> 29) * 0xBF58476D1CE4E5B9u;
    return number;
}

static handler handlers[] = {count, turn, encrypt};

static void *serve(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        for (long i = 0; i < MESSAGES / threads; i++) {
#ifndef FIXED
            long at = me * (MESSAGES / threads) + i;
#else
            long at = i * threads + me; // FIX: messages are dealt out like cards
#endif
            answers[at] = handlers[messages[at].kind](messages[at].number); // PLANTED: kinds are not spread evenly
        }
        MEET();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    for (long i = 0; i < MESSAGES; i++) {
        uint64_t random = scattered((uint64_t)i);
        messages[i].number = random;
        messages[i].kind = random % MESSAGES < (uint64_t)i ? 2 : (unsigned)(random >> 40) % 2;
    }
    run_team(serve);
    int right = 1;
    uint64_t checksum = 0;
    for (long i = 0; i < MESSAGES / threads * threads; i++) {
        uint64_t number = messages[i].number;
        if (messages[i].kind == 0)
            right &= answers[i] == number + 1;
        if (messages[i].kind == 1)
            right &= (answers[i] >> 13 | answers[i] << 51) == number;
        checksum = checksum * 31 + answers[i];
    }
    return finish("lime_pointer", checksum, right);
}
