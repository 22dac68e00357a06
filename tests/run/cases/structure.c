/* Sequential loops around parallel ones, without a word from the user: the outer loops run on the host, data stays on the device. */
#include "check.h"

// case relaxation: two nests in a time loop, iterators declared outside and read afterwards, zero trips and negative sizes
static void relaxation(int steps, int n, int m, float a[n][m], float b[n][m], int *last)
{
    int t = -1, i = -1, j = -1;
#pragma tilek kernel
    {
        for (t = 0; t < steps; t++) {
            for (i = 1; i < n - 1; i++)
                for (j = 1; j < m - 1; j++)
                    b[i][j] = 0.2f * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
            for (i = 1; i < n - 1; i++)
                for (j = 1; j < m - 1; j++)
                    a[i][j] = 0.3f * (b[i][j] + b[i][j - 1] - b[i - 1][j]) + 0.1f * b[i + 1][j];
        }
    }
    last[0] = t;
    last[1] = i;
    last[2] = j;
}

CASE(relaxation)
{
    enum { N = 37, M = 53 };
    static const int sizes[][3] = {{5, N, M}, {0, N, M}, {-2, N, M}, {3, 2, M}, {3, N, 1}, {1, 3, 3}};
    for (int k = 0; k < 6; k++) {
        float *const a = check_floats(N * M), *const b = check_floats(N * M);
        int last[3];
        relaxation(sizes[k][0], sizes[k][1], sizes[k][2], (void *)a, (void *)b, last);
        check_record("a", a, N * M * sizeof *a);
        check_record("b", b, N * M * sizeof *b);
        if (sizes[k][0] > 0)
            check_record("last", last, sizeof last);
        else
            check_record("last", last, sizeof *last);
        free(a);
        free(b);
    }
}

// case cube: seven points in space, double buffering by hand
#define CUBE 11
static void cube(int steps, double u[2][CUBE][CUBE][CUBE])
{
#pragma tilek kernel
    for (int t = 1; t <= steps; t++)
        for (int from = 0; from < 1; from++) { /* one iteration is not worth dealing out */
            for (int z = 1; z < CUBE - 1; z++)
                for (int y = 1; y < CUBE - 1; y++)
                    for (int x = 1; x < CUBE - 1; x++)
                        u[1][z][y][x] = u[0][z][y][x] + 0.1 * (u[0][z + 1][y][x] + u[0][z - 1][y][x] + u[0][z][y + 1][x])
                            + 0.05 * (u[0][z][y - 1][x] + u[0][z][y][x + 1] + u[0][z][y][x - 1]) - 0.45 * u[0][z][y][x];
            for (int z = 1; z < CUBE - 1; z++)
                for (int y = 1; y < CUBE - 1; y++)
                    for (int x = 1; x < CUBE - 1; x++)
                        u[0][z][y][x] = u[1][z][y][x];
        }
}

CASE(cube)
{
    double *const u = check_doubles(2 * CUBE * CUBE * CUBE);
    cube(4, (void *)u);
    check_record("u", u, 2 * CUBE * CUBE * CUBE * sizeof *u);
    free(u);
}

