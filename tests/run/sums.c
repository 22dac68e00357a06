/* Sums, products, least and greatest values of so many elements, each printed to its last bit. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0.25;
#pragma tilek kernel reduction(+: sum)
    for (int64_t i = 0; i < n; ++i)
        sum += x[i] * y[i];
    return sum;
}

static float plain(int n, const float *x)
{
    float sum = 0.0f;
#pragma tilek kernel reduction(+: sum)
    for (int i = n; i > 0; --i)
        sum += x[i - 1];
    return sum;
}

static double product(int n, const double *x)
{
    double all = 1.0;
#pragma tilek kernel reduction(*: all)
    for (int i = 0; i < n; ++i)
        all *= 1.0 + x[i] * 1e-4;
    return all;
}

/* With NaNs and zeros of both signs the order says which is left. */
static double greatest(int n, const double *x)
{
    double most = -1e300;
#pragma tilek kernel reduction(max: most)
    for (int i = 0; i < n; ++i)
        most = most < x[i] ? x[i] : most;
    return most;
}

static void several(int n, const double *x, const double *y, double results[4])
{
    double sum = 1.0, squares = 0.0, least = 1e300;
    int count = 0;
#pragma tilek kernel reduction(+: sum, squares, count) reduction(min: least)
    for (int i = 0; i < n; ++i) {
        if (x[i] < 0.0) {
            sum += x[i];
            ++count;
        }
        squares += y[i] * y[i];
        least = fmin(least, y[i]);
    }
    results[0] = sum;
    results[1] = squares;
    results[2] = least;
    results[3] = count;
}

static double powers(int n, const double *x)
{
    double sum = 0.0;
#pragma tilek kernel reduction(+: sum)
    for (int i = 0; i < n; ++i) {
        double power = 1.0;
        for (int k = 0; k < 1 + i % 9; ++k)
            power *= x[i];
        sum += power;
    }
    return sum;
}

static double residual(int n, int m, double (*u)[m], double (*v)[m])
{
    double norm = 0.0;
#pragma tilek kernel reduction(+: norm)
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < m - 1; ++j) {
            const double change = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) - u[i][j];
            v[i][j] = u[i][j] + change;
            norm += change * change;
        }
    return norm;
}

static double triangle(int n, int m, double (*u)[m])
{
    double sum = 0.0;
#pragma tilek kernel reduction(+: sum)
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            sum += u[i][j];
    return sum;
}

/* In wavefronts of tiles. */
static double relaxed(int n, int m, double (*u)[m])
{
    double norm = 0.0;
#pragma tilek kernel reduction(+: norm)
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < m - 1; ++j) {
            const double change = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) - u[i][j];
            u[i][j] += 1.5 * change;
            norm += change * change;
        }
    return norm;
}

/* In wavefronts of tiles of several sweeps, whose extents follow the number of threads where nothing is summed. */
static double line(int steps, int n, double *u)
{
    double sum = 0.0;
#pragma tilek kernel reduction(+: sum)
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i) {
            u[i] = 0.3 * (u[i - 1] + u[i] + u[i + 1]);
            sum += u[i];
        }
    return sum;
}

/* Counted by the host around the launches. */
static double swept(int steps, int n, int m, double (*u)[m], double (*v)[m])
{
    double norm = 0.0;
#pragma tilek kernel reduction(+: norm)
    for (int t = 0; t < steps; ++t) {
        for (int i = 1; i < n - 1; ++i)
            for (int j = 1; j < m - 1; ++j)
                v[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        for (int i = 1; i < n - 1; ++i)
            for (int j = 1; j < m - 1; ++j) {
                norm += (v[i][j] - u[i][j]) * (v[i][j] - u[i][j]);
                u[i][j] = v[i][j];
            }
    }
    return norm;
}

static double by_gangs(int n, const double *x)
{
    double sum = 0.5;
#pragma tilek kernel
#pragma tilek loop tile(gang) tile(dynamic) reduction(+: sum)
    for (int i = 0; i < n; ++i)
        sum += x[i] * x[i];
    return sum;
}

static double by_threads(int threads, int n, const double *x)
{
    double sum = 0.5;
#pragma tilek kernel num_threads(threads)
#pragma tilek loop tile(thread) tile(dynamic) reduction(+: sum)
    for (int i = 0; i < n; ++i)
        sum += x[i] * x[i];
    return sum;
}

int main(int count, char **arguments)
{
    const int n = atoi(arguments[1]), threads = count > 2 ? atoi(arguments[2]) : 1;
    const int columns = n < 131 ? n : 131, rows = columns > 0 && n / columns < 150 ? n / columns : 150;
    double *const x = malloc(((size_t)n + 1) * sizeof *x), *const y = malloc(((size_t)n + 1) * sizeof *y);
    double *const u = malloc(((size_t)n + 1) * sizeof *u), *const v = malloc(((size_t)n + 1) * sizeof *v);
    float *const f = malloc(((size_t)n + 1) * sizeof *f);
    double results[4];
    unsigned state = 1;
    if (x == NULL || y == NULL || u == NULL || v == NULL || f == NULL)
        return 1;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        x[i] = ((double)(state >> 8) / (1 << 23) - 1.0) / 3.0;
        y[i] = i % 61 == 7 ? NAN : i % 3 == 0 ? -0.0 : i % 5 == 0 ? 0.0 : -x[i] * x[i];
        f[i] = (float)x[i];
        u[i] = v[i] = x[i] * i;
    }
    printf("dot %a\n", dot(n, x, u));
    printf("plain %a\n", plain(n, f));
    printf("product %a\n", product(n, x));
    printf("greatest %a\n", greatest(n, y));
    several(n, x, u, results);
    printf("several %a %a %a %a\n", results[0], results[1], results[2], results[3]);
    printf("powers %a\n", powers(n, x));
    if (n > 0) {
        printf("residual %a\n", residual(rows, columns, (double (*)[columns])u, (double (*)[columns])v));
        printf("triangle %a\n", triangle(rows < columns ? rows : columns, columns, (double (*)[columns])u));
        printf("relaxed %a\n", relaxed(rows, columns, (double (*)[columns])u));
        printf("swept %a\n", swept(3, rows, columns, (double (*)[columns])u, (double (*)[columns])v));
    }
    printf("line %a\n", line(25, n < 4000 ? n : 4000, u));
    printf("by_gangs %a\n", by_gangs(n, x));
    printf("by_threads %a\n", by_threads(threads, n, x));
    free(x);
    free(y);
    free(u);
    free(v);
    free(f);
    return 0;
}
