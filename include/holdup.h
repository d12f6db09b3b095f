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
 * Nothing has to be linked. The functions are weak references: under holdup its preloaded library defines
 * them, and without it each call is a test of a null pointer, and the label is not evaluated. A program that
 * is linked statically is never entered by holdup, so there they stay null.
 *
 * Any C from C89 and any C++ from C++98, compiled by gcc or clang for an ELF system; elsewhere every call is
 * nothing. Labels are C strings; holdup copies at most their first 256 bytes before the call returns. A call
 * may be made from any thread, not from a signal handler.
 */
#ifndef HOLDUP_H
#define HOLDUP_H

#if defined(__GNUC__) && defined(__ELF__)

/*
 * In programs built with -fno-pie, gcc takes the address for a constant of the link, which would be null for good,
 * unless told by `noplt` (known from gcc 6 on) to read it from where the loader puts it. clang does so by itself.
 */
#if !defined(__clang__) && __GNUC__ >= 6
#define HOLDUP_OPTIONAL __attribute__((weak, noplt))
#else
#define HOLDUP_OPTIONAL __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* 1 while holdup records this process, else 0. */
extern int holdup_is_recording(void) HOLDUP_OPTIONAL;

/* The part of the run that is of interest begins and ends: for the whole process, on any thread. */
extern void holdup_region_begin(const char *label) HOLDUP_OPTIONAL;
extern void holdup_region_end(const char *label) HOLDUP_OPTIONAL;

/* The process enters a phase, which lasts until the next one. */
extern void holdup_phase(const char *label) HOLDUP_OPTIONAL;

/* The calling thread begins a unit of work, such as a request or a tile, and ends the one it began last. */
extern void holdup_work_begin(const char *label) HOLDUP_OPTIONAL;
extern void holdup_work_end(void) HOLDUP_OPTIONAL;

/* The calling thread begins to wait in a loop of its own, and has got what it waited for. In between it is not
 * counted as active. Without these two calls a loop that waits looks like work. */
extern void holdup_spin_begin(void) HOLDUP_OPTIONAL;
extern void holdup_spin_end(void) HOLDUP_OPTIONAL;

#ifdef __cplusplus
}
#endif

/* A macro's own name is not expanded again inside of it: the calls below are calls of the functions above. */
#define holdup_is_recording() (holdup_is_recording ? holdup_is_recording() : 0)
#define holdup_region_begin(label) (holdup_region_begin ? holdup_region_begin(label) : (void)0)
#define holdup_region_end(label) (holdup_region_end ? holdup_region_end(label) : (void)0)
#define holdup_phase(label) (holdup_phase ? holdup_phase(label) : (void)0)
#define holdup_work_begin(label) (holdup_work_begin ? holdup_work_begin(label) : (void)0)
#define holdup_work_end() (holdup_work_end ? holdup_work_end() : (void)0)
#define holdup_spin_begin() (holdup_spin_begin ? holdup_spin_begin() : (void)0)
#define holdup_spin_end() (holdup_spin_end ? holdup_spin_end() : (void)0)

#else

#define holdup_is_recording() 0
#define holdup_region_begin(label) ((void)0)
#define holdup_region_end(label) ((void)0)
#define holdup_phase(label) ((void)0)
#define holdup_work_begin(label) ((void)0)
#define holdup_work_end() ((void)0)
#define holdup_spin_begin() ((void)0)
#define holdup_spin_end() ((void)0)

#endif

#endif
