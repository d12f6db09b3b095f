// Rounds of two calls by std::async, of which the second takes three times as long: new threads in each round, joined one by one.
#include <cmath>
#include <cstdio>
#include <future>
#include <vector>

static double integrate(long steps)
{
    double sum = 0;
    for (long step = 0; step < steps; step++)
        sum += std::sin(step * 0.001);
    return sum;
}

int main()
{
    double sum = 0;
    for (int round = 0; round < 10; round++) {
        std::vector<std::future<double>> parts;
        for (long part = 0; part < 2; part++)
            parts.push_back(std::async(std::launch::async, integrate, part == 0 ? 400000 : 1200000));
        for (auto &part : parts)
            sum += part.get();
    }
    std::printf("%.3f\n", sum);
}
