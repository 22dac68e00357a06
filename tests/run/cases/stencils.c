/* Stencils under `#pragma tilek kernel` alone: the time loop stands inside, so that the engine must see what it carries. Sizes divide
 * nothing; data are random, since smooth ones hide mistakes. */
#include "check.h"

static const int extents[] = {0, 1, 2, 9, 23};
#define EACH_EXTENT(n) for (size_t place_ = 0, n = 0; place_ < sizeof extents / sizeof extents[0] && (n = (size_t)extents[place_], 1); ++place_)

#define CUBE [n][n + 2][n + 1]

/* Sums over the neighbours up to a distance, along one axis that AT(distance) goes along. */
#define NEAR1(AT) (AT(-1) + AT(1))
#define NEAR2(AT) (NEAR1(AT) + AT(-2) + AT(2))
#define NEAR3(AT) (NEAR2(AT) + AT(-3) + AT(3))
#define NEAR4(AT) (NEAR3(AT) + AT(-4) + AT(4))
#define LINE(d) a[i + (d)]
#define DOWN(d) a[i + (d)][j]
#define ALONG(d) a[i][j + (d)]
#define DOWN_3(d) a[i + (d)][j][k]
#define ALONG_3(d) a[i][j + (d)][k]
#define DEEP_3(d) a[i][j][k + (d)]

// case jacobi_1d: orders 1 to 4 on a line, there and back
static void jacobi_1d_1(int steps, int n, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.3 * a[i] + 0.35 * NEAR1(LINE);
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}
static void jacobi_1d_2(int steps, int n, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            b[i] = 0.2 * a[i] + 0.2 * NEAR2(LINE);
        for (int i = 2; i < n - 2; i++)
            a[i] = 0.5 * b[i] + 0.5 * b[i - 1];
    }
}
static void jacobi_1d_3(int steps, int n, double *a, double *b)
{
    int t, i;
#pragma tilek kernel
    for (t = 0; t < steps; t++) {
        for (i = 3; i < n - 3; i++)
            b[i] = 0.1 * a[i] + 0.15 * NEAR3(LINE);
        for (i = n - 4; i >= 3; i--)
            a[i] = b[i];
    }
}
static void jacobi_1d_4(int steps, int n, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 4; i <= n - 5; i++)
            b[i] = 0.2 * a[i] + 0.1 * NEAR4(LINE);
        for (int i = 4; i <= n - 5; i++)
            a[i] = b[i];
    }
}

CASE(jacobi_1d)
{
    void (*const orders[])(int, int, double *, double *) = {jacobi_1d_1, jacobi_1d_2, jacobi_1d_3, jacobi_1d_4};
    for (size_t order = 0; order < 4; order++) {
        EACH_EXTENT(n) {
            const size_t count = 5 * n + 2;
            double *const a = check_doubles(count), *const b = check_doubles(count);
            orders[order](7, (int)count, a, b);
            check_record("a", a, count * sizeof *a);
            check_record("b", b, count * sizeof *b);
            free(a);
            free(b);
        }
    }
}

// case jacobi_2d: orders 1 to 4 in the plane
static void jacobi_2d_1(int steps, int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                b[i][j] = 0.2f * (a[i][j] + NEAR1(DOWN) + NEAR1(ALONG));
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = b[i][j];
    }
}
static void jacobi_2d_2(int steps, int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++)
                b[i][j] = 0.1f * (a[i][j] + NEAR2(DOWN) + NEAR2(ALONG));
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++)
                a[i][j] = b[i][j];
    }
}
static void jacobi_2d_3(int steps, int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 3; i < n - 3; i++)
            for (int j = 3; j < m - 3; j++)
                b[i][j] = 0.07f * (a[i][j] + NEAR3(DOWN) + NEAR3(ALONG));
        for (int j = 3; j < m - 3; j++)
            for (int i = 3; i < n - 3; i++)
                a[i][j] = b[i][j];
    }
}
static void jacobi_2d_4(int steps, int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 4; i < n - 4; i++)
            for (int j = 4; j < m - 4; j++)
                b[i][j] = 0.05f * (a[i][j] + NEAR4(DOWN) + NEAR4(ALONG));
        for (int i = 4; i < n - 4; i++)
            for (int j = 4; j < m - 4; j++)
                a[i][j] = 0.25f * b[i][j] + 0.5f * b[i - 1][j] + 0.25f * b[i][j + 1];
    }
}

