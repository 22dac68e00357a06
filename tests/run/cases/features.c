#include "check.h"

static void relax(int n, const float *from, float *to)
{
#pragma tilek kernel data(from[0:n], mode:r, live:in) data(to[0:n], mode:w) num_gangs(2) num_workers(4)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 1; i < n - 1; ++i)
        to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
}

// case integer_reductions: every operator, combined with the old value
static void integer_reductions(int n, const int *a, long long *out)
{
    int sum = 100, product = 3, least = 5000, most = -5000, all = 1, any = 0;
    unsigned conjunction = ~0u, disjunction = 1u, parity = 7u;
#pragma tilek kernel data(a[0:n], mode:r, live:in) num_gangs(3) num_workers(4) reduction(+: sum) reduction(*: product) \
    reduction(min: least) reduction(max: most) reduction(&: conjunction) reduction(|: disjunction) reduction(^: parity) \
    reduction(&&: all) reduction(||: any)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        sum += a[i];
        product *= a[i] % 2 ? 1 : -1;
        least = a[i] < least ? a[i] : least;
        if (a[i] > most)
            most = a[i];
        conjunction &= (unsigned)a[i] | 0xf0f0u;
        disjunction |= (unsigned)a[i] & 0xffu;
        parity ^= (unsigned)a[i];
        all = all && a[i] > -2000;
        any = any || a[i] == 123456;
    }
    const long long results[] = {sum, product, least, most, conjunction, disjunction, parity, all, any};
    memcpy(out, results, sizeof results);
}

CASE(integer_reductions)
{
    const int n = 1009;
    int *const a = check_ints((size_t)n);
    long long out[9];
    integer_reductions(n, a, out);
    check_record("out", out, sizeof out);
    integer_reductions(0, a, out);
    check_record("empty", out, sizeof out);
    integer_reductions(1, a, out);
    check_record("one", out, sizeof out);
    free(a);
}

// case floating_reductions: sums near the serial one and the same on each run; maxima exact
static double floating_sum(int n, const double *a)
{
    double sum = 0.5;
#pragma tilek kernel data(a[0:n], mode:r, live:in) num_gangs(4) num_workers(8)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic) reduction(+: sum)
    for (int i = 0; i < n; ++i)
        sum += a[i] * a[i];
    return sum;
}

static float floating_maximum(int n, int m, const float *a)
{
    float most = -1.0f;
#pragma tilek kernel data(a[0:n*m], mode:r, live:in) num_threads(3) reduction(max: most)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            most = fmaxf(most, a[i * m + j]);
    return most;
}

CASE(floating_reductions)
{
    const int n = 2003;
    double *const a = check_doubles((size_t)n), serial = 0.5;
    float *const f = check_floats((size_t)n);
    for (int i = 0; i < n; ++i)
        serial += a[i] * a[i];
    const double first = floating_sum(n, a), second = floating_sum(n, a);
    const int results[] = {fabs(first - serial) < 1e-9, first == second};
    const float most = floating_maximum(n / 7, 7, f);
    check_record("results", results, sizeof results);
    check_record("most", &most, sizeof most);
    free(a);
    free(f);
}

// case reduction_in_place: a reduction that covers a nest of two distributed loops, several at once
static void reduction_in_place(int n, int m, const int *a, int *rows, long *total, int *peak)
{
    long sum = *total;
    int most = *peak;
#pragma tilek kernel data(a[0:n*m], mode:r, live:in) num_gangs(2, 3) num_workers(4, 2) \
    reduction(+: sum) reduction(max: most)
    {
#pragma tilek loop tile(gang, 0) tile(worker, 0) tile(dynamic)
        for (int i = 0; i < n; ++i)
#pragma tilek loop tile(gang, 1) tile(worker, 1) tile(dynamic)
            for (int j = 0; j < m; ++j) {
                sum += a[i * m + j];
                most = a[i * m + j] > most ? a[i * m + j] : most;
            }
    }
#pragma tilek kernel data(a[0:n*m], mode:r, live:in) data(rows[0:n], mode:rw) num_gangs(2)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        int row = 0;
        for (int j = 0; j < m; ++j)
            row += a[i * m + j];
        rows[i] = row;
    }
    *total = sum;
    *peak = most;
}

