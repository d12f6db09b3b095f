// A pool of two threads that waits for work at a condition variable, and rounds of two tasks, of which the second takes three times as
// long: main waits for the result of each by a future.
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

static double render_band(long steps)
{
    double sum = 0;
    for (long step = 0; step < steps; step++)
        sum += std::sin(step * 0.001);
    return sum;
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

    std::future<double> add(long steps)
    {
        std::packaged_task<double()> task([steps] { return render_band(steps); });
        auto result = task.get_future();
        {
            std::lock_guard guard(lock);
            tasks.push(std::move(task));
        }
        changed.notify_one();
        return result;
    }

private:
    void work()
    {
        for (;;) {
            std::packaged_task<double()> task;
            {
                std::unique_lock guard(lock);
                changed.wait(guard, [this] { return is_closed || !tasks.empty(); });
                if (tasks.empty())
                    return;
                task = std::move(tasks.front());
                tasks.pop();
            }
            task();
        }
    }

    std::mutex lock;
    std::condition_variable changed;
    std::queue<std::packaged_task<double()>> tasks;
    std::vector<std::thread> workers;
    bool is_closed = false;
};

int main()
{
    double sum = 0;
    Pool pool;
    for (int round = 0; round < 12; round++) {
        auto small = pool.add(400000), large = pool.add(1200000);
        sum += small.get() + large.get();
    }
    std::printf("%.3f\n", sum);
}
