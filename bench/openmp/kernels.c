/* Kernels in the manner of the codes that paper 5 measures its overhead with (Table 1), small and with little input:
 * `kernels NAME` prints `step_ns`, the median time of a step, and a checksum. Each has the parallel structure of its model
 * (how many regions of what length, which constructs), not its physics. */
#include "timing.h"

#include <math.h>
#include <omp.h>

#define GROUPS 9

/* Filled at the start, so that steps do the same work each time. */
static uint64_t state_of(long index)
{
    return work((uint64_t)index + 1, 2);
}

static double unit_of(long index)
{
    return (double)(state_of(index) >> 11) / 9007199254740992.0;
}

static double checksum;

/* CG: a sparse matrix times a vector, dot products and updates: five regions an iteration. */
#define ROWS 40000
#define NONZEROS 12
static double matrix[ROWS][NONZEROS], direction[ROWS], product[ROWS], residual[ROWS], solution[ROWS];
static int column[ROWS][NONZEROS];

static void set_up_cg(void)
{
    for (long row = 0; row < ROWS; row++) {
        for (long k = 0; k < NONZEROS; k++) {
            column[row][k] = (int)(state_of(row * NONZEROS + k) % ROWS);
            matrix[row][k] = unit_of(row * NONZEROS + k) / NONZEROS;
        }
        residual[row] = direction[row] = unit_of(row);
    }
}

static double dot(const double *left, const double *right)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long row = 0; row < ROWS; row++)
        sum += left[row] * right[row];
    return sum;
}

static void cg(long steps)
{
    for (long step = 0; step < steps; step++) {
#pragma omp parallel for
        for (long row = 0; row < ROWS; row++) {
            double sum = 2 * direction[row];
            for (int k = 0; k < NONZEROS; k++)
                sum += matrix[row][k] * direction[column[row][k]];
            product[row] = sum;
        }
        double before = dot(residual, residual);
        double alpha = before / (dot(direction, product) + 1e-300);
#pragma omp parallel for
        for (long row = 0; row < ROWS; row++) {
            solution[row] += alpha * direction[row];
            residual[row] -= alpha * product[row];
        }
        double beta = dot(residual, residual) / (before + 1e-300);
#pragma omp parallel for
        for (long row = 0; row < ROWS; row++)
            direction[row] = residual[row] + beta * direction[row] + 1e-9;
    }
    checksum = solution[1];
}

/* MG: a stencil over grids from large to small and back: regions from long to very short. */
#define SIDE 512
static double fine[SIDE][SIDE], smooth[SIDE][SIDE];

static void mg(long steps)
{
    for (long step = 0; step < steps; step++)
        for (int side = SIDE; side >= 8; side /= 2) {
#pragma omp parallel for
            for (int i = 1; i < side - 1; i++)
                for (int j = 1; j < side - 1; j++)
                    smooth[i][j] = 0.25 * (fine[i - 1][j] + fine[i + 1][j] + fine[i][j - 1] + fine[i][j + 1]);
#pragma omp parallel for
            for (int i = 1; i < side - 1; i++)
                for (int j = 1; j < side - 1; j++)
                    fine[i][j] = 0.5 * (fine[i][j] + smooth[i][j]) + 1e-6;
        }
    checksum = fine[SIDE / 4][SIDE / 4];
}

/* EP: random pairs, one long region with a reduction. */
static void ep(long steps)
{
    for (long step = 0; step < steps; step++) {
        double inside = 0;
#pragma omp parallel for reduction(+ : inside)
        for (long i = 0; i < 1500000; i++) {
            double x = unit_of(2 * i) * 2 - 1, y = unit_of(2 * i + 1) * 2 - 1;
            if (x * x + y * y <= 1)
                inside += 1;
        }
        checksum = inside;
    }
}

/* IS: a histogram for each thread, a critical section to add them up, and ranks. */
#define KEYS 2000000
#define BUCKETS 1024
static uint32_t keys[KEYS];
static uint64_t buckets[BUCKETS];

static void set_up_is(void)
{
    for (long i = 0; i < KEYS; i++)
        keys[i] = (uint32_t)(state_of(i) % BUCKETS);
}

static void is(long steps)
{
    for (long step = 0; step < steps; step++) {
#pragma omp parallel
        {
            uint64_t mine[BUCKETS] = {0};
#pragma omp for nowait
            for (long i = 0; i < KEYS; i++)
                mine[keys[i]]++;
#pragma omp critical
            for (int bucket = 0; bucket < BUCKETS; bucket++)
                buckets[bucket] += mine[bucket];
#pragma omp barrier
#pragma omp single
            for (int bucket = 1; bucket < BUCKETS; bucket++)
                buckets[bucket] += buckets[bucket - 1] & 1;
        }
    }
    checksum = (double)buckets[BUCKETS - 1];
}

/* FT: transforms along rows, then along columns of one array. */
#define POINTS 512
static double real[POINTS][POINTS], imaginary[POINTS][POINTS];

static void butterflies(double *re, double *im, long stride)
{
    for (int half = 1; half < POINTS; half *= 2)
        for (int i = 0; i < POINTS; i++) {
            int other = i ^ half;
            if (other < i)
                continue;
            double c = 0.8, s = 0.6;
            double r = re[i * stride], q = im[i * stride];
            double u = re[other * stride], v = im[other * stride];
            re[i * stride] = c * r + s * u, im[i * stride] = c * q + s * v;
            re[other * stride] = c * u - s * r, im[other * stride] = c * v - s * q;
        }
}

