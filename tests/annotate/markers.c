/* Says everything that holdup.h can say, on two threads. Compiled as every C and C++ that the header knows. */
#include "../../include/holdup.h"

#include <pthread.h>
#include <stdio.h>

static int evaluated;

static const char *label(void)
{
    evaluated = 1;
    return "from a call";
}

static void *worker(void *unused)
{
    holdup_work_begin("tile");
    holdup_spin_begin();
    holdup_spin_end();
    holdup_work_end();
    return unused;
}

int main(void)
{
    pthread_t thread;

    holdup_region_begin("solve");
    if (holdup_is_recording())
        holdup_phase(label());
    else
        holdup_phase("nobody hears this");
    if (pthread_create(&thread, NULL, worker, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    holdup_region_end("solve");
    printf("recording %d, label evaluated %d\n", holdup_is_recording(), evaluated);
    return 0;
}
