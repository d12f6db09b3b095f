/* Code made at run time, and changed. */
#define _GNU_SOURCE
#include "mark.h"
#include <sys/mman.h>

static void *work(void *page) {
    /* mov $n, %eax; ret */
    unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3};
    long sum = 0;
    for (int version = 1; version <= 3; version++) {
        code[1] = version;
        memcpy(page, code, sizeof code);
        for (int i = 0; i < 10; i++) {
            sum += ((int (*)(void))page)();
        }
    }
    return (void *)sum;
}

int main(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    void *sum;
    if (pthread_create(&thread, NULL, work, page) != 0 || pthread_join(thread, &sum) != 0) {
        return 1;
    }
    show("page", page);
    printf("sum=%ld\n", (long)sum);
    return 0;
}
