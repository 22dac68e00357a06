#include "check.h"
#include <stdbool.h>
#include <limits.h>

#pragma GCC diagnostic ignored "-Wbool-operation"
static const int sizes[] = {0, 1, 2, 37};
#define EACH_SIZE(n) for (size_t size_ = 0, n = 0; size_ < sizeof sizes / sizeof sizes[0] && (n = (size_t)sizes[size_], 1); ++size_)

// case present_scalars: scalars in data regions
static double present_scalars(int n, double *a)
{
    double sum = 1.0, scale = 2.0;
#pragma tilek data copy(a[0:n], sum, scale)
    {
#pragma tilek kernel data(a[0:n]) reduction(+: sum) independent
        for (int i = 0; i < n; i++)
            sum += a[i] > 0;
#pragma tilek kernel data(a[0:n]) independent
        for (int i = 0; i < n; i++)
            a[i] = a[i] * sum + scale;
#pragma tilek kernel data(a[0:n])
        for (int i = 0; i < n; i++)
            sum += a[i];
#pragma tilek kernel data(a[0:n]) independent
        for (int i = 0; i < n; i++)
            a[i] = a[i] - sum;
    }
    return sum;
}
CASE(present_scalars)
{
    EACH_SIZE(n) {
        double *a = check_doubles(n), s = present_scalars((int)n, a);
        check_record("a", a, n * 8); check_record("s", &s, 8);
        free(a);
    }
}

// case struct_values: structs by value, nested arrays in structs, fixed arrays behind pointers
struct parameters { double dx; float w[3]; struct { int lo, hi; } range; };
struct world { struct parameters p; double cells[9][11]; int n; };
static double apply(struct parameters p, double x) { return x * p.dx + p.w[1] + p.range.hi; }
static void touch(struct parameters *p, int k) { p->dx += k; p->w[k % 3] *= 2; }
static void struct_values(struct world *w, struct parameters q, int n, struct parameters *many)
{
#pragma tilek kernel independent
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++)
            w->cells[i][j] = apply(q, w->cells[i][j]) + w->p.dx + w->p.w[2] - w->n + q.range.lo;
#pragma tilek kernel data(many[0:n]) independent
    for (int i = 0; i < n; i++) {
        struct parameters mine = many[i];
        touch(&mine, i);
        touch(&many[i], 2 * i);
        touch(many + i, 1);
        many[i].dx += mine.dx + apply(mine, 1.0);
        mine.range.lo++;
        many[i].range.hi = mine.range.lo;
    }
}
CASE(struct_values)
{
    EACH_SIZE(n) {
        struct world *w = check_allocate(1, sizeof *w);
        check_fill_double(&w->cells[0][0], 99);
        w->p.dx = 0.25; w->p.w[2] = 3; w->n = 7;
        struct parameters q = {0.5, {1, 2, 3}, {4, 5}}, *many = check_allocate(n, sizeof *many);
        for (size_t i = 0; i < n; i++) many[i].dx = (double)i, many[i].w[1] = 1.5f, many[i].range.lo = (int)i;
        struct_values(w, q, (int)n, many);
        check_record("w", w->cells, sizeof w->cells);
        for (size_t i = 0; i < n; i++) { check_record("dx", &many[i].dx, 8); check_record("w", many[i].w, 12); check_record("hi", &many[i].range.hi, 4); }
        free(w); free(many);
    }
}

// case nasty_names: names that targets or generated code use
struct float4 { float x, y; int kernel; };
static int clamp(int x, int min, int max) { return x < min ? min : x > max ? max : x; }
static void nasty_names(int n, float *kernel, int *global, struct float4 *float2, long gang0, int i_trip, int call, int first, int last, int gang, int worker0)
{
#pragma tilek kernel data(kernel[0:n], global[0:n], float2[0:n]) independent
    for (int thread = 0; thread < n; thread++) {
        int local = clamp(global[thread], -5, 500), i_stride0 = 3, tilek = 2, half = 1, thread_count = 5, uint = 6, int64_t_ = 1;
        kernel[thread] += (float)(local + gang0 + i_trip + call + first + last + gang + worker0);
        global[thread] = local * i_stride0 + tilek - half + thread_count + uint + int64_t_;
        float2[thread].kernel += local;
        float2[thread].x = kernel[thread];
    }
#pragma tilek kernel data(global[0:n]) independent
    for (int i = 0; i < n; i++) {
        int i_end = 3, tilek_minimum = 2, x_1 = i;
        global[i] += i_end + tilek_minimum + x_1 + i_trip;
    }
}
CASE(nasty_names)
{
    EACH_SIZE(n) {
        float *k = check_floats(n); int *g = check_ints(n); struct float4 *f = check_allocate(n, sizeof *f);
        nasty_names((int)n, k, g, f, 1, 2, 3, 4, 5, 6, 7);
        check_record("k", k, n * 4); check_record("g", g, n * 4); check_record("f", f, n * sizeof *f);
        free(k); free(g); free(f);
    }
}

