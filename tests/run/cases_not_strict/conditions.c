/* Accesses under conditions, to pointers whose extent nobody says: hosts need none, and devices that do leave the kernel to them, after one warning:
 * TILEK_STRICT is off. Arrays lie before a page that nobody may touch. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

enum { N = 1000 };

/* `count` numbers, the last of them right before such a page. */
static float *before_the_end(size_t count)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = count * sizeof(float), whole = (bytes + page - 1) / page * page;
    char *const start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float *const values = (float *)(void *)(start + whole - bytes);
    if (start == MAP_FAILED || mprotect(start + whole, page, PROT_NONE) != 0)
        exit(3);
    check_fill_float(values, count);
    return values;
}

// case upwind: differences against the wind, in arrays apart, in one array, and in arrays that data regions hold
static void step(int n, const float *q, float *r, const float *u)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        r[i] = u[i] > 0 ? q[i] - q[i - 1] : q[i + 1] - q[i];
}

CASE(upwind)
{
    float *const q = before_the_end(N), *const r = check_floats(N), *const u = check_floats(N);
    u[0] = -1;
    u[N - 1] = 1;
    step(N, q, r, u);
    check_record("apart", r, N * sizeof *r);
#pragma tilek data copyin(q[0:N])
    step(N - 2, q + 1, r, u);
    check_record("held", r, N * sizeof *r);
    step(N - 2, q, q + 1, u);
    step(N - 2, q + 1, q + 1, u);
    check_record("one_array", q, N * sizeof *q);
}

// case masked: elements that data choose, of arrays that may be missing
static void masked(int n, const float *mask, const float *weights, float *restrict a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        if (mask[i] > 0)
            a[i] = weights != NULL ? a[i] * weights[i] : a[i] + 1;
}

CASE(masked)
{
    float *const a = before_the_end(N / 2), *const mask = check_floats(N), *const weights = check_floats(N);
    for (int i = N / 2; i < N; i++)
        mask[i] = -1;
    masked(N, mask, weights, a);
    masked(N, mask, NULL, a);
    check_record("a", a, N / 2 * sizeof *a);
}

// case optional: arrays that may be missing, by tests of their pointers; devices, too, run what is then known to be touched
struct options { const float *weights, *bias; int n; };

static void optional(const struct options *o, const float *x, float *y)
{
#pragma tilek kernel
    for (int i = 0; i < o->n; i++) {
        float v = x[i];
        if (NULL != o->weights)
            v *= o->weights[i];
        if (!o->bias)
            v += 1;
        else
            v += o->bias[i];
        y[i] = v;
    }
}

CASE(optional)
{
    float *const x = check_floats(N), *const y = check_floats(N), *const w = check_floats(N);
    for (int k = 0; k < 4; k++) {
        const struct options o = {k & 1 ? w : NULL, k & 2 ? x : NULL, N};
        optional(&o, x, y);
        check_record("y", y, N * sizeof *y);
    }
}

// case limited: slopes of the smaller side, by a function, for many quantities of one allocation
static inline double limit(double left, double right)
{
    return left * right <= 0 ? 0 : fabs(left) < fabs(right) ? left : right;
}

static void limited(int n, int quantities, const double *q, double *restrict slopes)
{
#pragma tilek kernel
    for (int k = 0; k < quantities; k++)
        for (int i = 0; i < n; i++)
            if (i == 0 || q[k * n + i] < 0)
                slopes[k * n + i] = 0;
            else if (i < n - 1 && q[k * n] != 0)
                slopes[k * n + i] = limit(q[k * n + i] - q[k * n + i - 1], q[k * n + i + 1] - q[k * n + i]);
}

CASE(limited)
{
    double *const q = check_doubles(N), *const slopes = check_doubles(N);
    limited(N / 4, 4, q, slopes);
    check_record("slopes", slopes, N * sizeof *slopes);
}

// case wrapped: neighbours across the borders of a torus, directions from a table, in arrays apart, in one, and shifted into each other
static const int dx[5] = {0, 1, 0, -1, 0}, dy[5] = {0, 0, 1, 0, -1};

static void stream(int w, int h, const float *from, float *to, const unsigned char *weights)
{
#pragma tilek kernel
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum = 0;
            for (int k = 0; k < 5; k++) {
                int xs = (x - dx[k] + w) % w, ys = (y - dy[k] + h) % h;
                sum += from[ys * w + xs] * weights[weights[ys * w + xs]];
            }
            to[y * w + x] = sum / 5;
        }
}

static void turned(size_t n, const float *restrict a, float *restrict b)
{
#pragma tilek kernel
    for (size_t i = 0; i < n; i++) {
        size_t left = i == 0 ? n - 1 : i - 1, right = i + 1;
        if (right >= n)
            right = 0;
        b[i] = a[left] - a[(i + n / 2) % n] + a[right];
    }
}

CASE(wrapped)
{
    enum { W = 24, H = 35 };
    float *const a = before_the_end(W * H), *const b = check_floats(2 * W * H);
    unsigned char *const weights = check_allocate(W * H, 1);
    for (int i = 0; i < W * H; i++)
        weights[i] = (unsigned char)(i * 7);
    stream(W, H, a, b, weights);
    turned(W * H, b, a);
    check_record("apart", b, W * H * sizeof *b);
    check_record("turned", a, W * H * sizeof *a);
    stream(W, H, b, b, weights);
    stream(W, H, b, b + W * H - 1, weights);
    check_record("together", b, 2 * W * H * sizeof *b);
    free(b);
    free(weights);
}
