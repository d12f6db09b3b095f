// Regions of two runtimes in one process: those of the program itself and those of a module (`module.c`), which is linked
// or, where its path is the argument, opened with all its symbols kept local. Built without OpenMP, only the module has any.
#include <dlfcn.h>
#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef LINKED
long module_sum(long n, int threads);
#endif

int main(int argc, char **argv)
{
    long (*sum_of)(long, int) = 0;
#ifdef LINKED
    sum_of = module_sum;
    (void)argc, (void)argv;
#else
    for (int i = 1; i < argc; i++) {
        void *module = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (module == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
        *(void **)&sum_of = dlsym(module, "module_sum");
    }
#endif
    int failures = 0;
    for (int round = 0; round < 50; round++) {
        failures += sum_of(1000, 2) != 499500;
#ifdef _OPENMP
        long here = 0, inside = 0;
#pragma omp parallel num_threads(2) reduction(+ : here, inside)
        {
#pragma omp for schedule(dynamic, 7)
            for (int i = 0; i < 1000; i++)
                here += i;
#pragma omp critical
            here += 1;
            // A region of the module inside of one of the program.
            inside += sum_of(100, 2);
#pragma omp barrier
        }
        failures += here != 499502 || inside != 2 * 4950;
#endif
    }
    printf("two runtimes: %d failures\n", failures);
    return failures != 0;
}