// case preprocessed: conditionals and definitions inside the body, sizeof bounds, octal, hex float, characters
typedef float vec3[3];
static int counts_global[17];
static void preprocessed(int n, vec3 *v, unsigned char *c)
{
#define DOUBLED 2 *
#pragma tilek kernel data(v[0:n][0:3], c[0:n]) independent
    for (int i = 0; i < n; i++) {
#ifdef NOT_DEFINED
        v[i][0] = nothing;
#else
        v[i][0] = DOUBLED v[i][1] + 0x1.8p-2f + 010 + 0xFu;
#endif
#undef DOUBLED
        v[i][1] += c[i] == '\'' || c[i] == '\\' || c[i] == '\x41' || c[i] == '"' ? 1e3f : .5f;
        c[i] = (unsigned char)(c[i] == 'z' ? '\0' : c[i] + 1); /* " ' // */
        v[i][2] = 1.f / 3; // "it's"
    }
#pragma tilek kernel independent
    for (size_t i = 0; i < sizeof counts_global / sizeof counts_global[0]; ++i)
        counts_global[i] += (int)(sizeof(vec3) * i + sizeof c[0]);
}
CASE(preprocessed)
{
    EACH_SIZE(n) {
        vec3 *v = (vec3 *)check_floats(3 * n); unsigned char *c = check_allocate(n, 1);
        for (size_t i = 0; i < n; i++) c[i] = (unsigned char)(3 * i + 30);
        preprocessed((int)n, v, c);
        check_record("v", v, n * 12); check_record("c", c, n); check_record("g", counts_global, sizeof counts_global);
        free(v); free(c);
    }
}

// case header_forms: several iterators, comma, bounds by functions, unbraced ifs, empty bodies
static int half_of(int n) { return n / 2; }
static void header_forms(int n, int *a, int *b)
{
    int i, j;
#pragma tilek kernel data(a[0:n]) independent
    for (int k = 0; k < half_of(n) + half_of(n + 1); k++)
        if (a[k] > 0) a[k]--; else if (a[k] < -10) for (int m = 0; m < 3; m++) a[k] += m; else { ; }
#pragma tilek kernel data(a[0:n], b[0:n])
    for (i = 0, j = n - 1; i < n; i++, j--)
        b[i] += a[j];
    int l1 = i, l2 = j;
    check_record("l1", &l1, 4); check_record("l2", &l2, 4);
#pragma tilek kernel data(a[0:n], b[0:n])
    for (int p = 0, q = n; p < q; p++)
        a[p] ^= b[p];
#pragma tilek kernel data(a[0:n]) independent
    for (i = 0; i < n; i++) {
        int t = a[i], *const cell = &a[i];
        while (t > 0) t -= 7;
        do { t++; } while (t < 0);
        *cell = t;
    }
#pragma tilek kernel data(a[0:n], b[0:n]) independent
    for (i = 0; i < n; ++i) {
        int buffer[4] = {0}, at = 0;
        buffer[at++] = a[i];
        buffer[at++] = b[i];
        buffer[at] = buffer[at - 1] ^ buffer[at - 2], --at;
        a[i] = buffer[0] + buffer[1] * 2 + buffer[2] * 3 + at;
    }
}
CASE(header_forms)
{
    EACH_SIZE(n) {
        int *a = check_ints(n), *b = check_ints(n);
        header_forms((int)n, a, b);
        check_record("a", a, n * 4); check_record("b", b, n * 4);
        free(a); free(b);
    }
}

