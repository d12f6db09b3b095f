// Shapes whose areas are summed up through a template, a lambda and a virtual call; the last threads have more of the
// shapes that take long.
#include "../lime.h"

#include <memory>
#include <vector>

namespace {

constexpr long SHAPES = 16384;
constexpr long ROUNDS = 3;

class Shape {
public:
    virtual ~Shape() = default;
    virtual uint64_t cells() const = 0;
};

class Square final : public Shape {
public:
    explicit Square(uint32_t side) : side(side) {}
    uint64_t cells() const override { return uint64_t(side) * side; }

private:
    uint32_t side;
};

// Counts the cells of a grid that lie in a circle, column by column.
class Circle final : public Shape {
public:
    explicit Circle(uint32_t radius) : radius(radius) {}
    uint64_t cells() const override
    {
        uint64_t cells = 0;
        uint32_t height = radius;
        for (uint32_t x = 0; x <= radius; x++) {
            while (x * x + height * height > radius * radius)
                height--;
            cells += 2 * height + 1;
        }
        return cells;
    }

private:
    uint32_t radius;
};

std::vector<std::unique_ptr<Shape>> shapes;
uint64_t sums[MOST_THREADS];

template <class Function> void for_each_of(long me, Function function)
{
    for (long i = 0; i < SHAPES / threads; i++) {
#ifndef FIXED
        long at = me * (SHAPES / threads) + i;
#else
        long at = i * threads + me; // FIX: shapes are dealt out like cards
#endif
        function(*shapes[at]);
    }
}

void *measure(void *argument)
{
    long me = (intptr_t)argument;
    for (long round = 0; round < ROUNDS * scale; round++) {
        uint64_t sum = 0;
        for_each_of(me, [&](const Shape &shape) {
            sum += shape.cells(); // PLANTED: kinds of shapes are not spread evenly
        });
        sums[me] = sum;
        MEET();
    }
    return nullptr;
}

} // namespace

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    uint64_t wanted = 0;
    for (long i = 0; i < SHAPES; i++) {
        uint64_t random = scattered((uint64_t)i);
        if (random % SHAPES < (uint64_t)i)
            shapes.push_back(std::make_unique<Circle>(40));
        else
            shapes.push_back(std::make_unique<Square>(uint32_t(random >> 50)));
        if (i < SHAPES / threads * threads)
            wanted += shapes.back()->cells();
    }
    run_team(measure);
    uint64_t got = 0;
    for (long t = 0; t < threads; t++)
        got += sums[t];
    return finish("lime_cpp", got, got == wanted);
}
