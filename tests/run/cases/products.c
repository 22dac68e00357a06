/* Sums whose elements stay in registers on cores: full and partial tiles, above and below diagonals, packed panels. */
#include "check.h"

enum { ROWS = 61, COLUMNS = 203, THROUGH = 300 };

// case product: full tiles, partial ones at both ends, and sizes smaller than one tile
static void product(int n, int m, int p, float beta, float c[n][m], float a[n][p], float b[p][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            c[i][j] *= beta;
        for (int k = 0; k < p; k++)
            for (int j = 0; j < m; j++)
                c[i][j] += 1.5f * a[i][k] * b[k][j];
    }
}

CASE(product)
{
    static const int sizes[][3] = {{ROWS, COLUMNS, THROUGH}, {48, 128, 256}, {5, 64, 7}, {6, 63, 1}, {1, 1, 1}, {7, 65, 0}, {0, 9, 9}};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at][0], m = sizes[at][1], p = sizes[at][2];
        float *const a = check_floats(ROWS * THROUGH), *const b = check_floats(THROUGH * COLUMNS);
        float *const c = check_floats(ROWS * COLUMNS);
        product(n, m, p, 0.5f, (float (*)[m])c, (float (*)[p])a, (float (*)[m])b);
        check_record("c", c, ROWS * COLUMNS * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}

// case product_columns: the order in which whole columns are summed up, of integers, with bounds that start elsewhere
static void product_columns(int n, int m, int p, int c[n][m], int a[n][p], int b[p][m])
{
#pragma tilek kernel
    for (int j = 2; j < m; j++)
        for (int k = p - 1; k >= 0; k--)
            for (int i = 1; i < n - 1; i++)
                c[i][j] += a[i][k] * b[k][j];
}

CASE(product_columns)
{
    int *const a = check_ints(ROWS * THROUGH), *const b = check_ints(THROUGH * COLUMNS), *const c = check_ints(ROWS * COLUMNS);
    product_columns(ROWS, COLUMNS, THROUGH, (int (*)[COLUMNS])c, (int (*)[THROUGH])a, (int (*)[COLUMNS])b);
    check_record("c", c, ROWS * COLUMNS * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case rows_of_products (a check fails): each row of a body times one matrix, whose panels serve all rows, if there are any
static void rows_of_products(int r, int q, int p, float a[r][q][p], float c4[p][p], float sum[p])
{
#pragma tilek kernel
    for (int i = 0; i < r; i++)
        for (int j = 0; j < q; j++) {
            for (int k = 0; k < p; k++) {
                sum[k] = 0;
                for (int s = 0; s < p; s++)
                    sum[k] += a[i][j][s] * c4[s][k];
            }
            for (int k = 0; k < p; k++)
                a[i][j][k] = sum[k];
        }
}

CASE(rows_of_products)
{
    static const int sizes[][3] = {{5, 19, 131}, {1, 8, 64}, {33, 1, 3}, {3, 0, 300}, {0, 3, 300}, {3, 4, 0}};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int r = sizes[at][0], q = sizes[at][1], p = sizes[at][2];
        const size_t cells = (size_t)r * (size_t)q * (size_t)p + 1;
        float *const a = check_floats(cells), *const c4 = check_floats((size_t)p * (size_t)p + 1);
        float *const sum = check_floats((size_t)p + 1);
        rows_of_products(r, q, p, (float (*)[q][p])a, (float (*)[p])c4, sum);
        check_record("a", a, cells * sizeof *a);
        check_record("sum", sum, ((size_t)p + 1) * sizeof *sum);
        free(a);
        free(c4);
        free(sum);
    }
}

// case two_updates: each element is updated twice in turn, and both updates read rows and columns of both matrices
static void two_updates(int n, int m, float c[n][n], float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i][j] *= 0.75f;
            for (int k = 0; k < m; k++) {
                c[i][j] += 1.5f * a[i][k] * b[j][k];
                c[i][j] -= 0.5f * b[i][k] * a[j][k];
            }
        }
}

CASE(two_updates)
{
    static const int sizes[][2] = {{COLUMNS, THROUGH}, {64, 256}, {ROWS, 3}, {7, 1}, {1, 0}};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at][0], m = sizes[at][1];
        float *const a = check_floats(COLUMNS * THROUGH), *const b = check_floats(COLUMNS * THROUGH);
        float *const c = check_floats(COLUMNS * COLUMNS);
        two_updates(n, m, (float (*)[n])c, (float (*)[m])a, (float (*)[m])b);
        check_record("c", c, COLUMNS * COLUMNS * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}

