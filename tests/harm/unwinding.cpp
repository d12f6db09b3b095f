// Destructors run when a C++ thread leaves by pthread_exit and by cancellation inside a lock wait's frames.
#include "harm.h"

#include <condition_variable>
#include <cxxabi.h>
#include <mutex>

static std::mutex lock;
static std::condition_variable never;
static int destroyed;

struct Witness {
    int weight;
    explicit Witness(int w) : weight(w) {}
    ~Witness() { destroyed += weight; }
};

__attribute__((noinline)) static void leave()
{
    Witness witness(1);
    pthread_exit(reinterpret_cast<void *>(7));
}

__attribute__((noinline)) static void leave_from_below()
{
    Witness witness(10);
    leave();
    destroyed += 1000; // not reached
}

static void *exits(void *)
{
    Witness witness(100);
    leave_from_below();
    return nullptr;
}

static void *waits(void *)
{
    Witness witness(100);
    try {
        std::unique_lock<std::mutex> hold(lock);
        for (;;)
            never.wait(hold);
    } catch (abi::__forced_unwind &) {
        destroyed += 10;
        throw;
    }
    return nullptr;
}

static void *throws(void *)
{
    Witness witness(100);
    try {
        std::lock_guard<std::mutex> hold(lock);
        throw 5;
    } catch (int number) {
        destroyed += number;
    }
    return nullptr;
}

static void run(const char *what, void *(*function)(void *), bool cancel)
{
    pthread_t thread;
    void *result;
    destroyed = 0;
    RETURNS(0, pthread_create(&thread, nullptr, function, nullptr));
    if (cancel) {
        sleep_ms(5);
        RETURNS(0, pthread_cancel(thread));
    }
    RETURNS(0, pthread_join(thread, &result));
    CHECK(!cancel || result == PTHREAD_CANCELED);
    CHECK(lock.try_lock());
    lock.unlock();
    printf("%s: %d\n", what, destroyed);
}

int main()
{
    run("pthread_exit", exits, false);
    run("cancelled in a wait", waits, true);
    run("exception under a lock", throws, false);
    return 0;
}
