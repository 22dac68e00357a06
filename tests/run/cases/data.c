#include "check.h"

#include <stdbool.h>

// case variable_length: VLA parameters and locals, of two and three dimensions
static void variable_length(int n, int m, int p, double A[n][m], double B[n][m][p])
{
#pragma tilek kernel data(A[0:n][0:m], mode:rw) data(B[0:n][0:m][0:p], mode:r, live:in) num_gangs(2, 3) num_workers(3, 4)
#pragma tilek loop tile(gang, 1) tile(worker, 1) tile(dynamic)
    for (int i = 0; i < n; ++i)
#pragma tilek loop tile(gang, 0) tile(dynamic) tile(worker, 0)
        for (int j = 0; j < m; ++j)
            for (int k = 0; k < p; ++k)
                A[i][j] += B[i][j][k] * B[i][j][p - 1 - k];
}

CASE(variable_length)
{
    const int n = 13, m = 21, p = 7;
    double *const a = check_doubles((size_t)(n * m)), *const b = check_doubles((size_t)(n * m * p));
    variable_length(n, m, p, (double (*)[m])a, (double (*)[m][p])b);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    free(a);
    free(b);
}

// case fixed_arrays: arrays of fixed extents, global, static, local; no data clause at all
static float table[17][23];
static int counts[23];

static void fixed_arrays(void)
{
    float local[17][23];
    static double kept[23];
    memcpy(local, table, sizeof local);
#pragma tilek kernel num_gangs(3) num_workers(2)
    {
#pragma tilek loop tile(gang) tile(dynamic)
        for (int i = 0; i < 17; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
            for (int j = 0; j < 23; ++j)
                table[i][j] = local[16 - i][22 - j] + (float)counts[j];
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (int j = 0; j < 23; ++j)
            kept[j] += local[3][j];
    }
    check_record("kept", kept, sizeof kept);
}

CASE(fixed_arrays)
{
    check_fill_float(&table[0][0], 17 * 23);
    check_fill_int(counts, 23);
    fixed_arrays();
    fixed_arrays();
    check_record("table", table, sizeof table);
}

// case hand_indexed: T *a indexed by hand, from the middle of an object, by *(p + i), with sections that keep their offset
static void hand_indexed(int n, int m, float *a, const float *b)
{
    float *const middle = a + n * m / 2;
#pragma tilek kernel data(a[0:n*m], mode:rw) data(b[0:n*m], mode:r, live:in) num_threads(3)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            a[i * m + j] += *(b + (i * m + j)) * b[j];
#pragma tilek kernel data(middle[3:n], mode:rw) num_gangs(2) num_workers(2)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 3; i < n + 3; ++i)
        middle[i] = -middle[i] + 1.0f;
}

CASE(hand_indexed)
{
    const int n = 19, m = 15;
    float *const a = check_floats((size_t)(n * m)), *const b = check_floats((size_t)(n * m + 9));
    hand_indexed(n, m, a, b + 9);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    free(a);
    free(b);
}

// case one_buffer: two arrays of one buffer that are told to be distributed by rows, each element waiting for one a few before
static void one_buffer(int m, int n, int from, int *x, int *y)
{
    (void)from; /* read by the clauses alone */
#pragma tilek kernel data(x[from:n * m], mode:rw, live:inout) data(y[from:n * m], mode:rw, live:inout)
#pragma tilek loop independent
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m - 34; ++j) {
            y[i * m + j] = y[i * m + j] + 5;
            x[i * m + j] = (3 * y[i * m + j] + 1) % 1001;
        }
}

CASE(one_buffer)
{
    static const int shifts[] = {1, 2, 8, 16, 17, 31};
    enum { M = 171, N = 3 };
    int values[M * N + 32];
    for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; ++s) {
        check_fill_int(values, M * N + 32);
        one_buffer(M, N, 0, values + shifts[s], values);
        check_record("ahead", values, sizeof values);
        one_buffer(M, N, 0, values, values + shifts[s]);
        check_record("behind", values, sizeof values);
    }
}

// case partial_sections: only the section moves; what lies around it keeps its values
static void partial_sections(int n, int m, float A[n][m], float **rows)
{
#pragma tilek kernel data(A[2:n-4][0:m], mode:rw, live:inout) num_gangs(2) num_workers(2)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 2; i < n - 2; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
        for (int j = 0; j < m; ++j)
            A[i][j] += 1.0f;
#pragma tilek kernel data(rows[1:n-2][3:m-5], mode:rw, live:inout) num_gangs(2) num_workers(2)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 1; i < n - 1; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
        for (int j = 3; j < m - 2; ++j)
            rows[i][j] *= 1.75f;
}

CASE(partial_sections)
{
    const int n = 12, m = 27;
    float *const a = check_floats((size_t)(n * m));
    float **const rows = check_matrix((size_t)n, (size_t)m);
    partial_sections(n, m, (float (*)[m])a, rows);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    check_record_rows("rows", (void *const *)rows, (size_t)n, (size_t)m * sizeof **rows);
    free(a);
    check_free_matrix(rows, (size_t)n);
}

