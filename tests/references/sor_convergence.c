/* Sweeps that each method of sor.h needs for a Poisson problem, and what must hold of the methods bit for bit.
 *
 *     sor_convergence solve[D] N OMEGA TOLERANCE GUESS METHOD…   GUESS := zero | random | laplace
 *                                                            METHOD := sor | ssor | redblack | nine | fourcolour | mlsor:K:P | forward:K:P
 *     sor_convergence orders[D] N OMEGA K P
 *
 * D, 1 to 3, is how many dimensions there are, 2 where it is not said; nine points, four colours and `laplace` are for two.
 *
 * The problem: N x N inner points of the unit square (line, cube), whose discrete solution is known but for rounding: sin(pi x) sin(pi y) (of as many factors as dimensions), zero on the border, and with
 * `laplace` sin(pi x) sinh(m y) / sinh(m), zero on three sides, of the equation without a source (m is pi but for the mesh). The first guess is zero inside, or
 * uniformly random in [0, 1), the same for all methods. A method is done when the root
 * mean square of the difference to that solution is below TOLERANCE. Printed are, a line a method, its name, the sweeps made, the sweeps at which
 * the error, taken to fall by the same factor in each sweep of the last round, passed TOLERANCE, and the greatest error of a point in the end.
 * With SOR_KERNELS (benchmarks/convergence_kernels.c) methods in the plane run kernels in the place of the references where there is one. */
#include "sor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SWEEPS = 100000 };

static size_t elements(int n, int dimensions)
{
    return dimensions == 0 ? 1 : (size_t)(n + 2) * elements(n, dimensions - 1);
}

static double *mesh(int n, int dimensions)
{
    double *const found = calloc(elements(n, dimensions), sizeof *found);

    if (found == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return found;
}

/* The solution at each place of the mesh: the product of along(x) for all subscripts x but the last one, whose factor is across(x). The source of the
 * first one is `factor`, the stencil's eigenvalue, times that. `inner`: whether a place is no part of the border. */
typedef struct {
    double *values, factor;
    char *inner;
    size_t places;
} solution;

static double across(int n, int nine, int laplace, int x)
{
    const double pi = acos(-1.0), c = cos(pi / (n + 1)), m = acosh(nine ? (20 - 8 * c) / (8 + 4 * c) : 2 - c);

    if (!laplace)
        return x > n ? 0 : sin(pi * x / (n + 1));
    return exp(m * (x - n - 1)) * expm1(-2 * m * x) / expm1(-2 * m * (n + 1));
}

static solution solution_of(int n, int dimensions, int nine, int laplace)
{
    const double c = cos(acos(-1.0) / (n + 1));
    const double factor = laplace ? 0 : nine ? (20 - 16 * c - 4 * c * c) / 6 : 2 * dimensions * (1 - c);
    double *const sines = mesh(n, 1), *const last = mesh(n, 1);
    const solution found = {mesh(n, dimensions), factor, calloc(elements(n, dimensions), 1), elements(n, dimensions)};

    if (found.inner == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    for (int x = 0; x <= n + 1; x++) {
        sines[x] = across(n, nine, 0, x);
        last[x] = across(n, nine, laplace, x);
    }
    for (size_t place = 0; place < found.places; place++) {
        size_t left = place;
        found.values[place] = 1;
        found.inner[place] = 1;
        for (int k = dimensions - 1; k >= 0; k--, left /= (size_t)n + 2) {
            const size_t x = left % ((size_t)n + 2);
            found.values[place] *= (k == dimensions - 1 ? last : sines)[x];
            found.inner[place] = found.inner[place] && x >= 1 && x <= (size_t)n;
        }
    }
    free(sines);
    free(last);
    return found;
}

static void free_solution(const solution *of)
{
    free(of->values);
    free(of->inner);
}

/* A linear congruential generator (Knuth's MMIX), so that the guess is the same everywhere. */
static void guess(double *u, const solution *of)
{
    unsigned long long state = 1;

    for (size_t place = 0; place < of->places; place++)
        if (of->inner[place]) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            u[place] = (double)(state >> 11) / 9007199254740992.0;
        }
}

/* The right-hand side, and what u has on the border. */
static void pose(double *u, double *f, const solution *of)
{
    for (size_t place = 0; place < of->places; place++)
        if (of->inner[place])
            f[place] = of->factor * of->values[place];
        else
            u[place] = of->values[place];
}

static double error_of(const double *u, const solution *of, double *greatest)
{
    double sum = 0, points = 0;

    *greatest = 0;
    for (size_t place = 0; place < of->places; place++)
        if (of->inner[place]) {
            const double error = fabs(u[place] - of->values[place]);
            sum += error * error;
            points++;
            *greatest = error > *greatest ? error : *greatest;
        }
    return sqrt(sum / points);
}

static relaxation *relaxation_of(int dimensions, int nine)
{
    return nine ? relax_nine : dimensions == 1 ? relax_three : dimensions == 2 ? relax_five : relax_seven;
}

static int solve(const char *name, int n, int dimensions, double omega, double tolerance, const char *start)
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

    double *const u = mesh(n, dimensions), *const f = mesh(n, dimensions);
    const solution wanted = solution_of(n, dimensions, nine, strcmp(start, "laplace") == 0);
    const sor_problem problem = {relaxation_of(dimensions, nine), n, omega, u, f, dimensions};
    double greatest, before, error;
    int round = 0;
    if (strcmp(start, "random") == 0)
        guess(u, &wanted);
    pose(u, f, &wanted);
    error = error_of(u, &wanted, &greatest);
    int at_once = sweeps_of_round(&method);
#ifdef SOR_KERNELS
    kernel_sweeps *const kernel = dimensions == 2 ? kernel_of(name) : NULL;
    if (kernel != NULL)
        at_once = SWEEPS_AT_ONCE;
#endif
    do {
        before = error;
#ifdef SOR_KERNELS
        if (kernel != NULL)
            kernel(n, omega, (void *)u, (void *)f);
        else
#endif
            sor_round(&method, &problem, round);
        round++;
        error = error_of(u, &wanted, &greatest);
    } while (error >= tolerance && round * at_once < MOST_SWEEPS);
    const int sweeps = round * at_once;
    const double passed = sweeps - at_once * log(tolerance / error) / log(before / error);
    printf("%s %d %.2f %.3e\n", name, sweeps, passed, greatest);
    free(u);
    free(f);
    free_solution(&wanted);
    return 0;
}

