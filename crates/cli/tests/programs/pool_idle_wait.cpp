// A pool as most are written: whoever takes a task takes the lock once more, to say that it is done, and main waits until
// nothing is left and nobody is busy. Of each round's tasks the last one is as long as the others together.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

__attribute__((noinline)) static uint64_t shade_tile(uint64_t steps)
{
    uint64_t x = steps | 1;
    for (uint64_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

class Pool {
public:
    Pool()
    {
        for (int worker = 0; worker < 2; worker++)
            workers.emplace_back([this] { work(); });
    }

    ~Pool()
    {
        {
            std::lock_guard guard(lock);
            is_closed = true;
        }
        changed.notify_all();
        for (auto &worker : workers)
            worker.join();
    }

    void add(std::function<void()> task)
    {
        {
            std::lock_guard guard(lock);
            tasks.push(std::move(task));
        }
        changed.notify_one();
    }

    void wait_until_idle()
    {
        std::unique_lock guard(lock);
        is_idle.wait(guard, [this] { return tasks.empty() && busy == 0; });
    }

private:
    void work()
    {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock guard(lock);
                changed.wait(guard, [this] { return is_closed || !tasks.empty(); });
                if (tasks.empty())
                    return;
                task = std::move(tasks.front());
                tasks.pop();
                busy++;
            }
            task();
            {
                std::lock_guard guard(lock);
                busy--;
                if (busy == 0 && tasks.empty())
                    is_idle.notify_all();
            }
        }
    }

    std::mutex lock;
    std::condition_variable changed, is_idle;
    std::queue<std::function<void()>> tasks;
    int busy = 0;
    bool is_closed = false;
    std::vector<std::thread> workers;
};

int main()
{
    uint64_t sums[4] = {};
    Pool pool;
    for (int round = 0; round < 60; round++) {
        for (int tile = 0; tile < 4; tile++)
            pool.add([&sums, tile] { sums[tile] += shade_tile(tile == 3 ? 3000000 : 1000000); });
        pool.wait_until_idle();
    }
    std::printf("pool_idle_wait %llx\n", (unsigned long long)(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]));
}