static void set_up_ft(void)
{
    for (long i = 0; i < POINTS; i++)
        for (long j = 0; j < POINTS; j++)
            real[i][j] = unit_of(i * POINTS + j);
}

static void ft(long steps)
{
    for (long step = 0; step < steps; step++) {
#pragma omp parallel for
        for (int row = 0; row < POINTS; row++)
            butterflies(real[row], imaginary[row], 1);
#pragma omp parallel for schedule(static, 8)
        for (int at = 0; at < POINTS; at++)
            butterflies(&real[0][at], &imaginary[0][at], POINTS);
    }
    checksum = real[3][5];
}

/* LU: a wavefront: one region with a barrier for each diagonal of blocks. */
#define BLOCKS 64
#define BLOCK 16
static double lower[BLOCKS * BLOCK + 1][BLOCKS * BLOCK + 1];

static void lu(long steps)
{
    for (long step = 0; step < steps; step++) {
#pragma omp parallel
        for (int diagonal = 0; diagonal < 2 * BLOCKS - 1; diagonal++) {
#pragma omp for schedule(static)
            for (int block = 0; block < BLOCKS; block++) {
                int across = diagonal - block;
                if (across < 0 || across >= BLOCKS)
                    continue;
                for (int i = block * BLOCK + 1; i <= (block + 1) * BLOCK; i++)
                    for (int j = across * BLOCK + 1; j <= (across + 1) * BLOCK; j++)
                        lower[i][j] = 0.3 * (lower[i - 1][j] + lower[i][j - 1]) + 0.4 * lower[i][j] + 1e-6;
            }
        }
    }
    checksum = lower[BLOCKS][BLOCKS];
}

/* Lulesh: very many small regions, 25 a step over the same small arrays. */
#define ELEMENTS 8000
static double force[ELEMENTS], speed[ELEMENTS], position[ELEMENTS];

static void lulesh(long steps)
{
    for (long step = 0; step < steps; step++) {
        for (int phase = 0; phase < 24; phase++) {
#pragma omp parallel for
            for (int element = 0; element < ELEMENTS; element++) {
                force[element] = 0.999 * force[element] + 1e-3 * (position[element] - phase);
                speed[element] += 1e-3 * force[element];
                position[element] += 1e-3 * speed[element];
            }
        }
        double least = 1e300;
#pragma omp parallel for reduction(min : least)
        for (int element = 0; element < ELEMENTS; element++)
            least = fmin(least, speed[element]);
        checksum = least;
    }
}

/* Snap: sweeps over angles and groups, dealt out dynamically. */
#define ANGLES 96
#define SWEEP_CELLS 6000
static double flux[ANGLES][SWEEP_CELLS];

static void snap(long steps)
{
    for (long step = 0; step < steps; step++) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int angle = 0; angle < ANGLES; angle++) {
            double incoming = 1.0 / (angle + 1);
            for (int cell = 0; cell < SWEEP_CELLS; cell++) {
                incoming = 0.9 * incoming + 0.05 * flux[angle][cell] + 1e-6;
                flux[angle][cell] = 0.5 * flux[angle][cell] + 0.5 * incoming;
            }
        }
    }
    checksum = flux[3][5];
}

/* AMG: smoothing and restriction with indirect access, in one region with worksharing loops. */
static void amg(long steps)
{
#pragma omp parallel
    for (long step = 0; step < steps; step++)
        for (long rows = ROWS; rows >= 1000; rows /= 3) {
#pragma omp for
            for (long row = 0; row < rows; row++) {
                double sum = residual[row];
                for (int k = 0; k < NONZEROS; k++)
                    sum -= matrix[row][k] * solution[column[row][k] % rows];
                product[row] = solution[row] + 0.1 * sum;
            }
#pragma omp for
            for (long row = 0; row < rows; row++)
                solution[row] = 0.99 * product[row];
        }
    checksum = solution[1];
}

/* Pennant: chunks of a mesh, each through a chain of short loops, by tasks. */
#define CHUNKS 64
static void pennant(long steps)
{
    for (long step = 0; step < steps; step++) {
#pragma omp parallel
#pragma omp single
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
#pragma omp task
            for (int pass = 0; pass < 4; pass++)
                for (long i = chunk * (ROWS / CHUNKS); i < (chunk + 1) * (ROWS / CHUNKS); i++)
                    product[i] = sqrt(fabs(0.9 * product[i] + 0.1 * residual[i])) + 1e-9;
        }
    }
    checksum = product[7];
}

static void nothing(void)
{
}

static const struct {
    const char *name;
    void (*set_up)(void);
    void (*steps)(long);
    long repetitions;
} all[] = {
    {"cg", set_up_cg, cg, 80},     {"mg", nothing, mg, 50},        {"ep", nothing, ep, 4},
    {"is", set_up_is, is, 20},     {"ft", set_up_ft, ft, 4},       {"lu", nothing, lu, 12},
    {"lulesh", nothing, lulesh, 200}, {"snap", nothing, snap, 12}, {"amg", set_up_cg, amg, 80},
    {"pennant", set_up_cg, pennant, 80},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(argv[1], all[i].name) != 0)
            continue;
        all[i].set_up();
        measure("step_ns", all[i].steps, all[i].repetitions, GROUPS);
        printf("checksum %.6g\n", checksum);
        return 0;
    }
    fprintf(stderr, "usage: %s cg|mg|ep|is|ft|lu|lulesh|snap|amg|pennant\n", argv[0]);
    return 2;
}
