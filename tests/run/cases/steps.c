/* Loops in steps without tile clauses: plans count their iterations instead. Sizes divide nothing. */
#include "check.h"

static const int sizes[] = {0, 1, 2, 3, 7, 38, 101};
#define EACH_SIZE(n) for (size_t size_ = 0, n = 0; size_ < sizeof sizes / sizeof sizes[0] && (n = (size_t)sizes[size_], 1); ++size_)

// case every_other_time: time steps by 2, whose iterator is data too
static void every_other_time(int m, int n, double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (int t = 1; t < m; t += 2) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]) + t;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2 * (b[i][j] + b[i][j - 1] + b[i][j + 1] + b[i - 1][j] + b[i + 1][j]);
    }
}
CASE(every_other_time)
{
    EACH_SIZE(n) {
        double *a = check_doubles(n * n), *b = check_doubles(n * n);
        every_other_time(10, (int)n, (double (*)[n + !n])a, (double (*)[n + !n])b);
        every_other_time(1, (int)n, (double (*)[n + !n])a, (double (*)[n + !n])b);
        check_record("a", a, n * n * sizeof *a);
        check_record("b", b, n * n * sizeof *b);
        free(a); free(b);
    }
}

// case downwards: counting down by 3 and 2, iterators of the function that are read after the region
static void downwards(int m, int n, float a[n][n], int last[3])
{
    int t = -7, i = -7, j = -7;
#pragma tilek kernel
    for (t = m - 1; t >= 0; t -= 3)
        for (i = n - 2; i > 0; i -= 2)
            for (j = 1; j <= n - 2; j += 2)
                a[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) + (float)(t - i + 2 * j);
    last[0] = t, last[1] = i, last[2] = j;
}
CASE(downwards)
{
    EACH_SIZE(n) {
        float *a = check_floats(n * n);
        int last[3];
        for (int m = 0; m < 9; m += 4) {
            downwards(m, (int)n, (float (*)[n + !n])a, last);
            check_record("last", last, sizeof last);
        }
        check_record("a", a, n * n * sizeof *a);
        free(a);
    }
}

// case in_place: each element waits for its neighbours of the same colour, in two dimensions
static void in_place(int m, int n, double a[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < m; t++)
        for (int i = 2; i < n - 2; i += 2)
            for (int j = n - 3; j >= 2; j -= 2)
                a[i][j] = 0.2 * (a[i][j] + a[i - 2][j] + a[i + 2][j] + a[i][j - 2] + a[i][j + 2]);
}
CASE(in_place)
{
    EACH_SIZE(n) {
        double *a = check_doubles(n * n);
        in_place(5, (int)n, (double (*)[n + !n])a);
        check_record("a", a, n * n * sizeof *a);
        free(a);
    }
}

// case some_columns: a product of every third row and every fifth term, with numbers and long iterators
static void some_columns(long n, float c[101][101], float a[101][101], float b[101][101])
{
#pragma tilek kernel
    for (long i = 1; i < 101; i += 3)
        for (long j = 0; j < n; j++)
            for (long k = 0; k <= n - 1; k += 5)
                c[i][j] += a[i][k] * b[k][j];
}
CASE(some_columns)
{
    enum { N = 101 };
    EACH_SIZE(n) {
        float *c = check_floats(N * N), *a = check_floats(N * N), *b = check_floats(N * N);
        some_columns((long)n, (float (*)[N])c, (float (*)[N])a, (float (*)[N])b);
        check_record("c", c, N * N * sizeof *c);
        free(a); free(b); free(c);
    }
}

// case tiles_by_hand: loops in the steps of tiles, one after the other over the same iterator, flat arrays
static void tiles_by_hand(int n, double *restrict y, const double *restrict a, const double *restrict x)
{
    int ii;
#pragma tilek kernel
    {
        for (ii = 0; ii < n; ii += 16)
            for (int i = ii; i < n && i < ii + 16; i++)
                y[i] = 0.0;
        for (ii = 0; ii < n; ii += 32)
            for (int jj = 0; jj < n; jj += 8)
                for (int i = ii; i < n && i < ii + 32; i++)
                    for (int j = jj; j < n && j < jj + 8; j++)
                        y[i] += a[i * n + j] * x[j];
    }
    y[0] += ii;
}
CASE(tiles_by_hand)
{
    EACH_SIZE(n) {
        double *y = check_doubles(n + 1), *a = check_doubles(n * n), *x = check_doubles(n);
        tiles_by_hand((int)n, y, a, x);
        check_record("y", y, (n + 1) * sizeof *y);
        free(a); free(x); free(y);
    }
}

