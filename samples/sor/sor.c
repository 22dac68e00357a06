/* Successive over-relaxation: Poisson's equation on the unit square, -Laplace(u) = f, by each method that tilepragma knows.
 * n x n inner points, zero on the border; f is such that the solution is known. A compiler that ignores the pragmas computes
 * all methods in the natural order, row by row. */
#include "../common/sample.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 20 /* sweeps from one look at the residual to the next, twice the layers of sweeps_multilayer */ };

static const double pi = 3.14159265358979323846;

/* Points are relaxed in the order that is written, by diagonals that run at once. */
static void sweeps_wavefront(int sweeps, int n, double w, double h2, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(wavefront)
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j] + h2 * f[i][j]);
}

/* First the points with an even sum of i and j, then the others: other iterates on the way to the same solution. */
static void sweeps_redblack(int sweeps, int n, double w, double h2, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(redblack)
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j] + h2 * f[i][j]);
}

/* Ten sweeps forward, then ten backward, in subdomains of 64 x 64 points: other iterates again. */
static void sweeps_multilayer(int sweeps, int n, double w, double h2, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 10, subdomain: 64)
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j] + h2 * f[i][j]);
}

typedef struct method {
    const char *name;
    void (*sweeps)(int sweeps, int n, double w, double h2, double u[n + 2][n + 2], const double f[n + 2][n + 2]);
    int natural; /* whether its iterates are those of the loops as written */
} method;

static const method methods[] = {
    {"wavefront", sweeps_wavefront, 1},
    {"redblack", sweeps_redblack, 0},
    {"multilayer", sweeps_multilayer, 0},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

/* The largest |f + Laplace(u)| of all inner points. */
static double residual(int n, double h2, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
    double worst = 0;

#pragma tilek kernel reduction(max: worst)
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            worst = fmax(worst, fabs(f[i][j] + (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j] - 4 * u[i][j]) / h2));
    return worst;
}

static double solution(double x, double y)
{
    return sin(pi * x) * sin(pi * y) + 0.5 * sin(3 * pi * x) * sin(2 * pi * y);
}

static double right_hand_side(double x, double y)
{
    return pi * pi * (2 * sin(pi * x) * sin(pi * y) + 6.5 * sin(3 * pi * x) * sin(2 * pi * y));
}

typedef struct options {
    double tolerance;     /* of the residual, as a share of the largest |f| */
    const char *only;     /* the one method wanted; NULL: all */
    const char *solution; /* where to write u */
    FILE *history;
    int argument_count;
    char **arguments; /* those of the sample */
} options;

static double tolerance_of(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value < 1))
        sample_fail("sor", "not a tolerance between 0 and 1", text);
    return value;
}

static const char *method_of(const char *text)
{
    for (int m = 0; m < METHODS; m++)
        if (strcmp(methods[m].name, text) == 0)
            return text;
    sample_fail("sor", "no such method (see --help)", text);
    return NULL;
}

static FILE *history_at(const char *path)
{
    FILE *const file = fopen(path, "w");
    if (file == NULL)
        sample_fail("sor", strerror(errno), path);
    fprintf(file, "method,sweeps,seconds,residual\n");
    return file;
}

static options parse(int argc, char **argv)
{
    options o = {.tolerance = 1e-6, .arguments = sample_allocate((size_t)argc + 1, sizeof *o.arguments)};
    for (int a = 0; a < argc; a++) {
        const char *const word = argv[a];
        if (strcmp(word, "--tolerance") && strcmp(word, "--method") && strcmp(word, "-o") && strcmp(word, "-u")) {
            o.arguments[o.argument_count++] = argv[a];
            continue;
        }
        if (++a == argc)
            sample_fail("sor", "a value must follow", word);
        if (strcmp(word, "--tolerance") == 0)
            o.tolerance = tolerance_of(argv[a]);
        else if (strcmp(word, "--method") == 0)
            o.only = method_of(argv[a]);
        else if (strcmp(word, "-o") == 0)
            o.history = history_at(argv[a]);
        else
            o.solution = argv[a];
    }
    return o;
}

