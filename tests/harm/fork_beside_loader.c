// fork while other threads are where the C library walks through what is loaded. Its lock for that is not made anew in a child
// (glibc), so that whoever has it then is missed for ever. The program's own dl_iterate_phdr takes long over it, as that of a
// program with many libraries does.
#include "harm.h"

#include <dlfcn.h>
#include <link.h>

#define FORKS 40
#define THREADS 3

typedef int (*visitor)(struct dl_phdr_info *, size_t, void *);
typedef int (*walk)(visitor, void *);

struct visit {
    visitor visit;
    void *data;
};

static walk original;
static volatile int over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void pass(unsigned steps)
{
    for (volatile unsigned step = 0; step < steps; step++)
        ;
}

static int slowly(struct dl_phdr_info *info, size_t size, void *data)
{
    struct visit *of = data;
    if (original)
        pass(20000);
    return of->visit(info, size, of->data);
}

int dl_iterate_phdr(visitor visit, void *data)
{
    static walk found;
    if (!found)
        found = (walk)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct visit of = {visit, data};
    return found(slowly, &of);
}

// Each way down is another call stack.
__attribute__((noinline)) static void down(unsigned way, int left)
{
    if (left == 0) {
        RETURNS(0, pthread_mutex_lock(&lock));
        pass(20000);
        RETURNS(0, pthread_mutex_unlock(&lock));
    } else if (way & 1) {
        down(way >> 1, left - 1);
        __asm__ volatile("" ::: "memory");
    } else {
        down(way >> 1, left - 1);
        __asm__ volatile("nop" ::: "memory");
    }
}

static void *go_down(void *first)
{
    for (unsigned way = (unsigned)(uintptr_t)first * 7919; !over; way++)
        down(way, 16);
    return NULL;
}

static int ignore(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t index = 0; index < THREADS; index++)
        RETURNS(0, pthread_create(&threads[index], NULL, go_down, (void *)(index + 1)));
    original = dl_iterate_phdr;
    for (int count = 0; count < FORKS; count++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            // What an exception does.
            dl_iterate_phdr(ignore, NULL);
            usleep(1000);
            _exit(3);
        }
        CHECK(status_of(child) == 3);
    }
    over = 1;
    for (int index = 0; index < THREADS; index++)
        RETURNS(0, pthread_join(threads[index], NULL));
    puts("forked");
    return 0;
}
