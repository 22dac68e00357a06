/* Gauss-Seidel and SOR as textbooks write them, until a residual is small: one sweep a kernel, or some, which also say how much changed. */
#include "check.h"

static const int sides[] = {2, 3, 9, 41};
#define EACH_SIDE(n) for (size_t s_ = 0, n = 0; s_ < sizeof sides / sizeof sides[0] && (n = (size_t)sides[s_], 1); ++s_)

/* Sums in another order differ by their rounding. */
static int nearly(double one, double other)
{
    return fabs(one - other) <= 1e-12 * fabs(other);
}

// case rows_of_coefficients: Numerical Recipes' sor(): pointers to rows, a matrix for each coefficient, a norm summed in any order
static int rows_of_coefficients(int jmax, double **restrict a, double **restrict b, double **restrict c, double **restrict d,
                                double **restrict e, double **restrict f, double **restrict u, double omega, double *norms)
{
    int it, j, l;
    double anorm, resid;
    for (it = 0; it < 4; it++) {
        anorm = 0.0;
#pragma tilek kernel sor(wavefront) reduction(+: anorm)
        for (j = 1; j < jmax - 1; j++)
            for (l = 1; l < jmax - 1; l++) {
                resid = a[j][l] * u[j + 1][l] + b[j][l] * u[j - 1][l] + c[j][l] * u[j][l + 1] + d[j][l] * u[j][l - 1]
                        + e[j][l] * u[j][l] - f[j][l];
                anorm += fabs(resid);
                u[j][l] -= omega * resid / e[j][l];
            }
        norms[it] = anorm;
    }
    return it;
}
static double **matrix(size_t n, int shift)
{
    double **rows = check_allocate(n, sizeof *rows);
    for (size_t i = n; i-- > 0;) {
        rows[i] = check_allocate(n, sizeof **rows);
        for (size_t j = 0; j < n; j++)
            rows[i][j] = (double)(int64_t)check_random(i * 1009 + j + (size_t)shift * 7919) * 0x1p-63;
    }
    return rows;
}
CASE(rows_of_coefficients)
{
    EACH_SIDE(n) {
        double **m[7], norms[4], expected[4];
        for (int k = 0; k < 7; k++)
            m[k] = matrix(n, k);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                m[4][i][j] -= 5;
        rows_of_coefficients((int)n, m[0], m[1], m[2], m[3], m[4], m[5], m[6], 1.2, norms);
        double **again = matrix(n, 6);
        for (int it = 0; it < 4; it++) {
            expected[it] = 0;
            for (size_t j = 1; j + 1 < n; j++)
                for (size_t l = 1; l + 1 < n; l++) {
                    double r = m[0][j][l] * again[j + 1][l] + m[1][j][l] * again[j - 1][l] + m[2][j][l] * again[j][l + 1]
                               + m[3][j][l] * again[j][l - 1] + m[4][j][l] * again[j][l] - m[5][j][l];
                    expected[it] += fabs(r);
                    again[j][l] -= 1.2 * r / m[4][j][l];
                }
            int same = nearly(norms[it], expected[it]);
            check_record("norm", &same, sizeof same);
        }
        check_record_rows("u", (void *const *)m[6], n, n * sizeof **again);
        for (size_t i = 0; i < n; i++) {
            for (int k = 0; k < 7; k++)
                free(m[k][i]);
            free(again[i]);
        }
        for (int k = 0; k < 7; k++)
            free(m[k]);
        free(again);
    }
}

// case flattened_until_still: rows one behind the other, a do loop, the greatest change as a branch keeps it
static int flattened_until_still(int n, double tol, double *u, const double *f, double *last)
{
    int sweeps = 0;
    double change;
#pragma tilek data copy(u[0:n*n]) copyin(f[0:n*n])
    do {
        change = 0.0;
#pragma tilek kernel sor(wavefront) data(u[0:n*n], f[0:n*n])
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                int c = i * n + j;
                double old = u[c];
                u[c] = 0.25 * (u[c - n] + u[c - 1] + u[c + 1] + u[c + n] - f[c]);
                double d = fabs(u[c] - old);
                if (d > change)
                    change = d;
            }
        sweeps++;
    } while (change > tol && sweeps < 9);
    *last = change;
    return sweeps;
}
CASE(flattened_until_still)
{
    EACH_SIDE(n) {
        double *u = check_doubles(n * n), *f = check_doubles(n * n), last;
        int sweeps = flattened_until_still((int)n, 0.05, u, f, &last);
        check_record("sweeps", &sweeps, sizeof sweeps);
        check_record("last", &last, sizeof last);
        check_record("u", u, n * n * sizeof *u);
        free(u); free(f);
    }
}