// case pointer_to_array: T (*a)[m] with a variable and with a fixed length
static void pointer_to_array(int n, int m, int (*a)[m], int (*b)[8])
{
#pragma tilek kernel data(a[0:n][0:m], mode:rw) data(b[0:n][0:8], mode:rw) num_gangs(3)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j)
            a[i][j] -= b[i][j % 8];
        for (int j = 0; j < 8; ++j)
            b[i][j] = a[i][j] * 3;
    }
}

CASE(pointer_to_array)
{
    const int n = 14, m = 11;
    int *const a = check_ints((size_t)(n * m)), *const b = check_ints((size_t)(n * 8));
    pointer_to_array(n, m, (int (*)[m])a, (int (*)[8])b);
    check_record("a", a, (size_t)(n * m) * sizeof *a);
    check_record("b", b, (size_t)(n * 8) * sizeof *b);
    free(a);
    free(b);
}

// case integer_types: all integer types keep their width and signedness on every target
static void integer_types(int n, char *c, signed char *sc, unsigned char *uc, short *s, unsigned short *us, unsigned *u,
                          long *l, unsigned long long *ull, bool *b)
{
#pragma tilek kernel data(c[0:n], sc[0:n], uc[0:n], s[0:n], us[0:n], u[0:n], l[0:n], ull[0:n], b[0:n]) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        c[i] = (char)(i * 37);
        sc[i] = (signed char)(sc[i] + i * 11);
        uc[i] = (unsigned char)(uc[i] - i * 13);
        s[i] = (short)(s[i] * 257 + c[i]);
        us[i] = (unsigned short)(us[i] * 40503u + uc[i]);
        u[i] = u[i] * 2654435761u + (unsigned)sc[i];
        l[i] = (long)((unsigned long)l[i] * 6364136223846793005ul) / 3 + s[i];
        ull[i] = (ull[i] ^ u[i]) * 0x9e3779b97f4a7c15ull + us[i];
        b[i] = (ull[i] & 4) != 0 && l[i] > 0;
        u[i] ^= (unsigned)(-7 / 2) + (unsigned)(-7 % 4) + (u[i] >> 5) + ('A' << 3);
    }
}

CASE(integer_types)
{
    enum { N = 53 };
    static char c[N];
    static signed char sc[N];
    static unsigned char uc[N];
    static short s[N];
    static unsigned short us[N];
    static unsigned u[N];
    static long l[N];
    static unsigned long long ull[N];
    static bool b[N];
    for (int i = 0; i < N; ++i) {
        u[i] = (unsigned)check_random((uint64_t)i);
        l[i] = i - 20;
        s[i] = (short)(i - 25);
    }
    integer_types(N, c, sc, uc, s, us, u, l, ull, b);
    check_record("c", c, sizeof c);
    check_record("sc", sc, sizeof sc);
    check_record("uc", uc, sizeof uc);
    check_record("s", s, sizeof s);
    check_record("us", us, sizeof us);
    check_record("u", u, sizeof u);
    check_record("l", l, sizeof l);
    check_record("ull", ull, sizeof ull);
    check_record("b", b, sizeof b);
}

// case structures: arrays of structures, with arrays and structures inside
typedef struct vector { float x, y; } vector;

typedef struct particle {
    vector position, velocity;
    double mass;
    int cell[3];
    unsigned char kind;
} particle;

static void structures(int n, particle *p, vector force)
{
#pragma tilek kernel data(p[0:n], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i) {
        p[i].velocity.x += force.x / (float)p[i].mass;
        p[i].velocity.y += force.y / (float)p[i].mass;
        (*(p + i)).position.x += 0.125f * p[i].velocity.x;
        (p + i)->position.y += 0.125f * p[i].velocity.y;
        for (int d = 0; d < 3; ++d)
            p[i].cell[d] += p[i].kind == 2 ? d : -1;
        p[i].kind = (unsigned char)(p[i].kind * 3 + 1);
    }
}

CASE(structures)
{
    enum { N = 45 };
    particle *const p = check_allocate(N, sizeof *p);
    for (int i = 0; i < N; ++i) {
        check_fill_float(&p[i].position.x, 2);
        p[i].velocity.x = (float)i;
        p[i].mass = 1.0 + i;
        p[i].cell[1] = i;
        p[i].kind = (unsigned char)(i % 5);
    }
    const vector force = {0.3f, -0.7f};
    structures(N, p, force);
    check_record("p", p, N * sizeof *p);
    free(p);
}

// case members: arrays reached through a structure's members, sizes too
typedef struct field {
    int nx, ny;
    float *u, *v;
    float **rows;
    float fixed[40];
} field;

