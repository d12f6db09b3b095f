/*
 * What a program can tell holdup about itself.
 *
 *     #include "holdup.h"
 *
 *     holdup_region_begin("solve");
 *     for (step = 0; step < steps; step++) {
 *         holdup_phase("exchange");
 *         exchange();
 *         holdup_phase("compute");
 *         compute();
 *     }
 *     holdup_region_end("solve");
 *
 * int holdup_is_recording(void)                 1 while holdup records this process, else 0.
 *
 * void holdup_region_begin(const char *label)   The part of the run that is of interest begins and ends: for the
 * void holdup_region_end(const char *label)     whole process, on any thread.
 *
 * void holdup_phase(const char *label)          The process enters a phase, which lasts until the next one.
 *
 * void holdup_work_begin(const char *label)     The calling thread begins a unit of work, such as a request or a
 * void holdup_work_end(void)                    tile, and ends the one that it began last.
 *
 * void holdup_spin_begin(void)                  The calling thread begins to wait in a loop of its own, and has got
 * void holdup_spin_end(void)                    what it waited for. In between it is not counted as active; without
 *                                               these two, such a loop looks like work.
 *
 * int holdup_criticality(struct holdup_thread_criticality *out, int room)
 *                                               What each thread of this process has had of its time so far, under
 *                                               holdup top and holdup steer: written for up to room threads. The
 *                                               number of threads, which may be more; -1 where it is not there.
 * int holdup_own_criticality(struct holdup_thread_criticality *out)
 *                                               The same of the calling thread: 1, or -1 where it is not there.
 *
 * Criticality: while n threads are active (not waiting for each other, for time or for a channel), each of them gets
 * 1/n of the time. Who works while others wait has most.
 *
 * Nothing has to be linked. These are macros around weak references: under holdup its preloaded library defines
 * the functions, and without it each call is a test of a null pointer, and the label is not evaluated. A program
 * that is linked statically is never entered by holdup, so there they stay null.
 *
 * Labels are C strings; holdup copies at most their first 256 bytes before the call returns. A call may be made
 * from any thread, not from a signal handler.
 *
 * Any C from C89 and any C++ from C++98, compiled by gcc or clang for an ELF system. Elsewhere every call is nothing.
 */
#ifndef HOLDUP_H
#define HOLDUP_H

/* What a thread has had so far. */
struct holdup_thread_criticality {
    int tid;                      /* its kernel id, as gettid() gives it */
    int is_active;                /* 1 while it works, or could; 0 while it waits */
    unsigned long criticality_ns; /* its criticality, in ns */
    unsigned long active_ns;      /* for how long it was active, in ns */
    unsigned long changes;        /* how often it became active or ceased to be */
};

#if defined(__GNUC__) && defined(__ELF__)

#ifdef __cplusplus
extern "C" {
#endif

typedef int holdup_question(void);
typedef int holdup_threads_question(struct holdup_thread_criticality *out, int room);
typedef int holdup_thread_question(struct holdup_thread_criticality *out);
typedef void holdup_sign(void);
typedef void holdup_labelled_sign(const char *label);

#if defined(__x86_64__) && defined(__LP64__)
/*
 * The address of a function, or null where it is not there. It is read from where the loader puts it, by hand: in
 * programs built with -fno-pie, compilers make it a constant of the link, and that would be null for good.
 */
#define HOLDUP_FUNCTION(name, type)                                                                                  \
    static __inline__ type *name##_here(void)                                                                        \
    {                                                                                                                \
        type *here;                                                                                                  \
        __asm__(".weak " #name "\n\t"                                                                                \
                "mov{q\t" #name "@GOTPCREL(%%rip), %0|\t%0, QWORD PTR " #name "@GOTPCREL[rip]}"                      \
                : "=r"(here));                                                                                       \
        return here;                                                                                                 \
    }
#else
#define HOLDUP_FUNCTION(name, type)                                                                                  \
    extern type name __attribute__((weak));                                                                          \
    static __inline__ type *name##_here(void)                                                                        \
    {                                                                                                                \
        return name;                                                                                                 \
    }
#endif

HOLDUP_FUNCTION(holdup_is_recording, holdup_question)
HOLDUP_FUNCTION(holdup_region_begin, holdup_labelled_sign)
HOLDUP_FUNCTION(holdup_region_end, holdup_labelled_sign)
HOLDUP_FUNCTION(holdup_phase, holdup_labelled_sign)
HOLDUP_FUNCTION(holdup_work_begin, holdup_labelled_sign)
HOLDUP_FUNCTION(holdup_work_end, holdup_sign)
HOLDUP_FUNCTION(holdup_spin_begin, holdup_sign)
HOLDUP_FUNCTION(holdup_spin_end, holdup_sign)
HOLDUP_FUNCTION(holdup_criticality, holdup_threads_question)
HOLDUP_FUNCTION(holdup_own_criticality, holdup_thread_question)

#undef HOLDUP_FUNCTION

#ifdef __cplusplus
}
#endif

#define holdup_is_recording() (holdup_is_recording_here() ? holdup_is_recording_here()() : 0)
#define holdup_region_begin(label) (holdup_region_begin_here() ? holdup_region_begin_here()(label) : (void)0)
#define holdup_region_end(label) (holdup_region_end_here() ? holdup_region_end_here()(label) : (void)0)
#define holdup_phase(label) (holdup_phase_here() ? holdup_phase_here()(label) : (void)0)
#define holdup_work_begin(label) (holdup_work_begin_here() ? holdup_work_begin_here()(label) : (void)0)
#define holdup_work_end() (holdup_work_end_here() ? holdup_work_end_here()() : (void)0)
#define holdup_spin_begin() (holdup_spin_begin_here() ? holdup_spin_begin_here()() : (void)0)
#define holdup_spin_end() (holdup_spin_end_here() ? holdup_spin_end_here()() : (void)0)
#define holdup_criticality(out, room) (holdup_criticality_here() ? holdup_criticality_here()(out, room) : -1)
#define holdup_own_criticality(out) (holdup_own_criticality_here() ? holdup_own_criticality_here()(out) : -1)

#else

#define holdup_is_recording() 0
#define holdup_region_begin(label) ((void)0)
#define holdup_region_end(label) ((void)0)
#define holdup_phase(label) ((void)0)
#define holdup_work_begin(label) ((void)0)
#define holdup_work_end() ((void)0)
#define holdup_spin_begin() ((void)0)
#define holdup_spin_end() ((void)0)
#define holdup_criticality(out, room) (-1)
#define holdup_own_criticality(out) (-1)

#endif

#endif
