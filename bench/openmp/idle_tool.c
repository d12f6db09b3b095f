/* A tool of LLVM's OpenMP runtime that registers the callbacks that holdup registers, and returns from each at once: what
 * holdup costs is measured against a runtime with this one attached, so that what OMPT itself costs is not counted.
 * Build: clang -O2 -fPIC -shared idle_tool.c -o libidle_tool.so; use: OMP_TOOL_LIBRARIES=./libidle_tool.so ./program */
#include <omp-tools.h>
#include <stddef.h>

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned int size,
                           int flags, const void *caller)
{
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *caller)
{
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned int size,
                          unsigned int index, int flags)
{
}

static void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                 uint64_t count, const void *caller)
{
}

static void masked(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *caller)
{
}

static void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                             ompt_data_t *task, const void *caller)
{
}

static void dispatch(ompt_data_t *parallel, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance)
{
}

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *new_task, int flags, int depends,
                        const void *caller)
{
}

static void task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
}

static void dependences(ompt_data_t *task, const ompt_dependence_t *dependences, int count)
{
}

static void mutex_acquire(ompt_mutex_t kind, unsigned int hint, unsigned int implementation, ompt_wait_id_t wait,
                          const void *caller)
{
}

static void mutex(ompt_mutex_t kind, ompt_wait_id_t wait, const void *caller)
{
}

static int start(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)parallel_end);
    set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task);
    set(ompt_callback_work, (ompt_callback_t)work);
    set(ompt_callback_masked, (ompt_callback_t)masked);
    set(ompt_callback_sync_region_wait, (ompt_callback_t)sync_region_wait);
    set(ompt_callback_dispatch, (ompt_callback_t)dispatch);
    set(ompt_callback_task_create, (ompt_callback_t)task_create);
    set(ompt_callback_task_schedule, (ompt_callback_t)task_schedule);
    set(ompt_callback_dependences, (ompt_callback_t)dependences);
    set(ompt_callback_mutex_acquire, (ompt_callback_t)mutex_acquire);
    set(ompt_callback_mutex_acquired, (ompt_callback_t)mutex);
    set(ompt_callback_mutex_released, (ompt_callback_t)mutex);
    return 1;
}

static void finish(ompt_data_t *data)
{
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    static ompt_start_tool_result_t result = {start, finish, {0}};
    return &result;
}