CASE(jacobi_2d)
{
    EACH_EXTENT(n) {
        const size_t m = n + 4;
        for (int order = 1; order <= 4; order++) {
            float *const a = check_floats(n * m), *const b = check_floats(n * m);
            void (*const run)(int, int, int, float[*][*], float[*][*]) = order == 1   ? jacobi_2d_1
                                                                         : order == 2 ? jacobi_2d_2
                                                                         : order == 3 ? jacobi_2d_3
                                                                                      : jacobi_2d_4;
            run(5, (int)n, (int)m, (void *)a, (void *)b);
            check_record("a", a, n * m * sizeof *a);
            check_record("b", b, n * m * sizeof *b);
            free(a);
            free(b);
        }
    }
}

// case jacobi_3d: orders 1 to 4 in space
static void jacobi_3d_1(int steps, int n, double a CUBE, double b CUBE)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n + 1; j++)
                for (int k = 1; k < n; k++)
                    b[i][j][k] = 0.14 * (a[i][j][k] + NEAR1(DOWN_3) + NEAR1(ALONG_3) + NEAR1(DEEP_3));
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n + 1; j++)
                for (int k = 1; k < n; k++)
                    a[i][j][k] = b[i][j][k];
    }
}
static void jacobi_3d_2(int steps, int n, double a CUBE, double b CUBE)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n; j++)
                for (int k = 2; k < n - 1; k++)
                    b[i][j][k] = 0.07 * (a[i][j][k] + NEAR2(DOWN_3) + NEAR2(ALONG_3) + NEAR2(DEEP_3));
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n; j++)
                for (int k = 2; k < n - 1; k++)
                    a[i][j][k] = b[i][j][k];
    }
}
static void jacobi_3d_3(int steps, int n, double a CUBE, double b CUBE)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 3; i < n - 3; i++)
            for (int j = 3; j < n - 1; j++)
                for (int k = 3; k < n - 2; k++)
                    b[i][j][k] = 0.05 * (a[i][j][k] + NEAR3(DOWN_3) + NEAR3(ALONG_3) + NEAR3(DEEP_3));
        for (int i = 3; i < n - 3; i++)
            for (int j = 3; j < n - 1; j++)
                for (int k = 3; k < n - 2; k++)
                    a[i][j][k] = b[i][j][k];
    }
}
static void jacobi_3d_4(int steps, int n, double a CUBE, double b CUBE)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 4; i < n - 4; i++)
            for (int j = 4; j < n - 2; j++)
                for (int k = 4; k < n - 3; k++)
                    b[i][j][k] = 0.04 * (a[i][j][k] + NEAR4(DOWN_3) + NEAR4(ALONG_3) + NEAR4(DEEP_3));
        for (int i = 4; i < n - 4; i++)
            for (int j = 4; j < n - 2; j++)
                for (int k = 4; k < n - 3; k++)
                    a[i][j][k] = b[i][j][k];
    }
}

CASE(jacobi_3d)
{
    static const int sides[] = {1, 4, 11};
    for (size_t side = 0; side < 3; side++) {
        const int n = sides[side];
        const size_t count = (size_t)n * (size_t)(n + 2) * (size_t)(n + 1);
        for (int order = 1; order <= 4; order++) {
            double *const a = check_doubles(count), *const b = check_doubles(count);
            if (order == 1)
                jacobi_3d_1(3, n, (void *)a, (void *)b);
            else if (order == 2)
                jacobi_3d_2(3, n, (void *)a, (void *)b);
            else if (order == 3)
                jacobi_3d_3(3, n, (void *)a, (void *)b);
            else
                jacobi_3d_4(3, n, (void *)a, (void *)b);
            check_record("a", a, count * sizeof *a);
            check_record("b", b, count * sizeof *b);
            free(a);
            free(b);
        }
    }
}

