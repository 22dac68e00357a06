/* Arrays that are read at places that data say: hosts need no extent where all is restrict, devices a data region. TILEK_STRICT is off. Arrays lie
 * before a page that nobody may touch. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

enum { N = 600 };

/* `bytes`, the last of them right before such a page. */
static void *before_the_end(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    char *const start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + whole, page, PROT_NONE) != 0)
        exit(3);
    return start + whole - bytes;
}

static double *doubles_before_the_end(size_t count)
{
    double *const values = before_the_end(count * sizeof *values);
    check_fill_double(values, count);
    return values;
}

// case csr: a sparse matrix with empty rows, also the first and the last, in arrays of the host and of a data region
static void multiply(int n, const int *restrict row, const int *restrict col, const double *restrict a, const double *restrict x, double *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            sum += a[k] * x[col[k]];
        y[i] = sum;
    }
}

static void add(int n, const int *restrict row, const int *restrict col, const double *restrict a, const double *restrict x, double *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int k = row[i]; k < row[i + 1]; k++)
            y[i] += a[k] * x[col[k]];
}

CASE(csr)
{
    int *const row = before_the_end((N + 1) * sizeof *row), *col;
    double *const x = doubles_before_the_end(N), *const y = check_doubles(N), *a;
    row[0] = 0;
    for (int i = 0; i < N; i++)
        row[i + 1] = row[i] + (i % 5 == 0 || i == N - 1 ? 0 : i % 7);
    col = before_the_end((size_t)row[N] * sizeof *col);
    a = doubles_before_the_end((size_t)row[N]);
    for (int k = 0; k < row[N]; k++)
        col[k] = (int)((unsigned)k * 7919u % N);
    multiply(N, row, col, a, x, y);
    check_record("product", y, N * sizeof *y);
    add(N, row, col, a, x, y);
    check_record("sum", y, N * sizeof *y);
#pragma tilek data copy(y[0:N]) copyin(row[0:N + 1], col[0:row[N]], a[0:row[N]]) copy(x[0:N])
    {
        add(N, row, col, a, x, y);
        multiply(N, row, col, a, y, x);
        add(N, row, col, a, x, y);
    }
    check_record("held", y, N * sizeof *y);
    multiply(1, row, NULL, NULL, NULL, y);
    check_record("nothing", y, N * sizeof *y);
    free(y);
}

// case region: what a region holds of the array begins behind it, or with what lies before it, and the device changed it
static void look_up(int n, const int *restrict index, const float *restrict table, float *restrict y)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        y[i] = table[index[i]];
}

static void change(int n, float *table)
{
#pragma tilek kernel data(table[0:n])
    for (int i = 0; i < n; i++)
        table[i] = 2 * table[i] + 1;
}

CASE(region)
{
    float *const table = check_floats(N), *const y = check_floats(N);
    int *const index = check_allocate(N, sizeof *index);
    for (int i = 0; i < N; i++)
        index[i] = i * 31 % (N / 2);
#pragma tilek data copy(table[8:N - 8])
    {
        change(N - 8, table + 8);
        look_up(N, index, table, y);
        check_record("behind", y, N * sizeof *y);
    }
#pragma tilek data copy(table[0:N])
    {
        change(N, table);
        look_up(N, index, table + N / 2, y);
    }
    check_record("before", y, N * sizeof *y);
    free(table);
    free(index);
    free(y);
}

// case rows: elements of rows that data choose, by `(int)` of a number
static void sample(int n, const float *restrict at, const float (*restrict q)[3], float *restrict r)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        int s = (int)(at[i] * (float)(n - 1));
        r[i] = q[s][0] + 2 * q[s + 1][2];
    }
}

CASE(rows)
{
    float *const q = before_the_end((N + 1) * 3 * sizeof *q), *const at = check_floats(N), *const r = check_floats(N);
    check_fill_float(q, (N + 1) * 3);
    for (int i = 0; i < N; i++)
        at[i] = (float)(i * 37 % N) / N;
    sample(N, at, (const float(*)[3])(void *)q, r);
    check_record("r", r, N * sizeof *r);
    free(at);
    free(r);
}

// case together: without restrict what is read may be written, and is
static void follow(int n, const int *index, const double *from, double *to)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[index[i]] + 1;
}

static void follow_made(int n, const int *restrict index, double *restrict from)
{
    double *to = from;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[index[i]] + 1;
}

static void follow_numbers(int n, int *index, double *restrict to)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        to[i] += index[index[i]];
        index[i] = i / 2;
    }
}

CASE(together)
{
    double *const values = check_doubles(N);
    int *const index = check_allocate(N, sizeof *index);
    for (int i = 0; i < N; i++)
        index[i] = i == 0 ? 0 : i - 1;
    follow(N, index, values, values);
    check_record("chain", values, N * sizeof *values);
    follow_made(N, index, values);
    check_record("made", values, N * sizeof *values);
    follow_numbers(N, index, values);
    check_record("numbers", values, N * sizeof *values);
    free(values);
    free(index);
}

// case put: functions write, by pointers of their own, what is restrict, another part of what is read, or what is no restrict
static void put(double *to, double value) { *to = value; }

static void put_both(double *to, double *beside, double value)
{
    put(to, value);
    *beside = value * 2;
}

static void put_apart(int n, const int *restrict index, const double *restrict from, double *restrict to)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        put_both(&to[2 * i], &to[2 * i + 1], from[index[i]] + 1);
}

static void put_behind(int n, const int *restrict index, double *restrict from)
{
    double *to = from + 1;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        put(to + i, from[index[i]] + 1);
}

static void put_anywhere(int n, const int *restrict index, const double *from, double *to)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        put(&to[i], from[index[i]] + 1);
}

CASE(put)
{
    double *const values = check_doubles(N), *const from = doubles_before_the_end(N), *const to = check_doubles(2 * N);
    int *const index = check_allocate(N, sizeof *index);
    for (int i = 0; i < N; i++)
        index[i] = (i * 7) % N;
    put_apart(N, index, from, to);
    check_record("apart", to, 2 * N * sizeof *to);
    for (int i = 0; i < N; i++)
        index[i] = i == 0 ? 0 : i - 1;
    put_behind(N - 1, index, values);
    check_record("behind", values, N * sizeof *values);
    put_anywhere(N, index, values, values);
    check_record("anywhere", values, N * sizeof *values);
    free(values);
    free(to);
    free(index);
}

// case remainders: counts at places that could be negative, in an array that ends before the greatest place
static void remainders(int n, const int *restrict key, int *restrict count)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        count[key[i] % 100]++;
}

CASE(remainders)
{
    enum { KEYS = 20011 };
    int *const key = check_allocate(KEYS, sizeof *key), *const count = check_allocate(40, sizeof *count);
    for (int i = 0; i < KEYS; i++)
        key[i] = i * 97 % 40 + 300;
    memset(count, 0, 40 * sizeof *count);
    remainders(KEYS, key, count);
    check_record("count", count, 40 * sizeof *count);
    free(key);
    free(count);
}
