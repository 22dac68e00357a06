#include "check.h"

#include <limits.h>
#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wsign-compare"

static const int sizes[] = {0, 1, 2, 37};
#define EACH_SIZE(n) for (size_t size_ = 0, n = 0; size_ < sizeof sizes / sizeof sizes[0] && (n = (size_t)sizes[size_], 1); ++size_)

// case const_tables: static const tables, global and local, read in kernels
static const float weights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
static void const_tables(int n, const float *in, float *out)
{
    static const int offset[] = {3, -1, 4, -1, 5};
    const double scale[2] = {0.5, 0.25};
#pragma tilek kernel data(in[0:n*n], out[0:n*n]) independent
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            float sum = 0;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    sum += weights[a][b] * in[(i + a - 1) * n + j + b - 1];
            out[i * n + j] = sum * (float)scale[i % 2] + (float)offset[j % 5];
        }
}
CASE(const_tables)
{
    EACH_SIZE(n) {
        float *a = check_floats(n * n), *b = check_floats(n * n);
        const_tables((int)n, a, b);
        check_record("b", b, n * n * sizeof *b);
        free(a); free(b);
    }
}

// case function_tables: static const tables read in functions that kernels call
static const double coefficients[5] = {0.5, -0.25, 0.125, 3, -7e-3};
static const int shift = 3;
static double polynomial(double x)
{
    static const unsigned char order[] = {4, 3, 2, 1, 0};
    double value = 0;
    for (int k = 0; k < 5; k++)
        value = value * x + coefficients[order[k]];
    return value + shift;
}
static void function_tables(int n, double *a)
{
#pragma tilek kernel data(a[0:n]) independent
    for (int i = 0; i < n; i++)
        a[i] = polynomial(a[i]) + coefficients[i % 5];
}
CASE(function_tables)
{
    EACH_SIZE(n) {
        double *a = check_doubles(n);
        function_tables((int)n, a);
        check_record("a", a, n * sizeof *a);
        free(a);
    }
}

