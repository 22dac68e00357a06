/* Loops that end with a condition inside a region: the host runs them, in the user's text, around kernels of the loops inside. */
#include "check.h"

#include <math.h>

static const int sides[] = {2, 3, 9, 41};
#define EACH_SIDE(n) for (size_t s_ = 0, n = 0; s_ < sizeof sides / sizeof sides[0] && (n = (size_t)sides[s_], 1); ++s_)

// case jacobi_exchanged: the pragma over the while itself, pointers that change places, output of numbers
static int jacobi_exchanged(int n, double tol, int most, double *u, double *v, const double *f, double *last)
{
    double res = 2 * tol;
    int it = 0;
#pragma tilek kernel
    while (res > tol && it < most) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                v[i * n + j] = 0.25 * (u[i * n + j - 1] + u[i * n + j + 1] + u[(i - 1) * n + j] + u[(i + 1) * n + j] - f[i * n + j]);
        res = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                if (fabs(v[i * n + j] - u[i * n + j]) > res)
                    res = fabs(v[i * n + j] - u[i * n + j]);
        double *t = u;
        u = v;
        v = t;
        if (it++ % 4 == 3)
            fprintf(stderr, "%d sweeps: %g\n", it, res);
    }
    *last = res;
    return it;
}
CASE(jacobi_exchanged)
{
    EACH_SIDE(n)
        for (int most = 0; most < 8; most += 7) {
            double *u = check_doubles(n * n), *v = check_doubles(n * n), *f = check_doubles(n * n), last;
            int it = jacobi_exchanged((int)n, 0.01, most, u, v, f, &last);
            check_record("sweeps", &it, sizeof it);
            check_record("last", &last, sizeof last);
            check_record("u", u, n * n * sizeof *u);
            check_record("v", v, n * n * sizeof *v);
            free(u); free(v); free(f);
        }
}

// case relaxed_in_place: a block with a do loop in it, Gauss-Seidel in wavefronts, the residual in loops of its own, a root on the host
static int relaxed_in_place(int n, double tol, double u[n][n], double f[n][n], double *last)
{
    double res;
    int sweeps = 0;
#pragma tilek kernel sor(wavefront)
    {
        for (int i = 0; i < n; i++)
            u[i][0] = u[0][i] = 1;
        do {
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < n - 1; j++)
                    u[i][j] = 0.25 * (u[i-1][j] + u[i][j-1] + u[i][j+1] + u[i+1][j] - f[i][j]);
            res = 0;
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < n - 1; j++)
                    res = fmax(res, fabs(u[i-1][j] + u[i][j-1] + u[i][j+1] + u[i+1][j] - 4 * u[i][j] - f[i][j]));
            res = sqrt(res);
            ++sweeps;
        } while (res > tol && sweeps < 9);
    }
    *last = res;
    return sweeps;
}
CASE(relaxed_in_place)
{
    EACH_SIDE(n) {
        double *u = check_doubles(n * n), *f = check_doubles(n * n), last;
        int sweeps = relaxed_in_place((int)n, 0.2, (void *)u, (void *)f, &last);
        check_record("sweeps", &sweeps, sizeof sweeps);
        check_record("last", &last, sizeof last);
        check_record("u", u, n * n * sizeof *u);
        free(u); free(f);
    }
}

