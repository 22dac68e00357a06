/* Factorisations, closures, recurrences over tables, under `#pragma tilek kernel` alone: triangular and imperfect nests whose
 * parallelism shrinks, moves, or runs along diagonals. */
#include "check.h"

static const int extents[] = {0, 1, 2, 13, 29};
#define EACH_EXTENT(n) for (size_t place_ = 0, n = 0; place_ < sizeof extents / sizeof extents[0] && (n = (size_t)extents[place_], 1); ++place_)

/* A matrix that can be divided by its pivots: a dominant diagonal, symmetric in its lower triangle by being read there only. */
static double *dominant(size_t n)
{
    double *const values = check_doubles(n * n);
    for (size_t i = 0; i < n; i++)
        values[i * n + i] += (double)n;
    return values;
}

// case lu: right-looking, row by row (left-looking) as a sum that is subtracted, and with the pivot's reciprocal in a scalar
static void lu_right(int n, double a[n][n])
{
    int k, i, j;
#pragma tilek kernel
    for (k = 0; k < n; k++) {
        for (i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
        for (i = k + 1; i < n; i++)
            for (j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}
static void lu_left(int n, double a[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[k][j];
            a[i][j] = a[i][j] / a[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}
static void lu_reciprocal(int n, double a[n][n])
{
    double pivot;
#pragma tilek kernel
    for (int k = 0; k < n; k++) {
        pivot = 1.0 / a[k][k];
        for (int i = k + 1; i < n; i++) {
            const double factor = a[i][k] * pivot;
            a[i][k] = factor;
            for (int j = k + 1; j < n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
}

CASE(lu)
{
    void (*const ways[])(int, double[*][*]) = {lu_right, lu_left, lu_reciprocal};
    for (size_t way = 0; way < 3; way++) {
        EACH_EXTENT(n) {
            double *const a = dominant(n);
            ways[way]((int)n, (void *)a);
            check_record("a", a, n * n * sizeof *a);
            free(a);
        }
    }
}

// case cholesky: the lower triangle, by rows and by columns
static void cholesky_rows(int n, double a[n][n])
{
    int i, j, k;
#pragma tilek kernel
    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) {
            for (k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
        for (k = 0; k < i; k++)
            a[i][i] -= a[i][k] * a[i][k];
        a[i][i] = sqrt(a[i][i]);
    }
}
static void cholesky_columns(int n, double a[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++) {
        a[k][k] = sqrt(a[k][k]);
        for (int i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
        for (int j = k + 1; j < n; j++)
            for (int i = j; i < n; i++)
                a[i][j] -= a[i][k] * a[j][k];
    }
}

CASE(cholesky)
{
    EACH_EXTENT(n) {
        double *const a = dominant(n), *const b = dominant(n);
        cholesky_rows((int)n, (void *)a);
        check_record("rows", a, n * n * sizeof *a);
        cholesky_columns((int)n, (void *)b);
        check_record("columns", b, n * n * sizeof *b);
        free(a);
        free(b);
    }
}

// case polynomial: products of polynomials; by pairs of coefficients, and by coefficients of the product under two guards
static void polynomial_pairs(int n, const int *a, const int *b, int *c)
{
#pragma tilek kernel
    {
        for (int p = 0; p < 2 * n - 1; p++)
            c[p] = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                c[i + j] += a[i] * b[j];
    }
}
static void polynomial_guarded(int n, const double *a, const double *b, double *c)
{
#pragma tilek kernel
    for (int p = 0; p <= 2 * n - 2; p++) {
        c[p] = 0.0;
        for (int t = 0; t < n; t++)
            if (p - t >= 0 && p - t < n)
                c[p] += a[t] * b[p - t];
    }
}
static void polynomial_bounds(int n, const double *a, const double *b, double *c)
{
#pragma tilek kernel
    for (int p = 0; p < 2 * n - 1; p++) {
        double sum = 0.0;
        for (int t = (p < n ? 0 : p - n + 1); t <= (p < n ? p : n - 1); t++)
            sum += a[n - 1 - t] * b[p - t];
        c[p] = sum;
    }
}

CASE(polynomial)
{
    EACH_EXTENT(extent) {
        const size_t n = 3 * extent + 1;
        int *const a = check_ints(n), *const b = check_ints(2 * n), *const c = check_ints(2 * n);
        double *const x = check_doubles(n), *const y = check_doubles(2 * n), *const z = check_doubles(2 * n);
        polynomial_pairs((int)n, a, b + n, c);
        check_record("pairs", c, 2 * n * sizeof *c);
        polynomial_guarded((int)n, x, y + n, z);
        check_record("guarded", z, 2 * n * sizeof *z);
        polynomial_bounds((int)n, x, y, z);
        check_record("bounds", z, 2 * n * sizeof *z);
        free(a);
        free(b);
        free(c);
        free(x);
        free(y);
        free(z);
    }
}

// case pascal: each element from the ones above and to its left, in unsigned arithmetic and in a triangle
static void pascal_square(int n, int m, unsigned c[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int k = 1; k < m; k++)
            c[i][k] = c[i - 1][k] + c[i][k - 1];
}
static void pascal_triangle(int n, unsigned c[n][n])
{
    int i, k;
#pragma tilek kernel
    for (i = 0; i < n; i++) {
        c[i][0] = 1;
        for (k = 1; k < i; k++)
            c[i][k] = c[i - 1][k - 1] + c[i - 1][k];
        c[i][i] = 1;
    }
}

CASE(pascal)
{
    EACH_EXTENT(n) {
        const size_t m = 2 * n + 3;
        unsigned *const square = (unsigned *)check_ints(n * m), *const triangle = (unsigned *)check_ints(n * n);
        pascal_square((int)n, (int)m, (void *)square);
        check_record("square", square, n * m * sizeof *square);
        pascal_triangle((int)n, (void *)triangle);
        check_record("triangle", triangle, n * n * sizeof *triangle);
        free(square);
        free(triangle);
    }
}

// case floyd_warshall: shortest paths, and which nodes reach which
static void shortest(int n, int path[n][n])
{
    int i, j, k;
#pragma tilek kernel
    for (k = 0; k < n; k++)
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++)
                path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
}
static void reaches(int n, unsigned char edge[n][n])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                edge[i][j] = edge[i][j] || (edge[i][k] && edge[k][j]);
}

CASE(floyd_warshall)
{
    EACH_EXTENT(n) {
        int *const path = check_ints(n * n);
        unsigned char *const edge = check_allocate(n * n, 1);
        for (size_t k = 0; k < n * n; k++) {
            edge[k] = path[k] % 11 == 0;
            path[k] = path[k] * path[k] + 1;
        }
        shortest((int)n, (void *)path);
        check_record("path", path, n * n * sizeof *path);
        reaches((int)n, (void *)edge);
        check_record("edge", edge, n * n);
        free(path);
        free(edge);
    }
}

// case alignment: local alignment of two sequences with integer scores, and its global cousin with a gap row
#define GREATER(x, y) ((x) > (y) ? (x) : (y))
static void local_alignment(int n, int m, const signed char *left, const signed char *right, int score[n + 1][m + 1])
{
#pragma tilek kernel
    {
        for (int i = 0; i <= n; i++)
            score[i][0] = 0;
        for (int j = 0; j <= m; j++)
            score[0][j] = 0;
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= m; j++) {
                const int along = score[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 5 : -3);
                const int gap = GREATER(score[i - 1][j], score[i][j - 1]) - 4;
                score[i][j] = GREATER(0, GREATER(along, gap));
            }
    }
}
static void global_alignment(int n, int m, const signed char *left, const signed char *right, int score[n + 1][m + 1])
{
    int i, j;
#pragma tilek kernel
    {
        for (i = n; i >= 0; i--)
            score[i][m] = -2 * (n - i);
        for (j = m; j >= 0; j--)
            score[n][j] = -2 * (m - j);
        for (i = n - 1; i >= 0; i--)
            for (j = m - 1; j >= 0; j--) {
                score[i][j] = score[i + 1][j + 1] + (left[i] == right[j] ? 3 : -1);
                if (score[i + 1][j] - 2 > score[i][j])
                    score[i][j] = score[i + 1][j] - 2;
                if (score[i][j + 1] - 2 > score[i][j])
                    score[i][j] = score[i][j + 1] - 2;
            }
    }
}

CASE(alignment)
{
    EACH_EXTENT(n) {
        const size_t m = n + n / 2 + 1, count = (n + 1) * (m + 1);
        signed char *const left = check_allocate(n, 1), *const right = check_allocate(m, 1);
        int *const score = check_ints(count), *const other = check_ints(count);
        for (size_t k = 0; k < n; k++)
            left[k] = (signed char)(check_random(k) % 4);
        for (size_t k = 0; k < m; k++)
            right[k] = (signed char)(check_random(k + 1000) % 4);
        local_alignment((int)n, (int)m, left, right, (void *)score);
        check_record("local", score, count * sizeof *score);
        global_alignment((int)n, (int)m, left, right, (void *)other);
        check_record("global", other, count * sizeof *other);
        free(left);
        free(right);
        free(score);
        free(other);
    }
}

// case reversal: an array turned round in place, and into another one
static void reverse(int n, float *a, float *b)
{
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            b[n - 1 - i] = a[i];
        for (int i = 0; i < n / 2; i++) {
            const float kept = a[i];
            a[i] = a[n - 1 - i];
            a[n - 1 - i] = kept;
        }
    }
}

CASE(reversal)
{
    EACH_EXTENT(extent) {
        const size_t n = 31 * extent;
        float *const a = check_floats(n), *const b = check_floats(n + 1);
        reverse((int)n, a, b);
        check_record("a", a, n * sizeof *a);
        check_record("b", b, (n + 1) * sizeof *b);
        free(a);
        free(b);
    }
}

// case products: matrix by matrix, by vector, by transposed vector, and a triangle solved
static void products(int n, int m, int p, double a[n][p], double b[p][m], double c[n][m], double *x, double *y)
{
    int i, j, k;
#pragma tilek kernel
    {
        for (i = 0; i < n; i++)
            for (j = 0; j < m; j++) {
                c[i][j] *= 0.5;
                for (k = 0; k < p; k++)
                    c[i][j] += 1.5 * a[i][k] * b[k][j];
            }
        for (i = 0; i < n; i++)
            for (k = 0; k < p; k++)
                x[i] += a[i][k] * y[k];
        for (i = 0; i < n; i++)
            for (k = 0; k < p; k++)
                y[k] = y[k] + a[i][k] * x[i];
    }
}
static void solve(int n, double a[n][n], double *x)
{
#pragma tilek kernel
    for (int i = n - 1; i >= 0; i--) {
        for (int j = n - 1; j > i; j--)
            x[i] -= a[i][j] * x[j];
        x[i] = x[i] / a[i][i];
    }
}

CASE(products)
{
    EACH_EXTENT(n) {
        const size_t m = n + 2, p = n + 5;
        double *const a = check_doubles(n * p), *const b = check_doubles(p * m), *const c = check_doubles(n * m);
        double *const x = check_doubles(n), *const y = check_doubles(p), *const square = dominant(n);
        products((int)n, (int)m, (int)p, (void *)a, (void *)b, (void *)c, x, y);
        solve((int)n, (void *)square, x);
        check_record("c", c, n * m * sizeof *c);
        check_record("x", x, n * sizeof *x);
        check_record("y", y, p * sizeof *y);
        free(a);
        free(b);
        free(c);
        free(x);
        free(y);
        free(square);
    }
}

// case idioms: an iteration that `continue` ends, a macro of several statements, an array of each iteration's own
struct particle {
    double place[2], mass;
};
static void attract(int n, const struct particle *restrict p, double (*restrict a)[2])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i][0] = a[i][1] = 0.0;
        for (int j = 0; j < n; j++) {
            if (i == j)
                continue;
            const double dx = p[j].place[0] - p[i].place[0], dy = p[j].place[1] - p[i].place[1];
            const double square = dx * dx + dy * dy + 1e-3;
            if (square > 2.0) {
                a[i][0] += 1e-6;
                continue;
            }
            a[i][0] += p[j].mass * dx / square;
            a[i][1] += p[j].mass * dy / square;
        }
    }
}
#define SWAP(type, x, y) do { const type kept = (x); (x) = (y); (y) = kept; } while (0)
static void transpose(unsigned n, unsigned char *a)
{
#pragma tilek kernel
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < i; j++)
            SWAP(unsigned char, a[i * n + j], a[j * n + i]);
}
static void median(int n, const unsigned char *restrict a, unsigned char *restrict b)
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            unsigned char near[9];
            int count = 0;
            for (int y = -1; y <= 1; y++)
                for (int x = -1; x <= 1; x++)
                    near[count++] = a[(i + y) * n + j + x];
            for (int k = 1; k < 9; k++) {
                const unsigned char value = near[k];
                int place = k - 1;
                while (place >= 0 && near[place] > value) {
                    near[place + 1] = near[place];
                    place--;
                }
                near[place + 1] = value;
            }
            b[i * n + j] = near[4];
        }
}

