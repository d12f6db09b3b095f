/* Loops in the main thread and in two others, one of them partly inside a wait and a task in it. */
#include "mark.h"

static void *work(void *argument) {
    long n = (long)argument;
    mark(THREAD_BEGIN, n, 0);
    turns(n);
    mark(SYNC_BEGIN, 1, 0);
    turns(2 * n);
    mark(WAIT_BEGIN, 0, 0);
    turns(77);
    mark(TASK_BEGIN, 5, 0);
    turns(3);
    mark(TASK_END, 5, 1);
    turns(78);
    mark(WAIT_END, 0, 0);
    turns(5);
    return NULL;
}

int main(void) {
    uint32_t plugin = 0;
    mark(HELLO, (long)&plugin, 0);
    mark(HELLO, 8, 0);
    printf("plugin=%u\n", plugin);
    show_turns();
    turns(11);
    in_a_thread(work, (void *)1000);
    turns(13);
    mark(INTEREST_BEGIN, 0, 0);
    in_a_thread(work, (void *)100);
    turns(17);
    mark(INTEREST_END, 0, 0);
    turns(19);
    return 0;
}