/* Counts how often each point is relaxed. */
static double count(const sor_problem *problem, ptrdiff_t place)
{
    return problem->u[place] += 1;
}

static int same(const char *what, const sor_problem *a, const sor_problem *b)
{
    const int equal = memcmp(a->u, b->u, elements(a->n, a->dimensions) * sizeof *a->u) == 0;

    printf("%s: %s\n", what, equal ? "yes" : "no");
    return !equal;
}

/* A K-layer sweep each way, whose subdomains come in either order. */
static int orders(int n, int dimensions, double omega, int K, int P)
{
    double change[MOST_LAYERS];
    int failed = 0;

    for (int backward = 0; backward < 2; backward++) {
        double *const u = mesh(n, dimensions), *const v = mesh(n, dimensions), *const f = mesh(n, dimensions);
        relaxation *const relax = relaxation_of(dimensions, 0);
        const sor_problem one = {relax, n, omega, u, f, dimensions}, other = {relax, n, omega, v, f, dimensions};
        const sor_problem counts = {count, n, omega, u, f, dimensions}, sweeps = {count, n, omega, v, f, dimensions};
        const solution posed = solution_of(n, dimensions, 0, 0);
        guess(u, &posed);
        guess(v, &posed);
        pose(u, f, &posed);
        mlsor_sweep(&one, K, P, backward, 0, change);
        mlsor_sweep(&other, K, P, backward, 1, change);
        failed |= same("the order of subdomains, and of K12 and K21, is free", &one, &other);
        if (P >= n) {
            guess(v, &posed);
            for (int k = 0; k < K; k++)
                sor_sweep(&other, backward);
            failed |= same("one subdomain does what K sweeps of SOR do", &one, &other);
        }
        if (P == 2 && !backward) {
            guess(v, &posed);
            coloured_sweep(&other, 1 << dimensions);
            failed |= same("subdomains of two places do what 2^D colours do", &one, &other);
        }
        memset(u, 0, elements(n, dimensions) * sizeof *u);
        memset(v, 0, elements(n, dimensions) * sizeof *v);
        mlsor_sweep(&counts, K, P, backward, 0, change);
        for (int k = 0; k < K; k++)
            sor_sweep(&sweeps, 0);
        failed |= same("every point is relaxed K times", &counts, &sweeps);
        free(u);
        free(v);
        free(f);
        free_solution(&posed);
    }
    return failed;
}

/* The dimensions that a word says behind a verb; 0 where it is another word. */
static int said(const char *word, const char *verb)
{
    const size_t length = strlen(verb);

    if (strncmp(word, verb, length) != 0)
        return 0;
    return word[length] == 0 ? 2 : word[length] >= '1' && word[length] <= '3' && word[length + 1] == 0 ? word[length] - '0' : 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc > 6 && said(argv[1], "solve")) {
        for (int place = 6; place < argc; place++)
            status |= solve(argv[place], atoi(argv[2]), said(argv[1], "solve"), atof(argv[3]), atof(argv[4]), argv[5]);
        return status;
    }
    if (argc == 6 && said(argv[1], "orders"))
        return orders(atoi(argv[2]), said(argv[1], "orders"), atof(argv[3]), atoi(argv[4]), atoi(argv[5]));
    fprintf(stderr, "see the comment at the top of sor_convergence.c\n");
    return 2;
}
