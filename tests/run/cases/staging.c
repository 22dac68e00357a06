/* What devices stage in the memory of their gangs: tiles of products, and columns that rows of workers read, with the
 * borders of stencils; and stencils, which they read in place. Extents lie below, at and beyond the tiles that the
 * runtime chooses; data are random, since smooth ones hide mistakes. */
#include "check.h"

static const int extents[] = {0, 1, 3, 8, 32, 45};
#define EACH_EXTENT(n) for (size_t place_ = 0, n = 0; place_ < sizeof extents / sizeof extents[0] && (n = (size_t)extents[place_], 1); ++place_)

// case five_point: a stencil's tile with a border of one, both arrays in turn
static void five_point(int steps, int n, int m, double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = 0.3 * (b[i][j] + b[i - 1][j] + b[i + 1][j]);
    }
}
CASE(five_point)
{
    EACH_EXTENT(n) {
        const size_t m = n + 11;
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1);
        five_point(3, (int)n, (int)m, (void *)a, (void *)b);
        check_record("a", a, n * m * sizeof *a);
        check_record("b", b, n * m * sizeof *b);
        free(a);
        free(b);
    }
}

// case box: a lopsided box of neighbours, in floats, by loops over it
static void box(int n, int m, const float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int i = 3; i < n - 1; i++)
        for (int j = 1; j < m - 2; j++) {
            float sum = 0;
            for (int p = -3; p <= 1; p++)
                for (int q = -1; q < 3; q++)
                    sum += a[i + p][j + q] * (float)(p + 2 * q);
            b[i][j] = sum;
        }
}
CASE(box)
{
    EACH_EXTENT(n) {
        const size_t m = 2 * n + 5;
        float *const a = check_floats(n * m + 1), *const b = check_floats(n * m + 1);
        box((int)n, (int)m, (void *)a, (void *)b);
        check_record("b", b, n * m * sizeof *b);
        free(a);
        free(b);
    }
}

// case star_in_rows: tiles of an array of one dimension with rows of a constant length, whose corners nobody has allocated
enum { ROW = 37 };
static void star_in_rows(int n, const float *a, float *b)
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < ROW - 1; j++)
            b[ROW * i + j - ROW - 1] = 0.2f * (a[ROW * i + j - 1] + a[ROW * i + j - 2] + a[ROW * i + j] + a[ROW * (i - 1) + j - 1] + a[ROW * (i + 1) + j - 1]);
}
static void star_in_parametric_rows(int n, int m, const float *a, float *b)
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            b[m * i + j - m - 1] = 0.2f * (a[m * i + j - 1] + a[m * i + j - 2] + a[m * i + j] + a[m * (i - 1) + j - 1] + a[m * (i + 1) + j - 1]);
}
CASE(star_in_rows)
{
    EACH_EXTENT(n) {
        /* The first element is a[0][1] of the star, the last one a[n - 1][ROW - 2]. */
        const size_t count = n < 3 ? 0 : n * ROW - 2;
        float *const a = check_floats(count), *const b = check_floats(count);
        star_in_rows((int)n, a, b);
        check_record("b", b, count * sizeof *b);
        star_in_parametric_rows((int)n, ROW, b, a);
        check_record("a", a, count * sizeof *a);
        free(a);
        free(b);
    }
}

// case solid: 27 points in three dimensions
#define LINE_OF(i, j) (a[i][j][k - 1] + a[i][j][k] + a[i][j][k + 1])
#define PLANE_OF(i) (LINE_OF(i, j - 1) + LINE_OF(i, j) + LINE_OF(i, j + 1))
static void solid(int n, int m, int p, const double a[n][m][p], double b[n][m][p])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < p - 1; k++)
                b[i][j][k] = PLANE_OF(i - 1) + 0.5 * PLANE_OF(i) + PLANE_OF(i + 1);
}
CASE(solid)
{
    static const int sides[] = {1, 3, 9, 14};
    for (size_t side = 0; side < 4; side++) {
        const int n = sides[side], m = n + 2, p = n + 5;
        const size_t count = (size_t)n * (size_t)m * (size_t)p;
        double *const a = check_doubles(count), *const b = check_doubles(count);
        solid(n, m, p, (void *)a, (void *)b);
        check_record("b", b, count * sizeof *b);
        free(a);
        free(b);
    }
}

