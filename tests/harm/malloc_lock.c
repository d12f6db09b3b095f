// A program with its own malloc, which takes a mutex in every call: from constructors, from the dynamic
// loader, from dlsym, in new threads and in fork's child.
#include "harm.h"
#include "use_threads.h"

#include <dlfcn.h>

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[48 << 20] __attribute__((aligned(64)));
static size_t used;
static long calls;

static void *take(size_t size, size_t alignment)
{
    void *result = NULL;
    if (alignment < 16)
        alignment = 16;
    pthread_mutex_lock(&heap_lock);
    calls++;
    size_t start = (used + 16 + alignment - 1) / alignment * alignment;
    if (start + size <= sizeof heap) {
        used = start + size;
        result = heap + start;
        ((size_t *)result)[-1] = size;
    }
    pthread_mutex_unlock(&heap_lock);
    if (result == NULL)
        errno = ENOMEM;
    return result;
}

void *malloc(size_t size) { return take(size, 16); }
void free(void *block)
{
    if (block == NULL)
        return;
    pthread_mutex_lock(&heap_lock);
    calls++;
    pthread_mutex_unlock(&heap_lock);
}
void *calloc(size_t count, size_t size) { return take(count * size, 16); } // never used twice, so still zero
void *realloc(void *block, size_t size)
{
    void *larger = take(size, 16);
    if (larger != NULL && block != NULL) {
        size_t old = ((size_t *)block)[-1];
        memcpy(larger, block, old < size ? old : size);
    }
    return larger;
}
void *memalign(size_t alignment, size_t size) { return take(size, alignment); }
void *aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
int posix_memalign(void **result, size_t alignment, size_t size)
{
    *result = take(size, alignment);
    return *result ? 0 : ENOMEM;
}

static void *allocate(void *argument)
{
    for (int i = 0; i < 5000; i++) {
        char *volatile block = malloc((size_t)(i % 100));
        CHECK(block != NULL);
        free(block);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[4];
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_create(&threads[t], NULL, allocate, NULL));
    for (int t = 0; t < 4; t++)
        RETURNS(0, pthread_join(threads[t], NULL));
    CHECK(calls >= 40000);
    CHECK(dlsym(RTLD_DEFAULT, "no_such_symbol") == NULL && dlerror() != NULL);
    printf("locks %ld\n", use_threads(4, 2000));
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        allocate(NULL);
        _exit(use_threads(2, 100) == 200 ? 3 : 1);
    }
    printf("child %d\n", status_of(child));
    return 0;
}
