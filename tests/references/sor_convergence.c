/* Sweeps that each method of sor.h needs for a Poisson problem, and what must hold of the methods bit for bit.
 *
 *     sor_convergence solve N OMEGA TOLERANCE GUESS METHOD…      GUESS := zero | random
 *                                                            METHOD := sor | ssor | redblack | nine | fourcolour | mlsor:K:P | forward:K:P
 *     sor_convergence orders N OMEGA K P
 *
 * The problem: N x N inner points of the unit square, zero on its border, whose discrete solution is sin(pi x) sin(pi y) but for rounding (an
 * eigenvector of both stencils). The first guess is zero, or uniformly random in [0, 1), the same for all methods. A method is done when the root
 * mean square of the difference to that solution is below TOLERANCE. Printed are, a line a method, its name, the sweeps made, the sweeps at which
 * the error, taken to fall by the same factor in each sweep of the last round, passed TOLERANCE, and the greatest error of a point in the end. */
#include "sor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SWEEPS = 100000 };

static double *mesh(int n)
{
    double *const found = calloc((size_t)(n + 2) * (size_t)(n + 2), sizeof *found);

    if (found == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return found;
}

static double solution(int n, int i, int j)
{
    const double pi = acos(-1.0);

    return sin(pi * i / (n + 1)) * sin(pi * j / (n + 1));
}

/* A linear congruential generator (Knuth's MMIX), so that the guess is the same everywhere. */
static void guess(double *u, int n)
{
    unsigned long long state = 1;

    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            u[i * (n + 2) + j] = (double)(state >> 11) / 9007199254740992.0;
        }
}

/* The stencil's eigenvalue for the solution, times the solution. */
static void source(double *f, int n, int nine)
{
    const double c = cos(acos(-1.0) / (n + 1));
    const double factor = nine ? (20 - 16 * c - 4 * c * c) / 6 : 4 - 4 * c;

    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            f[i * (n + 2) + j] = factor * solution(n, i, j);
}

static double error_of(const double *u, int n, double *greatest)
{
    double sum = 0;

    *greatest = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            const double error = fabs(u[i * (n + 2) + j] - solution(n, i, j));
            sum += error * error;
            *greatest = error > *greatest ? error : *greatest;
        }
    return sqrt(sum) / n;
}

static int solve(const char *name, int n, double omega, double tolerance, int random)
{
    sor_method method = {0, 0, 0, 0};
    const int nine = strcmp(name, "nine") == 0 || strcmp(name, "fourcolour") == 0;

    if (sscanf(name, "mlsor:%d:%d", &method.K, &method.P) == 2 || sscanf(name, "forward:%d:%d", &method.K, &method.P) == 2) {
        const char *const reason = mlsor_refuses(method.K, method.P);
        if (reason != NULL) {
            fprintf(stderr, "%s: %s\n", name, reason);
            return 2;
        }
    }
    method.alternating = name[0] == 'm' || strcmp(name, "ssor") == 0;
    method.colours = strcmp(name, "redblack") == 0 ? 2 : strcmp(name, "fourcolour") == 0 ? 4 : 0;

    double *const u = mesh(n), *const f = mesh(n);
    const sor_problem problem = {nine ? relax_nine : relax_five, n, omega, u, f};
    double greatest, before, error;
    int round = 0;
    if (random)
        guess(u, n);
    source(f, n, nine);
    error = error_of(u, n, &greatest);
    do {
        before = error;
        sor_round(&method, &problem, round++);
        error = error_of(u, n, &greatest);
    } while (error >= tolerance && round * sweeps_of_round(&method) < MOST_SWEEPS);
    const int sweeps = round * sweeps_of_round(&method);
    const double passed = sweeps - sweeps_of_round(&method) * log(tolerance / error) / log(before / error);
    printf("%s %d %.2f %.3e\n", name, sweeps, passed, greatest);
    free(u);
    free(f);
    return 0;
}

/* Counts how often each point is relaxed. */
static double count(const sor_problem *problem, int i, int j)
{
    return problem->u[i * (problem->n + 2) + j] += 1;
}

static int same(const char *what, const double *a, const double *b, int n)
{
    const int equal = memcmp(a, b, (size_t)(n + 2) * (size_t)(n + 2) * sizeof *a) == 0;

    printf("%s: %s\n", what, equal ? "yes" : "no");
    return !equal;
}

/* A K-layer sweep each way, whose subdomains come in either order. */
static int orders(int n, double omega, int K, int P)
{
    double change[MOST_LAYERS];
    int failed = 0;

    for (int backward = 0; backward < 2; backward++) {
        double *const u = mesh(n), *const v = mesh(n), *const f = mesh(n);
        const sor_problem one = {relax_five, n, omega, u, f}, other = {relax_five, n, omega, v, f};
        const sor_problem counts = {count, n, omega, u, f}, sweeps = {count, n, omega, v, f};
        guess(u, n);
        guess(v, n);
        source(f, n, 0);
        mlsor_sweep(&one, K, P, backward, 0, change);
        mlsor_sweep(&other, K, P, backward, 1, change);
        failed |= same("the order of subdomains, and of K12 and K21, is free", u, v, n);
        if (P >= n) {
            guess(v, n);
            for (int k = 0; k < K; k++)
                sor_sweep(&other, backward);
            failed |= same("one subdomain does what K sweeps of SOR do", u, v, n);
        }
        if (P == 2 && !backward) {
            guess(v, n);
            coloured_sweep(&other, 4);
            failed |= same("subdomains of 2 x 2 do what four colours do", u, v, n);
        }
        memset(u, 0, (size_t)(n + 2) * (size_t)(n + 2) * sizeof *u);
        memset(v, 0, (size_t)(n + 2) * (size_t)(n + 2) * sizeof *v);
        mlsor_sweep(&counts, K, P, backward, 0, change);
        for (int k = 0; k < K; k++)
            sor_sweep(&sweeps, 0);
        failed |= same("every point is relaxed K times", u, v, n);
        free(u);
        free(v);
        free(f);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc > 6 && strcmp(argv[1], "solve") == 0) {
        for (int place = 6; place < argc; place++)
            status |= solve(argv[place], atoi(argv[2]), atof(argv[3]), atof(argv[4]), strcmp(argv[5], "random") == 0);
        return status;
    }
    if (argc == 6 && strcmp(argv[1], "orders") == 0)
        return orders(atoi(argv[2]), atof(argv[3]), atoi(argv[4]), atoi(argv[5]));
    fprintf(stderr, "see the comment at the top of sor_convergence.c\n");
    return 2;
}