// case row_parameters: array parameters in every spelling
static double dot3(const double row[], const double other[3]) { return row[0] * other[0] + row[1] * other[1] + row[2] * other[2]; }
static double dot_static(const double row[static 3]) { return row[0] + row[2]; }
static double dotn(int n, const double row[n]) { double s = 0; for (int k = 0; k < n; k++) s += row[k]; return s; }
static double trace(int n, double a[][3]) { double s = 0; for (int k = 0; k < n; k++) s += a[k][k]; return s; }
static void row_parameters(int n, double (*a)[3], double *out)
{
#pragma tilek kernel data(a[0:n][0:3], mode:r) data(out[0:n]) independent
    for (int i = 0; i < n; i++) {
        double m[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
        out[i] = dot3(a[i], a[n - 1 - i]) + dot_static(a[i]) + dotn(2, a[i]) + trace(3, m) + dot3(m[1], &m[0][0]);
    }
}
CASE(row_parameters)
{
    EACH_SIZE(n) {
        double *a = check_doubles(3 * n), *out = check_doubles(n);
        row_parameters((int)n, (double (*)[3])a, out);
        check_record("out", out, n * sizeof *out);
        free(a); free(out);
    }
}

// case globals: multi-dimensional fixed globals, scalars read and written
enum { ROWS = 7, COLUMNS = ROWS * 2 - 1, LAYERS = 3 };
static short cube[LAYERS][ROWS][COLUMNS];
int global_scale = 3;
unsigned global_count;
static void globals(void)
{
#pragma tilek kernel independent
    for (int k = 0; k < LAYERS; k++)
        for (int i = 0; i < ROWS; i++)
            for (int j = COLUMNS - 1; j >= 0; j -= 2)
                cube[k][i][j] = (short)(cube[k][ROWS - 1 - i > i ? i : i][j] * global_scale + k - i * j);
#pragma tilek kernel reduction(+: global_count) independent
    for (int k = 0; k < LAYERS; k++)
        for (int i = 0; i != ROWS; ++i)
            for (int j = 0; j < COLUMNS; ++j)
                global_count += cube[k][i][j] < 0;
}
CASE(globals)
{
    for (int i = 0; i < LAYERS * ROWS * COLUMNS; i++)
        (&cube[0][0][0])[i] = (short)check_random((size_t)i);
    globals();
    globals();
    check_record("cube", cube, sizeof cube);
    check_record("count", &global_count, sizeof global_count);
}

// case countdowns: for (i = n; i-- > 0;) and its kin
static int triangle[64][64];
static void countdowns(int n, int *a, int *b)
{
    int i;
#pragma tilek kernel data(a[0:n])
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (i = n; i-- > 0;)
        a[i] = 3 * a[i] + i;
#pragma tilek kernel data(b[0:n]) independent
    for (size_t k = (size_t)n; k-- > 0;)
        b[k] += a[k] % 7 + (int)k;
#pragma tilek kernel data(b[0:n]) independent
    for (unsigned k = (unsigned)n; k--;)
        b[k] ^= (int)(k << 3);
#pragma tilek kernel data(b[0:n]) independent
    for (int k = n; k --> 2;)
        b[k] -= 5;
#pragma tilek kernel data(b[0:n]) independent
    for (int k = n - 1; k > -1; k--)
        b[k] = b[k] * 5;
    const int left = i;
    check_record("i", &left, sizeof left);
#pragma tilek kernel data(b[0:n])
#pragma tilek loop independent
    for (int k = n; --k >= 0;)
        for (unsigned m = 4; m-- > 0;)
            b[k] = b[k] * 3 + (int)m;
#pragma tilek kernel data(b[0:n]) num_gangs(2) num_workers(3) independent
#pragma tilek loop tile(gang) tile(dynamic)
    for (int k = 0; k < n; ++k)
#pragma tilek loop tile(worker) tile(dynamic)
        for (size_t m = (size_t)k; m --> 0;)
            triangle[k][m] = b[m] - k;
#pragma tilek kernel data(b[0:n]) independent
    for (size_t k = 1; k + 1 < (size_t)n; k++)
        b[k] -= 77;
#pragma tilek kernel data(b[0:n]) independent
    for (int k = 3; k + 2 <= n; k += 2)
        b[k] -= 11;
    unsigned un = (unsigned)n;
#pragma tilek kernel data(b[0:n]) independent
    for (unsigned k = 0; un > k + 2u; k++)
        b[k] ^= 5;
}
CASE(countdowns)
{
    EACH_SIZE(n) {
        int *a = check_ints(n), *b = check_ints(n);
        countdowns((int)n, a, b);
        check_record("a", a, n * sizeof *a); check_record("b", b, n * sizeof *b);
        check_record("triangle", triangle, sizeof triangle);
        free(a); free(b);
    }
}

// case switches: switch with fall-through, default in the middle, nested in loops
static int classify(int x)
{
    switch (x % 5) {
    case 0:
        return 10;
    case 1: case 2: {
        int y = x * 2;
        return y;
    }
    case -3:
        x++; /* fall through */
    default:
        x += 100;
        break;
    case 4:
        x--;
    }
    return x;
}
static void switches(int n, int *a)
{
#pragma tilek kernel data(a[0:n]) independent
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) {
            switch (a[i] & 3) {
            case 0: a[i] += 7; continue;
            case 1: a[i] ^= 0x55; /* fall through */
            case 2: a[i] -= k; break;
            default: if (k > 2) break; a[i]++;
            }
            a[i] += 2;
        }
        a[i] += classify(a[i]);
    }
}
CASE(switches)
{
    EACH_SIZE(n) {
        int *a = check_ints(n);
        switches((int)n, a);
        check_record("a", a, n * sizeof *a);
        free(a);
    }
}