// case lower_half: a rank-k update of a triangle, whose columns step through memory in strides
static void lower_half(int n, int p, double beta, double c[n][n], double a[n][p], double b[n][p])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            c[i][j] *= beta;
        for (int k = 0; k < p; k++)
            for (int j = 0; j <= i; j++)
                c[i][j] += a[j][k] * 0.5 * b[i][k] + b[j][k] * 0.5 * a[i][k];
    }
}

CASE(lower_half)
{
    static const int sizes[][2] = {{131, THROUGH}, {96, 256}, {33, 17}, {4, 2}};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at][0], p = sizes[at][1];
        double *const a = check_doubles(n * p), *const b = check_doubles(n * p), *const c = check_doubles(n * n);
        lower_half(n, p, 0.75, (double (*)[n])c, (double (*)[p])a, (double (*)[p])b);
        check_record("c", c, (size_t)n * n * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}

// case triangular: each row is summed up from the rows below it, which change later
static void triangular(int n, int m, double b[n][m], double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            for (int k = i + 1; k < n; k++)
                b[i][j] += a[k][i] * b[k][j];
            b[i][j] = 1.25 * b[i][j];
        }
}

CASE(triangular)
{
    enum { N = 67, M = 163 };
    double *const a = check_doubles(N * N), *const b = check_doubles(N * M);
    triangular(N, M, (double (*)[M])b, (double (*)[N])a);
    check_record("b", b, N * M * sizeof *b);
    free(a);
    free(b);
}

// case symmetric: sums into rows above and a scalar of each element, with flattened arrays
static void symmetric(int n, int m, float *c, const float *a, const float *b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < i; k++) {
                c[k * m + j] += 1.5f * b[i * m + j] * a[i * n + k];
                sum += b[k * m + j] * a[i * n + k];
            }
            c[i * m + j] = 0.5f * c[i * m + j] + 1.5f * b[i * m + j] * a[i * n + i] + 1.5f * sum;
        }
}

CASE(symmetric)
{
    enum { N = 59, M = 140 };
    float *const a = check_floats(N * N), *const b = check_floats(N * M), *const c = check_floats(N * M);
    symmetric(N, M, c, a, b);
    check_record("c", c, N * M * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case batches: an outer loop that moves the element too, rows by pointers, and a mixed sum of doubles of floats
static void batches(int count, int n, int m, int p, double c[count][n][m], float **a, float **b)
{
#pragma tilek kernel
    for (int l = 0; l < count; l++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < p; k++)
                for (int j = 0; j < m; j++)
                    c[l][i][j] += (double)a[i + l][k] * b[k][j + l];
}

CASE(batches)
{
    enum { L = 5, N = 20, M = 71, P = 33 };
    float **const a = check_matrix(N + L, P), **const b = check_matrix(P, M + L);
    double *const c = check_doubles(L * N * M);
    batches(L, N, M, P, (double (*)[N][M])c, a, b);
    check_record("c", c, L * N * M * sizeof *c);
    check_free_matrix(a, N + L);
    check_free_matrix(b, P);
    free(c);
}

// case scalar_sums: products as most people write them, each sum in a scalar of its own, in flat arrays with rows longer than what is used
static void scalar_sums(int n, int m, int p, int pitch, float scale, const float *a, const float *b, float *c, float *norms)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            float sum = scale, twice = 2 * sum;
            for (int k = 0; k < p; k++)
                sum += a[i * pitch + k] * b[k * m + j];
            c[i * m + j] = sum + twice;
        }
        float norm = 0;
        for (int k = 0; k < p; k++)
            norm += a[i * pitch + k] * a[i * pitch + k];
        norms[i] = norm;
    }
}

CASE(scalar_sums)
{
    static const int sizes[][3] = {{ROWS, COLUMNS, THROUGH - 7}, {9, 33, 5}, {8, 24, 1}, {1, 1, 1}, {3, 5, 0}, {0, 4, 4}};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at][0], m = sizes[at][1], p = sizes[at][2];
        float *const a = check_floats(ROWS * THROUGH), *const b = check_floats(THROUGH * COLUMNS);
        float *const c = check_floats(ROWS * COLUMNS), *const norms = check_floats(ROWS);
        scalar_sums(n, m, p, p + 7, 0.25f, a, b, c, norms);
        check_record("c", c, ROWS * COLUMNS * sizeof *c);
        check_record("norms", norms, ROWS * sizeof *norms);
        free(a);
        free(b);
        free(c);
        free(norms);
    }
}
