// Exceptions that are thrown and caught inside of a region, of a worksharing loop and of a task; and an exception that
// nobody catches, which ends the program (`exceptions uncaught`).
#include <atomic>
#include <cstdio>
#include <cstring>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

static std::atomic<int> caught, destroyed;

struct Guard {
    ~Guard() { destroyed++; }
};

[[gnu::noinline]] static void fail(int i)
{
    Guard guard;
    if (i % 3 == 0)
        throw std::runtime_error("item " + std::to_string(i));
}

static void try_item(int i)
{
    try {
        fail(i);
    } catch (const std::runtime_error &error) {
        caught += static_cast<int>(std::strlen(error.what())) > 0;
    }
}

int main(int argc, char **)
{
    for (int round = 0; round < 50; round++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp for schedule(dynamic, 2)
            for (int i = 0; i < 60; i++)
                try_item(i);
#pragma omp critical
            try_item(0);
#pragma omp single
            for (int i = 0; i < 30; i++) {
#pragma omp task firstprivate(i)
                try_item(i);
            }
        }
    }
    // A region as a whole inside of a try block: what is thrown after it passes its frame.
    int passed = 0;
    try {
        std::vector<int> sums(2);
#pragma omp parallel num_threads(2)
        sums[static_cast<std::size_t>(omp_get_thread_num())]++;
        throw sums[0] + sums[1];
    } catch (int sum) {
        passed = sum;
    }
    std::printf("caught %d destroyed %d passed %d\n", caught.load(), destroyed.load(), passed);
    std::fflush(stdout);
    if (argc > 1) {
#pragma omp parallel num_threads(2)
        fail(0);
    }
    return 0;
}
