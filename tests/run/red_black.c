/* Relaxations with sor(redblack), each against a sequential one that asks every point for its colour. For a mesh of N x N inner points and a
 * number of sweeps it prints the names of those that agree to the last bit, and `NAME differs` of the others. A third argument 0 turns the launches
 * off. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../references/sor.h"

static int launched = 1;

static void five(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
#pragma tilek kernel sor(redblack) if(launched)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

static void nine(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
    for (int t = 0; t < steps; t++)
#pragma tilek kernel sor(redblack) if(launched)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++) {
                double edges = u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1];
                double corners = u[i-1][j-1] + u[i-1][j+1] + u[i+1][j-1] + u[i+1][j+1];
                double sum = 4 * edges + corners + 6 * f[i][j];
                u[i][j] = (1 - w) * u[i][j] + w / 20 * sum;
            }
}

/* Rows one behind the other in a piece of memory, iterators that are wanted afterwards, one sweep a region. */
static int flat(int steps, int n, double w, double *u, const double *f)
{
    int i = 0, j = 0, row = n + 2;

    for (int t = 0; t < steps; t++) {
#pragma tilek kernel sor(redblack) if(launched) data(u[0:row*row], f[0:row*row])
        for (i = 1; i < row - 1; ++i)
            for (j = 1; j < row - 1; ++j) {
                int c = i * row + j;
                double sum = u[c - row] + u[c - 1] + u[c + row] + u[c + 1] + f[c];
                u[c] = (1 - w) * u[c] + w / 4 * sum;
            }
    }
    return i * 10000 + j;
}

static void symmetric(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
    for (int t = 0; t < steps; t++)
#pragma tilek kernel sor(redblack) if(launched)
    {
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
        for (int i = n; i > 0; i--)
            for (int j = n; j >= 1; j--)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
    }
}

/* The greatest change decides when it ends: the host runs this loop around a kernel of the sweep. */
static double converge(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
    double most = 1;
    int t = 0;
#pragma tilek kernel sor(redblack) if(launched)
    {
    while (most > 1e-3 && t < steps) {
        most = 0;
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++) {
                double before = u[i][j];
                double sum = u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j];
                u[i][j] = (1 - w) * before + w / 4 * sum;
                if (fabs(u[i][j] - before) > most)
                    most = fabs(u[i][j] - before);
            }
        t++;
    }
    }
    return most + t;
}

/* The same with the loop on the outside. */
static double reduced(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
    double most = 1;
    int t = 0;
    while (most > 1e-3 && t < steps) {
        most = 0;
#pragma tilek kernel sor(redblack) reduction(max: most) if(launched)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++) {
                double before = u[i][j];
                double sum = u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j];
                u[i][j] = (1 - w) * before + w / 4 * sum;
                most = fmax(most, fabs(u[i][j] - before));
            }
        t++;
    }
    return most + t;
}

static void line(int steps, int n, float w, float *restrict u, const float *restrict f)
{
#pragma tilek kernel sor(redblack) if(launched) data(u[0:n+2], f[0:n+2])
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            u[i] = (1 - w) * u[i] + w * 0.5f * (u[i - 1] + u[i + 1] + f[i]);
}

/* Neighbours two away take three colours. `first` is a lower bound that nobody knows before. */
static void wide(int steps, int first, int n, float w, float *restrict u)
{
    for (int t = 0; t < steps; t++)
#pragma tilek kernel sor(redblack) if(launched) data(u[0:n+4])
        for (int i = first; i < n + 2; i++)
            u[i] = (1 - w) * u[i] + w * 0.25f * (u[i - 1] + u[i + 1] + u[i - 2] + u[i + 2]);
}

static void cube(int steps, int n, float w, float u[n + 2][n + 2][n + 2])
{
    for (int t = 0; t < steps; t++)
#pragma tilek kernel sor(redblack) if(launched)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                for (int k = 1; k <= n; k++)
                    u[i][j][k] += w * ((u[i-1][j][k] + u[i+1][j][k] + u[i][j-1][k] + u[i][j+1][k] + u[i][j][k-1]
                                        + u[i][j][k+1]) / 6 - u[i][j][k]);
}

