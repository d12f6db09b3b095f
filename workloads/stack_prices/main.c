// In kind after blackscholes: a long list of options, each priced by itself with much arithmetic and read only once. Neither
// cache nor memory nor waiting keeps it from scaling.
#include <math.h>

#include "../stack.h"

#ifndef OPTIONS
#define OPTIONS (1L << 17)
#endif

static struct option {
    float spot, strike, rate, volatility, time, price;
    uint64_t unused[5];
} *options;

static double below(double x) // the normal distribution
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

NAMED static float price(const struct option *option)
{
    double root = option->volatility * sqrt(option->time);
    double d1 = (log(option->spot / option->strike)
                 + (option->rate + 0.5 * option->volatility * option->volatility) * option->time)
                / root;
    return (float)(option->spot * below(d1) - option->strike * exp(-option->rate * option->time) * below(d1 - root));
}

static void *member(void *argument)
{
    long me = (intptr_t)argument;
    long end = first_of(OPTIONS, me + 1);
    for (long round = 0; round < scale; round++)
        for (long i = first_of(OPTIONS, me); i < end; i++) {
            options[i].price = price(&options[i]);
            members[me].done += options[i].price >= 0;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    threads = argument(argc, argv, 1, 2);
    scale = argument(argc, argv, 2, 100);
    options = (struct option *)own_memory(OPTIONS * (long)sizeof *options);
    for (long i = 0; i < OPTIONS; i++) {
        double part = (double)(scattered((uint64_t)i) >> 11) * 0x1p-53;
        options[i].spot = (float)(50 + 50 * part);
        options[i].strike = (float)(50 + 50 * (double)(i % 97) / 97);
        options[i].rate = 0.02f;
        options[i].volatility = (float)(0.1 + 0.3 * part);
        options[i].time = (float)(0.25 + (double)(i % 7) / 4);
    }
    run_team(member);
    return finish("stack_prices", all_done(), all_done() == (uint64_t)(OPTIONS * scale));
}
