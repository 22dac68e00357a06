/* Regions whose outer loops (t, k) run on the host around launches; every result is dumped, for comparison to the last bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 61, STEPS = 7 };

static void dump(const char *name, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    printf("%s", name);
    for (size_t i = 0; i < bytes; ++i)
        printf("%s%02x", i % 32 == 0 ? "\n" : "", at[i]);
    printf("\n");
}

static void fill(double *a, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        a[i] = (double)(i * 37 % 101) / 7 + 1;
}

static void jacobi(int n, int steps, double A[n][n], double B[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t) {
        for (int i = 1; i < n - 1; ++i)
            for (int j = 1; j < n - 1; ++j)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; ++i)
            for (int j = 1; j < n - 1; ++j)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]) + t;
    }
}

static void lu(int n, double A[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; ++k) {
        for (int i = k + 1; i < n; ++i)
            A[i][k] /= A[k][k];
        for (int i = k + 1; i < n; ++i)
            for (int j = k + 1; j < n; ++j)
                A[i][j] -= A[i][k] * A[k][j];
    }
}

/* Sums whose length grows by the step, between statements that are launches of one instance. */
static void recurrence(int n, long a[n], long b[n])
{
    long s = 0;
#pragma tilek kernel
    for (int k = 1; k < n; ++k) {
        s = k;
        for (int i = 0; i < k; ++i)
            s += a[i] * b[k - i];
        a[k] = s % 1009;
    }
    dump("s", &s, sizeof s);
}

/* Conditions of the host; the last launch is met by no step. */
static void parity(int n, int steps, float a[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t) {
        if (t % 2 == 0) {
            for (int i = 0; i < n; ++i)
                a[i] = a[i] * 0.5f + (float)t;
        }
        if (t % 3 == 1) {
            for (int i = t; i < n - 1; ++i)
                a[i] += 0.25f;
        }
        if (steps < 0) {
            for (int i = 0; i < n * 2; ++i)
                a[i] = 0;
        }
    }
}

/* Two loops of the host, one of them downwards; the first and the last steps have no iteration. */
static void backward(long n, double a[n], double c[n])
{
#pragma tilek kernel
    for (int t = 0; t < 2; ++t)
        for (long k = n - 1; k >= 0; k -= 2) {
            for (long i = k + 1; i < n; ++i)
                a[i] += c[k] * (double)(t + 1);
            for (long i = 0; i < k; i += 3)
                c[i] -= a[k];
        }
}

/* An unsigned iterator that ends at 0 itself. */
static void countdown(unsigned n, double a[n])
{
#pragma tilek kernel
    for (unsigned k = n; k-- > 0;)
        for (unsigned i = k; i < n; ++i)
            a[i] += 0.5 * k;
}

/* Resident over two regions. */
static void twice(int n, int steps, double A[n][n], double B[n][n])
{
#pragma tilek data copy(A[0:n][0:n], B[0:n][0:n])
    {
        jacobi(n, steps, A, B);
        jacobi(n, 1, B, A);
    }
}

/* A nest without parallelism, and statements, in one instance each. */
static void chain(int n, int steps, double a[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t) {
        for (int q = 1; q < n; ++q)
            a[q] = a[q - 1] * 0.5 + a[q];
        a[0] += a[n - 1] + t;
        for (int i = 0; i < n; ++i)
            a[i] *= 0.75;
    }
}

/* Every element after its neighbours: in tiles on diagonals, one diagonal after the other. */
static void seidel(int n, double A[n][n])
{
#pragma tilek kernel
    for (int x = 1; x < n; ++x)
        for (int y = 1; y < n - 1; ++y)
            A[x][y] = 0.25 * (A[x][y] + A[x - 1][y] + A[x][y - 1] + A[x - 1][y - 1]);
}

static void later(int n, int steps, double a[n])
{
    int scale = steps;
#pragma tilek kernel async(3)
    for (int t = 0; t < steps; ++t)
        for (int i = t; i < n; ++i)
            a[i] = a[i] * scale + t;
    scale = 99;
#pragma tilek wait(3)
    (void)scale;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : N, steps = argc > 2 ? atoi(argv[2]) : STEPS;
    const size_t matrix = (size_t)n * (size_t)n, bytes = matrix * sizeof(double);
    double *a = calloc(1, bytes), *b = calloc(1, bytes);
    long *u = calloc(1, bytes), *v = calloc(1, bytes);
    float *f = calloc(1, bytes);
    fill(a, matrix), fill(b, matrix);
    jacobi(n, steps, (double(*)[n])a, (double(*)[n])b);
    dump("jacobi A", a, bytes), dump("jacobi B", b, bytes);
    fill(a, matrix);
    for (int i = 0; i < n; ++i)
        a[(size_t)i * (size_t)n + (size_t)i] += 50 * n;
    lu(n, (double(*)[n])a);
    dump("lu", a, bytes);
    for (int i = 0; i < n; ++i)
        u[i] = i % 7, v[i] = 3 - i % 5;
    recurrence(n, u, v);
    dump("recurrence", u, (size_t)n * sizeof *u);
    for (int i = 0; i < n; ++i)
        f[i] = (float)i;
    parity(n, steps, f);
    dump("parity", f, (size_t)n * sizeof *f);
    fill(a, matrix), fill(b, matrix);
    backward(n, a, b);
    dump("backward a", a, (size_t)n * sizeof *a), dump("backward c", b, (size_t)n * sizeof *b);
    fill(a, matrix);
    seidel(n, (double(*)[n])a);
    dump("seidel", a, bytes);
    fill(a, matrix);
    countdown((unsigned)n, a);
    dump("countdown", a, (size_t)n * sizeof *a);
    fill(a, matrix), fill(b, matrix);
    twice(n, steps, (double(*)[n])a, (double(*)[n])b);
    dump("twice A", a, bytes), dump("twice B", b, bytes);
    fill(a, matrix);
    chain(n, steps, a);
    dump("chain", a, (size_t)n * sizeof *a);
    later(n, steps, a);
    dump("later", a, (size_t)n * sizeof *a);
    free(a), free(b), free(u), free(v), free(f);
    return 0;
}