// case unsigned_arithmetic: wrap, mixed compare, shifts, remainders of negatives
static void unsigned_arithmetic(int n, unsigned *u, int *s, unsigned char *c, signed char *sc, char *pc, long long *ll, unsigned long *ul)
{
#pragma tilek kernel data(u[0:n], s[0:n], c[0:n], sc[0:n], pc[0:n], ll[0:n], ul[0:n]) independent
    for (int i = 0; i < n; i++) {
        u[i] = u[i] * 2654435761u + (unsigned)s[i];
        u[i] += s[i] < u[i] ? 3 : 5;
        c[i] = (unsigned char)(c[i] + 200);
        sc[i] = (signed char)(sc[i] - 100);
        pc[i] = (char)(pc[i] * 3);
        if (pc[i] < 0) ll[i] = -ll[i] / 3;
        ll[i] = ll[i] % 7 + (s[i] >> 2) - (s[i] % 4) * 3 + (s[i] / 3);
        ul[i] = (ul[i] << (i % 64)) | (ul[i] >> (64 - i % 64 - 1));
        ul[i] ^= ~0u ^ c[i] << 3;
        ll[i] += sc[i] > c[i] ? 'a' : '\xff';
        u[i] ^= 1u << (i & 31);
        s[i] = (int)(u[i] >> 3) - (c[i] > sc[i] && pc[i] != -1);
        c[i] += 300; c[i] <<= 1; sc[i] >>= 1; sc[i] |= 0x40; c[i] = ~c[i];
        ll[i] += (short)u[i] + (unsigned short)s[i] + sizeof(long) + sizeof u[i] - 3;
        ul[i] += i - 5;
    }
}
CASE(unsigned_arithmetic)
{
    EACH_SIZE(n) {
        unsigned *u = (unsigned *)check_ints(n); int *s = check_ints(n);
        unsigned char *c = check_allocate(n, 1); signed char *sc = check_allocate(n, 1); char *pc = check_allocate(n, 1);
        long long *ll = check_allocate(n, sizeof *ll); unsigned long *ul = check_allocate(n, sizeof *ul);
        for (size_t i = 0; i < n; i++)
            c[i] = (unsigned char)check_random(i), sc[i] = (signed char)check_random(i + 5), pc[i] = (char)check_random(i + 9),
            ll[i] = (long long)(check_random(i) >> 20), ul[i] = check_random(i + 3);
        unsigned_arithmetic((int)n, u, s, c, sc, pc, ll, ul);
        check_record("u", u, n * 4); check_record("s", s, n * 4); check_record("c", c, n); check_record("sc", sc, n);
        check_record("pc", pc, n); check_record("ll", ll, n * 8); check_record("ul", ul, n * 8);
        free(u); free(s); free(c); free(sc); free(pc); free(ll); free(ul);
    }
}

// case iterator_types: size_t, short, unsigned char, long iterators, steps, != loops
static void iterator_types(int n, int *a)
{
#pragma tilek kernel data(a[0:n]) num_gangs(2) num_workers(3)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (size_t i = 0; i != (size_t)n; i++) a[i] += (int)i * 3;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (short i = (short)(n - 1); i >= 0; i = (short)(i - 3)) a[i] -= i;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned char i = 0; i < n; i += 2) a[i] ^= i;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (long long i = -n; i < 0; ++i) a[-i - 1] *= 3;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (unsigned i = 1; i <= (unsigned)n; i += 4u) a[i - 1] += 1000;
    }
}
CASE(iterator_types)
{
    EACH_SIZE(n) {
        int *a = check_ints(n);
        iterator_types((int)n, a);
        check_record("a", a, n * sizeof *a);
        free(a);
    }
}