CASE(reduction_in_place)
{
    const int n = 37, m = 29;
    int *const a = check_ints((size_t)(n * m)), *const rows = check_ints((size_t)n);
    long total = 12;
    int peak = -7;
    reduction_in_place(n, m, a, rows, &total, &peak);
    check_record("rows", rows, (size_t)n * sizeof *rows);
    check_record("total", &total, sizeof total);
    check_record("peak", &peak, sizeof peak);
    free(a);
    free(rows);
}

// case written_scalars: scalars that live out come back
static void written_scalars(int n, const int *a, int *out)
{
    int last = -1, count = 0;
    float mean = 0.0f;
#pragma tilek kernel data(a[0:n], mode:r, live:in) independent
#pragma tilek loop tile(static, 4) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        if (a[i] > 0) {
            last = a[i];
            count++;
        }
        mean = (float)count / (float)n;
    }
    out[0] = last;
    out[1] = count;
    out[2] = (int)(mean * 1e6f);
}

CASE(written_scalars)
{
    const int n = 101;
    int *const a = check_ints((size_t)n), out[3];
    written_scalars(n, a, out);
    check_record("out", out, sizeof out);
    free(a);
}

// case private_scalars: private and firstprivate, and temporaries declared outside that are private by their use
static void private_scalars(int n, const int *a, int *b)
{
    int t = 5, u = 17, k, temporary;
#pragma tilek kernel data(a[0:n], mode:r, live:in) data(b[0:n], mode:rw) private(t) firstprivate(u) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic) private(k)
    for (int i = 0; i < n; ++i) {
        t = a[i] * 2;
        for (k = 0; k < 3; ++k)
            t += k + u;
        temporary = t - 1;
        b[i] = temporary * t;
    }
}

CASE(private_scalars)
{
    const int n = 77;
    int *const a = check_ints((size_t)n), *const b = check_ints((size_t)n);
    private_scalars(n, a, b);
    check_record("b", b, (size_t)n * sizeof *b);
    free(a);
    free(b);
}

// case condition_clause: if(e) chooses between the kernel and the loop as written
static void condition_clause(int n, int on, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw) num_gangs(2) num_workers(3) if(on > 0)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] = a[i] * 1.5f + 0.25f * (float)(1 + on);
#pragma tilek kernel data(a[0:n], mode:rw) num_threads(2) if(0)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] -= 1.0f;
#pragma tilek kernel data(a[0:n], mode:rw) num_threads(2) if(1)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] *= -1.0f;
}

CASE(condition_clause)
{
    const int n = 65;
    float *const a = check_floats((size_t)n);
    condition_clause(n, 1, a);
    condition_clause(n, 0, a);
    check_record("a", a, (size_t)n * sizeof *a);
    free(a);
}

// case queues: async and wait, with and without numbers
static void queues(int n, float *a, float *b, float *c)
{
#pragma tilek kernel data(a[0:n], mode:rw) num_gangs(2) num_workers(3) async(1)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] += 1.0f;
#pragma tilek kernel data(b[0:n], mode:rw) num_gangs(2) num_workers(3) async(2)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        b[i] *= 2.0f;
#pragma tilek wait(2)
    b[0] += 5.0f;
#pragma tilek kernel data(a[0:n], b[0:n], mode:r, live:in) data(c[0:n], mode:w) num_gangs(2) num_workers(3) wait(1) async
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        c[i] = a[i] + b[i];
#pragma tilek wait
    c[1] -= a[0];
#pragma tilek kernel data(c[0:n], mode:rw) num_threads(2) wait
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        c[i] *= 0.5f;
}

