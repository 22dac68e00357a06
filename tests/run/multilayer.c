/* Relaxations with sor(multilayer), each against the sequential reference. For a mesh of N x N inner points and a number of sweeps it prints the
 * names of those that agree to the last bit, and `NAME differs` of the others. A third argument 0 turns the launches off. With ONLY_ONE there is the
 * first one alone; meshes of an even side do without nine, three and seven points, since each mesh is compiled again on devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../references/sor.h"

static int launched = 1;

static void five(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 3, subdomain: 8) if(launched)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

#ifndef ONLY_ONE
/* The user's own sweeps go backward: groups backward and forward in turn. Iterators that are wanted afterwards, a variable in the nest. */
static int backward(int steps, int n, double w, double *restrict u, const double *restrict f)
{
    int t = 7, i = 7, j = 7, row = n + 2;
#pragma tilek kernel sor(multilayer, subdomain: 5) if(launched) data(u[0:row*row], f[0:row*row])
    for (t = 0; t < steps; ++t)
        for (i = row - 2; i > 0; i--)
            for (j = row - 2; j >= 1; --j) {
                int c = i * row + j;
                double sum = u[c - row] + u[c - 1] + u[c + row] + u[c + 1] + f[c];
                u[c] = (1 - w) * u[c] + w / 4 * sum;
            }
    return (t * 100 + i) * 100 + j;
}

/* A line, of which the subdomains are all that is distributed. */
static void three(int steps, int n, double w, double u[n + 2], double f[n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 6) if(launched)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            u[i] = (1 - w) * u[i] + w / 2 * (u[i-1] + u[i+1] + f[i]);
}

/* Corners: K12 and K21 one after the other. */
static void nine(int steps, int n, double w, double u[n + 2][n + 2], double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 5) if(launched)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j]
                          + w / 20 * (4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1])
                                      + (u[i-1][j-1] + u[i-1][j+1] + u[i+1][j-1] + u[i+1][j+1]) + 6 * f[i][j]);
}

static void seven(int steps, int n, double w, double u[n + 2][n + 2][n + 2], double f[n + 2][n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 4) if(launched)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                for (int k = 1; k <= n; k++)
                    u[i][j][k] = (1 - w) * u[i][j][k]
                                 + w / 6 * (u[i-1][j][k] + u[i][j-1][k] + u[i][j][k-1]
                                            + u[i+1][j][k] + u[i][j+1][k] + u[i][j][k+1] + f[i][j][k]);
}

#endif

static double *filled(long count, unsigned seed)
{
    double *values = malloc((size_t)count * sizeof *values);
    for (long k = 0; k < count; k++) {
        seed = seed * 1664525u + 1013904223u;
        values[k] = (double)(seed >> 8) / (1 << 24) - 0.5;
    }
    return values;
}

static void report(const char *name, const void *one, const void *other, long bytes)
{
    printf("%s%s\n", name, memcmp(one, other, (size_t)bytes) ? " differs" : "");
}

/* Groups of K sweeps, the first forward or `backward`, then in turn; the last one may have fewer. */
static void expected(int steps, const sor_problem *problem, int K, int P, int backward)
{
    double change[MOST_LAYERS];
    for (int t = 0; t < steps; t += K, backward = !backward)
        mlsor_sweep(problem, steps - t < K ? steps - t : K, P, backward, 0, change);
}

int main(int count, char **words)
{
    const int n = atoi(words[1]), steps = atoi(words[2]), least = n < 12 ? n : 12;
    const long side = n + 2, cube = least + 2, all = side * side > cube * cube * cube ? side * side : cube * cube * cube;
    const long bytes = all * (long)sizeof(double);
    launched = count < 4 || atoi(words[3]);
    double *f = filled(all, 1), *u = filled(all, 7), *want = filled(all, 7);
    sor_problem problem = {relax_five, n, 1.3, want, f, 2};

    five(steps, n, 1.3, (double (*)[side]) u, (double (*)[side]) f);
    expected(steps, &problem, 3, 8, 0);
    report("five", u, want, bytes);
#ifndef ONLY_ONE
    problem.omega = 1.1;
    const int last = backward(steps, n, 1.1, u, f);
    expected(steps, &problem, 2, 5, 1);
    report("backward", u, want, bytes);
    const int should = steps == 0 ? 707 : n == 0 ? steps * 10000 + 7 : steps * 10000;
    report("iterators", &last, &should, sizeof last);
    if (n % 2 == 0) {
        free(f), free(u), free(want);
        return 0;
    }
    nine(steps, n, 1.1, (double (*)[side]) u, (double (*)[side]) f);
    problem.relax = relax_nine;
    expected(steps, &problem, 2, 5, 0);
    report("nine", u, want, bytes);
    three(steps, n, 1.1, u, f);
    problem.relax = relax_three;
    problem.dimensions = 1;
    expected(steps, &problem, 2, 6, 0);
    report("three", u, want, bytes);
    seven(steps, least, 1.1, (double (*)[cube][cube]) u, (double (*)[cube][cube]) f);
    problem.relax = relax_seven;
    problem.n = least;
    problem.dimensions = 3;
    expected(steps, &problem, 2, 4, 0);
    report("seven", u, want, bytes);
#endif
    free(f), free(u), free(want);
    return 0;
}
