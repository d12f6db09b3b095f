// Exceptions through std::call_once and pthread_once: the next caller must try again, and waiters must wake.
#include "harm.h"

#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::once_flag flag;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static std::mutex lock;
static int attempts, attempts_c, failures;

static void third_time_lucky()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (++attempts < 3)
        throw std::runtime_error("not yet");
}

static void third_time_lucky_c()
{
    sleep_ms(2);
    if (++attempts_c < 3)
        throw 3;
}

template <typename Call> static void in_threads(Call call)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; t++)
        threads.emplace_back([&] {
            try {
                call();
            } catch (...) {
                std::lock_guard<std::mutex> hold(lock);
                failures++;
            }
        });
    for (auto &thread : threads)
        thread.join();
}

int main()
{
    in_threads([] { std::call_once(flag, third_time_lucky); });
    std::call_once(flag, [] { attempts = 100; });
    printf("std::call_once: %d attempts, %d failures\n", attempts, failures);
    failures = 0;
    in_threads([] { pthread_once(&once, third_time_lucky_c); });
    RETURNS(0, pthread_once(&once, third_time_lucky_c));
    printf("pthread_once: %d attempts, %d failures\n", attempts_c, failures);
    return 0;
}