// case product: tiles of a sequential loop; a sum in a scalar, one in memory, and iterators declared outside
static void product_scalar(int n, int m, int p, const float a[n][p], const float b[p][m], float c[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = c[i][j];
            for (int k = 0; k < p; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
static void product_memory(int n, int m, int p, const double a[n][p], const double b[p][m], double c[n][m])
{
    int i, j, k;
#pragma tilek kernel
    for (i = 0; i < n; i++)
        for (k = 0; k < p; k++)
            for (j = 0; j < m; j++)
                c[i][j] += 1.5 * a[i][k] * b[k][j];
}
static void product_of_part(int n, int m, int p, int from, const double a[n][p], const double b[p][m], double c[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            const double before = c[i][j];
            double sum = before;
            for (int k = from; k <= p - 2; k++)
                sum -= a[i][k + 1] * b[k][j];
            c[i][j] = sum + before;
        }
}
CASE(product)
{
    static const size_t beyond_a_tile = 71;
    for (size_t place = 0; place <= sizeof extents / sizeof extents[0]; ++place) {
        const int small = place < sizeof extents / sizeof extents[0];
        const size_t n = small ? (size_t)extents[place] : beyond_a_tile, m = small ? n + 9 : 2 * n, p = small ? 2 * n + 3 : 37;
        float *const a = check_floats(n * p + 1), *const b = check_floats(p * m + 1), *const c = check_floats(n * m + 1);
        double *const d = check_doubles(n * p + 1), *const e = check_doubles(p * m + 1), *const f = check_doubles(n * m + 1);
        product_scalar((int)n, (int)m, (int)p, (void *)a, (void *)b, (void *)c);
        product_memory((int)n, (int)m, (int)p, (void *)d, (void *)e, (void *)f);
        product_of_part((int)n, (int)m, (int)p, 2, (void *)d, (void *)e, (void *)f);
        check_record("c", c, n * m * sizeof *c);
        check_record("f", f, n * m * sizeof *f);
        free(a), free(b), free(c), free(d), free(e), free(f);
    }
}

// case gram: two boxes of one array, one of them read down its columns
static void gram(int n, int m, const float a[n][m], float c[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = c[i][j];
            for (int k = 0; k < m; k++)
                sum += a[i][k] * a[j][k];
            c[i][j] = sum;
        }
}
CASE(gram)
{
    EACH_EXTENT(n) {
        const size_t m = n + 9;
        float *const a = check_floats(n * m + 1), *const c = check_floats(n * n + 1);
        gram((int)n, (int)m, (void *)a, (void *)c);
        check_record("c", c, n * n * sizeof *c);
        free(a), free(c);
    }
}

// case rows_of_workers: each worker goes along a row of its own, so that neighbours read down a column
static void rows_of_workers(int n, int m, const double a[n][m], const double b[n][m], const double x[m], double y[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++)
            sum += (a[i][j] - b[i][j]) * x[j];
        y[i] = sum;
    }
}
static void rows_of_floats(int n, int m, const float a[n][m], const float x[m], float y[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[i] += a[i][j] * x[j];
}
CASE(rows_of_workers)
{
    EACH_EXTENT(each) {
        const size_t n = 7 * each, m = each + 3;
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1), *const x = check_doubles(m), *const y = check_doubles(n + 1);
        float *const c = check_floats(n * m + 1), *const u = check_floats(m), *const v = check_floats(n + 1);
        rows_of_workers((int)n, (int)m, (void *)a, (void *)b, x, y);
        rows_of_floats((int)n, (int)m, (void *)c, u, v);
        check_record("y", y, n * sizeof *y);
        check_record("v", v, n * sizeof *v);
        free(a), free(b), free(x), free(y), free(c), free(u), free(v);
    }
}

// case diagonals: neighbours read down diagonals of a box, whose rows then lie an even number of elements apart
static void diagonals(int n, int m, int p, const float a[m][p], const float c[n][p][m], float b[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < 9; k++) sum += a[j][j + k] * c[i][k][j];
            b[i][j] = sum;
        }
}
CASE(diagonals)
{
    EACH_EXTENT(each) {
        const size_t n = each / 4 + 1, m = each, p = m + 9;
        float *const a = check_floats(m * p + 1), *const b = check_floats(n * m + 1), *const c = check_floats(n * p * m + 1);
        diagonals((int)n, (int)m, (int)p, (void *)a, (void *)c, (void *)b);
        check_record("b", b, n * m * sizeof *b);
        free(a), free(b), free(c);
    }
}

// case turned: columns become rows, turned round too, and numbers of other types
static void turned(int n, int m, const float a[n][m], float b[m][n])
{
#pragma tilek kernel
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            b[i][j] = 2 * a[j][i];
}
static void turned_round(int n, int m, const short a[n][m], short b[m][n])
{
#pragma tilek kernel
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            b[i][j] = (short)(a[n - 1 - j][m - 1 - i] + 1);
}
static void upside_down(int n, int m, const long a[n][m], long b[n][m])
{
#pragma tilek kernel
    for (int i = 2; i < n; i++)
        for (int j = 1; j < m; j++)
            b[i][j] = a[n - i][j] - a[n - 1 - i][j - 1] + a[n - i][j - 1] * a[n + 1 - i][j];
}
CASE(turned)
{
    EACH_EXTENT(n) {
        const size_t m = n + 6;
        float *const a = check_floats(n * m + 1), *const b = check_floats(n * m + 1);
        short *const c = malloc((n * m + 1) * sizeof *c), *const d = calloc(n * m + 1, sizeof *d);
        long *const e = malloc((n * m + 1) * sizeof *e), *const f = calloc(n * m + 1, sizeof *f);
        for (size_t k = 0; k < n * m; k++) {
            c[k] = (short)(k * 7 % 1001);
            e[k] = (long)(k * k);
        }
        turned((int)n, (int)m, (void *)a, (void *)b);
        turned_round((int)n, (int)m, (void *)c, (void *)d);
        upside_down((int)n, (int)m, (void *)e, (void *)f);
        check_record("b", b, n * m * sizeof *b);
        check_record("d", d, n * m * sizeof *d);
        check_record("f", f, n * m * sizeof *f);
        free(a), free(b), free(c), free(d), free(e), free(f);
    }
}

// case star_in_columns: tiles with borders, whose columns neighbours read, since the other accesses run along i; in one dimension, whose corners nobody
// has allocated, in three, and turned round
enum { FLAT_ROW = 37 };
#define CELLS(i, j) (a[i][j][k - 1] + a[i][j][k] + a[i][j][k + 1])
#define ALONG_I(c) (c[j][i] * c[j - 1][i] * c[j + 1][i] * c[j][i - 1] * c[j][i + 1])
static void star_in_columns(int n, int m, const double a[n][m], const double c[m][n], double b[m][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            b[j][i] = a[i][j] * a[i][j - 1] - a[i][j + 1] + a[i + 1][j] * 2 - a[i - 1][j] + ALONG_I(c);
}
static void flat_columns(int n, const float *a, const float c[FLAT_ROW][n], float b[FLAT_ROW][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 2; j < FLAT_ROW - 1; j++)
            b[j][i] = 0.2f * (a[FLAT_ROW * i + j - 1] + a[FLAT_ROW * i + j - 2] + a[FLAT_ROW * i + j] + a[FLAT_ROW * (i - 1) + j - 1] + a[FLAT_ROW * (i + 1) + j - 1]) + ALONG_I(c);
}
static void flat_columns_of_parametric_rows(int n, int m, const float *a, const float c[m][n], float b[m][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 2; j < m - 1; j++)
            b[j][i] = 0.2f * (a[m * i + j - 1] + a[m * i + j - 2] + a[m * i + j] + a[m * (i - 1) + j - 1] + a[m * (i + 1) + j - 1]) + ALONG_I(c);
}
static void columns_upside_down(int n, int m, const long a[n][m], const long c[m][n], long b[m][n])
{
#pragma tilek kernel
    for (int i = 2; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            b[j][i] = a[n - i][j] - a[n - 1 - i][j - 1] + a[n - i][j - 1] * a[n + 1 - i][j] + ALONG_I(c);
}
static void solid_columns(int n, int m, int p, const float a[n][m][p], const float c[p][m][n], float b[p][m][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < p - 1; k++)
                b[k][j][i] = CELLS(i, j - 1) * (CELLS(i - 1, j - 1) + CELLS(i - 1, j) + CELLS(i - 1, j + 1)) + c[k][j][i] * c[k][j][i - 1] * c[k][j][i + 1] * c[k][j - 1][i] * c[k][j + 1][i] * c[k - 1][j][i] *
                    c[k + 1][j][i] * c[k][j][i] * c[k][j][i - 1] * c[k][j][i + 1] * c[k][j - 1][i] * c[k][j + 1][i] * c[k - 1][j][i] * c[k + 1][j][i];
}
CASE(star_in_columns)
{
    EACH_EXTENT(n) {
        const size_t m = n + 12, p = n < 9 ? n : 9, q = n < 14 ? n : 14, count = n < 3 ? 0 : n * FLAT_ROW - 2;
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1), *const c = check_doubles(n * m + 1);
        float *const d = check_floats(count), *const e = check_floats(n * FLAT_ROW + 1), *const f = check_floats(n * FLAT_ROW + 1);
        long *const g = malloc((n * m + 1) * sizeof *g), *const h = calloc(n * m + 1, sizeof *h);
        float *const k = check_floats(p * q * n + 1), *const l = check_floats(p * q * n + 1), *const o = check_floats(p * q * n + 1);
        for (size_t k = 0; k < n * m; k++) g[k] = (long)(k % 89);
        star_in_columns((int)n, (int)m, (void *)a, (void *)b, (void *)c);
        flat_columns((int)n, d, (void *)e, (void *)f);
        check_record("f", f, n * FLAT_ROW * sizeof *f);
        flat_columns_of_parametric_rows((int)n, FLAT_ROW, d, (void *)f, (void *)e);
        columns_upside_down((int)n, (int)m, (void *)g, (void *)g, (void *)h);
        solid_columns((int)p, (int)q, (int)n, (void *)k, (void *)l, (void *)o);
        check_record("c", c, n * m * sizeof *c);
        check_record("e", e, n * FLAT_ROW * sizeof *e);
        check_record("h", h, n * m * sizeof *h);
        check_record("o", o, p * q * n * sizeof *o);
        free(a), free(b), free(c), free(d), free(e), free(f), free(g), free(h), free(k), free(l), free(o);
    }
}

// case filter: a sequence and its shifts, which rows of workers share
static void filter(int n, int m, const float h[m], const float x[n + m], float y[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            y[i] += h[k] * x[i + m - k];
}
CASE(filter)
{
    for (int each = 0; each < 50; each += 9) {
        const int n = 11 * each, m = each + 1;
        float *const h = check_floats(50), *const x = check_floats(600), *const y = check_floats(550);
        filter(n, m, h, x, y);
        check_record("y", y, 550 * sizeof *y);
        free(h), free(x), free(y);
    }
}

// case vectors: rows of whole vectors of 16 bytes, of which tiles have parts; in memory that begins with a vector, and between two
static void product_of_vectors(int n, int m, const float a[n][m], const float b[m][m], float c[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < m - 1; k++)
                c[i][j] += a[i][k] * b[k][j];
}
static void rows_of_vectors(int n, int m, const double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            b[i][j] = a[i][j] + a[i][j - 1] * a[i][j + 1] - a[i - 1][j] * a[i + 1][j];
}
static void later_vectors(int n, int m, const unsigned a[n][m], unsigned b[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n - 2; i++)
        for (int j = 0; j < m - 8; j++)
            b[i][j] = a[i - 1][j + 4] + 3 * a[i][j + 4] + a[i + 1][j + 6] + a[i + 2][j + 5];
}
static void turned_vectors(int n, int m, const long a[n][m], long b[m][n])
{
#pragma tilek kernel
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            b[i][j] = 2 - a[j][i];
}
CASE(vectors)
{
    for (int n = 36; n < 70; n += 31) {
        const int m = (n + 11) / 4 * 4;
        const size_t count = (size_t)n * (size_t)m, all = (size_t)m * (size_t)m + 1;
        float *const a = check_floats(all), *const b = check_floats(all), *const c = check_floats(all);
        double *const d = check_doubles(all), *const e = check_doubles(all);
        unsigned *const f = malloc(all * sizeof *f), *const g = calloc(all, sizeof *g);
        long *const h = malloc(all * sizeof *h), *const l = calloc(all, sizeof *l);
        for (size_t k = 0; k < all; k++)
            h[k] = (long)(k * k), f[k] = (unsigned)(k * 2654435761u);
        for (size_t from = 0; from < 2; from++) {
            product_of_vectors(n, m, (void *)(a + from), (void *)(b + from), (void *)c);
            rows_of_vectors(n, m, (void *)(d + from), (void *)e);
            later_vectors(n, m, (void *)(f + from), (void *)g);
            turned_vectors(n, m, (void *)(h + from), (void *)l);
            check_record("c", c, count * sizeof *c);
            check_record("e", e, count * sizeof *e);
            check_record("g", g, count * sizeof *g);
            check_record("l", l, count * sizeof *l);
        }
        free(a), free(b), free(c), free(d), free(e), free(f), free(g), free(h), free(l);
    }
}

// case pointers_to_rows: arrays whose rows lie anywhere, and sections that begin inside
static void pointers_to_rows(int n, int m, double **a, double **b)
{
#pragma tilek kernel
    for (int i = 2; i < n - 2; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[i - 2][j] + a[i][j] + a[i + 2][j] + a[i - 1][j];
}
CASE(pointers_to_rows)
{
    EACH_EXTENT(n) {
        const size_t m = n + 3;
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1);
        double **const rows = malloc((n + 1) * sizeof *rows), **const others = malloc((n + 1) * sizeof *others);
        for (size_t i = 0; i < n; i++) {
            rows[i] = a + (n - 1 - i) * m;
            others[i] = b + i * m;
        }
        pointers_to_rows((int)n, (int)m, rows, others);
        check_record("b", b, n * m * sizeof *b);
        free(a), free(b), free(rows), free(others);
    }
}

// case within: what is read under a condition is found in a box that other accesses make, or read where it is
static void within(int n, int m, const double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++) {
            double sum = a[i - 1][j] + a[i + 1][j] + 2 * a[i][j];
            if (i > 3)
                sum += a[i][j] * a[i - 3][j];
            b[i][j] = j > 0 ? sum + a[i - 1][j] * a[i][j - 1] : sum;
        }
}
CASE(within)
{
    EACH_EXTENT(n) {
        const size_t m = n + 2;
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1);
        within((int)n, (int)m, (void *)a, (void *)b);
        check_record("b", b, n * m * sizeof *b);
        free(a), free(b);
    }
}

// case guarded: what is read under a condition is not copied where nobody reads it
static void guarded(int n, int m, const double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double sum = a[i][j];
            if (i > 0)
                sum += a[i - 1][j];
            if (i < n - 1)
                sum += a[i + 1][j];
            b[i][j] = j > 0 ? sum + a[i][j - 1] : sum;
        }
}
CASE(guarded)
{
    EACH_EXTENT(n) {
        const size_t m = n + 2;
        double *const a = check_doubles(n * m + 1), *const b = check_doubles(n * m + 1);
        guarded((int)n, (int)m, (void *)a, (void *)b);
        check_record("b", b, n * m * sizeof *b);
        free(a), free(b);
    }
}