// case gauss_seidel: in place on a line, in the plane (five and nine points) and in space: wavefronts only
static void seidel_1d(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0f;
}
static void seidel_2d(int steps, int n, int m, double a[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = 0.2 * (a[i][j] + NEAR1(DOWN) + NEAR1(ALONG));
}
static void seidel_9(int steps, int n, int m, double a[n][m])
{
    int t, i, j;
#pragma tilek kernel
    for (t = 0; t <= steps - 1; t++)
        for (i = 1; i <= n - 2; i++)
            for (j = 1; j <= m - 2; j++)
                a[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j - 1] +
                           a[i + 1][j] + a[i + 1][j + 1]) / 9.0;
}
static void seidel_3d(int steps, int n, double a CUBE)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n + 1; j++)
                for (int k = 1; k < n; k++)
                    a[i][j][k] = 0.14 * (a[i][j][k] + NEAR1(DOWN_3) + NEAR1(ALONG_3) + NEAR1(DEEP_3));
}

CASE(gauss_seidel)
{
    EACH_EXTENT(n) {
        const size_t m = n + 6, cube = n * (n + 2) * (n + 1);
        float *const line = check_floats(7 * n);
        double *const five = check_doubles(n * m), *const nine = check_doubles(n * m), *const space = check_doubles(cube);
        seidel_1d(9, 7 * (int)n, line);
        check_record("line", line, 7 * n * sizeof *line);
        seidel_2d(6, (int)n, (int)m, (void *)five);
        check_record("five", five, n * m * sizeof *five);
        seidel_9(5, (int)n, (int)m, (void *)nine);
        check_record("nine", nine, n * m * sizeof *nine);
        seidel_3d(3, (int)n, (void *)space);
        check_record("space", space, cube * sizeof *space);
        free(line);
        free(five);
        free(nine);
        free(space);
    }
}

// case fdtd: electric and magnetic fields in the plane, four nests in the time loop
static void fdtd(int steps, int n, int m, double ex[n][m], double ey[n][m], double hz[n][m], const double *pulse)
{
    int t, i, j;
#pragma tilek kernel
    for (t = 0; t < steps; t++) {
        for (j = 0; j < m; j++)
            ey[0][j] = pulse[t];
        for (i = 1; i < n; i++)
            for (j = 0; j < m; j++)
                ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (i = 0; i < n; i++)
            for (j = 1; j < m; j++)
                ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (i = 0; i < n - 1; i++)
            for (j = 0; j < m - 1; j++)
                hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

CASE(fdtd)
{
    EACH_EXTENT(n) {
        if (n == 0)
            continue;
        const size_t m = n + 3;
        double *const ex = check_doubles(n * m), *const ey = check_doubles(n * m), *const hz = check_doubles(n * m);
        double *const pulse = check_doubles(11);
        fdtd(11, (int)n, (int)m, (void *)ex, (void *)ey, (void *)hz, pulse);
        check_record("ex", ex, n * m * sizeof *ex);
        check_record("ey", ey, n * m * sizeof *ey);
        check_record("hz", hz, n * m * sizeof *hz);
        free(ex);
        free(ey);
        free(hz);
        free(pulse);
    }
}

// case heat: in one, two and three dimensions, from one array to the other and back in one step of time
static void heat_1d(int steps, int n, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.125 * (a[i + 1] - 2.0 * a[i] + a[i - 1]) + a[i];
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.125 * (b[i + 1] - 2.0 * b[i] + b[i - 1]) + b[i];
    }
}
static void heat_2d(int steps, int n, int m, float a[2][n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[(t + 1) % 2][i][j] = 0.125f * (a[t % 2][i + 1][j] - 2.0f * a[t % 2][i][j] + a[t % 2][i - 1][j]) +
                                       0.125f * (a[t % 2][i][j + 1] - 2.0f * a[t % 2][i][j] + a[t % 2][i][j - 1]) + a[t % 2][i][j];
}
static void heat_3d(int steps, int n, double a CUBE, double b CUBE)
{
#pragma tilek kernel
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n + 1; j++)
                for (int k = 1; k < n; k++)
                    b[i][j][k] = 0.125 * (a[i + 1][j][k] - 2.0 * a[i][j][k] + a[i - 1][j][k]) +
                                 0.125 * (a[i][j + 1][k] - 2.0 * a[i][j][k] + a[i][j - 1][k]) +
                                 0.125 * (a[i][j][k + 1] - 2.0 * a[i][j][k] + a[i][j][k - 1]) + a[i][j][k];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n + 1; j++)
                for (int k = 1; k < n; k++)
                    a[i][j][k] = 0.125 * (b[i + 1][j][k] - 2.0 * b[i][j][k] + b[i - 1][j][k]) +
                                 0.125 * (b[i][j + 1][k] - 2.0 * b[i][j][k] + b[i][j - 1][k]) +
                                 0.125 * (b[i][j][k + 1] - 2.0 * b[i][j][k] + b[i][j][k - 1]) + b[i][j][k];
    }
}

