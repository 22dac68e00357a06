/* Sums that wait for themselves, several rows at a time on cores: full and partial tiles, and tiles inside wavefronts. */
#include "check.h"

enum { ROWS = 131, COLUMNS = 203 };

// case row_sums: fewer rows than a tile has, rows that it does not divide, no columns
static void row_sums(int n, int m, double s[n], double a[n][m], double x[m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            s[i] += a[i][j] * x[j];
}

CASE(row_sums)
{
    static const int sizes[][2] = {{ROWS, COLUMNS}, {64, 16}, {8, 7}, {7, 9}, {1, 1}, {9, 0}, {0, 9}};
    double *const a = check_doubles(ROWS * COLUMNS), *const x = check_doubles(COLUMNS);
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        double *const s = check_doubles(ROWS);
        row_sums(sizes[at][0], sizes[at][1], s, (double (*)[sizes[at][1]])a, x);
        check_record("s", s, ROWS * sizeof *s);
        free(s);
    }
    free(a);
    free(x);
}

// case product_and_transposed: both take turns on strips of the matrix's rows, the last of which is not full; the second uses the first's sums
static void product_and_transposed(int n, int m, double s[n], double t[m], double a[n][m], double x[m])
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                s[i] += a[i][j] * x[j];
        for (int j = 0; j < m; j++)
            for (int i = 0; i < n; i++)
                t[j] -= a[i][j] * s[i];
    }
}

CASE(product_and_transposed)
{
    static const int sizes[][2] = {{ROWS, COLUMNS}, {128, 16}, {64, 7}, {7, 9}, {1, 1}, {9, 0}, {0, 9}};
    double *const a = check_doubles(ROWS * COLUMNS), *const x = check_doubles(COLUMNS);
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        double *const s = check_doubles(ROWS), *const t = check_doubles(COLUMNS);
        product_and_transposed(sizes[at][0], sizes[at][1], s, t, (double (*)[sizes[at][1]])a, x);
        check_record("s", s, ROWS * sizeof *s);
        check_record("t", t, COLUMNS * sizeof *t);
        free(s);
        free(t);
    }
    free(a);
    free(x);
}

// case triangle_sums: rows of different lengths, one after another downwards, elements of a matrix
static void triangle_sums(int n, float s[n][3], float a[n][n], float x[n])
{
#pragma tilek kernel
    for (int i = n - 2; i >= 1; i--)
        for (int j = i; j < n; j++)
            s[i][1] -= a[i][j] * x[j];
}

CASE(triangle_sums)
{
    float *const a = check_floats(ROWS * ROWS), *const x = check_floats(ROWS), *const s = check_floats(ROWS * 3);
    triangle_sums(ROWS, (float (*)[3])s, (float (*)[ROWS])a, x);
    check_record("s", s, ROWS * 3 * sizeof *s);
    free(a);
    free(x);
    free(s);
}

// case overlapping_sums (a check fails): what is summed up lies in the matrix, so that the loops run as written
static void overlapping_sums(int n, int m, double *s, double a[n][m], double *x)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            s[i] += a[i][j] * x[j];
}

CASE(overlapping_sums)
{
    double *const a = check_doubles(ROWS * COLUMNS);
    overlapping_sums(24, 40, a + 3, (double (*)[40])a, a + 80);
    check_record("a", a, ROWS * COLUMNS * sizeof *a);
    free(a);
}

// case forward_substitution: each element waits for all before it; several tiles of either row, and one that is not full
static void forward_substitution(int n, double l[n][n], double x[n], double b[n])
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++) {
            x[i] = b[i];
            for (int j = 0; j < i; j++)
                x[i] -= l[i][j] * x[j];
            x[i] = x[i] / (2.0 + l[i][i]);
        }
    }
}

CASE(forward_substitution)
{
    enum { MOST = 531 };
    static const int sizes[] = {MOST, 512, 65, 9, 3, 1, 0};
    double *const l = check_doubles(MOST * MOST), *const b = check_doubles(MOST);
    for (int at = 0; at < MOST * MOST; ++at)
        l[at] /= 512.0;
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        double *const x = check_doubles(MOST);
        forward_substitution(sizes[at], (double (*)[sizes[at]])l, x, b);
        check_record("x", x, MOST * sizeof *x);
        free(x);
    }
    free(l);
    free(b);
}

// case factorisation: rows and columns in registers where a tile of updates has no pivot
static void factorisation(int n, double a[n][n])
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) {
                for (int k = 0; k < j; k++)
                    a[i][j] -= a[i][k] * a[k][j];
                a[i][j] /= a[j][j];
            }
            for (int j = i; j < n; j++)
                for (int k = 0; k < i; k++)
                    a[i][j] -= a[i][k] * a[k][j];
        }
    }
}

CASE(factorisation)
{
    enum { MOST = 301 };
    static const int sizes[] = {MOST, 130, 33, 8, 2};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at];
        double *const a = check_doubles(MOST * MOST);
        for (int i = 0; i < n; ++i)
            a[i * n + i] += 1000.0 * n;
        factorisation(n, (double (*)[n])a);
        check_record("a", a, MOST * MOST * sizeof *a);
        free(a);
    }
}