// case side_effects: ternaries and short circuits with side effects, commas, nested ternaries, chained assignments
struct accumulator { int hits; float weights[3]; struct { short low, high; } range; };
static void side_effects(int n, int *a, struct accumulator *s)
{
#pragma tilek kernel data(a[0:n], s[0:n]) independent
    for (int i = 0; i < n; i++) {
        int k = 0, m = 0;
        a[i] > 0 ? k++ : (m += 2, --k);
        if ((a[i] % 2 && ++k > 0) || m++ == 0) m += k;
        s[i].hits += k = m = a[i] < -500 ? -1 : a[i] < 0 ? 0 : a[i] < 500 ? 1 : 2;
        s[i].weights[k + 1 > 2 ? 2 : k + 1] *= 1.5f;
        s[i].weights[(unsigned)a[i] % 3] += s[i].weights[0]++;
        s[i].range.low -= s[i].range.high <<= 1;
        s[i].range.high = (short)(s[i].range.high ^ s[i].hits);
        for (int p = 0, q = 10; p < q; p++, q--) s[i].hits += p * q;
        do { m += 3; } while (m < 10 && m % 5);
        a[i] = k, a[i] += m;
    }
}
CASE(side_effects)
{
    EACH_SIZE(n) {
        int *a = check_ints(n); struct accumulator *s = check_allocate(n, sizeof *s);
        for (size_t i = 0; i < n; i++) s[i].hits = (int)i, s[i].weights[0] = (float)i, s[i].weights[1] = 2, s[i].range.high = (short)(7 * i);
        side_effects((int)n, a, s);
        check_record("a", a, n * sizeof *a); check_record("s", s, n * sizeof *s);
        free(a); free(s);
    }
}

// case typed_reductions: min, max, &&, ||, ^, +, * over several types, by several spellings
static void typed_reductions(int n, const short *s, const long long *l, const float *f, const unsigned char *c)
{
    long long sum = 1; unsigned char parity = 0x5a; float least = INFINITY; double most = -1e300; short low = SHRT_MAX;
    bool all = true; int any = 0; unsigned long product = 1; unsigned mask = 0, both = UINT_MAX; long long biggest = LLONG_MIN;
#pragma tilek kernel data(s[0:n], l[0:n], f[0:n], c[0:n], mode:r) reduction(+: sum) reduction(^: parity) reduction(min: least, low) \
    reduction(max: most, biggest) reduction(&&: all) reduction(||: any) reduction(*: product) reduction(|: mask) reduction(&: both) independent
    for (int i = 0; i < n; i++) {
        sum += s[i];
        sum -= 3;
        parity ^= c[i];
        least = fminf(least, f[i]);
        if (most < f[i]) most = f[i];
        low = s[i] < low ? s[i] : low;
        all = all && c[i] != 77;
        any = any || l[i] == 5;
        product *= c[i] | 1u;
        mask |= c[i]; both &= c[i] | 0xff00u;
        biggest = biggest > l[i] ? biggest : l[i];
    }
    check_record("sum", &sum, sizeof sum); check_record("parity", &parity, 1); check_record("least", &least, sizeof least);
    check_record("most", &most, sizeof most); check_record("low", &low, sizeof low); check_record("all", &all, sizeof all);
    check_record("any", &any, sizeof any); check_record("product", &product, sizeof product); check_record("mask", &mask, 4);
    check_record("both", &both, 4); check_record("biggest", &biggest, 8);
}
CASE(typed_reductions)
{
    EACH_SIZE(n) {
        float *f = check_floats(n); short *s = check_allocate(n, 2); long long *l = check_allocate(n, 8); unsigned char *c = check_allocate(n, 1);
        for (size_t i = 0; i < n; i++) s[i] = (short)check_random(i), l[i] = (long long)check_random(i), c[i] = (unsigned char)check_random(i + 1);
        typed_reductions((int)n, s, l, f, c);
        free(f); free(s); free(l); free(c);
    }
}

// case conversions: float to int and back, double and float mixed, int division promoted
static void conversions(int n, const double *d, float *f, int *k, unsigned short *h, long *l)
{
#pragma tilek kernel data(d[0:n], f[0:n], k[0:n], h[0:n], l[0:n]) independent
    for (int i = 0; i < n; i++) {
        k[i] = (int)(d[i] * 1e6);
        h[i] = (unsigned short)(int)(d[i] * -30000.0);
        l[i] = d[i] * 1e12;
        f[i] += k[i] / 3 + h[i] / 7.0 + l[i];
        f[i] *= d[i];
        k[i] -= f[i] > 0 ? 0.5f : 0.5;
        l[i] += k[i] ? 1.0f / 3 : 2;
        f[i] = f[i] / 3 + 1 / 3 + 1.0 / 3 + 1e-3f;
        k[i] *= 0.75;
    }
}
CASE(conversions)
{
    EACH_SIZE(n) {
        double *d = check_doubles(n); float *f = check_floats(n); int *k = check_ints(n);
        unsigned short *h = check_allocate(n, 2); long *l = check_allocate(n, sizeof *l);
        conversions((int)n, d, f, k, h, l);
        check_record("f", f, n * 4); check_record("k", k, n * 4); check_record("h", h, n * 2); check_record("l", l, n * 8);
        free(d); free(f); free(k); free(h); free(l);
    }
}