// case line_in_rounds: on a line, K sweeps and then the residual, in loops of its own in the same region
static int line_in_rounds(int n, double tol, double *restrict u, const double *restrict f, double *last)
{
    double res = 2 * tol;
    int it;
    for (it = 0; it < 6 && res > tol; it++) {
#pragma tilek kernel data(u[0:n], f[0:n])
        {
            for (int k = 0; k < 16; k++)
                for (int i = 1; i < n - 1; i++)
                    u[i] = 0.5 * (u[i - 1] + u[i + 1] - f[i]);
            res = 0;
            for (int i = 1; i < n - 1; i++)
                res = fmax(res, fabs(u[i - 1] - 2 * u[i] + u[i + 1] - f[i]));
        }
    }
    *last = res;
    return it;
}
CASE(line_in_rounds)
{
    EACH_SIDE(n) {
        double *u = check_doubles(7 * n), *f = check_doubles(7 * n), last;
        int rounds = line_in_rounds((int)(7 * n), 0.1, u, f, &last);
        check_record("rounds", &rounds, sizeof rounds);
        check_record("last", &last, sizeof last);
        check_record("u", u, 7 * n * sizeof *u);
        free(u); free(f);
    }
}

// case seven_points: a fixed cube of floats, a for loop with two conditions, fmaxf
enum { EDGE = 13 };
static int seven_points(float tol, float w, float u[EDGE][EDGE][EDGE], float *last)
{
    float err = 1;
    int it;
    for (it = 0; it < 5 && err > tol; it++) {
        err = 0;
#pragma tilek kernel sor(wavefront) reduction(max: err)
        for (int i = 1; i < EDGE - 1; i++)
            for (int j = 1; j < EDGE - 1; j++)
                for (int k = 1; k < EDGE - 1; k++) {
                    float r = (u[i-1][j][k] + u[i+1][j][k] + u[i][j-1][k] + u[i][j+1][k] + u[i][j][k-1] + u[i][j][k+1]) / 6 - u[i][j][k];
                    u[i][j][k] += w * r;
                    err = fmaxf(err, fabsf(r));
                }
    }
    *last = err;
    return it;
}
CASE(seven_points)
{
    float *u = check_floats(EDGE * EDGE * EDGE), last;
    int it = seven_points(0.01f, 1.1f, (void *)u, &last);
    check_record("sweeps", &it, sizeof it);
    check_record("last", &last, sizeof last);
    check_record("u", u, EDGE * EDGE * EDGE * sizeof *u);
    free(u);
}

// case symmetric_nine: Mehrstellen, forward and backward; the change starts over with each round, and that of the last is wanted
static double symmetric_nine(int rounds, int n, double w, double u[n][n], double f[n][n])
{
    double change = 0;
#pragma tilek kernel sor(wavefront)
    for (int t = 0; t < rounds; t++) {
        change = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                double edges = u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1];
                double corners = u[i-1][j-1] + u[i-1][j+1] + u[i+1][j-1] + u[i+1][j+1];
                double d = w * (0.05 * (4 * edges + corners - 6 * f[i][j]) - u[i][j]);
                u[i][j] += d;
                if (fabs(d) > change)
                    change = fabs(d);
            }
        for (int i = n - 2; i >= 1; i--)
            for (int j = n - 2; j >= 1; j--) {
                double edges = u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1];
                double corners = u[i-1][j-1] + u[i-1][j+1] + u[i+1][j-1] + u[i+1][j+1];
                double d = w * (0.05 * (4 * edges + corners - 6 * f[i][j]) - u[i][j]);
                u[i][j] += d;
                if (fabs(d) > change)
                    change = fabs(d);
            }
    }
    return change;
}
CASE(symmetric_nine)
{
    EACH_SIDE(n) {
        double *u = check_doubles(n * n), *f = check_doubles(n * n), last = symmetric_nine(3, (int)n, 1.1, (void *)u, (void *)f);
        check_record("last", &last, sizeof last);
        check_record("u", u, n * n * sizeof *u);
        free(u); free(f);
    }
}

