/* Minima and maxima of floating-point numbers that end as a zero: the first zero in the order of the text stays, whatever its sign. */
#include "check.h"
#include <math.h>

enum { N = 100003 };

static double *numbers(double sign, double first, double second)
{
    double *const x = check_allocate(N, sizeof *x);
    for (int k = 0; k < N; k++)
        x[k] = sign * (double)(1 + check_random((uint64_t)k) % 1000);
    x[N / 3] = first;
    x[N / 2] = -first;
    x[N - 5] = second;
    return x;
}

static double greatest(int n, double m, const double *x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        if (x[i] > m)
            m = x[i];
    return m;
}

static double least(int n, double m, const double *x, double *restrict half)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        half[i] = x[i] / 2;
        m = x[i] < m ? x[i] : m;
    }
    return m;
}

/* Columns first: a planner may go through the rows instead. */
static double greatest_of_columns(int rows, int columns, double m, const double *x)
{
#pragma tilek kernel
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++)
            if (x[i * columns + j] > m)
                m = x[i * columns + j];
    return m;
}

/* Two updates an iteration, backwards. */
static double greatest_of_both(int n, double m, const double *x, const double *y)
{
#pragma tilek kernel
    for (int i = n - 1; i >= 0; i--) {
        if (x[i] > m)
            m = x[i];
        if (y[i] > m)
            m = y[i];
    }
    return m;
}

/* C leaves open which zero fmax gives: the sign is compared where all zeros have the same one. */
static double largest(int rows, int columns, double m, const double *x)
{
#pragma tilek kernel
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            m = fmax(m, x[i * columns + j]);
    return m;
}

// case signs: zeros of both signs, the first of which stays
CASE(signs)
{
    static const double before[] = {-1e300, -3, 0.0, -0.0};
    double results[48], *const half = check_allocate(N, sizeof *half);
    int count = 0;
    for (int negative = 0; negative < 2; negative++) {
        const double zero = negative ? -0.0 : 0.0;
        double *const below = numbers(-1, zero, zero), *const above = numbers(1, zero, zero);
        for (int k = 0; k < 4; k++) {
            results[count++] = greatest(N, before[k], below);
            results[count++] = least(N, -before[k], above, half);
            results[count++] = largest(100, 1000, before[k], above);
            results[count++] = greatest_of_columns(101, 900, before[k], below);
            results[count++] = greatest_of_both(N - 1, before[k], below, below + 1);
        }
        below[N / 2] = zero;
        results[count++] = largest(101, 990, -1, below);
        below[N / 3] = -1; /* left are two zeros; the columns' order meets the second row's first */
        below[N - 5] = -1;
        below[30 * 900 + 500] = zero;
        below[31 * 900 + 400] = -zero;
        below[N / 2] = -1;
        results[count++] = greatest_of_columns(101, 900, -1, below);
        free(below);
        free(above);
    }
    check_record("results", results, (size_t)count * sizeof *results);
    check_record("half", half, N * sizeof *half);
    free(half);
}

// case numbers: results that are no zeros, with NaNs among the numbers
CASE(numbers)
{
    double results[6], *const half = check_allocate(N, sizeof *half);
    double *const below = numbers(-1, NAN, -0.5), *const above = numbers(1, NAN, 0.5);
    results[0] = greatest(N, -1e300, below);
    results[1] = least(N, 1e300, above, half);
    results[2] = largest(100, 1000, -1e300, above);
    results[3] = largest(100, 1000, -1e300, below);
    results[4] = greatest(0, -7, below);
    results[5] = greatest(N, 2, below);
    check_record("results", results, sizeof results);
    free(half);
    free(below);
    free(above);
}

// case present: a data region holds the maximum and what it is of
CASE(present)
{
    double m = -1e300, *const x = numbers(-1, -0.0, 0.0);
#pragma tilek data copy(m) copyin(x[0:N])
    {
#pragma tilek kernel
        for (int i = 0; i < N; i++)
            if (x[i] > m)
                m = x[i];
    }
    check_record("m", &m, sizeof m);
    free(x);
}