// case enums: enumerations as types, bounds and values
enum material { AIR, WATER = 5, ROCK = -2 };
static void enums(int n, enum material *m, float *speed)
{
#pragma tilek kernel data(m[0:n], speed[0:n]) independent
    for (int i = AIR; i < n; i++) {
        enum material here = m[i];
        speed[i] = here == AIR ? 0.3f : here == WATER ? 1.5f : here < 0 ? 5.0f : 9.0f;
        m[i] = i % 3 ? ROCK : WATER;
    }
}
CASE(enums)
{
    EACH_SIZE(n) {
        enum material *m = check_allocate(n, sizeof *m); float *f = check_floats(n);
        for (size_t i = 0; i < n; i++) m[i] = i % 3 == 0 ? AIR : i % 3 == 1 ? WATER : ROCK;
        enums((int)n, m, f);
        check_record("m", m, n * sizeof *m); check_record("f", f, n * 4);
        free(m); free(f);
    }
}

// case moving_pointers: pointers declared in the loop, rows of flattened arrays
static void moving_pointers(int n, int m, float *a, const float *b)
{
#pragma tilek kernel data(a[0:n*m], b[0:n*m]) independent
    for (int i = 0; i < n; i++) {
        float *row = a + i * m;
        const float *const from = &b[(n - 1 - i) * m];
        for (int j = 0; j < m; j++)
            row[j] += from[j] * 2;
        *row = -*row;
    }
}
CASE(moving_pointers)
{
    EACH_SIZE(n) {
        float *a = check_floats(n * 7), *b = check_floats(n * 7);
        moving_pointers((int)n, 7, a, b);
        check_record("a", a, n * 28);
        free(a); free(b);
    }
}

// case unions: both views of a union, in an array
union word { unsigned u; float f; unsigned char bytes[4]; };
static void unions(int n, union word *w)
{
#pragma tilek kernel data(w[0:n]) independent
    for (int i = 0; i < n; i++) {
        w[i].f = (float)i * 1.5f;
        w[i].u ^= 0x80000000u;
        w[i].bytes[0] ^= 3;
    }
}
CASE(unions)
{
    EACH_SIZE(n) {
        union word *w = check_allocate(n, sizeof *w);
        unions((int)n, w);
        check_record("w", w, n * 4);
        free(w);
    }
}

// case in_out_bounds: bounds that are expressions of members and calls of macros
struct grid { int nx, ny, ghost; double *u, *v; };
#define IDX(g, i, j) ((i) * ((g)->nx + 2 * (g)->ghost) + (j))
#define FOR_INTERIOR(g, i, j) \
    for (int i = (g)->ghost; i < (g)->ny + (g)->ghost; ++i) \
        for (int j = (g)->ghost; j < (g)->nx + (g)->ghost; ++j)
