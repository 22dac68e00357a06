/* Relaxations that take four and eight colours (9 and 27 points), on meshes whose sides differ, and relaxation factors with which nothing converges, each
 * against a sequential one that asks every point for its colour. For numbers of inner points, of sweeps, and a relaxation factor it prints
 * the names of those that agree to the last bit, and `NAME differs` of the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Four sweeps and more in a region: each colour in arrays of its own. */
static void nine(int steps, int n, int m, double w, double u[n + 2][m + 2], const double f[n + 2][m + 2])
{
#pragma tilek kernel sor(redblack)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= m; j++)
                u[i][j] = (1 - w) * u[i][j]
                          + w / 20 * (4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1])
                                      + (u[i-1][j-1] + u[i-1][j+1] + u[i+1][j-1] + u[i+1][j+1]) + f[i][j]);
}

/* All around a point of a cube, with coefficients that vary in space. */
static void box(int n, int m, int l, float w, float u[n + 2][m + 2][l + 2], const float c[n + 2][m + 2][l + 2])
{
#pragma tilek kernel sor(redblack)
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++)
            for (int k = 1; k <= l; k++) {
                float below = u[i-1][j-1][k-1] + u[i-1][j-1][k] + u[i-1][j-1][k+1] + u[i-1][j][k-1] + u[i-1][j][k]
                              + u[i-1][j][k+1] + u[i-1][j+1][k-1] + u[i-1][j+1][k] + u[i-1][j+1][k+1];
                float beside = u[i][j-1][k-1] + u[i][j-1][k] + u[i][j-1][k+1] + u[i][j][k-1] + u[i][j][k+1]
                               + u[i][j+1][k-1] + u[i][j+1][k] + u[i][j+1][k+1];
                float above = u[i+1][j-1][k-1] + u[i+1][j-1][k] + u[i+1][j-1][k+1] + u[i+1][j][k-1] + u[i+1][j][k]
                              + u[i+1][j][k+1] + u[i+1][j+1][k-1] + u[i+1][j+1][k] + u[i+1][j+1][k+1];
                u[i][j][k] = (1 - w) * u[i][j][k] + w / 26 * c[i][j][k] * (below + beside + above);
            }
}

static void report(const char *name, const void *one, const void *other, size_t bytes)
{
    printf("%s%s\n", name, memcmp(one, other, bytes) ? " differs" : "");
}

static double number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24) - 0.5;
}

static void check_nine(int n, int m, int steps, double w)
{
    const int row = m + 2;
    const size_t all = (size_t)(n + 2) * (size_t)row;
    double *u = malloc(all * sizeof *u), *want = malloc(all * sizeof *want), *f = malloc(all * sizeof *f);
    unsigned seed = 3;

    for (size_t k = 0; k < all; k++)
        u[k] = want[k] = number(&seed), f[k] = number(&seed);
    nine(steps, n, m, w, (double (*)[row])u, (const double (*)[row])f);
    for (int t = 0; t < steps; t++)
        for (int colour = 0; colour < 4; colour++)
            for (int i = 1; i <= n; i++)
                for (int j = 1; j <= m; j++) {
                    double *here = want + i * row + j;
                    if (2 * ((i - 1) % 2) + (j - 1) % 2 == colour)
                        *here = (1 - w) * *here
                                + w / 20 * (4 * (here[-row] + here[-1] + here[row] + here[1])
                                            + (here[-row - 1] + here[-row + 1] + here[row - 1] + here[row + 1]) + f[here - want]);
                }
    report("nine", u, want, all * sizeof *u);
    free(u), free(want), free(f);
}

static void check_box(int n, int m, int l, int steps, float w)
{
    const int row = l + 2, plane = (m + 2) * row;
    const size_t all = (size_t)(n + 2) * (size_t)plane;
    float *u = malloc(all * sizeof *u), *want = malloc(all * sizeof *want), *c = malloc(all * sizeof *c);
    unsigned seed = 5;

    for (size_t k = 0; k < all; k++)
        u[k] = want[k] = (float)number(&seed), c[k] = 1 + (float)number(&seed);
    for (int t = 0; t < steps; t++)
        box(n, m, l, w, (float (*)[m + 2][l + 2])u, (const float (*)[m + 2][l + 2])c);
    for (int t = 0; t < steps; t++)
        for (int colour = 0; colour < 8; colour++)
            for (int i = 1; i <= n; i++)
                for (int j = 1; j <= m; j++)
                    for (int k = 1; k <= l; k++) {
                        float *here = want + i * plane + j * row + k, part[3];
                        if (4 * ((i - 1) % 2) + 2 * ((j - 1) % 2) + (k - 1) % 2 != colour)
                            continue;
                        for (int x = -1; x <= 1; x++) {
                            part[x + 1] = 0;
                            for (int y = -1, first = 1; y <= 1; y++)
                                for (int z = -1; z <= 1; z++) {
                                    if (x == 0 && y == 0 && z == 0)
                                        continue;
                                    part[x + 1] = first ? here[x * plane + y * row + z] : part[x + 1] + here[x * plane + y * row + z];
                                    first = 0;
                                }
                        }
                        *here = (1 - w) * *here + w / 26 * c[here - want] * (part[0] + part[1] + part[2]);
                    }
    report("box", u, want, all * sizeof *u);
    free(u), free(want), free(c);
}

int main(int count, char **words)
{
    if (count != 6)
        return 2;
    const int n = atoi(words[1]), m = atoi(words[2]), l = atoi(words[3]), steps = atoi(words[4]);
    const double w = atof(words[5]);

    check_nine(n, m, steps, w);
    check_box(n, m, l, steps, (float)w);
    return 0;
}
