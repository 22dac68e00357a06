#include "check.h"

#include <stdbool.h>
#include <limits.h>

static const int sizes[] = {0, 1, 2, 37};
#define EACH_SIZE(n) for (size_t size_ = 0, n = 0; size_ < sizeof sizes / sizeof sizes[0] && (n = (size_t)sizes[size_], 1); ++size_)

// case nbody: structs with members of structs, triangular skip, two kernels a step
typedef struct { double x, y, z; } vector;
struct body { vector position, velocity; float mass; int fixed; };
static vector difference(vector a, vector b)
{
    vector d = {a.x - b.x, a.y - b.y, a.z - b.z};
    return d;
}
static void step_bodies(int n, struct body *bodies, double dt)
{
#pragma tilek kernel data(bodies[0:n], mode:rw) independent
    for (int i = 0; i < n; i++) {
        vector force = {0.0, 0.0, 0.0};
        if (bodies[i].fixed)
            continue;
        for (int j = 0; j < n; j++) {
            if (i == j) continue;
            const vector d = difference(bodies[j].position, bodies[i].position);
            const double r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-3, inverse = 1.0 / (r2 * sqrt(r2));
            force.x += d.x * bodies[j].mass * inverse;
            force.y += d.y * bodies[j].mass * inverse;
            force.z += d.z * bodies[j].mass * inverse;
        }
        bodies[i].velocity.x += dt * force.x;
        bodies[i].velocity.y += dt * force.y;
        bodies[i].velocity.z += dt * force.z;
    }
#pragma tilek kernel data(bodies[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++) {
        bodies[i].position.x += dt * bodies[i].velocity.x;
        bodies[i].position.y += dt * bodies[i].velocity.y;
        bodies[i].position.z += dt * bodies[i].velocity.z;
    }
}
CASE(nbody)
{
    EACH_SIZE(n) {
        struct body *b = check_allocate(n, sizeof *b);
        double *r = check_doubles(n * 6);
        for (size_t i = 0; i < n; i++) {
            b[i].position = (vector){r[6*i], r[6*i+1], r[6*i+2]};
            b[i].velocity = (vector){r[6*i+3], r[6*i+4], r[6*i+5]};
            b[i].mass = 1.0f + (float)r[6*i]; b[i].fixed = i % 5 == 3;
        }
#pragma tilek data copy(b[0:n])
        for (int s = 0; s < 3; s++) step_bodies((int)n, b, 0.01);
        check_record("b", b, n * sizeof *b);
        free(b); free(r);
    }
}

// case images: blur, sobel and threshold over unsigned char, flattened
#define CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
#define PIXEL(img, x, y) (img)[(size_t)(y) * w + (x)]
static void images(size_t w, size_t h, const uint8_t *restrict in, uint8_t *restrict blur, uint8_t *restrict edges)
{
#pragma tilek kernel data(in[0:w*h], blur[0:w*h]) independent
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++) {
            unsigned sum = 0, count = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    const long yy = (long)y + dy, xx = (long)x + dx;
                    if (yy < 0 || xx < 0 || yy >= (long)h || xx >= (long)w)
                        continue;
                    sum += PIXEL(in, xx, yy);
                    ++count;
                }
            PIXEL(blur, x, y) = (uint8_t)((sum + count / 2) / count);
        }
#pragma tilek kernel data(blur[0:w*h], edges[0:w*h]) independent
    for (int y = 1; y < (int)h - 1; y++)
        for (int x = 1; x < (int)w - 1; x++) {
            const int gx = -PIXEL(blur, x-1, y-1) - 2*PIXEL(blur, x-1, y) - PIXEL(blur, x-1, y+1)
                         + PIXEL(blur, x+1, y-1) + 2*PIXEL(blur, x+1, y) + PIXEL(blur, x+1, y+1);
            const int gy = -PIXEL(blur, x-1, y-1) - 2*PIXEL(blur, x, y-1) - PIXEL(blur, x+1, y-1)
                         + PIXEL(blur, x-1, y+1) + 2*PIXEL(blur, x, y+1) + PIXEL(blur, x+1, y+1);
            const int magnitude = (int)sqrtf((float)(gx * gx + gy * gy));
            PIXEL(edges, x, y) = (unsigned char)CLAMP(magnitude, 0, 255);
        }
}
CASE(images)
{
    EACH_SIZE(w) {
        size_t h = w / 2 + 1;
        uint8_t *a = check_allocate(w * h, 1), *b = check_allocate(w * h, 1), *c = check_allocate(w * h, 1);
        for (size_t k = 0; k < w * h; k++) a[k] = (uint8_t)check_random(k);
        images(w, h, a, b, c);
        check_record("b", b, w * h); check_record("c", c, w * h);
        free(a); free(b); free(c);
    }
}

