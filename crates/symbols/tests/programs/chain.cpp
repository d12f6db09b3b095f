// C++ names, templates, lambdas, virtual calls, std::thread, exceptions' landing pads.
#include "capture.h"
#include <algorithm>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace cache {
std::mutex lock;

struct Base {
    virtual ~Base() = default;
    virtual int put(const std::string &key, int value) = 0;
};

template <typename T> struct Store : Base {
    static inline std::recursive_mutex shared_lock;
    std::vector<T> values;
    NOINLINE int put(const std::string &key, int value) override {
        std::string copy = key + "x";
        capture();
        values.push_back(static_cast<T>(value));
        return static_cast<int>(values.size() + copy.size());
    }
};
} // namespace cache

namespace {
NOINLINE int through(cache::Base &base, const std::string &key) {
    try {
        int result = base.put(key, 3);
        if (key.size() > 1000) throw std::runtime_error("long");
        return result + 1;
    } catch (const std::runtime_error &) {
        return -1;
    }
}
} // namespace

int main() {
    cache::Store<long> store;
    int sum = 0;
    std::thread worker([&] { sum += through(store, "key"); });
    worker.join();
    std::lock_guard<std::mutex> guard(cache::lock);
    std::lock_guard<std::recursive_mutex> other(cache::Store<long>::shared_lock);
    tell(&cache::lock);
    tell(&cache::Store<long>::shared_lock);
    return sum > 0 ? 0 : 1;
}