// case waves: three fields that feed each other, borders driven by a table
static void waves(int steps, int n, int m, double ex[n][m], double ey[n][m], double h[n][m], const double *source)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int j = 0; j < m; j++)
            ey[0][j] = source[t];
        for (int i = 1; i < n; i++)
            for (int j = 0; j < m; j++)
                ey[i][j] = ey[i][j] - 0.5 * (h[i][j] - h[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < m; j++)
                ex[i][j] = ex[i][j] - 0.5 * (h[i][j] - h[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < m - 1; j++)
                h[i][j] = h[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

CASE(waves)
{
    enum { N = 29, M = 31 };
    double *const ex = check_doubles(N * M), *const ey = check_doubles(N * M), *const h = check_doubles(N * M);
    double *const source = check_doubles(6);
    waves(6, N, M, (void *)ex, (void *)ey, (void *)h, source);
    check_record("ex", ex, N * M * sizeof *ex);
    check_record("ey", ey, N * M * sizeof *ey);
    check_record("h", h, N * M * sizeof *h);
    free(ex);
    free(ey);
    free(h);
    free(source);
}

// case sweeps: lines solved forward and back, along rows and then along columns
static void sweeps(int steps, int n, double u[n][n], double v[n][n], double p[n][n], double q[n][n])
{
    double weight, other;
#pragma tilek kernel
    {
        weight = 1.0 / n;
        other = 1.0 + 2.0 * weight;
        for (int t = 1; t <= steps; t++) {
            for (int i = 1; i < n - 1; i++) {
                v[0][i] = 1.0;
                p[i][0] = 0.0;
                q[i][0] = v[0][i];
                for (int j = 1; j < n - 1; j++) {
                    p[i][j] = weight / (weight * p[i][j - 1] + other);
                    q[i][j] = (u[j][i - 1] + (1.0 + weight) * u[j][i] - u[j][i + 1] - weight * q[i][j - 1]) / (weight * p[i][j - 1] + other);
                }
                v[n - 1][i] = 1.0;
                for (int j = n - 2; j >= 1; j--)
                    v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
            }
            for (int i = 1; i < n - 1; i++) {
                u[i][0] = 1.0;
                for (int j = n - 2; j >= 1; j--)
                    u[i][j] = p[i][j] * u[i][j + 1] + v[i][j];
            }
        }
    }
}

CASE(sweeps)
{
    enum { N = 23 };
    double *const u = check_doubles(N * N), *const v = check_doubles(N * N), *const p = check_doubles(N * N), *const q = check_doubles(N * N);
    sweeps(3, N, (void *)u, (void *)v, (void *)p, (void *)q);
    check_record("u", u, N * N * sizeof *u);
    check_record("v", v, N * N * sizeof *v);
    check_record("p", p, N * N * sizeof *p);
    free(u);
    free(v);
    free(p);
    free(q);
}

// case orthogonal: a norm that one instance sums up in order, between launches over columns
static void orthogonal(int m, int n, double a[m][n], double q[m][n], double r[n][n])
{
    int i, j, k;
    double norm;
#pragma tilek kernel
    for (k = 0; k < n; k++) {
        norm = 0.0;
        for (i = 0; i < m; i++)
            norm += a[i][k] * a[i][k];
        r[k][k] = sqrt(norm);
        for (i = 0; i < m; i++)
            q[i][k] = a[i][k] / r[k][k];
        for (j = k + 1; j < n; j++) {
            r[k][j] = 0.0;
            for (i = 0; i < m; i++)
                r[k][j] += q[i][k] * a[i][j];
            for (i = 0; i < m; i++)
                a[i][j] = a[i][j] - q[i][k] * r[k][j];
        }
    }
}

CASE(orthogonal)
{
    enum { M = 19, N = 13 };
    double *const a = check_doubles(M * N), *const q = check_doubles(M * N), *const r = check_doubles(N * N);
    orthogonal(M, N, (void *)a, (void *)q, (void *)r);
    check_record("a", a, M * N * sizeof *a);
    check_record("q", q, M * N * sizeof *q);
    check_record("r", r, N * N * sizeof *r);
    free(a);
    free(q);
    free(r);
}

// case standardised: scalars assigned between nests, means and deviations of columns, a symmetric result
static void standardised(int n, int m, float data[n][m], float mean[m], float deviation[m], float related[m][m], float *passed)
{
    int i, j, k;
    float small, count;
#pragma tilek kernel
    {
        small = 0.1f;
        count = (float)n;
        for (j = 0; j < m; j++) {
            mean[j] = 0;
            for (i = 0; i < n; i++)
                mean[j] += data[i][j];
            mean[j] /= count;
        }
        for (j = 0; j < m; j++) {
            deviation[j] = 0;
            for (i = 0; i < n; i++)
                deviation[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
            deviation[j] = sqrtf(deviation[j] / count);
            deviation[j] = deviation[j] <= small ? 1.0f : deviation[j];
        }
        for (i = 0; i < n; i++)
            for (j = 0; j < m; j++) {
                data[i][j] -= mean[j];
                data[i][j] /= sqrtf(count) * deviation[j];
            }
        for (i = 0; i < m - 1; i++) {
            related[i][i] = 1;
            for (j = i + 1; j < m; j++) {
                related[i][j] = 0;
                for (k = 0; k < n; k++)
                    related[i][j] += data[k][i] * data[k][j];
                related[j][i] = related[i][j];
            }
        }
        related[m - 1][m - 1] = 1;
        small = small + count;
    }
    *passed = small;
}

CASE(standardised)
{
    enum { N = 41, M = 17 };
    float *const data = check_floats(N * M), *const mean = check_floats(M), *const deviation = check_floats(M);
    float *const related = check_floats(M * M);
    float passed = 0;
    standardised(N, M, (void *)data, mean, deviation, (void *)related, &passed);
    check_record("data", data, N * M * sizeof *data);
    check_record("deviation", deviation, M * sizeof *deviation);
    check_record("related", related, M * M * sizeof *related);
    check_record("passed", &passed, sizeof passed);
    free(data);
    free(mean);
    free(deviation);
    free(related);
}

// case recursive_filter: scalars carried along a row, forward and back, then along columns
static void recursive_filter(int n, int m, float in[n][m], float out[n][m], float y[n][m], float strength)
{
    float before, earlier, gain, decay;
#pragma tilek kernel
    {
        gain = (1.0f - expf(-strength)) * (1.0f - expf(-strength));
        decay = powf(2.0f, -strength);
        for (int i = 0; i < n; i++) {
            before = 0;
            earlier = 0;
            for (int j = 0; j < m; j++) {
                y[i][j] = gain * in[i][j] + decay * before - 0.25f * earlier;
                earlier = before;
                before = y[i][j];
            }
        }
        for (int i = 0; i < n; i++) {
            before = 0;
            for (int j = m - 1; j >= 0; j--) {
                out[i][j] = 0.5f * (y[i][j] + decay * before);
                before = out[i][j];
            }
        }
        for (int j = 0; j < m; j++) {
            earlier = 0;
            for (int i = 0; i < n; i++) {
                out[i][j] = out[i][j] + decay * earlier;
                earlier = out[i][j];
            }
        }
    }
}

CASE(recursive_filter)
{
    enum { N = 27, M = 33 };
    float *const in = check_floats(N * M), *const out = check_floats(N * M), *const y = check_floats(N * M);
    recursive_filter(N, M, (void *)in, (void *)out, (void *)y, 0.25f);
    check_record("out", out, N * M * sizeof *out);
    check_record("y", y, N * M * sizeof *y);
    free(in);
    free(out);
    free(y);
}

// case levinson: as much in order as in parallel; runs as written
static void levinson(int n, const double *r, double *y, double *z)
{
    double alpha, beta, sum;
    int k, i;
#pragma tilek kernel
    {
        y[0] = -r[0];
        beta = 1.0;
        alpha = -r[0];
        for (k = 1; k < n; k++) {
            beta = (1 - alpha * alpha) * beta;
            sum = 0.0;
            for (i = 0; i < k; i++)
                sum += r[k - i - 1] * y[i];
            alpha = -(r[k] + sum) / beta;
            for (i = 0; i < k; i++)
                z[i] = y[i] + alpha * y[k - i - 1];
            for (i = 0; i < k; i++)
                y[i] = z[i];
            y[k] = alpha;
        }
    }
}

CASE(levinson)
{
    enum { N = 40 };
    double *const r = check_doubles(N), *const y = check_doubles(N), *const z = check_doubles(N);
    levinson(N, r, y, z);
    check_record("y", y, N * sizeof *y);
    check_record("z", z, N * sizeof *z);
    free(r);
    free(y);
    free(z);
}

// case symmetric_product: a sum that only the inner loop carries, columns distributed while rows go in order
static void symmetric_product(int n, int m, double c[n][m], double a[n][n], double b[n][m])
{
    double sum;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            sum = 0;
            for (int k = 0; k < i; k++) {
                c[k][j] += 1.5 * b[i][j] * a[i][k];
                sum += b[k][j] * a[i][k];
            }
            c[i][j] = 1.2 * c[i][j] + 1.5 * b[i][j] * a[i][i] + 1.5 * sum;
        }
}

CASE(symmetric_product)
{
    enum { N = 21, M = 26 };
    double *const a = check_doubles(N * N), *const b = check_doubles(N * M), *const c = check_doubles(N * M);
    symmetric_product(N, M, (void *)c, (void *)a, (void *)b);
    check_record("c", c, N * M * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case distributed: what one loop mixes, an update along it, sums across it and a plain assignment
static void distributed(int n, int m, double a[n][m], double *s, double *q, const double *p, const double *r)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        q[i] = 0;
        for (int j = 0; j < m; j++) {
            s[j] = s[j] + r[i] * a[i][j];
            q[i] = q[i] + a[i][j] * p[j];
        }
    }
}

static void distributed_steps(int n, float *a, float *b, float *c)
{
#pragma tilek kernel
    for (int i = n - 2; i > 0; i -= 3) {
        const float twice = 2 * b[i];
        a[i] = a[i + 1] + twice;
        c[i] = b[i] * 0.5f + a[i];
    }
}

CASE(distributed)
{
    enum { N = 25, M = 30 };
    double *const a = check_doubles(N * M), *const s = check_doubles(M), *const q = check_doubles(N), *const p = check_doubles(M),
                 *const r = check_doubles(N);
    distributed(N, M, (void *)a, s, q, p, r);
    check_record("s", s, M * sizeof *s);
    check_record("q", q, N * sizeof *q);
    float *const x = check_floats(200), *const y = check_floats(200), *const z = check_floats(200);
    distributed_steps(200, x, y, z);
    check_record("x", x, 200 * sizeof *x);
    check_record("z", z, 200 * sizeof *z);
    free(a);
    free(s);
    free(q);
    free(p);
    free(r);
    free(x);
    free(y);
    free(z);
}

// case conditions: what the host decides between launches, by outside values and by its loops' iterators
static void conditions(int n, int steps, int twice, float *a, float *b)
{
#pragma tilek kernel
    {
        for (int t = steps; t != 0; t--) {
            if (t % 2 == 0) {
                for (int i = 1; i < n; i++)
                    b[i] = a[i - 1] * 0.5f + (float)t;
            } else {
                for (int i = 1; i < n; i++)
                    b[i] = a[i] - 0.5f;
            }
            for (int i = 0; i < n - t; i++)
                a[i] = b[i] + b[i + t];
        }
        if (twice)
            for (int i = 0; i < n; i++)
                a[i] *= 2;
    }
}

CASE(conditions)
{
    enum { N = 211 };
    float *const a = check_floats(N), *const b = check_floats(N);
    conditions(N, 7, 0, a, b);
    check_record("once", a, N * sizeof *a);
    conditions(N, 4, 1, a, b);
    check_record("twice", a, N * sizeof *a);
    free(a);
    free(b);
}