// case global_pointers: file-scope pointers that are swapped, sizes in globals
static double *now_, *next_;
static int cells_;
static void advance_globals(void)
{
#pragma tilek kernel data(now_[0:cells_], mode:r) data(next_[0:cells_]) independent
    for (int i = 1; i < cells_ - 1; i++)
        next_[i] = 0.5 * (now_[i - 1] + now_[i + 1]);
    double *t = now_; now_ = next_; next_ = t;
}
CASE(global_pointers)
{
    EACH_SIZE(n) {
        now_ = check_doubles(n); next_ = check_doubles(n); cells_ = (int)n;
        double *a = now_, *b = next_;
#pragma tilek data copy(a[0:n], b[0:n])
        for (int s = 0; s < 5; s++) advance_globals();
        check_record("a", now_, n * 8); check_record("b", next_, n * 8);
        free(a); free(b);
    }
}

// case deep_rows: T *** and arrays of pointers
static void deep_rows(int n, double ***c, float *rows[4])
{
#pragma tilek kernel data(c[0:n][0:3][0:n]) independent
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < n; k++)
                c[i][j][k] = c[i][j][k] * 2 + i - j + k;
#pragma tilek kernel data(rows[0:4][0:n]) independent
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < n; k++)
            rows[r][k] += (float)r;
}
CASE(deep_rows)
{
    EACH_SIZE(n) {
        double *data = check_doubles(n * n * 3), **mid = check_allocate(n * 3, sizeof *mid), ***c = check_allocate(n, sizeof *c);
        for (size_t k = 0; k < 3 * n; k++) mid[k] = data + k * n;
        for (size_t k = 0; k < n; k++) c[k] = mid + 3 * k;
        float *rows[4];
        for (int r = 0; r < 4; r++) rows[r] = check_floats(n);
        deep_rows((int)n, c, rows);
        check_record("data", data, n * n * 24);
        for (int r = 0; r < 4; r++) { check_record("row", rows[r], n * 4); free(rows[r]); }
        free(data); free(mid); free(c);
    }
}

// case packed_and_aligned: structs with attributes
struct __attribute__((packed)) packet { char tag; int value; short tail; };
struct aligned { float f; } __attribute__((aligned(16)));
static void packed_and_aligned(int n, struct packet *p, struct aligned *q)
{
#pragma tilek kernel data(p[0:n], q[0:n]) independent
    for (int i = 0; i < n; i++) {
        p[i].value += p[i].tag;
        p[i].tail = (short)(p[i].value * 3);
        q[i].f = (float)p[i].tail;
    }
}
CASE(packed_and_aligned)
{
    EACH_SIZE(n) {
        struct packet *p = check_allocate(n, sizeof *p); static struct aligned q[40];
        
        for (size_t i = 0; i < n; i++) p[i].tag = (char)i, p[i].value = (int)(i * i);
        packed_and_aligned((int)n, p, q);
        check_record("p", p, n * sizeof *p); check_record("q", q, n * 16);
        free(p);
    }
}

// case old_style: K&R definitions, register, no prototype
static int old_style(n, a)
    int n;
    register int *a;
{
    int s = 0;
#pragma tilek kernel data(a[0:n]) reduction(+: s) independent
    for (register int i = 0; i < n; i++)
        s += a[i];
    return s;
}
CASE(old_style)
{
    EACH_SIZE(n) {
        int *a = check_ints(n), s = old_style((int)n, a);
        check_record("s", &s, 4);
        free(a);
    }
}

// case narrow_reductions: char, short, bool, float sums, products that wrap
static void narrow_reductions(int n, const signed char *c)
{
    signed char total = 5; unsigned short wrap = 65000; bool seen = false; unsigned char least = 200; signed char most = -128;
#pragma tilek kernel data(c[0:n]) reduction(+: total, wrap) reduction(||: seen) reduction(min: least) reduction(max: most) independent
    for (int i = 0; i < n; i++) {
        total += c[i];
        wrap += (unsigned short)(c[i] * 7);
        seen = seen || c[i] == 13;
        least = (unsigned char)c[i] < least ? (unsigned char)c[i] : least;
        if (c[i] > most) most = c[i];
    }
    check_record("t", &total, 1); check_record("w", &wrap, 2); check_record("s", &seen, 1); check_record("l", &least, 1); check_record("m", &most, 1);
}
CASE(narrow_reductions)
{
    EACH_SIZE(n) {
        signed char *c = check_allocate(n, 1);
        for (size_t i = 0; i < n; i++) c[i] = (signed char)check_random(i);
        narrow_reductions((int)n, c);
        free(c);
    }
}

