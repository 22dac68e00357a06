/* Loops that end at elements of arrays and members: the host reads them where a launch begins, wherever their newest values are. */
#include "check.h"

typedef struct { int n[3], levels; double *u; } grid;
enum { N = 40, M = 12 };
static double u[N][N][M], flat[N * N * M];
static int shape[2][3] = {{7, 9, 11}, {5, 3, 2}};

static void record(void)
{
    check_record("u", u, sizeof u);
    check_record("flat", flat, sizeof flat);
    memset(u, 0, sizeof u);
    memset(flat, 0, sizeof flat);
}

static void three(const int d[3], double v[N][N][M])
{
#pragma tilek kernel
    for (int k = 0; k < d[2]; k++)
        for (int j = 0; j < d[1]; j++)
            for (int i = 0; i < d[0]; i++)
                v[k][j][i] += 2 * k + j * i;
}
static void by_hand(const int d[3], double *restrict v)
{
#pragma tilek kernel
    for (int k = 0; k < d[0]; k++)
        for (int j = 0; j < d[1]; j++)
            for (int i = 0; i < d[2]; i++)
                v[(k * d[1] + j) * d[2] + i] = k + 3 * j + i;
}
static void of_struct(grid *g)
{
#pragma tilek kernel
    for (int k = 0; k < g->n[1]; k++)
        for (int i = 0; i < g->n[0]; i++)
            g->u[k * g->n[0] + i] = g->u[k * g->n[0] + i] / 2 + k;
}
static void of_levels(int level, double v[N][N][M])
{
#pragma tilek kernel
    for (int k = 0; k < shape[level][0]; k++)
        for (int j = 0; j < shape[1][1]; j++)
            if (j < shape[0][2] - k)
                v[k][j][0] = k - j;
}

// case elements_as_ends: of parameters, structs, arrays of two dimensions, in heads inside, subscripts and conditions
CASE(elements_as_ends)
{
    const int sizes[][3] = {{0, 3, 4}, {12, 9, 7}, {1, 40, 40}, {10, 0, 0}, {5, -3, 9}};
    grid g = {{0, 0, 0}, 1, flat};
    for (int k = 0; k < 5; k++) {
        const int turned[3] = {sizes[k][2], sizes[k][1], sizes[k][0]};
        three(sizes[k], u);
        by_hand(turned, flat);
        g.n[0] = sizes[k][1], g.n[1] = sizes[k][2];
        of_struct(&g);
        of_levels(k % 2, u);
    }
    record();
}

// case written_before: ends that the loops before have written, on a device perhaps, and that the loops themselves write
static void grow(int *d, int by)
{
#pragma tilek kernel data(d[0:3])
#pragma tilek loop independent
    for (int k = 0; k < 3; k++)
        d[k] += by;
}
static void own_ends(int *d, int *v)
{
#pragma tilek kernel
    for (int k = 0; k < d[0]; k++) {
        v[k] = k;
        if (k == 3)
            d[0] = 6;
    }
}
static void others(const int *d, int *v)
{
#pragma tilek kernel
    for (int k = 0; k < d[2]; k++)
        v[k] = 5 - k;
}
CASE(written_before)
{
    int d[3] = {5, 6, 7}, v[N] = {0};
#pragma tilek data copy(d[0:3])
    {
        for (int k = 0; k < 3; k++) {
            grow(d, k);
            three(d, u);
            of_struct(&(grid){{4, 4, 2}, 1, flat});
        }
    }
    record();
    own_ends(d, v);
    others(v, v + 5);
    others(v + 2, v);
    check_record("v", v, sizeof v);
}

// case written_in_a_queue: ends that a launch before in the same queue writes
CASE(written_in_a_queue)
{
    int d[3] = {5, 6, 7};
#pragma tilek kernel data(d[0:3]) async(1)
#pragma tilek loop independent
    for (int k = 0; k < 3; k++)
        d[k] += 2;
#pragma tilek kernel data(u[0:N][0:N][0:M]) async(1)
#pragma tilek loop independent
    for (int k = 0; k < d[2]; k++)
        u[k][1][2] = k;
#pragma tilek wait
    record();
}

// case nothing_to_read: pointers that lead nowhere where no loop asks for what they lead to
static void guarded(int n, const int *d, double v[N])
{
#pragma tilek kernel
    for (int k = 0; k < n; k++)
        for (int i = 0; i < d[1]; i++)
            v[k] += i;
}
CASE(nothing_to_read)
{
    const int d[2] = {1, 8};
    guarded(0, NULL, flat);
    guarded(9, d, flat);
    record();
}
