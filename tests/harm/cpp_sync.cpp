// The C++ library's own: thread, jthread, mutexes, shared_mutex, condition_variable(_any), async, promise,
// latch, barrier, counting_semaphore, atomic wait and notify.
#include "harm.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

template <typename Work> static void in_threads(int threads, Work work)
{
    std::vector<std::thread> started;
    for (int t = 0; t < threads; t++)
        started.emplace_back(work, t);
    for (auto &thread : started)
        thread.join();
}

static void mutexes()
{
    std::mutex plain;
    std::recursive_mutex recursive;
    std::timed_mutex timed;
    std::shared_mutex shared;
    std::shared_timed_mutex shared_timed;
    long count = 0;
    in_threads(4, [&](int me) {
        for (int i = 0; i < 2000; i++) {
            std::scoped_lock both(plain, recursive);
            std::lock_guard<std::recursive_mutex> again(recursive);
            std::unique_lock<std::timed_mutex> late(timed, 60s);
            CHECK(late.owns_lock());
            if (i % 4 == me) {
                std::unique_lock<std::shared_mutex> writer(shared);
                std::unique_lock<std::shared_timed_mutex> writer_too(shared_timed);
                count++;
            } else {
                std::shared_lock<std::shared_mutex> reader(shared);
                std::shared_lock<std::shared_timed_mutex> reader_too(shared_timed, 60s);
                CHECK(count >= 0 && reader_too.owns_lock());
            }
        }
    });
    std::lock_guard<std::timed_mutex> hold(timed);
    std::thread([&] { CHECK(!timed.try_lock_for(5ms)); }).join();
    printf("mutexes: %ld\n", count);
}

static void conditions()
{
    std::mutex mutex;
    std::shared_mutex shared;
    std::condition_variable changed;
    std::condition_variable_any any;
    int turn = 0;
    in_threads(3, [&](int me) {
        for (int i = 0; i < 300; i++) {
            std::unique_lock<std::mutex> hold(mutex);
            changed.wait(hold, [&] { return turn % 3 == me; });
            turn++;
            changed.notify_all();
        }
    });
    std::unique_lock<std::mutex> hold(mutex);
    CHECK(!changed.wait_until(hold, std::chrono::steady_clock::now() + 5ms, [] { return false; }));
    std::shared_lock<std::shared_mutex> reader(shared);
    CHECK(!any.wait_for(reader, 5ms, [] { return false; }));
    printf("conditions: %d turns\n", turn);
}

static void futures()
{
    std::vector<std::future<long>> parts;
    for (long part = 0; part < 8; part++)
        parts.push_back(std::async(std::launch::async, [part] {
            std::vector<long> numbers(1000);
            std::iota(numbers.begin(), numbers.end(), part * 1000);
            return std::accumulate(numbers.begin(), numbers.end(), 0L);
        }));
    long sum = 0;
    for (auto &part : parts)
        sum += part.get();
    std::promise<int> promise;
    std::thread keeper([&] { promise.set_exception(std::make_exception_ptr(42)); });
    int caught = 0;
    try {
        promise.get_future().get();
    } catch (int number) {
        caught = number;
    }
    keeper.join();
    std::packaged_task<int(int)> task([](int number) { return number * 2; });
    auto twice = task.get_future();
    std::thread(std::move(task), 21).join();
    printf("futures: %ld, %d, %d\n", sum, caught, twice.get());
}

static void cpp20()
{
    std::latch ready(4);
    std::counting_semaphore<8> slots(2);
    std::atomic<int> inside{0}, most{0}, phase{0};
    int completions = 0;
    std::barrier rounds(4, [&]() noexcept { completions++; });
    in_threads(4, [&](int) {
        ready.arrive_and_wait();
        for (int i = 0; i < 100; i++) {
            slots.acquire();
            int now = ++inside, seen = most;
            while (now > seen && !most.compare_exchange_weak(seen, now)) {
            }
            --inside;
            slots.release();
            rounds.arrive_and_wait();
        }
    });
    CHECK(most <= 2);
    std::thread waits([&] { phase.wait(0); });
    std::this_thread::sleep_for(2ms);
    phase = 1;
    phase.notify_all();
    waits.join();
    std::binary_semaphore none(0);
    CHECK(!none.try_acquire_for(5ms));
    int stopped = 0;
    {
        std::jthread worker([&](std::stop_token stop) {
            std::mutex mutex;
            std::condition_variable_any changed;
            std::unique_lock<std::mutex> hold(mutex);
            changed.wait(hold, stop, [] { return false; });
            stopped = 1;
        });
    }
    printf("latch, semaphore, barrier %d, atomic wait, jthread %d\n", completions, stopped);
}

int main()
{
    mutexes();
    conditions();
    futures();
    cpp20();
    try {
        std::thread().join();
    } catch (const std::system_error &error) {
        printf("joining nothing: %d\n", error.code().value());
    }
    std::mutex twice;
    std::unique_lock<std::mutex> hold(twice);
    try {
        hold.lock();
    } catch (const std::system_error &error) {
        printf("locking twice: %s\n", error.code().value() == EDEADLK ? "EDEADLK" : "other");
    }
    return 0;
}
