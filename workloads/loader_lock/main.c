// Threads that load a plugin for each call and unload it again: dlopen, dlsym and dlclose take the dynamic loader's
// lock, which dlopen holds while it reads, maps and relocates.
#define _GNU_SOURCE
#include "../work.h"

#include <dlfcn.h>

#define CALLS 10000
#define CALL_US 15

// Small libraries that come with every C compiler stand for plugins. Each thread has its own.
static const struct plugin {
    const char *file, *function;
} PLUGINS[] = {
    {"libm.so.6", "floor"},
    {"libresolv.so.2", "__b64_ntop"},
    {"libBrokenLocale.so.1", "__ctype_get_mb_cur_max"},
    {"libgcc_s.so.1", "__popcountdi2"},
};

static long threads, scale;

NAMED static void *load_plugin(const struct plugin *plugin)
{
    void *loaded = dlopen(plugin->file, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL || dlsym(loaded, plugin->function) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(97);
    }
    return loaded;
}

NAMED static void unload_plugin(void *loaded)
{
    if (dlclose(loaded) != 0)
        exit(96);
}

NAMED static uint64_t call_plugin(long call)
{
    return compute((uint64_t)call + 1, CALL_US);
}

static void *plugin_worker(void *argument)
{
    long number = (long)(intptr_t)argument;
    const struct plugin *plugin = &PLUGINS[(size_t)number % (sizeof PLUGINS / sizeof *PLUGINS)];
    uint64_t sum = 0;
#ifdef FIXED
    void *loaded = load_plugin(plugin); // FIX: loaded once, at the start
#endif
    for (long call = number; call < CALLS * scale; call += threads) {
#ifndef FIXED
        void *loaded = load_plugin(plugin); // PLANTED: loads and unloads for each call
        sum += call_plugin(call);
        unload_plugin(loaded);
#else
        sum += call_plugin(call);
#endif
    }
#ifdef FIXED
    unload_plugin(loaded);
#endif
    return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], plugin_worker, (void *)(intptr_t)t);
    uint64_t checksum = 0;
    for (long t = 0; t < threads; t++) {
        void *sum;
        check(pthread_join(workers[t], &sum), "pthread_join");
        checksum += (uintptr_t)sum;
    }
    printf("loader_lock checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