// case colours: red and black, whose columns begin where the row says; steps that are no numbers
static void colours(int m, int n, int step, double a[n][n], double *v)
{
#pragma tilek kernel
    {
        for (int t = 0; t < m; t += 2)
            for (int colour = 0; colour < 2; colour++)
                for (int i = 1; i < n - 1; i++)
                    for (int j = 1 + (i + colour) % 2; j < n - 1; j += 2)
                        a[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 0; i < n; i += step)
            v[i] = 2.0 * v[i] + i;
    }
}
CASE(colours)
{
    EACH_SIZE(n) {
        double *a = check_doubles(n * n), *v = check_doubles(n);
        colours(5, (int)n, 3, (double (*)[n + !n])a, v);
        check_record("a", a, n * n * sizeof *a);
        check_record("v", v, n * sizeof *v);
        free(a); free(v);
    }
}

// case colours_in_rows: two colours of a flat array, which devices deal out by columns too
static void colours_in_rows(int n, double h2, double *u, const double *f)
{
#pragma tilek kernel
    for (int c = 0; c < 2; c++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1 + (i + c) % 2; j < n - 1; j += 2)
                u[i*n+j] = 0.25*(u[(i-1)*n+j]+u[(i+1)*n+j]+u[i*n+j-1]+u[i*n+j+1]-h2*f[i*n+j]);
}
CASE(colours_in_rows)
{
    EACH_SIZE(n) {
        double *u = check_doubles(n * n), *f = check_doubles(n * n);
        colours_in_rows((int)n, 0.5, u, f);
        check_record("u", u, n * n * sizeof *u);
        free(u); free(f);
    }
}

// case red_then_black: a nest a colour, each beginning its columns in its own way
static void red_then_black(int n, float u[n][n])
{
#pragma tilek kernel
    {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1 + i % 2; j < n - 1; j += 2)
                u[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 2 - i % 2; j <= n - 2; j += 2)
                u[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
    }
}
CASE(red_then_black)
{
    EACH_SIZE(n) {
        float *u = check_floats(n * n);
        red_then_black((int)n, (float (*)[n + !n])u);
        check_record("u", u, n * n * sizeof *u);
        free(u);
    }
}

// case negative_remainders: columns begin before those of positive rows where C's remainder is negative
static void negative_remainders(int n, int first, long a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 2 + (i - first) % 3; j < n; j += 3)
            a[i][j] += 10 * i + j;
}
CASE(negative_remainders)
{
    EACH_SIZE(n)
        for (int first = -1; first < 9; first += 3) {
            long *a = calloc(n * n + 1, sizeof *a);
            negative_remainders((int)n, first, (long (*)[n + !n])a);
            check_record("a", a, n * n * sizeof *a);
            free(a);
        }
}

// case low_bits: columns begin at the low bits of numbers that are negative too
static void low_bits(int n, int first, long a[n][n])
{
#pragma tilek kernel
    for (int c = 0; c < 2; c++)
        for (int i = 1; i < n; i++)
            for (int j = (i - first + c) & 1; j < n; j += 2)
                a[i][j] += 10 * i + a[i - 1][j];
}
CASE(low_bits)
{
    EACH_SIZE(n)
        for (int first = -1; first < 9; first += 3) {
            long *a = calloc(n * n + 1, sizeof *a);
            low_bits((int)n, first, (long (*)[n + !n])a);
            check_record("a", a, n * n * sizeof *a);
            free(a);
        }
}

// case steps_in_memory: the innermost step stands in an array at the iterators around; the bounds of the loop between are checked at launch
static void steps_in_memory(unsigned n, const int s[n + 1], int sums[n + 1][n + 1])
{
#pragma tilek kernel
    for (int i = 0; i < (int)n; i++)
        for (unsigned j = 1; j < n - 4; j++)
            for (int k = 0; k < 50; k += s[i])
                sums[i][j] += k;
}
CASE(steps_in_memory)
{
    EACH_SIZE(n) {
        if (n < 4)
            continue;
        int *s = calloc(n + 1, sizeof *s);
        for (size_t i = 0; i < n; i++)
            s[i] = 1 + (int)(i % 4);
        int *sums = calloc((n + 1) * (n + 1), sizeof *sums);
        steps_in_memory((unsigned)n, s, (int (*)[n + 1])sums);
        check_record("sums", sums, (n + 1) * (n + 1) * sizeof *sums);
        free(s);
        free(sums);
    }
}