/* Points that stay as they are, another conductivity everywhere, and borders that follow: what the order of the colours does not mind. */
static double obstacles(int steps, int n, double w, double u[n + 2][n + 2], double k[n + 2][n + 2])
{
    double most = 0;
#pragma tilek kernel sor(redblack) if(launched)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                if (k[i][j] < 0.25) {
                    double east = 2 + k[i][j+1], north = 2 + k[i-1][j], all = 4 + east + north;
                    double change = w * ((2 * (u[i+1][j] + u[i][j-1]) + east * u[i][j+1] + north * u[i-1][j]) / all - u[i][j]);
                    u[i][j] += change;
                    if (fabs(change) > most)
                        most = fabs(change);
                }
        for (int i = 1; i <= n; i++)
            u[i][0] = u[i][1];
    }
    return most;
}

/* Mirrored at the ends, which belong to the mesh. */
static void mirrored(int steps, int n, double w, double u[n + 2][n + 2])
{
#pragma tilek kernel sor(redblack) if(launched)
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < n + 2; i++)
            for (int j = 0; j < n + 2; j++) {
                int up = i > 0 ? i - 1 : 1, right = j + 1;
                if (j == n + 1)
                    right = n;
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[up][j] + u[i][j == 0 ? 1 : j - 1] + u[i == n + 1 ? n : i + 1][j] + u[i][right]);
            }
}

static double *filled(long count, unsigned seed)
{
    double *values = malloc((size_t)count * sizeof *values);
    for (long k = 0; k < count; k++) {
        seed = seed * 1664525u + 1013904223u;
        values[k] = (double)(seed >> 8) / (1 << 24) - 0.5;
    }
    return values;
}

static float *rounded(const double *values, long count)
{
    float *found = malloc((size_t)count * sizeof *found);
    for (long k = 0; k < count; k++)
        found[k] = (float)values[k];
    return found;
}

static void report(const char *name, const void *one, const void *other, long bytes)
{
    printf("%s%s\n", name, memcmp(one, other, (size_t)bytes) ? " differs" : "");
}

/* What the functions above should do to `u`; `backward` takes the colours the other way in every other sweep. */
static double expected(int steps, int n, double w, double *u, double *f, int colours, int backward, double least)
{
    const sor_problem problem = {colours == 2 ? relax_five : relax_nine, n, w, u, f, 2};
    double most = 1;
    int t = 0;
    for (; most > least && t < steps; t++) {
        most = 0;
        for (int each = 0; each < colours; each++) {
            const double change = relax_colour(&problem, colours, backward && t % 2 ? colours - 1 - each : each);
            most = change > most ? change : most;
        }
    }
    return most + t;
}