// case histogram: runs as written (no independent), and privatised by columns
static void histogram(int n, const uint8_t *image, int bins[256], int partial[][256], int parts)
{
#pragma tilek kernel data(image[0:n], mode:r) data(bins[0:256])
    for (int i = 0; i < n; i++)
        bins[image[i]]++;
#pragma tilek kernel data(image[0:n], mode:r) data(partial[0:parts][0:256]) 
#pragma tilek loop independent
    for (int p = 0; p < parts; p++)
        for (int i = p; i < n; i += parts)
            partial[p][image[i]] += 1;
}
CASE(histogram)
{
    EACH_SIZE(n) {
        uint8_t *a = check_allocate(n, 1);
        int bins[256] = {0}; int (*partial)[256] = check_allocate(5, sizeof *partial);
        for (size_t k = 0; k < n; k++) a[k] = (uint8_t)check_random(k);
        histogram((int)n, a, bins, partial, 5);
        check_record("bins", bins, sizeof bins); check_record("partial", partial, 5 * sizeof *partial);
        free(a); free(partial);
    }
}

// case heat: T ** rows, and VLAs, with swaps of pointers inside a data region
static void heat_rows(int n, float **u, float **v, int steps)
{
#pragma tilek data copy(u[0:n][0:n], v[0:n][0:n])
    for (int t = 0; t < steps; t++) {
#pragma tilek kernel data(u[0:n][0:n], mode:r) data(v[0:n][0:n]) independent
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                v[i][j] = u[i][j] + 0.1f * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1] - 4.0f * u[i][j]);
        float **swap = u; u = v; v = swap;
    }
}
static void heat_vla(int n, double (*u)[n], double (*v)[n], int steps)
{
    double (*now)[n] = u, (*next)[n] = v;
#pragma tilek data copy(u[0:n][0:n], v[0:n][0:n])
    for (int t = 0; t < steps; t++) {
#pragma tilek kernel data(now[0:n][0:n], mode:r) data(next[0:n][0:n]) independent
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                next[i][j] = now[i][j] + 0.1 * (now[i-1][j] + now[i+1][j] + now[i][j-1] + now[i][j+1] - 4.0 * now[i][j]);
        double (*swap)[n] = now; now = next; next = swap;
    }
}
CASE(heat)
{
    EACH_SIZE(n) {
        float **u = check_matrix(n, n), **v = check_matrix(n, n);
        heat_rows((int)n, u, v, 5);
        check_record_rows("u", (void *const *)u, n, n * sizeof **u);
        check_record_rows("v", (void *const *)v, n, n * sizeof **v);
        check_free_matrix(u, n); check_free_matrix(v, n);
        double *a = check_doubles(n * n), *b = check_doubles(n * n);
        if (n > 0)
            heat_vla((int)n, (double (*)[n])a, (double (*)[n])b, 5);
        check_record("a", a, n * n * sizeof *a); check_record("b", b, n * n * sizeof *b);
        free(a); free(b);
    }
}

// case csr: sparse matrix by vector, inner while and bounds from memory
typedef struct { int rows, nonzeros; int *start, *column; double *value; } sparse;
static void spmv(const sparse *A, const double *x, double *y)
{
#pragma tilek kernel data(A->start[0:A->rows + 1], A->column[0:A->nonzeros], A->value[0:A->nonzeros], x[0:A->rows], mode:r) \
    data(y[0:A->rows], mode:w)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < A->rows; i++) {
        double sum = 0;
        int k = A->start[i];
        while (k < A->start[i + 1]) {
            sum += A->value[k] * x[A->column[k]];
            k++;
        }
        y[i] = sum;
    }
