// dlopen and dlclose of a threaded library, whose locks and code vanish between two uses; by a thread too.
// The first argument is the path of dlopen_lib.so.
#include "harm.h"

#include <dlfcn.h>

static int use_library(const char *path, int flags, int threads)
{
    void *library = dlopen(path, flags);
    if (library == NULL) {
        printf("dlopen failed\n");
        exit(1);
    }
    int (*run)(int) = (int (*)(int))dlsym(library, "library_run");
    CHECK(run != NULL);
    int result = run(threads);
    CHECK(dlclose(library) == 0);
    return result;
}

static void *opener(void *path)
{
    return (void *)(intptr_t)use_library(path, RTLD_NOW | RTLD_LOCAL, 2);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (int i = 0; i < 10; i++)
        printf("round %d: %d\n", i, use_library(argv[1], i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL, 4));
    printf("deep binding: %d\n", use_library(argv[1], RTLD_NOW | RTLD_DEEPBIND, 3));
    pthread_t thread;
    void *result;
    RETURNS(0, pthread_create(&thread, NULL, opener, argv[1]));
    RETURNS(0, pthread_join(thread, &result));
    printf("from a thread: %d\n", (int)(intptr_t)result);
    void *kept = dlopen(argv[1], RTLD_NOW);
    CHECK(kept != NULL); // its destructor runs at exit
    return 0;
}