/* Rows of numbers, those of the border included; from y = 0 on. */
static void write_solution(const char *path, int n, double u[n + 2][n + 2])
{
    FILE *const file = fopen(path, "w");
    if (file == NULL)
        sample_fail("sor", strerror(errno), path);
    for (int i = 0; i < n + 2; i++)
        for (int j = 0; j < n + 2; j++)
            fprintf(file, "%.6g%c", u[i][j], j == n + 1 ? '\n' : ',');
    const int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        sample_fail("sor", strerror(errno), path);
}

static double largest_error(int n, double h, double u[n + 2][n + 2])
{
    double worst = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            worst = fmax(worst, fabs(u[i][j] - solution(j * h, i * h)));
    return worst;
}

/* Sweeps from u = 0 until the residual is small enough; prints a line of the table and returns the seconds it took. */
static double solve(const method *how, const options *o, int n, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
    const double h = 1.0 / (n + 1), h2 = h * h, w = 2 / (1 + sin(pi * h));
    const size_t cells = (size_t)(n + 2) * (size_t)(n + 2);
    const int most = 100 * n + 1000;
    int sweeps = 0;
    double first = 0, now = 0, seconds = 0;

    memset(u, 0, cells * sizeof **u);
    const double start = sample_seconds();
#pragma tilek data copy(u[0:n+2][0:n+2]) copyin(f[0:n+2][0:n+2])
    {
        first = now = residual(n, h2, u, f); /* of u = 0: the largest |f| */
        for (;;) {
            seconds = sample_seconds() - start;
            if (o->history != NULL)
                fprintf(o->history, "%s,%d,%.6f,%.6e\n", how->name, sweeps, seconds, first > 0 ? now / first : 0);
            if (now <= o->tolerance * first || sweeps >= most)
                break;
            how->sweeps(BLOCK, n, w, h2, u, f);
            sweeps += BLOCK;
            now = residual(n, h2, u, f);
        }
    }
    printf("%-10s %7d %10.3e %10.3e %9.4f %10.1f\n", how->name, sweeps, first > 0 ? now / first : 0, largest_error(n, h, u),
           seconds, 1e-6 * sweeps * n * n / seconds);
    if (!(now <= o->tolerance * first))
        sample_fail("sor", "the residual does not get that small", how->name);
    return seconds;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    const int defaults[] = {250};
    const char *const usage = "N] [--tolerance T] [--method wavefront|redblack|multilayer] [-o HISTORY.csv] [-u SOLUTION.csv";
    sample run = sample_start(o.argument_count, o.arguments, "sor", usage, 1, defaults);
    const int n = run.sizes[0], side = n + 2;
    const size_t cells = (size_t)side * (size_t)side;
    double *const u = sample_allocate(cells, sizeof *u), *const f = sample_allocate(cells, sizeof *f);
    const double h = 1.0 / (n + 1);
    for (size_t k = 0; k < cells; k++)
        f[k] = right_hand_side((double)(k % (size_t)side) * h, (double)(k / (size_t)side) * h);

    printf("%-10s %7s %10s %10s %9s %10s\n", "method", "sweeps", "residual", "error", "time s", "Mupdates/s");
    double seconds = DBL_MAX; /* to the solution, by the fastest method */
    for (int m = 0; m < METHODS; m++) {
        if (o.only != NULL && strcmp(o.only, methods[m].name) != 0)
            continue;
        seconds = fmin(seconds, solve(&methods[m], &o, n, (double (*)[side])u, (const double (*)[side])f));
        if (methods[m].natural)
            sample_record_double(&run, u, cells);
    }
    if (o.solution != NULL)
        write_solution(o.solution, n, (double (*)[side])u);
    if (o.history != NULL && fclose(o.history) != 0)
        sample_fail("sor", strerror(errno), "-o");
    free(u);
    free(f);
    free(o.arguments);
    return sample_finish(&run, seconds);
}