// case left_when_still: a for loop that is left by break, or goes on at once; an array of the history; the change is copied back by loops
static int left_when_still(int n, int most, double tol, double a[n], double b[n], double *history)
{
    int it;
#pragma tilek kernel
    for (it = 0; it < most; it++) {
        double change = 0;
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.5 * (a[i - 1] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            change = b[i] - a[i] > change ? b[i] - a[i] : change;
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
        if (it % 2)
            continue;
        history[it] = change;
        if (change < tol)
            break;
    }
    return it;
}
CASE(left_when_still)
{
    EACH_SIDE(n) {
        double *a = check_doubles(9 * n), *b = check_doubles(9 * n), history[12] = {0};
        int it = left_when_still((int)(9 * n), 12, 0.05, a, b, history);
        check_record("sweeps", &it, sizeof it);
        check_record("history", history, sizeof history);
        check_record("a", a, 9 * n * sizeof *a);
        free(a); free(b);
    }
}

// case time_steps: a while in a loop over time that can be counted, two conditions, the residual now and then; sources and sinks by choice
static int time_steps(int steps, int n, float tol, float u[n][n], float v[n][n], float old[n][n])
{
    int all = 0;
#pragma tilek kernel if(steps > 0)
    for (int step = 0; step < steps; step++) {
        float change = 2 * tol;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                old[i][j] = u[i][j];
        for (int it = 0; it < 6 && change > tol; it++) {
            float (*from)[n] = it % 2 ? v : u, (*to)[n] = it % 2 ? u : v;
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < n - 1; j++)
                    to[i][j] = (old[i][j] + from[i-1][j] + from[i+1][j] + from[i][j-1] + from[i][j+1]) / 5;
            if (it % 3 == 2) {
                change = 0;
                for (int i = 1; i < n - 1; i++)
                    for (int j = 1; j < n - 1; j++)
                        change = fmaxf(change, fabsf(to[i][j] - from[i][j]));
            }
            all++;
        }
        u[0][0] += change;
    }
    return all;
}
CASE(time_steps)
{
    EACH_SIDE(n) {
        float *u = check_floats(n * n), *v = check_floats(n * n), *old = check_floats(n * n);
        int all = time_steps(3, (int)n, 0.01f, (void *)u, (void *)v, (void *)old);
        check_record("sweeps", &all, sizeof all);
        check_record("u", u, n * n * sizeof *u);
        check_record("v", v, n * n * sizeof *v);
        free(u); free(v); free(old);
    }
}

// case on_members: the change is found on the way, on members of a struct, where a condition says so at all
struct mesh { int n; double *u, *f; double change; };
static int on_members(struct mesh *m, double tol, int use)
{
    int sweeps = 0;
    const int n = m->n;
#pragma tilek kernel sor(wavefront) data(m->u[0:n*n]) data(m->f[0:n*n], live:in) if(use)
    do {
        m->change = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                double d = 0.25 * (m->u[(i - 1) * n + j] + m->u[(i + 1) * n + j] + m->u[i * n + j - 1] + m->u[i * n + j + 1] - m->f[i * n + j]) - m->u[i * n + j];
                m->u[i * n + j] += 1.2 * d;
                if (fabs(d) > m->change)
                    m->change = fabs(d);
            }
        sweeps++;
        use = 0;
    } while (m->change > tol && sweeps < 7);
    return 2 * sweeps + use;
}
CASE(on_members)
{
    EACH_SIDE(n)
        for (int use = 0; use < 2; use++) {
            struct mesh m = {(int)n, check_doubles(n * n), check_doubles(n * n), 0};
            int sweeps = on_members(&m, 0.1, use);
            check_record("sweeps", &sweeps, sizeof sweeps);
            check_record("change", &m.change, sizeof m.change);
            check_record("u", m.u, n * n * sizeof *m.u);
            free(m.u); free(m.f);
        }
}

// case changed_by_functions: functions of the file exchange pointers, decide, and write what is going on; arrays of several sizes in a struct
struct level { int n; double *now, *next; };
static int reports;
static void exchange(double **a, double **b)
{
    double *const kept = *a;
    *a = *b;
    *b = kept;
}
static int goes_on(double change, int it)
{
    reports++;
    return change > 0.001 && it < 5;
}
static int changed_by_functions(int n, double *a, double *b, struct level *level)
{
    int it = 0;
    double change = 1;
#pragma tilek kernel
    {
        for (int i = 0; i < n; i++)
            a[i] += level->now[i];
        while (goes_on(change, it)) {
            change = 0;
            for (int i = 1; i < n - 1; i++) {
                b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
                change = fmax(change, fabs(b[i] - a[i]));
            }
            exchange(&a, &b);
            if (change > 0.1)
                for (int i = 0; i < 2 * level->n; i++)
                    level->next[i] = 0.5 * level->now[i] + change;
            double *const kept = level->now;
            level->now = level->next;
            level->next = kept;
            it++;
        }
    }
    return it;
}
CASE(changed_by_functions)
{
    EACH_SIDE(n) {
        double *a = check_doubles(n), *b = check_doubles(n);
        struct level level = {(int)n, check_doubles(2 * n), check_doubles(2 * n)};
        int it = changed_by_functions((int)n, a, b, &level);
        check_record("sweeps", &it, sizeof it);
        check_record("reports", &reports, sizeof reports);
        check_record("a", a, n * sizeof *a);
        check_record("b", b, n * sizeof *b);
        check_record("now", level.now, 2 * n * sizeof *a);
        check_record("next", level.next, 2 * n * sizeof *a);
        free(a); free(b); free(level.now); free(level.next);
    }
}

