/* The kernels of the MetaFork slides with their block as a number that is known at launch: check_sizes[0] points to a block. The block
 * is an argument of one compiled kernel; borders are exact, whatever it divides. */
#include "check.h"

enum { N = 203 };
static int block(void) { return check_sizes[0] > 0 ? check_sizes[0] : 16; }
#define BLOCKS(n, b) (((n) + (b) - 1) / (b))

// case reversal: out[n-1-i] = in[i], blocks of b
static void reversal(int n, int b, const double *in, double *out)
{
    (void)b; /* read by the pragmas only */
#pragma tilek kernel num_gangs(BLOCKS(n, b)) num_workers(b) data(in[0:n], mode:r) data(out[0:n])
#pragma tilek loop tile(gang) tile(worker)
    for (int i = 0; i < n; i++)
        out[n - 1 - i] = in[i];
}

CASE(reversal)
{
    double *const in = check_doubles(N), *const out = check_doubles(N);
    reversal(N, block(), in, out);
    check_record("out", out, N * sizeof *out);
    free(in);
    free(out);
}

// case jacobi: three points, the loop over time on the host, data resident
static void jacobi(int steps, int n, int b, double *a, double *c)
{
    (void)b; /* read by the pragmas only */
#pragma tilek data copy(a[0:n], c[0:n])
    for (int t = 0; t < steps; t++) {
#pragma tilek kernel num_gangs(BLOCKS(n - 2, b)) num_workers(b)
        {
#pragma tilek loop tile(gang) tile(worker)
            for (int i = 1; i < n - 1; i++)
                c[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
#pragma tilek loop tile(gang) tile(worker)
            for (int i = 1; i < n - 1; i++)
                a[i] = c[i];
        }
    }
}

CASE(jacobi)
{
    double *const a = check_doubles(N), *const c = check_doubles(N);
    jacobi(7, N, block(), a, c);
    check_record("a", a, N * sizeof *a);
    free(a);
    free(c);
}

// case product: c = a b in blocks of b by b
static void product(int n, int m, int p, int b, double x[n][p], double y[p][m], double z[n][m])
{
    (void)b; /* read by the pragmas only */
#pragma tilek kernel num_gangs(BLOCKS(m, b), BLOCKS(n, b)) num_workers(b, b)
#pragma tilek loop tile(gang, 1) tile(worker, 1)
    for (int i = 0; i < n; i++)
#pragma tilek loop tile(gang, 0) tile(worker, 0)
        for (int j = 0; j < m; j++) {
            z[i][j] = 0;
            for (int k = 0; k < p; k++)
                z[i][j] += x[i][k] * y[k][j];
        }
}

CASE(product)
{
    enum { ROWS = 37, COLUMNS = 41, DEPTH = 29 };
    double *const x = check_doubles(ROWS * DEPTH), *const y = check_doubles(DEPTH * COLUMNS), *const z = check_doubles(ROWS * COLUMNS);
    product(ROWS, COLUMNS, DEPTH, block() < 17 ? block() : 16, (void *)x, (void *)y, (void *)z);
    check_record("z", z, ROWS * COLUMNS * sizeof *z);
    free(x);
    free(y);
    free(z);
}

// case lu: the loop over k on the host; a triangle of blocks
static void lu(int n, int b, double a[n][n])
{
    (void)b; /* read by the pragmas only */
#pragma tilek data copy(a[0:n][0:n])
    for (int k = 0; k < n - 1; k++) {
#pragma tilek kernel num_gangs(BLOCKS(n, b), BLOCKS(n, b)) num_workers(b, b)
        {
#pragma tilek loop tile(gang, 0) tile(worker, 0) tile(gang, 1) tile(worker, 1)
            for (int i = k + 1; i < n; i++)
                a[i][k] /= a[k][k];
#pragma tilek loop tile(gang, 1) tile(worker, 1)
            for (int i = k + 1; i < n; i++)
#pragma tilek loop tile(gang, 0) tile(worker, 0)
                for (int j = k + 1; j < n; j++)
                    a[i][j] -= a[i][k] * a[k][j];
        }
    }
}

CASE(lu)
{
    enum { SIDE = 33 };
    double *const a = check_doubles(SIDE * SIDE);
    for (int i = 0; i < SIDE; i++)
        a[i * SIDE + i] += SIDE;
    lu(SIDE, block() < 17 ? block() : 16, (void *)a);
    check_record("a", a, SIDE * SIDE * sizeof *a);
    free(a);
}

// case polynomial: coefficient p of the product, n and 2n - Bb as bounds of a block
static void polynomial(int n, int b, const double *x, const double *y, double *c)
{
    (void)b; /* read by the pragmas only */
#pragma tilek kernel num_gangs(BLOCKS(2 * n - 1, b)) num_workers(b)
#pragma tilek loop tile(gang) tile(worker)
    for (int p = 0; p < 2 * n - 1; p++) {
        c[p] = 0;
        for (int t = (p < n ? 0 : p - n + 1); t <= (p < n ? p : n - 1); t++)
            c[p] += x[t] * y[p - t];
    }
}

CASE(polynomial)
{
    double *const x = check_doubles(N), *const y = check_doubles(N), *const c = check_doubles(2 * N);
    polynomial(N, block(), x, y, c);
    check_record("c", c, 2 * N * sizeof *c);
    free(x);
    free(y);
    free(c);
}

// case wavefront: c[n][k] = c[n-1][k] + c[n][k-1] by t = n + k on the host, p = k in blocks
static void wavefront(int n, int b, unsigned c[n][n])
{
    (void)b; /* read by the pragmas only */
#pragma tilek data copy(c[0:n][0:n])
    for (int t = 2; t <= 2 * n - 2; t++) {
#pragma tilek kernel num_gangs(BLOCKS(n, b)) num_workers(b) independent
#pragma tilek loop tile(gang) tile(worker)
        for (int p = (t < n ? 1 : t - n + 1); p <= (t < n ? t - 1 : n - 1); p++)
            c[t - p][p] = c[t - p - 1][p] + c[t - p][p - 1];
    }
}

CASE(wavefront)
{
    enum { SIDE = 35 };
    unsigned *const c = (unsigned *)check_ints(SIDE * SIDE);
    wavefront(SIDE, block(), (void *)c);
    check_record("c", c, SIDE * SIDE * sizeof *c);
    free(c);
}

// case matrix_vector: y = A x, a row a worker
static void matrix_vector(int n, int m, int b, double a[n][m], const double *x, double *y)
{
    (void)b; /* read by the pragmas only */
#pragma tilek kernel num_gangs(BLOCKS(n, b)) num_workers(b)
#pragma tilek loop tile(gang) tile(worker)
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < m; j++)
            y[i] += a[i][j] * x[j];
    }
}

CASE(matrix_vector)
{
    enum { COLUMNS = 31 };
    double *const a = check_doubles(N * COLUMNS), *const x = check_doubles(COLUMNS), *const y = check_doubles(N);
    matrix_vector(N, COLUMNS, block(), (void *)a, x, y);
    check_record("y", y, N * sizeof *y);
    free(a);
    free(x);
    free(y);
}