// case chebyshev: the relaxation factor is another in each sweep; the greatest change of all sweeps
static double chebyshev(int sweeps, int n, double rho, double u[n][n], double f[n][n])
{
    double omega = 1, most = -1;
#pragma tilek kernel sor(wavefront)
    for (int t = 0; t < sweeps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                const double r = u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1] - 4 * u[i][j] - f[i][j];
                u[i][j] += omega * 0.25 * r;
                most = r * r > most ? r * r : most;
            }
        omega = t == 0 ? 1 / (1 - 0.5 * rho * rho) : 1 / (1 - 0.25 * rho * rho * omega);
    }
    return most;
}
CASE(chebyshev)
{
    EACH_SIDE(n) {
        double *u = check_doubles(n * n), *f = check_doubles(n * n), most = chebyshev(4, (int)n, 0.9, (void *)u, (void *)f);
        check_record("most", &most, sizeof most);
        check_record("u", u, n * n * sizeof *u);
        free(u); free(f);
    }
}

// case around_obstacles: cells that are left out, other conductivity everywhere, sums of the squares of what changes, in several sweeps
static double around_obstacles(int sweeps, int n, double w, double u[n][n], double k[n][n], int solid[n][n])
{
    double sum = 0.5;
#pragma tilek kernel sor(wavefront) reduction(+: sum)
    for (int t = 0; t < sweeps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                if (solid[i][j])
                    continue;
                const double east = 3 + k[i][j] + k[i][j+1], west = 3 + k[i][j] + k[i][j-1];
                const double north = 3 + k[i][j] + k[i-1][j], south = 3 + k[i][j] + k[i+1][j];
                const double all = east + west + north + south;
                const double d = (east * u[i][j+1] + west * u[i][j-1] + north * u[i-1][j] + south * u[i+1][j]) / all - u[i][j];
                u[i][j] += w * d;
                sum += d * d;
            }
    return sum;
}
CASE(around_obstacles)
{
    EACH_SIDE(n) {
        double *u = check_doubles(n * n), *k = check_doubles(n * n), expected = 0.5;
        double (*again)[n] = (void *)check_doubles(n * n), (*c)[n] = (void *)k;
        int *solid = check_ints(n * n), (*out)[n] = (void *)solid;
        for (size_t i = 0; i < n * n; i++)
            solid[i] = solid[i] % 4 == 0;
        const double sum = around_obstacles(3, (int)n, 1.2, (void *)u, (void *)k, (void *)solid);
        for (int t = 0; t < 3; t++)
            for (size_t i = 1; i + 1 < n; i++)
                for (size_t j = 1; j + 1 < n; j++) {
                    const double east = 3 + c[i][j] + c[i][j+1], west = 3 + c[i][j] + c[i][j-1];
                    const double north = 3 + c[i][j] + c[i-1][j], south = 3 + c[i][j] + c[i+1][j];
                    const double d = (east * again[i][j+1] + west * again[i][j-1] + north * again[i-1][j] + south * again[i+1][j])
                                         / (east + west + north + south) - again[i][j];
                    again[i][j] += out[i][j] ? 0 : 1.2 * d;
                    expected += out[i][j] ? 0 : d * d;
                }
        const int same = nearly(sum, expected);
        check_record("sum", &same, sizeof same);
        check_record("u", u, n * n * sizeof *u);
        free(u); free(k); free(again); free(solid);
    }
}