int main(int count, char **words)
{
    const int n = atoi(words[1]), steps = atoi(words[2]);
    const long side = n + 2, all = side * side, bytes = all * (long)sizeof(double);
    launched = count < 4 || atoi(words[3]);
    double *f = filled(all, 1), *start = filled(all * side + 2, 7), *want = malloc((size_t)bytes), *u = malloc((size_t)bytes);

#define CHECK(name, call, colours, rounds, backward, least)                                                          \
    do {                                                                                                             \
        memcpy(u, start, (size_t)bytes), memcpy(want, start, (size_t)bytes);                                         \
        const double found_ = (call), said_ = expected(rounds, n, 1.3, want, f, colours, backward, least);           \
        report(name, u, want, bytes);                                                                                \
        if (least >= 0)                                                                                              \
            report(name " most", &found_, &said_, sizeof found_);                                                    \
    } while (0)
#define MESH (double (*)[side]) u, (double (*)[side]) f

    CHECK("five", (five(steps, n, 1.3, MESH), 0), 2, steps, 0, -1);
    CHECK("nine", (nine(steps, n, 1.3, MESH), 0), 4, steps, 0, -1);
    int last = 0;
    CHECK("flat", (last = flat(steps, n, 1.3, u, f), 0), 2, steps, 0, -1);
    const int should = steps == 0 ? 0 : n == 0 ? 10000 : (n + 1) * 10000 + n + 1;
    report("flat iterators", &last, &should, sizeof last);
    CHECK("symmetric", (symmetric(steps, n, 1.3, MESH), 0), 2, 2 * steps, 1, -1);
    CHECK("converge", converge(steps, n, 1.3, MESH), 2, steps, 0, 1e-3);
    CHECK("reduced", reduced(steps, n, 1.3, MESH), 2, steps, 0, 1e-3);

    memcpy(u, start, (size_t)bytes), memcpy(want, start, (size_t)bytes);
    const double found = obstacles(steps, n, 1.2, MESH);
    double most = 0;
    for (int t = 0; t < steps; t++) {
        for (int colour = 0; colour < 2; colour++)
            for (int i = 1; i <= n; i++)
                for (int j = 1; j <= n; j++) {
                    double *here = want + i * side + j;
                    const double *k = f + i * side + j, east = 2 + k[1], north = 2 + k[-side];
                    if ((i + j) % 2 == colour && *k < 0.25) {
                        double change = 1.2 * ((2 * (here[side] + here[-1]) + east * here[1] + north * here[-side]) / (4 + east + north) - *here);
                        *here += change;
                        most = fmax(most, fabs(change));
                    }
                }
        for (int i = 1; i <= n; i++)
            want[i * side] = want[i * side + 1];
    }
    report("obstacles", u, want, bytes);
    report("obstacles most", &found, &most, sizeof most);
    memcpy(u, start, (size_t)bytes), memcpy(want, start, (size_t)bytes);
    mirrored(steps, n, 1.1, (double (*)[side]) u);
    for (int t = 0; t < steps; t++)
        for (int colour = 0; colour < 2; colour++)
            for (int i = 0; i < side; i++)
                for (int j = 0; j < side; j++)
                    if ((i + j) % 2 == colour) {
                        const int up = abs(i - 1), down = n + 1 - abs(n - i), left = abs(j - 1), right = n + 1 - abs(n - j);
                        double *here = want + i * side + j;
                        *here = (1 - 1.1) * *here + 1.1 / 4 * (want[up * side + j] + want[i * side + left] + want[down * side + j] + want[i * side + right]);
                    }
    report("mirrored", u, want, bytes);

    float *narrow = rounded(start, all * side + 2), *other = rounded(start, all * side + 2), *right = rounded(f, all);
    const float w = 1.3f;
    line(steps, n, w, narrow, right);
    for (int t = 0; t < steps; t++)
        for (int colour = 0; colour < 2; colour++)
            for (int i = 1; i <= n; i++)
                if ((i - 1) % 2 == colour)
                    other[i] = (1 - w) * other[i] + w * 0.5f * (other[i - 1] + other[i + 1] + right[i]);
    report("line", narrow, other, side * (long)sizeof *narrow);
    wide(steps, 2, n, w, narrow);
    for (int t = 0; t < steps; t++)
        for (int colour = 0; colour < 3; colour++)
            for (int i = 2; i < n + 2; i++)
                if ((i - 2) % 3 == colour)
                    other[i] = (1 - w) * other[i] + w * 0.25f * (other[i - 1] + other[i + 1] + other[i - 2] + other[i + 2]);
    report("wide", narrow, other, (side + 2) * (long)sizeof *narrow);
    cube(steps, n, w, (float (*)[side][side]) narrow);
    for (int t = 0; t < steps; t++)
        for (int colour = 0; colour < 2; colour++)
            for (int i = 1; i <= n; i++)
                for (int j = 1; j <= n; j++)
                    for (int k = 1; k <= n; k++) {
                        float *here = other + (i * side + j) * side + k;
                        if ((i + j + k - 3) % 2 == colour)
                            *here += w * ((here[-all] + here[all] + here[-side] + here[side] + here[-1] + here[1]) / 6 - *here);
                    }
    report("cube", narrow, other, all * side * (long)sizeof *narrow);
    free(f), free(start), free(want), free(u), free(narrow), free(other), free(right);
    return 0;
}
