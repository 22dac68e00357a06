/* Sweeps that each method of sor.h needs for a Poisson problem, and what must hold of the methods bit for bit.
 *
 *     sor_convergence solve N OMEGA TOLERANCE GUESS METHOD…      GUESS := zero | random | laplace
 *                                                            METHOD := sor | ssor | redblack | nine | fourcolour | mlsor:K:P | forward:K:P
 *     sor_convergence orders N OMEGA K P
 *
 * The problem: N x N inner points of the unit square, whose discrete solution is known but for rounding: sin(pi x) sin(pi y), zero on the border, and with
 * `laplace` sin(pi x) sinh(m y) / sinh(m), zero on three sides, of the equation without a source (m is pi but for the mesh). The first guess is zero inside, or
 * uniformly random in [0, 1), the same for all methods. A method is done when the root
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

static double *row(int n)
{
    double *const found = calloc((size_t)n + 2, sizeof *found);

    if (found == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return found;
}

/* The solution is along[i] * across[j]; the source of the first one is `factor`, the stencil's eigenvalue, times that. */
typedef struct {
    double *along, *across, factor;
} solution;

static solution solution_of(int n, int nine, int laplace)
{
    const double pi = acos(-1.0), c = cos(pi / (n + 1));
    const solution found = {row(n), row(n), laplace ? 0 : nine ? (20 - 16 * c - 4 * c * c) / 6 : 4 - 4 * c};
    const double m = acosh(nine ? (20 - 8 * c) / (8 + 4 * c) : 2 - c);

    for (int i = 1; i <= n; i++)
        found.along[i] = found.across[i] = sin(pi * i / (n + 1));
    for (int j = 1; laplace && j <= n + 1; j++)
        found.across[j] = exp(m * (j - n - 1)) * expm1(-2 * m * j) / expm1(-2 * m * (n + 1));
    return found;
}

static void free_solution(const solution *of)
{
    free(of->along);
    free(of->across);
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

/* The right-hand side, and what u has on the border. */
static void pose(double *u, double *f, int n, const solution *of)
{
    for (int i = 1; i <= n; i++) {
        u[i * (n + 2) + n + 1] = of->along[i] * of->across[n + 1];
        for (int j = 1; j <= n; j++)
            f[i * (n + 2) + j] = of->factor * of->along[i] * of->across[j];
    }
}

static double error_of(const double *u, int n, const solution *of, double *greatest)
{
    double sum = 0;

    *greatest = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            const double error = fabs(u[i * (n + 2) + j] - of->along[i] * of->across[j]);
            sum += error * error;
            *greatest = error > *greatest ? error : *greatest;
        }
    return sqrt(sum) / n;
}

static int solve(const char *name, int n, double omega, double tolerance, const char *start)
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
    const solution wanted = solution_of(n, nine, strcmp(start, "laplace") == 0);
    const sor_problem problem = {nine ? relax_nine : relax_five, n, omega, u, f};
    double greatest, before, error;
    int round = 0;
    if (strcmp(start, "random") == 0)
        guess(u, n);
    pose(u, f, n, &wanted);
    error = error_of(u, n, &wanted, &greatest);
    do {
        before = error;
        sor_round(&method, &problem, round++);
        error = error_of(u, n, &wanted, &greatest);
    } while (error >= tolerance && round * sweeps_of_round(&method) < MOST_SWEEPS);
    const int sweeps = round * sweeps_of_round(&method);
    const double passed = sweeps - sweeps_of_round(&method) * log(tolerance / error) / log(before / error);
    printf("%s %d %.2f %.3e\n", name, sweeps, passed, greatest);
    free(u);
    free(f);
    free_solution(&wanted);
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
        const solution posed = solution_of(n, 0, 0);
        pose(u, f, n, &posed);
        free_solution(&posed);
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
            status |= solve(argv[place], atoi(argv[2]), atof(argv[3]), atof(argv[4]), argv[5]);
        return status;
    }
    if (argc == 6 && strcmp(argv[1], "orders") == 0)
        return orders(atoi(argv[2]), atof(argv[3]), atoi(argv[4]), atoi(argv[5]));
    fprintf(stderr, "see the comment at the top of sor_convergence.c\n");
    return 2;
}
