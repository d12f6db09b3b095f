// Static and thread-local C++ objects whose constructors and destructors lock and start threads.
#include "harm.h"

#include <mutex>
#include <thread>

static std::mutex &lock()
{
    static std::mutex mutex;
    return mutex;
}

static int steps;

struct Static {
    const char *name;
    explicit Static(const char *n) : name(n) { step("constructed"); }
    ~Static() { step("destroyed"); }
    void step(const char *what)
    {
        std::thread worker([&] {
            std::lock_guard<std::mutex> hold(lock());
            printf("%s %s: step %d\n", name, what, ++steps);
        });
        worker.join();
        std::lock_guard<std::mutex> hold(lock());
        steps++;
    }
};

struct PerThread {
    int uses = 0;
    ~PerThread()
    {
        std::lock_guard<std::mutex> hold(lock());
        printf("thread-local destroyed after %d: step %d\n", uses, ++steps);
    }
};

static Static first("first");
static thread_local PerThread mine;
static Static second("second");

int main()
{
    static Static local("local");
    mine.uses++;
    std::thread worker([] {
        mine.uses += 10;
        std::lock_guard<std::mutex> hold(lock());
    });
    worker.join();
    fflush(stdout);
    return 0;
}