#pragma tilek kernel data(A->start[0:A->rows + 1], A->column[0:A->nonzeros], A->value[0:A->nonzeros], x[0:A->rows], mode:r) \
    data(y[0:A->rows]) independent
    for (int i = 0; i < A->rows; i++)
        for (int k = A->start[i]; k < A->start[i + 1]; k++)
            y[i] += A->value[k] * x[A->column[k]];
}
CASE(csr)
{
    EACH_SIZE(n) {
        sparse A = {(int)n, 0, NULL, NULL, NULL};
        A.start = check_allocate(n + 1, sizeof *A.start); A.column = check_allocate(n * 4, sizeof *A.column);
        A.value = check_doubles(n * 4);
        for (size_t i = 0; i < n; i++) {
            A.start[i] = A.nonzeros;
            for (unsigned k = 0; k < check_random(i) % 4; k++)
                A.column[A.nonzeros++] = (int)(check_random(i * 7 + k) % n);
        }
        A.start[n] = A.nonzeros;
        double *x = check_doubles(n), *y = check_doubles(n);
        spmv(&A, x, y);
        check_record("y", y, n * sizeof *y);
        free(A.start); free(A.column); free(A.value); free(x); free(y);
    }
}

// case mandelbrot: while with break, 2-D tiles
static void mandelbrot(int w, int h, unsigned short *out, double x0, double y0, double dx)
{
#pragma tilek kernel data(out[0:w*h]) num_gangs(4, 2) num_workers(4, 8)
#pragma tilek loop tile(gang, 1) tile(worker, 1) tile(dynamic)
    for (int py = 0; py < h; py++)
#pragma tilek loop tile(gang, 0) tile(dynamic) tile(worker, 0)
        for (int px = 0; px < w; px++) {
            double zx = 0, zy = 0;
            int it = 0;
            while (1) {
                const double t = zx * zx - zy * zy + x0 + px * dx;
                zy = 2 * zx * zy + y0 + py * dx;
                zx = t;
                if (zx * zx + zy * zy > 4.0 || ++it >= 100)
                    break;
            }
            out[py * w + px] = it;
        }
}
CASE(mandelbrot)
{
    EACH_SIZE(n) {
        unsigned short *out = check_allocate(n * n, sizeof *out);
        mandelbrot((int)n, (int)n, out, -2.0, -1.5, 3.0 / 37);
        check_record("out", out, n * n * sizeof *out);
        free(out);
    }
}

// case prefix: loops that carry values must not be distributed
static void prefix(int n, int *a, double *b)
{
#pragma tilek kernel data(a[0:n])
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1];
    double last = 0;
#pragma tilek kernel data(b[0:n])
    for (int i = 0; i < n; i++) {
        double now = b[i];
        b[i] = now - last;
        last = now;
    }
#pragma tilek kernel data(b[0:n])
#pragma tilek loop tile(static, 3) tile(dynamic)
    for (int i = 1; i < n; i++)
        b[i] = b[i] + 0.5 * b[i - 1] + last;
}
CASE(prefix)
{
    EACH_SIZE(n) {
        int *a = check_ints(n); double *b = check_doubles(n);
        prefix((int)n, a, b);
        check_record("a", a, n * sizeof *a); check_record("b", b, n * sizeof *b);
        free(a); free(b);
    }
}

