/* Kernels with device(all): each prints a hash of the bits of what it computed, for meshes of N rows and M columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(int count, float *values)
{
    for (int k = 0; k < count; ++k) values[k] = (float)((k * 37 + k / 7 * 11) % 101) / 7;
}

static void hash(const char *name, int count, const float *values)
{
    unsigned long sum = 0;
    for (int k = 0; k < count; ++k) {
        unsigned bits;
        memcpy(&bits, &values[k], sizeof bits);
        sum = (sum * 31 + bits) % 4294967291ul;
    }
    printf("%s %lu\n", name, sum);
}

static void jacobi(int n, int m, int steps, float a[n][m], float b[n][m])
{
#pragma tilek kernel device(all)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                b[i][j] = 0.2f * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = b[i][j];
    }
}

/* Far neighbours on one side alone, and the rows from the last to the first. */
static void upwind(int n, int m, int steps, float a[n][m], float b[n][m])
{
#pragma tilek kernel device(all)
    for (int t = 0; t < steps; t++) {
        for (int i = n - 1; i >= 3; i--)
            for (int j = 0; j < m; j++)
                b[i][j] = a[i][j] - 0.25f * (a[i][j] - a[i - 3][j]);
        for (int i = n - 1; i >= 3; i--)
            for (int j = 0; j < m; j++)
                a[i][j] = b[i][j] * 1.5f;
    }
}

/* Borders that are launches of their own, each on the device that has the row; corners without a loop. */
static void borders(int n, int m, int steps, float a[n][m], float b[n][m], const float fict[steps])
{
#pragma tilek kernel device(all)
    for (int t = 0; t < steps; t++) {
        for (int j = 0; j < m; j++)
            a[0][j] = a[1][j] + 1;
        for (int j = 0; j < m; j++)
            a[n - 1][j] = a[n - 2][j] * 2 + fict[t];
        for (int i = 1; i < n - 1; i++)
            for (int j = 0; j < m; j++)
                b[i][j] = 0.5f * (a[i - 1][j] + a[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 0; j < m; j++)
                a[i][j] = b[i][j];
    }
}

static void red_black(int n, int m, int steps, float u[n][m])
{
#pragma tilek kernel sor(redblack) device(all)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                u[i][j] = 0.25f * (u[i][j - 1] + u[i][j + 1] + u[i - 1][j] + u[i + 1][j]);
}

/* Groups of two sweeps by subdomains, whose tiles of second halves reach into the next device's rows; and of nine points, each kernel by itself. */
static void layered(int n, int m, int steps, float u[n][m])
{
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 4) device(all)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                u[i][j] = 0.25f * (u[i][j - 1] + u[i][j + 1] + u[i - 1][j] + u[i + 1][j]);
}

static void corners(int n, int m, int steps, float u[n][m])
{
#pragma tilek kernel sor(multilayer, layers: 1, subdomain: 3) device(all)
    for (int t = 0; t < steps; t++)
        for (int i = n - 2; i > 0; i--)
            for (int j = 1; j < m - 1; j++)
                u[i][j] = 0.2f * (u[i][j - 1] + u[i][j + 1] + u[i - 1][j] + u[i + 1][j])
                          + 0.05f * (u[i - 1][j - 1] + u[i - 1][j + 1] + u[i + 1][j - 1] + u[i + 1][j + 1]);
}

/* The last row is everybody's neighbour, wherever the caller says that it is. */
static void around(int n, int m, int steps, int last, float a[n][m], float b[n][m])
{
#pragma tilek kernel device(all)
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                b[i][j] = 0.5f * (a[i][j] + a[last][j] + a[last / 2][j]);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                a[i][j] = b[i][j] + 1;
    }
}

/* One after another, no time loop: what the first has written is read whole. */
static void twice(int n, int m, float a[n][m], float b[n][m], float c[n][m])
{
#pragma tilek kernel device(all)
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                b[i][j] = a[i][j] + 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                c[i][j] = b[n - 1 - i][j] * 2;
    }
}

/* B is needed whole by all. */
static void product(int n, int m, float c[n][n], float a[n][m], float b[m][n])
{
#pragma tilek kernel device(all)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i][j] = 0;
            for (int k = 0; k < m; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}

static void flat(int n, int m, float *restrict a, const float *restrict b)
{
#pragma tilek kernel device(all)
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            a[i * m + j] = b[(i - 1) * m + j] + b[(i + 1) * m + j];
}

/* Tiles, gangs and workers as said, every other row, and a section that begins inside of the array. */
static void tiled(int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek kernel device(all) num_gangs(3, 2) num_workers(4, 8) data(a[2:n - 2][0:m], b[1:n - 1][0:m])
#pragma tilek loop tile(gang, 0) tile(worker, 0) tile(dynamic)
    for (int i = 2; i < n; i += 2)
#pragma tilek loop tile(gang, 1) tile(worker, 1) tile(dynamic)
        for (int j = 0; j < m; j++)
            a[i][j] = b[i][j] * 2 + b[i - 1][j];
}

static void present(int n, int m, float a[n][m], float b[n][m])
{
#pragma tilek data copy(a[0:n][0:m]) create(b[0:n][0:m])
    {
        for (int round = 0; round < 3; ++round) {
            jacobi(n, m, 2, a, b);
#pragma tilek kernel
            for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++)
                    a[i][j] += 1;
        }
    }
}

/* The program goes on meanwhile, with a row that depends on the scalar at the call. */
static void later(int n, int m, float a[n][m], float b[n][m])
{
    int last = n - 1;
#pragma tilek kernel device(all) async(1)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[last][j] + a[i][j];
    last = 0;
#pragma tilek wait
    b[0][0] += (float)last;
}

/* Rows of each other's blocks, so that it stays on one device. */
static void transposed(int n, float a[n][n], float b[n][n])
{
#pragma tilek kernel device(all)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[(i + 3) % n][j] = b[j][i];
}

int main(int count, char **arguments)
{
    const int n = count > 1 ? atoi(arguments[1]) : 40, m = count > 2 ? atoi(arguments[2]) : 20, steps = count > 3 ? atoi(arguments[3]) : 4;
    const int most = (n > m ? n : m) * (n > m ? n : m) + 1;
    float *a = malloc(sizeof(float) * most), *b = malloc(sizeof(float) * most), *c = malloc(sizeof(float) * most);
#define RUN(name, call) fill(most, a), fill(most, b), fill(most, c), call, hash(name " a", most, a), hash(name " b", most, b), hash(name " c", most, c)
    RUN("jacobi", jacobi(n, m, steps, (void *)a, (void *)b));
    RUN("upwind", upwind(n, m, steps, (void *)a, (void *)b));
    RUN("borders", borders(n, m, steps, (void *)a, (void *)b, c));
    RUN("red_black", red_black(n, m, steps, (void *)a));
    RUN("layered", layered(n, m, steps, (void *)a));
    RUN("corners", corners(n, m, steps, (void *)a));
    RUN("around", around(n, m, steps, n - 1, (void *)a, (void *)b));
    RUN("twice", twice(n, m, (void *)a, (void *)b, (void *)c));
    RUN("product", product(n, m, (void *)c, (void *)a, (void *)b));
    RUN("flat", flat(n, m, a, b));
    RUN("tiled", tiled(n, m, (void *)a, (void *)b));
    RUN("present", present(n, m, (void *)a, (void *)b));
    RUN("later", later(n, m, (void *)a, (void *)b));
    RUN("transposed", transposed(n, (void *)a, (void *)b));
    free(a), free(b), free(c);
    return 0;
}
