/* Forks children that work and end, and then executes the program that it is told, if it is. */
#include "mark.h"
#include <sys/wait.h>

static void *work(void *unused) {
    turns(100);
    mark(SYNC_BEGIN, 1, 0);
    return unused;
}

int main(int count, char **arguments) {
    show_turns();
    fflush(stdout);
    in_a_thread(work, NULL);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            uint32_t plugin = 0;
            mark(HELLO, (long)&plugin, 0);
            turns(1000000);
            in_a_thread(work, NULL);
            mark(SYNC_BEGIN, 99, 0);
            _exit(plugin == 0 ? 0 : 1);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) {
            return 1;
        }
    }
    turns(31);
    if (count > 1) {
        execv(arguments[1], arguments + 1);
        return 1;
    }
    return 0;
}