// case many_workers: as many workers as make the box larger than a gang's memory, which shows at the launch only
static void many_workers(int n, int m, int workers, const double a[n][m], const double x[m], double y[n])
{
    (void)workers; /* which the original does not know */
#pragma tilek kernel num_workers(workers)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[i] += a[i][j] * x[j];
}
CASE(many_workers)
{
    EACH_EXTENT(n) {
        const size_t m = n + 3;
        double *const a = check_doubles(n * m + 1), *const x = check_doubles(60), *const y = check_doubles(n + 1);
        many_workers((int)n, (int)m, 1024, (void *)a, x, y);
        check_record("y", y, n * sizeof *y);
        free(a), free(x), free(y);
    }
}

// case wide: a box that is larger than a gang's memory is read where it is
static void wide(int n, int m, const double a[n][m + 700], double b[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[i - 1][j] + a[i][j + 699] + a[i + 1][j + 100];
}
CASE(wide)
{
    EACH_EXTENT(n) {
        const size_t m = n + 2;
        double *const a = check_doubles(n * (m + 700) + 1), *const b = check_doubles(n * m + 1);
        wide((int)n, (int)m, (void *)a, (void *)b);
        check_record("b", b, n * m * sizeof *b);
        free(a), free(b);
    }
}

// case filters: tables of the file that all workers read alike beside tiles: integers at their ends, floats that are no short decimals
enum { TAPS = 3, BIAS = 'a' };
static const float taps[TAPS][TAPS] = {{1.0f / 3, -0.1, 1e-40f}, {BIAS, -0.0f, 16777217}, {0x1.8p-3f}};
const double bends[2 * TAPS] = {1.0 / 3, -2, 1e300 * 1e-310, 0.1f};
static const long long ends[2] = {-9223372036854775807LL - 1, 9223372036854775807LL};
static const int corners[2][2] = {{-2147483647 - 1, 2147483647}, {sizeof(int)}};
static const unsigned char bytes[TAPS] = {255, 'b'};
static const unsigned long words[2] = {18446744073709551615ul, 1};
static const short named[TAPS] = {[1] = 7, -5};
static const float elsewhere[4] = {0.5f, 1, 2, 3};
static const float rows_of_sixteen[16 * 16] = {1, 2, 3, 4.25f, 5, 6};

static void filters(int n, int m, const float a[n][m], float b[n][m], double c[n][m], long d[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) {
            float sum = 0;
            double bent = elsewhere[j % 4];
            long count = 0;
            for (int p = 0; p < TAPS; p++)
                for (int q = 0; q < TAPS; q++) {
                    sum += taps[p][q] * a[i + p - 1][j + q - 1];
                    bent += bends[2 * p + q % 2] + rows_of_sixteen[16 * p + q];
                    count += (ends[q % 2] >> p) + corners[p / 2][q / 2] / 2 + bytes[q] * named[p] + (long)(words[p / 2] >> 40);
                }
            {
                const int bytes = j;
                b[i][j] = sum, c[i][j] = bent, d[i][j] = count + bytes;
            }
        }
}
CASE(filters)
{
    EACH_EXTENT(n) {
        const size_t m = n + 5, all = n * m;
        float *const a = check_floats(all + 1), *const b = check_floats(all + 1);
        double *const c = check_doubles(all + 1);
        long *const d = calloc(all + 1, sizeof *d);
        filters((int)n, (int)m, (void *)a, (void *)b, (void *)c, (void *)d);
        check_record("b", b, all * sizeof *b);
        check_record("c", c, all * sizeof *c);
        check_record("d", d, all * sizeof *d);
        free(a), free(b), free(c), free(d);
    }
}

// case rows_of_a_table: a table in rows of a parameter's length, which is an argument
static const double long_table[9 * 9] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
static void rows_of_a_table(int n, int m, const double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[i][j] * long_table[(m % 9) * m + j];
}
CASE(rows_of_a_table)
{
    for (int n = 1; n < 9; n += 3) {
        const int m = 8;
        double *const a = check_doubles((size_t)(n * m)), *const b = check_doubles((size_t)(n * m));
        rows_of_a_table(n, m, (void *)a, (void *)b);
        check_record("b", b, (size_t)(n * m) * sizeof *b);
        free(a), free(b);
    }
}

// case one_iterator: one variable counts the neighbours on either side, in loops of other bounds and steps
static void one_iterator(long n, const double w[5], const double a[n][n], double b[n][n])
{
    long i, j;
    int k;
#pragma tilek kernel
    for (i = 2; i < n - 2; i++) {
        for (j = 2; j < n - 2; j++) {
            for (k = -2; k <= 2; k++)
                b[i][j] += w[k + 2] * a[i + k][j];
            for (k = -2; k < 0; k++)
                b[i][j] += w[k + 2] * a[i][j + k];
            for (k = 1; k <= 2; k++)
                b[i][j] += w[k + 2] * a[i][j + k];
            for (k = 0; k < 3; k++)
                b[i][j] += w[k] * a[i][j + k - 1];
        }
    }
}
CASE(one_iterator)
{
    const double w[5] = {0.5, 0.25, -1.0, 0.75, 2.0};
    for (size_t n = 5; n < 90; n += 17) {
        double *const a = check_doubles(n * n), *const b = check_doubles(n * n);
        one_iterator((long)n, w, (void *)a, (void *)b);
        check_record("b", b, n * n * sizeof *b);
        free(a), free(b);
    }
}

// case set_later: sums into elements whose place is in a variable that is declared without a value
static void set_later(int n, int m, float *restrict out, const float *restrict in, const float *restrict p)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        int c;
        for (int k = 0; k < m; k++) {
            c = 4 * i + k % 3;
            out[c] += in[i * m + k] * p[k];
        }
    }
}

CASE(set_later)
{
    for (int n = 1; n < 90; n += 44) {
        const size_t rows = (size_t)n, m = 61;
        float *const out = check_floats(4 * rows), *const in = check_floats(rows * m), *const p = check_floats(m);
        set_later(n, (int)m, out, in, p);
        check_record("out", out, 4 * rows * sizeof *out);
        free(out), free(in), free(p);
    }
}
