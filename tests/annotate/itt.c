/*
 * Tells a task and a frame as a program does that was built with the static part of Intel's ITT, which does this at
 * its first call: it loads the collector that INTEL_LIBITTNOTIFY64 names, and asks it which protocol it speaks. One
 * that has neither __itt_api_init nor __itt_api_version is taken for an old one, and never told of tasks or frames.
 * With __itt_api_version, functions are looked for by name, if their group is in INTEL_ITTNOTIFY_GROUPS; tasks and
 * frames are in the group "structure". (github.com/intel/ittapi, src/ittnotify/ittnotify_static.c, init_ittlib)
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long long parts[3]; } itt_id;
typedef struct { const char *text; void *wide; int extra1; void *extra2; void *next; } string_handle;
typedef struct { int flags; const char *name; } domain;

typedef void task_begin(const domain *, itt_id, itt_id, string_handle *);
typedef void task_end(const domain *);
typedef void frame(const domain *, itt_id *);

static int failed(const char *what)
{
    printf("%s\n", what);
    return 1;
}

int main(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    const char *groups = getenv("INTEL_ITTNOTIFY_GROUPS");
    itt_id none = {{0, 0, 0}};
    string_handle tile = {"tile", NULL, 0, NULL, NULL};
    domain solver = {1, "solver"};
    void *collector;

    if (path == NULL) {
        printf("no collector\n");
        return 0;
    }
    collector = dlopen(path, RTLD_LAZY);
    if (collector == NULL)
        return failed(dlerror());
    if (dlsym(collector, "__itt_api_init") != NULL)
        return failed("the collector wants to fill in the table of functions itself");
    if (dlsym(collector, "__itt_api_version") == NULL)
        return failed("the collector is taken for an old one, which knows no tasks");
    if (groups == NULL || strstr(groups, "structure") == NULL)
        return failed("tasks and frames are not among the groups that are asked for");

    task_begin *begin = (task_begin *)dlsym(collector, "__itt_task_begin");
    task_end *end = (task_end *)dlsym(collector, "__itt_task_end");
    frame *frame_begin = (frame *)dlsym(collector, "__itt_frame_begin_v3");
    frame *frame_end = (frame *)dlsym(collector, "__itt_frame_end_v3");
    if (begin == NULL || end == NULL || frame_begin == NULL || frame_end == NULL)
        return failed("a function is missing");
    frame_begin(&solver, NULL);
    begin(&solver, none, none, &tile);
    end(&solver);
    frame_end(&solver, NULL);
    printf("told\n");
    return 0;
}