// case lu: the k loop on the host around kernels with triangular bounds
static void lu(int n, double A[n][n])
{
#pragma tilek data copy(A[0:n][0:n])
    for (int k = 0; k < n; k++) {
#pragma tilek kernel data(A[0:n][0:n])
#pragma tilek loop independent
        for (int i = k + 1; i < n; i++)
            A[i][k] /= A[k][k];
#pragma tilek kernel data(A[0:n][0:n]) num_gangs(2, 2) num_workers(3, 3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic) independent
        for (int i = k + 1; i < n; i++)
#pragma tilek loop tile(gang, 1) tile(dynamic) tile(worker, 1) independent
            for (int j = k + 1; j < n; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
}
CASE(lu)
{
    EACH_SIZE(n) {
        double *a = check_doubles(n * n);
        for (size_t i = 0; i < n; i++) a[i * n + i] += 10;
        if (n > 0) lu((int)n, (double (*)[n])a);
        check_record("a", a, n * n * sizeof *a);
        free(a);
    }
}

// case montecarlo: an own generator of random numbers, by pointer to a local state
static unsigned next_random(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(*state >> 33);
}
static double uniform(unsigned long long *state) { return next_random(state) / 2147483648.0; }
static long montecarlo(int n, int trials, int *hits)
{
    long total = 0;
#pragma tilek kernel data(hits[0:n]) reduction(+: total) independent
    for (int i = 0; i < n; i++) {
        unsigned long long state = 12345u + 977ull * (unsigned)i;
        int inside = 0;
        for (int t = 0; t < trials; t++) {
            double x = uniform(&state), y = uniform(&state);
            inside += x * x + y * y < 1.0;
        }
        hits[i] = inside;
        total += inside;
    }
    return total;
}
CASE(montecarlo)
{
    EACH_SIZE(n) {
        int *hits = check_ints(n);
        long total = montecarlo((int)n, 57, hits);
        check_record("total", &total, sizeof total); check_record("hits", hits, n * sizeof *hits);
        free(hits);
    }
}

// case transposes_vla: bool and long long in variable-length arrays
static void transpose_bool(int n, int m, bool in[n][m], bool out[m][n], long long wide[n][m], long long turned[m][n], _Bool *any)
{
    bool some = false;
#pragma tilek kernel independent
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            out[j][i] = in[i][j];
            turned[j][i] = -wide[i][j] * 2;
        }
#pragma tilek kernel reduction(||: some) independent
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            some = some || out[j][i];
    *any = some;
}

CASE(transposes_vla)
{
    EACH_SIZE(n) {
        bool *a = check_allocate(n * 5, sizeof *a), *b = check_allocate(n * 5, sizeof *b), any;
        long long *c = check_allocate(n * 5, sizeof *c), *d = check_allocate(n * 5, sizeof *d);
        for (size_t k = 0; k < n * 5; k++) a[k] = check_random(k) & 1, c[k] = (long long)(check_random(k) >> 5);
        if (n > 0)
        transpose_bool((int)n, 5, (bool (*)[5])a, (bool (*)[n])b, (long long (*)[5])c, (long long (*)[n])d, &any);
        check_record("b", b, n * 5 * sizeof *b);
        check_record("d", d, n * 5 * sizeof *d);
        if (n > 0)
        check_record("any", &any, sizeof any);
        free(a); free(b); free(c); free(d);
    }
}

// case complex_members: without compound literals
typedef struct complex_number { float re, im; } complex_number;
static complex_number times(complex_number a, complex_number b)
{
    complex_number c;
    c.re = a.re * b.re - a.im * b.im;
    c.im = a.re * b.im + a.im * b.re;
    return c;
}
static void dft(int n, const complex_number *in, complex_number *out, const complex_number *root)
{
#pragma tilek kernel data(in[0:n], root[0:n], mode:r) data(out[0:n])
#pragma tilek loop independent
    for (int k = 0; k < n; k++) {
        complex_number sum = {0, 0}, term;
        for (int t = 0; t < n; t++) {
            term = times(in[t], root[k * t % n]);
            sum.re += term.re, sum.im += term.im;
        }
        out[k] = sum;
    }
}
CASE(complex_members)
{
    EACH_SIZE(n) {
        complex_number *in = (complex_number *)check_floats(2 * n), *out = (complex_number *)check_floats(2 * n), *root = (complex_number *)check_floats(2 * n);
        dft((int)n, in, out, root);
        check_record("out", out, n * sizeof *out);
        free(in); free(out); free(root);
    }
}