CASE(queues)
{
    const int n = 301;
    float *const a = check_floats((size_t)n), *const b = check_floats((size_t)n), *const c = check_floats((size_t)n);
    queues(n, a, b, c);
    check_record("a", a, (size_t)n * sizeof *a);
    check_record("b", b, (size_t)n * sizeof *b);
    check_record("c", c, (size_t)n * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case data_region: arrays stay where they are between kernels; update moves them
static void data_region(int n, int steps, float *a, float *b, float *trace)
{
    float *now = a, *next = b;
#pragma tilek data copy(a[0:n], b[0:n])
    {
        for (int step = 0; step < steps; ++step) {
            relax(n, now, next);
            float *const other = now;
            now = next;
            next = other;
            if (step % 2 == 1) {
#pragma tilek update self(now[0:n])
                trace[step / 2] = now[n / 2];
                now[n / 2] += 0.5f;
#pragma tilek update device(now[n/2:1])
            }
        }
    }
}

CASE(data_region)
{
    const int n = 81;
    float *const a = check_floats((size_t)n), *const b = check_floats((size_t)n), trace[8] = {0};
    data_region(n, 7, a, b, trace);
    check_record("a", a, (size_t)n * sizeof *a);
    check_record("b", b, (size_t)n * sizeof *b);
    check_record("trace", trace, sizeof trace);
    free(a);
    free(b);
}

// case enter_and_exit: data that enter and leave the device apart from any block
static void enter_and_exit(int n, float *a, float *b, float **rows)
{
#pragma tilek enter data copyin(a[0:n]) create(b[0:n]) copyin(rows[0:n][0:n])
    relax(n, a, b);
#pragma tilek kernel present(rows[0:n][0:n], b[0:n]) num_gangs(2) num_workers(2)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 1; i < n - 1; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
        for (int j = 0; j < n; ++j)
            rows[i][j] += b[i];
#pragma tilek kernel present(b[0:n]) num_gangs(2)
    {
#pragma tilek loop tile(gang) tile(dynamic)
        for (int i = 0; i < n; i += n - 1)
            b[i] = 7.0f;
    }
#pragma tilek exit data copyout(b[0:n], rows[0:n][0:n]) delete(a[0:n])
}

CASE(enter_and_exit)
{
    const int n = 21;
    float *const a = check_floats((size_t)n), *const b = check_floats((size_t)n);
    float **const rows = check_matrix((size_t)n, (size_t)n);
    enter_and_exit(n, a, b, rows);
    check_record("b", b, (size_t)n * sizeof *b);
    check_record_rows("rows", (void *const *)rows, (size_t)n, (size_t)n * sizeof **rows);
    free(a);
    free(b);
    check_free_matrix(rows, (size_t)n);
}

// case nested_regions: a region inside a region finds its data present; members as sections
typedef struct state { int n; float *u, *w; } state;

static void advance(state *s)
{
    const int n = s->n;
    float *const u = s->u, *const w = s->w;
#pragma tilek data copy(u[0:n], w[0:n])
    {
        relax(n, u, w);
        relax(n, w, u);
    }
}

static void nested_regions(state *s, int steps)
{
#pragma tilek data copy(s->u[0:s->n], s->w[0:s->n])
    for (int step = 0; step < steps; ++step)
        advance(s);
}

CASE(nested_regions)
{
    state s = {.n = 47};
    s.u = check_floats(47);
    s.w = check_floats(47);
    nested_regions(&s, 3);
    check_record("u", s.u, 47 * sizeof *s.u);
    check_record("w", s.w, 47 * sizeof *s.w);
    free(s.u);
    free(s.w);
}

// case several_nests: nests of one kernel run one after the other, their data flow between them
static void several_nests(int n, int m, float *a, float *b, float *c)
{
    int i, j;
#pragma tilek kernel data(a[0:n*m], b[0:n*m], c[0:n], mode:rw) num_gangs(3) num_workers(4) name(chain)
    {
        const int last = n - 1;
#pragma tilek loop tile(gang) tile(dynamic)
        for (i = 0; i < n; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
            for (j = 0; j < m; ++j)
                b[i * m + j] = a[(last - i) * m + j] + 1.0f;
#pragma tilek loop tile(gang) tile(dynamic)
        for (i = 0; i < n; ++i)
#pragma tilek loop tile(dynamic) tile(worker)
            for (j = 0; j < m; ++j)
                a[i * m + j] = b[(last - i) * m + (m - 1 - j)] * 0.5f;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (i = 0; i < n; ++i)
            c[i] += a[i * m] - b[i * m + m - 1];
    }
}

CASE(several_nests)
{
    const int n = 17, m = 22;
    float *const a = check_floats((size_t)(n * m)), *const b = check_floats((size_t)(n * m)), *const c = check_floats((size_t)n);
    several_nests(n, m, a, b, c);
    several_nests(n, m, a, b, c);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    check_record("b", b, (size_t)(n * m) * sizeof *b);
    check_record("c", c, (size_t)n * sizeof *c);
    free(a);
    free(b);
    free(c);
}

// case repeated_launches: the same kernel with other sizes each time; numbers are the launch's, not the first launch's
static void repeated(int n, int m, float *a)
{
#pragma tilek kernel data(a[0:n*m], mode:rw) num_gangs(n > 4 ? 3 : 2) num_workers(1 + m % 4)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < n; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
        for (int j = 0; j < m; ++j)
            a[i * m + j] += (float)(i - j);
}

CASE(repeated_launches)
{
    float *const a = check_floats(20 * 20);
    for (int k = 0; k < 12; ++k)
        repeated(1 + (k * 7) % 13, 1 + (k * 5) % 11, a);
    check_record("a", a, 20 * 20 * sizeof *a);
    free(a);
}

// case targets_in_source: explicit target clauses
static void targets_in_source(int n, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw) target(serial)
#pragma tilek loop tile(static, 3) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] += 1.0f;
#pragma tilek kernel data(a[0:n], mode:rw) target(threads) num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] *= 3.0f;
#pragma tilek kernel data(a[0:n], mode:rw) target(auto) num_gangs(2)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] -= 0.5f;
}

CASE(targets_in_source)
{
    const int n = 55;
    float *const a = check_floats((size_t)n);
    targets_in_source(n, a);
    check_record("a", a, (size_t)n * sizeof *a);
    free(a);
}

// case globals: functions that use arrays and numbers of the file, by way of each other too
enum { GRID = 40 };

static double u[GRID][GRID], v[GRID][GRID], table[100], dx = 0.5, gain, *column;
static int shift = 1;

static double laplacian(int i, int j)
{
    return (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4 * u[i][j]) / (dx * dx);
}

static double look_up(double x)
{
    return table[(int)fabs(x) % 100] + shift;
}

static double both(int i, int j)
{
    return laplacian(i, j) + look_up(u[i][j]) * gain;
}

static void put(int i, int j, double x)
{
    v[i][j] = x;
}

static double of_column(int i)
{
    return column[i + shift];
}

static void globals(double *out)
{
#pragma tilek kernel
    for (int i = 1; i < GRID - 1; i++)
        for (int j = 1; j < GRID - 1; j++)
            v[i][j] = u[i][j] + 0.01 * both(i, j);
#pragma tilek kernel
    for (int i = 1; i < GRID - 1; i++)
        for (int j = 1; j < GRID - 1; j++)
            u[i][j] = v[i][j] * 0.5 + look_up(v[i][j]);
#pragma tilek kernel independent
    for (int i = 1; i < GRID - 1; i++)
        for (int j = 1; j < GRID - 1; j++) {
            v[i][j] += 1;
            put(i, j, v[i][j] * 0.5);
            v[i][j] *= 3;
        }
#pragma tilek kernel
    for (int i = 1; i < GRID - 1; i++)
        for (int j = 1; j < GRID - 1; j++)
            u[i][j] += 0.01 * laplacian(i, j);
#pragma tilek kernel data(column[0:GRID])
    for (int i = 0; i < GRID - 4; i++)
        out[i] += of_column(i);
}

CASE(globals)
{
    double *const out = check_doubles(GRID);
    column = check_doubles(GRID);
    check_fill_double(&u[0][0], GRID * GRID);
    check_fill_double(table, 100);
    for (shift = 1; shift < 4; shift++) {
        gain = 0.1 * shift;
        globals(out);
    }
    check_record("u", u, sizeof u);
    check_record("v", v, sizeof v);
    check_record("out", out, GRID * sizeof *out);
    free(out);
    free(column);
}

// case one_column: products with a column or a row, with none, and sizes below 0
static void columns(int n, int m, int p, const float a[][4], const float b[][6], float c[restrict][6])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < p; k++)
                c[i][j] += a[i][k] * b[k][j];
}

CASE(one_column)
{
    static const int lengths[] = {5, 2, -3, 0, 1};
    float a[6][4], b[4][6], c[6][6];
    for (int m = 0; m < 5; m++)
        for (int n = 0; n < 5; n++)
            for (int p = -1; p < 4; p += 2) {
                check_fill_float(&a[0][0], 24);
                check_fill_float(&b[0][0], 24);
                check_fill_float(&c[0][0], 36);
                columns(lengths[n], lengths[m], p, (void *)a, (void *)b, c);
                check_record("c", c, sizeof c);
            }
}
