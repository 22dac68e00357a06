/* What passes between sequential loops on the host and the launches inside them: locals, sums, counts, iterators of every type. */
#include "check.h"

// case locals: constants declared between the host's loops and the launches, and one that is no constant
static void locals(int n, int steps, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        const double scale = 1.0 / (t + 2), shift = scale + n;
        int end = n - t;
        for (int i = 1; i < end; i++)
            b[i] = a[i - 1] * scale + shift;
        for (int i = 1; i < end; i++)
            a[i] = b[i] - scale * b[i - 1];
        double first = a[0];
        first = first * 0.5 + b[1];
        a[0] = first;
    }
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        double weight, sum;
        weight = 1.0 / (t + 1);
        sum = weight * 0.5;
        weight = weight + sum;
        for (int i = 1; i < n; i++)
            b[i] = b[i] * weight + a[i - 1];
        for (int i = 1; i < n; i++)
            a[i] = a[i] - b[i] * sum;
    }
}

CASE(locals)
{
    enum { N = 97 };
    double *const a = check_doubles(N), *const b = check_doubles(N);
    locals(N, 5, a, b);
    check_record("a", a, N * sizeof *a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}

// case gathered: sums, extremes and bits that any order of updates gives; float sums keep theirs
static void gathered(int n, const int *x, const float *f, long *sum, unsigned *bits, int *least, float *greatest, float *total)
{
    long s = 5;
    unsigned odd = 3;
    int low = 1000;
    float high = -1, all = 0.5f;
#pragma tilek kernel data(x[0:n]) data(f[0:n])
    {
        for (int i = 0; i < n; i++)
            s += x[i];
        for (int i = 0; i < n; i++) {
            odd ^= (unsigned)x[i];
            if (x[i] < low)
                low = x[i];
        }
        for (int i = 0; i < n; i++)
            high = fmaxf(high, fabsf(f[i]));
    }
#pragma tilek kernel data(f[0:n])
    for (int i = 0; i < n; i++)
        all += f[i];
    *sum = s;
    *bits = odd;
    *least = low;
    *greatest = high;
    *total = all;
}

CASE(gathered)
{
    enum { N = 3001 };
    float *const f = check_floats(N);
    int *const x = check_allocate(N, sizeof *x);
    for (int k = 0; k < N; k++)
        x[k] = (int)(check_random((uint64_t)k) % 100000) - 50000;
    struct {
        long sum;
        unsigned bits;
        int least;
        float greatest, total;
    } r;
    memset(&r, 0, sizeof r);
    gathered(N, x, f, &r.sum, &r.bits, &r.least, &r.greatest, &r.total);
    check_record("results", &r, sizeof r);
    gathered(0, x, f, &r.sum, &r.bits, &r.least, &r.greatest, &r.total);
    check_record("of_nothing", &r, sizeof r);
    free(f);
    free(x);
}

// case rounds: a count that each step of the host's loop gathers and uses
static void rounds(int n, int steps, int *a, int *counts)
{
    int found;
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        found = 0;
        for (int i = 0; i < n; i++)
            found += a[i] > t;
        counts[t] = found;
        for (int i = 0; i < n; i++)
            a[i] = a[i] - found % 7 + t;
    }
}

CASE(rounds)
{
    enum { N = 500 };
    int *const a = check_allocate(N, sizeof *a), counts[9];
    for (int k = 0; k < N; k++)
        a[k] = (int)(check_random((uint64_t)k) % 20) - 8;
    rounds(N, 9, a, counts);
    check_record("a", a, N * sizeof *a);
    check_record("counts", counts, sizeof counts);
    free(a);
}

// case staged: a temporary line that every step of two host loops fills and empties
static void staged(int n, int m, float a[n][n][m], float c[m][m], float line[m])
{
#pragma tilek kernel
    for (int r = 0; r < n; r++)
        for (int q = 0; q < n; q++) {
            for (int p = 0; p < m; p++) {
                line[p] = 0;
                for (int s = 0; s < m; s++)
                    line[p] += a[r][q][s] * c[s][p];
            }
            for (int p = 0; p < m; p++)
                a[r][q][p] = line[p];
        }
}