// case converted_steps: accumulators of other width, sign or kind than the terms, converted in each step
static void converted_steps(int n, const double *d, const int *x)
{
    int cut = 0; unsigned char wrapped = 250; signed char cast = 0; unsigned mixed = 100; _Bool parity = 0, sum = 0, truth = 0;
#pragma tilek kernel data(d[0:n])
    for (int i = 0; i < n; i++)
        cut += d[i];
#pragma tilek kernel data(x[0:n])
    for (int i = 0; i < n; i++) {
        wrapped = x[i] + wrapped;
        if ((signed char)x[i] > cast) cast = x[i];
        truth |= x[i] & 2;
    }
    signed char most = 0;
#pragma tilek kernel data(x[0:n])
    for (int i = 0; i < n; i++) if (x[i] > most) most = x[i];
#pragma tilek kernel data(x[0:n])
    for (int i = 0; i < n; i++) {
        const long wide = -x[i];
        mixed = wide < mixed ? wide : mixed;
    }
#pragma tilek kernel data(x[0:n])
    for (int i = 0; i < n; i++) parity ^= x[i];
#pragma tilek kernel data(x[0:n])
    for (int i = 0; i < n; i++) sum -= x[i] % 2 != 0;
    check_record("c", &cut, 4); check_record("w", &wrapped, 1); check_record("s", &cast, 1); check_record("m", &most, 1);
    check_record("x", &mixed, 4); check_record("p", &parity, 1); check_record("b", &sum, 1); check_record("t", &truth, 1);
}
CASE(converted_steps)
{
    EACH_SIZE(n) {
        double *d = check_allocate(n, sizeof *d);
        int *x = check_ints(n);
        for (size_t i = 0; i < n; i++) d[i] = ((int)(i % 7) - 3) * 0.7;
        converted_steps((int)n, d, x);
        free(d); free(x);
    }
}

// case extrema_of_zeros_and_nans: a NaN passed over, taken, or there before; zeros of both signs
static void extrema_of_zeros_and_nans(int n, double start, const double *d)
{
    double least = start, most = start, first = start, size = start;
    double called = start == 0 ? 0.0 : start; // of a 0.0 and a -0.0 C leaves open which fmin gives
#pragma tilek kernel data(d[0:n])
    for (int i = 0; i < n; i++) least = least < d[i] ? least : d[i];
#pragma tilek kernel data(d[0:n])
    for (int i = 0; i < n; i++) if (d[i] >= most) most = d[i];
#pragma tilek kernel data(d[0:n])
    for (int i = 0; i < n; i++) if (d[i] < first) first = d[i];
#pragma tilek kernel data(d[0:n])
    for (int i = 0; i < n; i++) {
        const double one = fabs(d[i]);
        if (one < size) size = one;
    }
#pragma tilek kernel data(d[0:n])
    for (int i = 0; i < n; i++) called = fmin(called, d[i] * d[i]);
    const double all[] = {least, most, first, size, called};
    for (int k = 0; k < 5; k++) {
        const int nan = isnan(all[k]); // which one it is C leaves open
        check_record("n", &nan, sizeof nan);
        if (!nan) check_record("d", &all[k], sizeof all[k]);
    }
}
CASE(extrema_of_zeros_and_nans)
{
    static const double starts[] = {1.0, -0.0, -1.0, NAN};
    for (int s = 0; s < 4; s++) {
        double d[37];
        for (int data = 0; data < 2; data++) {
            for (int i = 0; i < 37; i++) d[i] = data ? (i % 2 ? 0.0 : -0.0) : i == 30 ? NAN : i == 3 ? -5 : 10 + i;
            extrema_of_zeros_and_nans(37, starts[s], d);
        }
    }
}

// case full_bytes: iterators that reach the ends of their types
static void full_bytes(int *a)
{
#pragma tilek kernel data(a[0:256]) num_gangs(3) num_workers(4)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned char i = 0; i < 255; i++) a[i] += i;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (signed char i = -128; i < 127; i++) a[i + 128] ^= i;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned short i = 65535; i > 65279; i--) a[i - 65280] *= 3;
    }
}
CASE(full_bytes)
{
    int *a = check_ints(256);
    full_bytes(a);
    check_record("a", a, 1024);
    free(a);
}

