/* A library's function that passes its call on by a jump, a library that stands before it, and a program that calls it. */
#define _GNU_SOURCE
#define NOINLINE __attribute__((noinline, noclone))

int passes_on(int (*called)(int), int x);

#ifdef LIBRARY
NOINLINE static int hidden(int (*called)(int), int x) {
    int y = called(x);
    __asm__ volatile("" ::: "memory");
    return y + 1;
}

int passes_on(int (*called)(int), int x) {
    return hidden(called, x);
}
#elif defined(BEFORE)
#include <dlfcn.h>

int passes_on(int (*called)(int), int x) {
    int (*real)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(RTLD_NEXT, "passes_on");
    int y = real(called, x);
    __asm__ volatile("" ::: "memory");
    return y;
}
#else
#include "capture.h"

NOINLINE static int leaf(int x) {
    capture();
    __asm__ volatile("" ::: "memory");
    return x;
}

int main(void) {
    return passes_on(leaf, 1) - 2;
}
#endif