CASE(heat)
{
    EACH_EXTENT(n) {
        const size_t m = n + 2, cube = n * (n + 2) * (n + 1);
        double *const a = check_doubles(cube), *const b = check_doubles(cube);
        float *const pair = check_floats(2 * n * m);
        heat_1d(13, (int)cube, a, b);
        check_record("line", a, cube * sizeof *a);
        heat_2d(7, (int)n, (int)m, (void *)pair);
        check_record("plane", pair, 2 * n * m * sizeof *pair);
        heat_3d(3, (int)n, (void *)a, (void *)b);
        check_record("space", a, cube * sizeof *a);
        check_record("other", b, cube * sizeof *b);
        free(a);
        free(b);
        free(pair);
    }
}

// case seidel_border: Gauss-Seidel on a flattened grid whose borders copy what lies next to them
static void seidel_border(int n, float *x, const float *restrict b, float a)
{
#pragma tilek kernel
    for (int k = 0; k < 4; k++) {
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                x[i * (n + 2) + j] = b[i * (n + 2) + j] + a * (x[(i - 1) * (n + 2) + j] + x[(i + 1) * (n + 2) + j]
                    + x[i * (n + 2) + j - 1] + x[i * (n + 2) + j + 1]);
        for (int i = 1; i <= n; i++) {
            x[i] = x[n + 2 + i];
            x[(n + 1) * (n + 2) + i] = x[n * (n + 2) + i];
            x[i * (n + 2)] = x[i * (n + 2) + 1];
            x[i * (n + 2) + n + 1] = x[i * (n + 2) + n];
        }
    }
}

CASE(seidel_border)
{
    EACH_EXTENT(n) {
        const size_t count = (n + 2) * (n + 2);
        float *const x = check_floats(count), *const b = check_floats(count);
        seidel_border((int)n, x, b, 0.2f);
        check_record("x", x, count * sizeof *x);
        free(x);
        free(b);
    }
}

// case tables: coefficients and directions in constant arrays of the file, one of them under a name that a local has as well
static const int step_y[5] = {0, 1, 0, -1, 0}, step_x[5] = {0, 0, 1, 0, -1};
const float weight[5][2] = {{0.5f, 1}, {0.25f, 0}, {0.125f, 1}, {0.75f, 0}, {0.3f, 2}};
static const double start[3] = {1.5, -2.25, 0.125};

static void tables(int n, int m, const float *a, float *b)
{
#pragma tilek kernel data(a[0:n * m]) data(b[0:n * m])
    for (int y = 1; y < n - 1; y++)
        for (int x = 1; x < m - 1; x++) {
            float sum = start[(x + y) % 3];
            for (int q = 0; q < 5; q++)
                sum += weight[q][0] * a[(y + step_y[q]) * m + x + step_x[q]] + weight[q][1];
            {
                const float weight = 0.5f;
                b[y * m + x] = weight * sum;
            }
        }
}

CASE(tables)
{
    EACH_EXTENT(n) {
        const int m = (int)n + 3;
        float *const a = check_floats(n * (size_t)m), *const b = check_floats(n * (size_t)m);
        tables((int)n, m, a, b);
        check_record("b", b, n * (size_t)m * sizeof *b);
        free(a);
        free(b);
    }
}