static void smooth(struct grid *g)
{
    const int cells = (g->nx + 2 * g->ghost) * (g->ny + 2 * g->ghost);
#pragma tilek kernel data(g->u[0:cells], mode:r) data(g->v[0:cells]) independent
    FOR_INTERIOR(g, i, j)
        g->v[IDX(g, i, j)] = 0.25 * (g->u[IDX(g, i - 1, j)] + g->u[IDX(g, i + 1, j)] + g->u[IDX(g, i, j - 1)] + g->u[IDX(g, i, j + 1)]);
    double *swap = g->u; g->u = g->v; g->v = swap;
    (void)cells;
}
CASE(in_out_bounds)
{
    EACH_SIZE(n) {
        struct grid g = {(int)n, (int)n / 2, 1, NULL, NULL};
        size_t cells = (size_t)((g.nx + 2) * (g.ny + 2));
        g.u = check_doubles(cells); g.v = check_doubles(cells);
        smooth(&g); smooth(&g);
        check_record("u", g.u, cells * 8); check_record("v", g.v, cells * 8);
        free(g.u); free(g.v);
    }
}
// case continues: continue in loops that are distributed, in every place of the tiles
static int continues(int n, int *a, int *b)
{
    int skipped = 0;
#pragma tilek kernel data(a[0:n], b[0:n*n]) num_gangs(3, 2) num_workers(4, 2)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (int i = 0; i < n; i++) {
            if (a[i] < 0)
                continue;
            a[i] += 3;
            if (a[i] % 3 == 0) {
                a[i]++;
                continue;
            }
            a[i] *= 2;
        }
#pragma tilek loop tile(gang, 1) tile(dynamic) tile(worker, 1)
        for (int i = 0; i < n; i++)
#pragma tilek loop tile(dynamic) tile(gang) tile(worker)
            for (int j = 0; j < n; j++) {
                if (i == j)
                    continue;
                for (int k = 0; k < 3; k++) {
                    if (k == 1)
                        continue;
                    b[i * n + j] += k * a[i];
                }
            }
#pragma tilek loop tile(gang)
        for (int i = 0; i < n; i++) {
            if (i % 4 == 0)
                continue;
            for (int j = 0; j < n; j++)
                b[i * n + j] ^= j;
        }
    }
#pragma tilek kernel data(a[0:n], b[0:n*n]) reduction(+: skipped) independent
    for (int i = n - 1; i >= 0; i--)
        for (int j = 0; j < n; j++) {
            if (b[i * n + j] < a[i]) {
                skipped++;
                continue;
            }
            b[i * n + j] -= a[i];
        }
    return skipped;
}
CASE(continues)
{
    EACH_SIZE(n) {
        int *a = check_ints(n), *b = check_ints(n * n);
        int skipped = continues((int)n, a, b);
        check_record("a", a, n * 4); check_record("b", b, n * n * 4); check_record("s", &skipped, 4);
        free(a); free(b);
    }
}

// case nearer_bounds: for (k = …; k < a && k <= b; k++), as blocks at a border have it
static void nearer_bounds(int n, double *a, const double *b)
{
    int k = 0;
#pragma tilek kernel
    for (int i = 0; i <= n / 4; i++)
        for (k = 4 * i; k < 4 * i + 4 && k < n; k++)
            a[k] = 2 * b[n - 1 - k];
    check_record("k", &k, sizeof k);
#pragma tilek kernel
    for (int i = n - 1; i >= 0 && i > n - 8; i--)
        for (int j = 0; j <= n - 1 && j < 5 && j < i; j++)
            a[i] += b[j];
}

CASE(nearer_bounds)
{
    static const int sizes[] = {0, 1, 4, 7, 1001};
    for (int s = 0; s < 5; s++) {
        double *const a = check_doubles(1001), *const b = check_doubles(1001);
        nearer_bounds(sizes[s], a, b);
        check_record("a", a, 1001 * sizeof *a);
        free(a);
        free(b);
    }
}

// case waiting_two_iterations: a recurrence over two iterations beside a loop that is distributed, which compilers must not take for vectors
static void waiting_two_iterations(int n, int *k, double *x, const double *y)
{
#pragma tilek kernel
    for (int i = n; i >= 1; i--) {
        for (int j = 2; j < n - 1; j++)
            k[j + 1] = (k[j - 1] + k[j - 1]) % 1001;
        for (int j = i; j <= n; j++) {
            x[j] = -0.5 * y[j];
            k[j] = (k[j] + k[j] + k[n]) % 1001;
        }
    }
}