// case heads_in_memory: heads and conditions of the host's that read elements which nothing in the region writes, of arrays and members
typedef struct { int n, steps[3]; } sizes;

static int heads_in_memory(const int d[3], sizes *s, const int *bounds, int level, const int *const *table, double *u, double *v)
{
    double *t;
    int it = 0;
#pragma tilek kernel
    for (int k = 0; k < d[2]; k++) {
        for (int i = 1; i < 96; i++)
            v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        t = u;
        u = v;
        v = t;
    }
#pragma tilek kernel
    for (int k = 0; k < s->steps[1]; k++) {
        for (int i = 1; i < 96; i++)
            v[i] = 0.25 * (u[i - 1] + u[i + 1]);
        t = u;
        u = v;
        v = t;
        if (bounds[k] > table[1][level])
            it += bounds[k];
    }
#pragma tilek kernel
    while (it < bounds[level]) {
        for (int i = 1; i < 96; i++)
            v[i] = u[i] + bounds[0];
        t = u;
        u = v;
        v = t;
        it++;
    }
    return it;
}

static int heads_from_device(int n, int *count, double *u, double *v)
{
    int turns = 0;
#pragma tilek data copy(count[0:n]) copy(u[0:n]) copy(v[0:n])
    {
#pragma tilek kernel
        for (int i = 0; i < n; i++)
            count[i] += 3;
#pragma tilek kernel
        for (int k = 0; k < count[2]; k++) {
            for (int i = 1; i < n; i++)
                v[i] = 0.5 * (u[i - 1] + u[i]);
            double *t = u;
            u = v;
            v = t;
            turns++;
        }
    }
    return turns;
}
CASE(heads_in_memory)
{
    enum { N = 97 };
    const int d[3] = {N, 9, 4}, bounds[3] = {1, 2, 9};
    const int *const table[] = {d, bounds};
    sizes s = {N, {1, 3, 7}};
    int count[N] = {0, 1, 2, 3};
    double *const u = check_doubles(N), *const v = check_doubles(N);
    int turns = heads_in_memory(d, &s, bounds, 2, table, u, v);
    check_record("turns", &turns, sizeof turns);
    turns = heads_from_device(N, count, u, v);
    check_record("more", &turns, sizeof turns);
    check_record("count", count, sizeof count);
    check_record("u", u, N * sizeof *u);
    check_record("v", v, N * sizeof *v);
    free(u);
    free(v);
}

// case bytes_between: characters are the bytes of what the loops change, and the host looks at them, and sets one
static int bytes_between(int n, int *a, const int *b)
{
    unsigned char *const bytes = (unsigned char *)a;
    int it = 0, first = 1;
#pragma tilek kernel
    while (first != 0 && it < 9) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 3; j++)
                a[3 * i + j] += b[i] + it;
        first = bytes[0] % 5;
        bytes[4] = 7;
        it++;
    }
    return it;
}
CASE(bytes_between)
{
    EACH_SIDE(n) {
        int a[300] = {0}, b[100];
        for (int i = 0; i < 100; i++)
            b[i] = 1 + i;
        int it = bytes_between((int)(n < 99 ? n : 99) + 1, a, b);
        check_record("rounds", &it, sizeof it);
        check_record("a", a, sizeof a);
    }
}
