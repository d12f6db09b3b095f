/* PARSEC's hooks, and an end by abort. */
#include "mark.h"

static volatile int hooks;

__attribute__((noinline)) void __parsec_roi_begin(void) {
    for (int i = 0; i < 3; i++) {
        hooks++;
    }
}

__attribute__((noinline)) void __parsec_roi_end(void) {
    for (int i = 0; i < 3; i++) {
        hooks++;
    }
}

static void *work(void *unused) {
    turns(300);
    mark(SYNC_BEGIN, 1, 0);
    return unused;
}

int main(int count, char **arguments) {
    show_turns();
    fflush(stdout);
    turns(100);
    in_a_thread(work, NULL);
    __parsec_roi_begin();
    in_a_thread(work, NULL);
    turns(200);
    if (count > 1) {
        abort();
    }
    __parsec_roi_end();
    turns(400);
    return 0;
}