CASE(idioms)
{
    EACH_EXTENT(n) {
        double *const p = check_doubles(3 * n), *const a = check_doubles(2 * n);
        unsigned char *const square = check_allocate(n * n, 1), *const middle = check_allocate(n * n, 1);
        for (size_t k = 0; k < n * n; k++)
            square[k] = (unsigned char)check_random(k);
        median((int)n, square, middle);
        check_record("middle", middle, n * n);
        attract((int)n, (void *)p, (void *)a);
        check_record("a", a, 2 * n * sizeof *a);
        transpose((unsigned)n, square);
        check_record("square", square, n * n);
        free(p);
        free(a);
        free(square);
        free(middle);
    }
}

// case jammed_rows: tridiagonal systems, a row each: rows side by side, those left over by themselves
static void tridiagonal(int m, int n, double (*below)[n], double (*right)[n], double (*ratio)[n], double (*x)[n], double *sum)
{
    int i, j;
#pragma tilek kernel
    for (i = 1; i <= m; i++) {
        ratio[i][0] = 0.25;
        x[i][0] = right[i][0];
        for (j = 1; j < n; j++) {
            double pivot = 4 + below[i][j] * ratio[i][j - 1];
            ratio[i][j] = below[i][j] / pivot;
            x[i][j] = (right[i][j] - below[i][j] * x[i][j - 1]) / pivot;
        }
        for (j = n - 2; j >= 0; j--)
            x[i][j] = x[i][j] - ratio[i][j] * x[i][j + 1];
        sum[i] = x[i][0];
        for (j = 1; j < n; j++)
            right[i][j] = x[i][j] + below[i][j];
    }
}

CASE(jammed_rows)
{
    static const int sizes[][2] = {{0, 5}, {1, 1}, {3, 7}, {4, 2}, {9, 6}, {30, 33}, {71, 40}};
    for (int s = 0; s < 7; s++) {
        const int m = sizes[s][0], n = sizes[s][1];
        const size_t count = (size_t)(m + 1) * n;
        double *const below = check_doubles(count), *const right = check_doubles(count), *const ratio = check_doubles(count);
        double *const x = check_doubles(count), *const sum = check_doubles(m + 1);
        tridiagonal(m, n, (void *)below, (void *)right, (void *)ratio, (void *)x, sum);
        check_record("ratio", ratio, count * sizeof *ratio);
        check_record("right", right, count * sizeof *right);
        check_record("x", x, count * sizeof *x);
        check_record("sum", sum, (m + 1) * sizeof *sum);
        free(below);
        free(right);
        free(ratio);
        free(x);
        free(sum);
    }
}