// case strips: two sweeps over the rows of a matrix, the one for a product's element, the other for all of another's
static void strips(int m, int n, double a[m][n], const double *x, double *y, double *t)
{
#pragma tilek kernel
    for (int i = 1; i <= m - 1; i++) {
        t[i] = 0;
        for (int j = 0; j < n; j++)
            t[i] += a[i][j] * x[j];
        for (int j = 0; j < n; j++)
            y[j] += a[i][j] * t[i];
    }
}

CASE(strips)
{
    static const int sizes[][2] = {{1, 7}, {2, 1}, {33, 40}, {34, 5}, {101, 67}};
    for (int s = 0; s < 5; s++) {
        const int m = sizes[s][0], n = sizes[s][1];
        double *const a = check_doubles((size_t)m * n), *const x = check_doubles(n), *const y = check_doubles(n), *const t = check_doubles(m);
        strips(m, n, (void *)a, x, y, t);
        check_record("y", y, n * sizeof *y);
        check_record("t", t, m * sizeof *t);
        free(a);
        free(x);
        free(y);
        free(t);
    }
}

// case counted_keys: sums of integers into elements that data choose, with enough iterations for copies of the array and with too few
enum { BINS = 40, FEATURES = 3 };

static unsigned char bytes[64];
static long totals[BINS][FEATURES];

static int nearest(const int *feature) { return (feature[0] * 7 + feature[2]) % BINS; }

static void counted_keys(
    int n, const int feature[restrict n][FEATURES], int *restrict member, int counts[restrict BINS],
    unsigned bins[restrict 64], unsigned short marks[restrict BINS])
{
    int i, j, index;
#pragma tilek kernel
    for (i = 0; i < n; i++) {
        index = nearest(feature[i]);
        member[i] = index;
        counts[index]++;
        for (j = 0; j < FEATURES; j++)
            totals[index][j] += feature[i][j];
    }
#pragma tilek kernel
    for (int t = 0; t < 2; t++) {
        for (int k = 1; k <= n; k++)
            if (feature[k - 1][t] % 3 != 0)
                bins[(feature[k - 1][t] + 5 * t) & 63] -= 3;
        for (int b = 0; b < 64; b++)
            bytes[b] += bins[b];
    }
#pragma tilek kernel
    {
        for (int k = 0; k < n; k++)
            marks[feature[k][1] % BINS] ^= k;
        for (int k = 0; k < n; k++)
            bytes[feature[k][1] & 63] = bytes[feature[k][1] & 63] * 3;
    }
}

CASE(counted_keys)
{
    static const int sizes[] = {0, 1, 300, 20011};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at];
        int(*const feature)[FEATURES] = malloc(((size_t)n + 1) * sizeof *feature);
        int *const member = (int *)check_floats((size_t)n + 1), counts[BINS] = {0};
        unsigned bins[64] = {0};
        unsigned short marks[BINS] = {0};
        unsigned state = 5;
        for (int i = 0; i < n * FEATURES; ++i) {
            state = state * 1664525 + 1013904223;
            feature[i / FEATURES][i % FEATURES] = state >> 12;
        }
        counted_keys(n, (const int (*)[FEATURES])feature, member, counts, bins, marks);
        check_record("member", member, (size_t)n * sizeof *member);
        check_record("counts", counts, sizeof counts);
        check_record("totals", totals, sizeof totals);
        check_record("bins", bins, sizeof bins);
        check_record("bytes", bytes, sizeof bytes);
        check_record("marks", marks, sizeof marks);
        free(feature);
        free(member);
    }
}

// case clause_sums: sums and products of floating-point numbers that are exact in any order, in copies that clauses ask for
#define WEIGHTS (BINS / 2)

struct sums {
    int bins;
    double *total;
};

static void clause_sums(
    int n, const int *restrict place, struct sums *into, float *restrict weight, double *restrict column)
{
#pragma tilek kernel reduction(+: into->total[0:into->bins], weight[0:WEIGHTS]) independent
    for (int i = 0; i < n; i++) {
        into->total[place[i]] += 0.25 * place[i];
        weight[place[i] / 2] -= 0.5f;
    }
#pragma tilek kernel
#pragma tilek loop reduction(+: column[0:7])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 7; j++)
            column[j] += place[i] * j;
#pragma tilek kernel reduction(*: column[:7])
    for (int i = n; i > 0; i--)
        column[place[i - 1] % 7] *= i % 2000 == 0 ? 0.5 : 1;
}

CASE(clause_sums)
{
    static const int sizes[] = {0, 300, 7013};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
        const int n = sizes[at];
        int *const place = malloc(((size_t)n + 1) * sizeof *place);
        double total[BINS] = {0}, column[7] = {0, 1, -0.0};
        float weight[WEIGHTS] = {0};
        struct sums into = {BINS, total};
        for (int i = 0; i < n; ++i)
            place[i] = i * 31 % BINS;
        clause_sums(n, place, &into, weight, column);
        check_record("total", total, sizeof total);
        check_record("column", column, sizeof column);
        check_record("weight", weight, sizeof weight);
        free(place);
    }
}