// case boolean_data: _Bool conversions on every target
static void boolean_data(int n, bool *b, const int *a, const float *f)
{
#pragma tilek kernel data(b[0:n], a[0:n], f[0:n]) independent
    for (int i = 0; i < n; i++) {
        bool t = a[i] & 2, u = f[i];
        b[i] = (bool)(a[i] & 4) + t - u;
        b[i] |= !t ^ u;
        b[i] += a[i] & 1;
        if (!b[i]) b[i] = f[i] > 0.25f && t;
        b[i]++;
        b[i] = b[i] & (a[i] >> 1);
    }
}
CASE(boolean_data)
{
    EACH_SIZE(n) {
        bool *b = check_allocate(n, 1); int *a = check_ints(n); float *f = check_floats(n);
        for (size_t i = 0; i < n; i++) b[i] = i % 3 == 0;
        if (n) f[0] = 0;
        boolean_data((int)n, b, a, f);
        check_record("b", b, n);
        free(b); free(a); free(f);
    }
}

// case constant_lengths: lengths and steps that are constants with names, in the region and in a function
static const int reach = 3;
static double weighed(const double *p)
{
    double w[2 * reach + 1], sum = 0;
    for (int k = 0; k <= 2 * reach; k++)
        w[k] = p[k - reach] * (k + 1);
    for (int k = 2 * reach; k >= 0; k--)
        sum = sum / 2 + w[k];
    return sum;
}
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline))
#endif
static void constant_lengths(size_t n, const double *a, double *b)
{
    const int block = 8, half = block - 4;
    const unsigned char small = 300 & 255;
#pragma tilek kernel
    for (size_t i = 0; i < n; i += block) {
        double mine[block], others[half + 1];
        for (int k = 0; k < block; k++)
            mine[k] = a[i + k];
        for (int k = 0; k < half; k++)
            others[k] = mine[block - 1 - k] * small;
        for (int k = 0; k < block; k++)
            b[i + k] = mine[k] - others[k % half];
    }
#pragma tilek kernel
    for (size_t i = reach; i < n; i++)
        b[i] += weighed(&a[i]);
}
CASE(constant_lengths)
{
    for (size_t n = 0; n < 300; n += 97) {
        double *const a = check_doubles(n + 16), *const b = check_doubles(n + 16);
        constant_lengths(n, a, b);
        check_record("b", b, (n + 16) * sizeof *b);
        free(a);
        free(b);
    }
}

// case back_and_forth: two arrays in one, told apart by a variable and what it is not
static void back_and_forth(int n, int steps, double (*u)[n])
{
    int now = 0;
    for (int t = 0; t < steps; t++) {
        const int next = 1 - now;
#pragma tilek kernel
        for (int i = 1; i < n - 1; i++)
            u[next][i] = (u[now][i - 1] + u[now][i] + u[now][i + 1]) / 3;
        now = next;
    }
}
CASE(back_and_forth)
{
    for (int n = 2; n < 5000; n *= 40) {
        double *const u = check_doubles(2 * (size_t)n);
        back_and_forth(n, 5, (void *)u);
        check_record("u", u, 2 * (size_t)n * sizeof *u);
        free(u);
    }
}

// case written_out: constant arrays of the function around, whose values the kernels know
static void written_out(int n, const float *a, float *b)
{
    static const float weights[3][2] = {{-0.1f, 1e-30f}, {3, 1.5f}, {7}};
    const unsigned char order[4] = {3, 0, 2, 1};
    const long far[2] = {-0x7fffffffffffffffL - 1, 5};
    static const int named[3] = {[1] = 7};
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                sum += weights[j][k] * a[4 * i + (j + k) % 4] * order[(j + k) % 4];
        b[i] = far[i % 2] < 0 ? sum : sum * named[i % 3];
    }
}
CASE(written_out)
{
    for (size_t n = 0; n < 300; n += 99) {
        float *const a = check_floats(4 * n), *const b = check_floats(n);
        written_out((int)n, a, b);
        check_record("b", b, n * sizeof *b);
        free(a);
        free(b);
    }
}