static void members(field *f, field g)
{
#pragma tilek kernel data(f->u[0:f->nx*f->ny], mode:rw) data(f->v[0:f->nx*f->ny], mode:r, live:in) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < f->ny; ++i)
#pragma tilek loop tile(worker) tile(dynamic)
        for (int j = 0; j < f->nx; ++j)
            f->u[i * f->nx + j] += 0.5f * f->v[i * f->nx + (f->nx - 1 - j)];
#pragma tilek kernel data(g.u[0:g.nx], mode:rw) data(f->rows[0:g.ny][0:g.nx], mode:rw) num_gangs(2)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < g.ny; ++i)
        for (int j = 0; j < g.nx; ++j)
            f->rows[i][j] += g.u[j];
#pragma tilek kernel num_threads(2)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int k = 0; k < 40; ++k)
        f->fixed[k] = f->fixed[k] * 2.0f + 1.0f;
}

CASE(members)
{
    field f = {.nx = 13, .ny = 17};
    f.u = check_floats(13 * 17);
    f.v = check_floats(13 * 17);
    f.rows = check_matrix(17, 13);
    check_fill_float(f.fixed, 40);
    members(&f, f);
    check_record("u", f.u, 13 * 17 * sizeof *f.u);
    check_record_rows("rows", (void *const *)f.rows, 17, 13 * sizeof(float));
    check_record("fixed", f.fixed, sizeof f.fixed);
    free(f.u);
    free(f.v);
    check_free_matrix(f.rows, 17);
}

// case double_rows: T ** of doubles and of structures, rows of separate allocations
typedef struct pair { double first; int second; } pair;

static void double_rows(int n, int m, double **a, pair **b)
{
#pragma tilek kernel data(a[0:n][0:m], b[0:n][0:m], mode:rw) num_gangs(2) num_workers(3)
#pragma tilek loop tile(gang) tile(dynamic)
    for (int i = 0; i < n; ++i)
#pragma tilek loop tile(dynamic) tile(worker)
        for (int j = 0; j < m; ++j) {
            a[i][j] += b[i][j].first * 0.3;
            b[i][j].second += i - j;
        }
}

CASE(double_rows)
{
    enum { N = 9, M = 14 };
    double *a[N];
    pair *b[N];
    for (int i = 0; i < N; ++i) {
        a[i] = check_doubles(M);
        b[i] = check_allocate(M, sizeof **b);
        for (int j = 0; j < M; ++j)
            b[i][j].first = i * 0.7 + j;
    }
    double_rows(N, M, a, b);
    check_record_rows("a", (void *const *)a, N, M * sizeof **a);
    check_record_rows("b", (void *const *)b, N, M * sizeof **b);
    for (int i = 0; i < N; ++i) {
        free(a[i]);
        free(b[i]);
    }
}

// case gather: subscripts read from memory
static void gather(int n, int m, const int *index, const float *from, float *to)
{
#pragma tilek kernel data(index[0:n], mode:r, live:in) data(from[0:m], mode:r, live:in) data(to[0:n], mode:w) num_gangs(2) num_workers(3)
#pragma tilek loop independent tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        to[index[i]] = from[(index[i] * 7) % m];
}

CASE(gather)
{
    enum { N = 47, M = 31 };
    int index[N];
    for (int i = 0; i < N; ++i)
        index[i] = i * 5 % N;
    float *const from = check_floats(M), *const to = check_floats(N);
    gather(N, M, index, from, to);
    check_record("to", to, N * sizeof *to);
    free(from);
    free(to);
}

// case restrict_and_const: qualifiers of parameters are kept
static void restrict_and_const(int n, const float *restrict x, float *restrict y, const float scale)
{
#pragma tilek kernel data(x[0:n], mode:r, live:in) data(y[0:n], mode:rw) num_threads(4)
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; ++i)
        y[i] = scale * x[i] + y[i];
}

CASE(restrict_and_const)
{
    const int n = 101;
    float *const x = check_floats((size_t)n), *const y = check_floats((size_t)n);
    restrict_and_const(n, x, y, 2.5f);
    check_record("y", y, (size_t)n * sizeof *y);
    free(x);
    free(y);
}

// case openacc_clauses: copy, copyin, copyout, create as data clauses of a kernel
static void openacc_clauses(int n, const float *x, float *y, float *z, float *scratch)
{
#pragma tilek kernel copyin(x[0:n]) copy(y[0:n]) copyout(z[0:n]) create(scratch[0:n]) num_gangs(2) num_workers(4)
    {
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (int i = 0; i < n; ++i)
            scratch[i] = x[i] * 2.0f;
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (int i = 0; i < n; ++i) {
            y[i] += scratch[n - 1 - i];
            z[i] = scratch[i] - x[i] * 0.5f;
        }
    }
}

CASE(openacc_clauses)
{
    const int n = 67;
    float *const x = check_floats((size_t)n), *const y = check_floats((size_t)n), *const z = check_floats((size_t)n);
    float *const scratch = check_floats((size_t)n);
    openacc_clauses(n, x, y, z, scratch);
    check_record("y", y, (size_t)n * sizeof *y);
    check_record("z", z, (size_t)n * sizeof *z);
    free(x);
    free(y);
    free(z);
    free(scratch);
}