CASE(waiting_two_iterations)
{
    int k[65];
    double *const x = check_doubles(65), *const y = check_doubles(65);
    for (int i = 0; i < 65; i++)
        k[i] = (int)(check_random((size_t)i) % 1001);
    waiting_two_iterations(64, k, x, y);
    check_record("k", k, sizeof k);
    check_record("x", x, 65 * sizeof *x);
    free(x);
    free(y);
}

// case forward_jumps: goto to a label further down in the same block, as translated Fortran has it
static void forward_jumps(int n, double a[n], double b[n + 1], const double c[n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        if (c[i] > 0)
            goto positive;
        a[i] = c[i] - 1;
        if (a[i] < -2) goto done;
        a[i] *= 0.5;
        goto done;
    positive:
        a[i] += c[i] * c[i];
    done:
        b[i] = a[i] + c[i];
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        if (c[i] < 0) {
            b[i + 1] += 3;
            goto next;
        }
        if (b[i] < 1) goto add;
        b[i] -= a[i];
    add:
        b[i + 1] += a[i] * 0.25;
    next:;
    }
}

CASE(forward_jumps)
{
    EACH_SIZE(n) {
        double *const a = check_doubles(n), *const b = check_doubles(n + 1), *const c = check_doubles(n);
        forward_jumps((int)n, a, b, c);
        check_record("a", a, n * sizeof *a);
        check_record("b", b, (n + 1) * sizeof *b);
        free(a);
        free(b);
        free(c);
    }
}

// case walking_pointers: pointers that move through one array, in loops of their own, by conditions and in functions
struct grid_point { double x, y; };

static int positive_from(const double *from, int most)
{
    const double *at = from, *end = from + most;
    while (at < end && *at > 0) at++;
    return (int)(at - from);
}

static void walking_pointers(int n, int m, double *restrict a, const double *restrict b, const int *restrict k,
                             const struct grid_point *restrict g, double rows[n][m], int *restrict lengths)
{
    double *p, *row;
#pragma tilek kernel
    {
        double *to = a;
        const double *from = b + n;
        for (int i = 0; i < n; i++) *to++ = 2 * *--from;
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        row = rows[i];
        for (int j = 0; j < m; j++) {
            *row += j;
            row++;
        }
    }
#pragma tilek kernel data(g[0:n + 2])
    for (int i = 0; i < n; i++) {
        const struct grid_point *low, *high;
        if (k[i] % 2)
            low = &g[k[i] % n];
        else
            low = &g[i] + 1;
        high = low + 1;
        a[i] += low->x - high->y;
    }
#pragma tilek kernel data(b[0:n + 3])
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (const double *at = b + i, *end = at + 3; at != end; at += 1) s += *at * (end - at);
        a[n + i] = s;
    }
#pragma tilek kernel data(b[0:n + 3]) data(a[0:2 * n])
    for (int i = 0; i < n; i++) {
        p = i > n / 2 ? &a[i] : a + n + i;
        p[0] += 1;
        p -= i > n / 2 ? 0 : n;
        lengths[i] = positive_from(b + i, n - i) + (p == &a[i]);
    }
}

CASE(walking_pointers)
{
    const size_t m = 5;
    for (size_t n = 0; n < 40; n += 13) {
        double *const a = check_doubles(2 * n), *const b = check_doubles(n + 3), *const rows = check_doubles(n * m);
        int *const k = check_ints(n), *const lengths = check_ints(n);
        struct grid_point *const g = check_allocate(n + 2, sizeof *g);
        for (size_t i = 0; i < n + 2; i++) g[i] = (struct grid_point){(double)i, 0.5 * (double)i};
        for (size_t i = 0; i < n; i++) k[i] = abs(k[i] % 1000);
        walking_pointers((int)n, (int)m, a, b, k, g, (void *)rows, lengths);
        check_record("a", a, 2 * n * sizeof *a);
        check_record("rows", rows, n * m * sizeof *rows);
        check_record("lengths", lengths, n * sizeof *lengths);
        free(a), free(b), free(rows), free(k), free(lengths), free(g);
    }
}