// case loops_over_the_stencil: 27 points with a weight each, in three short loops
static float loops_over_the_stencil(int n, float u[n][n][n], const float c[3][3][3])
{
    float change = 0;
    int di, dj, dk;
#pragma tilek kernel sor(wavefront)
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++) {
                float s = 0.01f;
                for (di = -1; di <= 1; di++)
                    for (dj = -1; dj <= 1; dj++)
                        for (dk = -1; dk <= 1; dk++)
                            if (di || dj || dk)
                                s += c[di+1][dj+1][dk+1] * u[i+di][j+dj][k+dk];
                change = fmaxf(change, fabsf(s - u[i][j][k]));
                u[i][j][k] = s;
            }
    return change;
}
CASE(loops_over_the_stencil)
{
    for (size_t n = 3; n < 16; n += 5) {
        float *u = check_floats(n * n * n), c[27], change;
        for (int k = 0; k < 27; k++)
            c[k] = (float)(k % 5 + 1) / 81;
        change = loops_over_the_stencil((int)n, (void *)u, (void *)c);
        check_record("change", &change, sizeof change);
        check_record("u", u, n * n * n * sizeof *u);
        free(u);
    }
}

// case checkerboard: rows that begin at 1 and 2 in turn, coefficients for each cell, a factor that follows the half sweeps (Chebyshev)
static int checkerboard(int n, double **restrict a, double **restrict b, double **restrict c, double **restrict d, double **restrict e,
                        double **restrict f, double **restrict u, double radius, int most, double least, double *norm)
{
    double factor = 1;
    int it, half, j, l, begin, row;
    for (it = 0; it < most; it++) {
        double sum = 0, r;
        begin = 1;
#pragma tilek kernel reduction(+: sum)
        for (half = 0; half < 2; half++) {
            row = begin;
            for (j = 1; j < n - 1; j++) {
                for (l = row; l < n - 1; l += 2) {
                    r = a[j][l] * u[j + 1][l] + b[j][l] * u[j - 1][l] + c[j][l] * u[j][l + 1] + d[j][l] * u[j][l - 1] + e[j][l] * u[j][l]
                        - f[j][l];
                    sum += fabs(r);
                    u[j][l] -= factor * r / e[j][l];
                }
                row = 3 - row;
            }
            begin = 3 - begin;
            factor = it == 0 && half == 0 ? 1 / (1 - radius * radius / 2) : 1 / (1 - radius * radius * factor / 4);
        }
        *norm = sum;
        if (sum < least)
            break;
    }
    return it;
}
CASE(checkerboard)
{
    EACH_SIDE(n) {
        double **m[7], norm = -1, expected = -1, factor = 1;
        for (int k = 0; k < 7; k++)
            m[k] = matrix(n, k);
        double **again = matrix(n, 6);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                m[4][i][j] -= 5;
        int done = checkerboard((int)n, m[0], m[1], m[2], m[3], m[4], m[5], m[6], 0.8, 4, 1e-9, &norm), it = 0;
        for (; it < 4; it++) {
            expected = 0;
            for (size_t half = 0; half < 2; half++) {
                for (size_t j = 1; j + 1 < n; j++)
                    for (size_t l = 1; l + 1 < n; l++)
                        if ((j + l) % 2 == half) {
                            const double r = m[0][j][l] * again[j + 1][l] + m[1][j][l] * again[j - 1][l] + m[2][j][l] * again[j][l + 1]
                                             + m[3][j][l] * again[j][l - 1] + m[4][j][l] * again[j][l] - m[5][j][l];
                            expected += fabs(r);
                            again[j][l] -= factor * r / m[4][j][l];
                        }
                factor = it == 0 && half == 0 ? 1 / (1 - 0.8 * 0.8 / 2) : 1 / (1 - 0.8 * 0.8 * factor / 4);
            }
            if (expected < 1e-9)
                break;
        }
        int same = done == it && nearly(norm, expected);
        check_record("norm", &same, sizeof same);
        check_record_rows("u", (void *const *)m[6], n, n * sizeof **again);
        for (size_t i = 0; i < n; i++) {
            for (int k = 0; k < 7; k++)
                free(m[k][i]);
            free(again[i]);
        }
        for (int k = 0; k < 7; k++)
            free(m[k]);
        free(again);
    }
}