CASE(staged)
{
    enum { N = 5, M = 17 };
    float *const a = check_floats(N * N * M), *const c = check_floats(M * M), *const line = check_floats(M);
    staged(N, M, (void *)a, (void *)c, line);
    check_record("a", a, N * N * M * sizeof *a);
    check_record("line", line, M * sizeof *line);
    free(a);
    free(c);
    free(line);
}

// case narrow: host loops over narrow and unsigned iterators, and one whose value a nest's bounds use both ways
static void narrow(int n, double *a, double *b)
{
    unsigned char t;
    unsigned k;
#pragma tilek kernel data(a[0:n]) data(b[0:n])
    {
        for (t = 250; t < 255; t++)
            for (int i = 1; i < n; i++)
                b[i] = a[i] + b[i] * t;
        for (k = 9; k > 4; k--) {
            for (int i = (int)k; i < n; i++)
                b[i] = a[i - (int)k] * 0.5;
            for (int i = n - 1; i >= (int)k; i--)
                a[i] = b[i] + k;
        }
    }
    a[0] = t + k;
}

CASE(narrow)
{
    enum { N = 61 };
    double *const a = check_doubles(N), *const b = check_doubles(N);
    narrow(N, a, b);
    check_record("a", a, N * sizeof *a);
    check_record("b", b, N * sizeof *b);
    free(a);
    free(b);
}

// case vouched: the user's word for a loop inside, on which the engine cannot know that the elements differ
static void vouched(int n, int steps, const int *to, float *a)
{
#pragma tilek kernel data(to[0:n]) data(a[0:n])
    for (int t = 0; t < steps; t++)
#pragma tilek loop independent
        for (int i = 0; i < n; i++)
            a[to[i]] = a[to[i]] * 0.5f + (float)(i + t);
}

CASE(vouched)
{
    enum { N = 300 };
    float *const a = check_floats(N);
    int to[N];
    for (int k = 0; k < N; k++)
        to[k] = k * 7 % N;
    vouched(N, 4, to, a);
    check_record("a", a, N * sizeof *a);
    free(a);
}

// case handed_on: values of scalars and iterators that one nest leaves to the next, and to what follows the region; runs as written
static void handed_on(int n, float *a, float *left)
{
    float s = 1;
    int i, last = 0;
#pragma tilek kernel
    {
        for (i = 0; i < n; i++) {
            s = a[i] * 0.5f;
            a[i] = s + 1;
        }
        for (i = 0; i < n - 3; i++)
            a[i] = a[i] * s;
        last = i + 2;
        for (int t = 0; t < 3; t++) {
            s = a[t];
            for (int j = 0; j < n; j++)
                a[j] = a[j] * 0.5f + s;
        }
    }
    left[0] = s;
    left[1] = (float)i;
    left[2] = (float)last;
}

CASE(handed_on)
{
    enum { N = 103 };
    float *const a = check_floats(N);
    float left[3];
    handed_on(N, a, left);
    check_record("a", a, N * sizeof *a);
    check_record("left", left, sizeof left);
    free(a);
}

// case iterator_by_address: a sequential nest whose iterator is read afterwards, though nobody can tell its value before
static void iterator_by_address(int n, double a[n][n], double *y, int *left)
{
    int i, j, k = 7, m = 9;
#pragma tilek kernel data(y[0:n])
    {
        for (i = 1; i < n; i++)
            for (j = 0; j < n; j++)
                a[i][j] = a[i][j] * 0.5 + i;
        for (i = 1; i < n; i++)
            if (a[i][0] > 3) {
                for (k = i; k > 0; k--)
                    y[i] = y[i - 1] + a[k][i];
                for (m = i; m >= 0; m--)
                    y[i] = y[i] * 0.5;
            }
    }
    left[0] = k;
    left[1] = m;
}

CASE(iterator_by_address)
{
    enum { N = 23 };
    double *const a = check_doubles(N * N), *const y = check_doubles(N);
    int left[2];
    iterator_by_address(N, (void *)a, y, left);
    check_record("y", y, N * sizeof *y);
    check_record("left", left, sizeof left);
    free(a);
    free(y);
}
