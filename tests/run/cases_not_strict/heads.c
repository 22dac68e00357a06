/* Heads of loops whose numbers wrap, or lie at the ends of their types: what C makes of them, launched or not. */
#include "check.h"
#include <limits.h>

#pragma GCC diagnostic ignored "-Wsign-compare"

enum { N = 100 };
static unsigned long kept[N * N];

static void keep(const char *label)
{
    check_record(label, kept, sizeof kept);
    memset(kept, 0, sizeof kept);
}

// case beyond_half: iterators of 64 bits without a sign that begin or end beyond 9223372036854775807
static void down_from(unsigned long from, unsigned long to, unsigned long base)
{
#pragma tilek kernel
    for (unsigned long i = from; i > to; i--)
        kept[i - base] = i;
}
static unsigned long up_to(unsigned long from, size_t to)
{
    unsigned long sum = 0;
#pragma tilek kernel
    for (unsigned long i = from; i < to; i++)
        sum += i;
    return sum;
}
static unsigned long far_steps(unsigned long n)
{
    unsigned long sum = 0;
#pragma tilek kernel
    for (unsigned long i = 0; i <= 3 * n; i += 1ul << 61)
        sum += i / 3;
    return sum;
}
CASE(beyond_half)
{
    const unsigned long starts[] = {50, LONG_MAX, (unsigned long)LONG_MAX + 30, ULONG_MAX - 3};
    for (int k = 0; k < 4; k++) {
        unsigned long sums[3];
        down_from(starts[k], starts[k] - 50, starts[k] - 60);
        keep("down");
        sums[0] = up_to(starts[k] - 40, starts[k]);
        sums[1] = up_to(starts[k], 10);
        sums[2] = far_steps(starts[k] % ((unsigned long)LONG_MAX + 99));
        check_record("sums", sums, sizeof sums);
    }
}

// case around_a_type: sums and products of bounds that go around, and ends that lie behind the start
static unsigned multiples(unsigned n, unsigned m)
{
    unsigned count = 0;
#pragma tilek kernel
    for (unsigned i = 0; i < 3 * n; i++)
        kept[i] = i;
#pragma tilek kernel
    for (unsigned i = 2; i < n + m; i++)
        count += i;
    return count;
}
static unsigned unequal(unsigned char from, unsigned char to)
{
    unsigned sum = 0;
#pragma tilek kernel
    for (unsigned char i = from; i != to; i++)
        sum += i * 3u;
    return sum;
}
CASE(around_a_type)
{
    unsigned found[4];
    found[0] = multiples(0x55555558u, 0xaaaaaab8u);
    keep("around");
    found[1] = multiples(20, 30);
    found[2] = unequal(250, 7);
    found[3] = unequal(7, 250);
    check_record("found", found, sizeof found);
}

// case compared_without_sign: negative starts that the comparison makes great
static unsigned long shifted(int from, unsigned n)
{
    unsigned long sum = 0;
#pragma tilek kernel
    for (int i = from; i + 1 < n; i++)
        sum += (unsigned long)(i + 9);
    return sum;
}
static unsigned long narrow(signed char from, unsigned to)
{
    unsigned long sum = 0;
#pragma tilek kernel
    for (signed char i = from; i >= to; i -= 4)
        sum += (unsigned char)i;
    return sum;
}
CASE(compared_without_sign)
{
    unsigned long sums[5] = {shifted(-4, 10), shifted(-1, 10), shifted(2, 10), narrow(-5, UINT_MAX - 60), narrow(50, 7)};
    check_record("sums", sums, sizeof sums);
}

// case unsigned_offsets: subscripts of 32 bits that go around, from offsets that stand for negative numbers
static void beside(unsigned n, unsigned offset, unsigned long *to, const unsigned long *from)
{
#pragma tilek kernel
    for (unsigned i = 1; i < n; i++)
        to[i] = from[i + offset] + from[i - offset];
}
static void rows_beside(unsigned n, unsigned first, unsigned long *to)
{
#pragma tilek kernel
    for (unsigned i = n; i-- > 0;)
        for (unsigned short j = 0; j != 10; j++)
            to[(i - first) * N + j] += to[(i - first) * N + j + 10] + i;
}
CASE(unsigned_offsets)
{
    unsigned long *from = check_allocate(N + 1, sizeof *from);
    for (int i = 0; i <= N; i++)
        from[i] = check_random((uint64_t)i);
    beside(N - 1, 1, kept, from);
    keep("plain");
    beside(N - 1, UINT_MAX, kept, from);
    keep("around");
    rows_beside(20, (unsigned)-3, kept);
    rows_beside(20, 0, kept);
    keep("rows");
    free(from);
}

// case near_the_ends: tiles of loops near the ends of long
static void relax(long from, long to, long base, long steps)
{
#pragma tilek kernel
    for (long t = 0; t < steps; t++)
        for (long i = from; i <= to; i++)
            kept[i - base] = kept[i - base - 1] + kept[i - base + 1] + (unsigned long)i;
}
CASE(near_the_ends)
{
    relax(LONG_MAX - 90, LONG_MAX - 3, LONG_MAX - 91, 9);
    keep("greatest");
    relax(LONG_MIN + 3, LONG_MIN + 90, LONG_MIN, 9);
    keep("least");
    relax(1, 90, 0, 9);
    keep("small");
}

// case starts_inside: starts that the comparison makes great, or that go around, in nests whose loops bound each other by factors
static unsigned long mesh[60][60][160];
static void unsigned_start(int n, unsigned m)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int k = 2 * i; k < n; k++)
            for (unsigned j = (unsigned)(k - 10); j < m; j++)
                mesh[i][k][j + 60u] = mesh[i - 1][k][j + 60u] + mesh[i][k - 1][j + 60u] + mesh[i][k][j + 59u] + 1;
}
static void compared_start(int n, unsigned m)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int k = 3 * i; k < n; k++)
            for (int j = k - 10; j < m; j++)
                mesh[i][k][j + 60] = mesh[i - 1][k][j + 60] + mesh[i][k - 1][j + 60] + mesh[i][k][j + 59] + 1;
}
static void around(int n)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int k = 3 * i; k < n; k++)
            for (unsigned char j = 250; j != k - i; j++)
                mesh[i][k][j % 100 + 1] = mesh[i - 1][k][j % 100 + 1] + mesh[i][k - 1][j % 100 + 1] + mesh[i][k][j % 100] + 1;
}
CASE(starts_inside)
{
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 60 * 60; i++)
            for (int j = 0; j < 160; j++)
                mesh[i / 60][i % 60][j] = check_random((uint64_t)(i * 160 + j));
        if (k == 0) unsigned_start(50, 70);
        if (k == 1) compared_start(50, 70);
        if (k == 2) around(40);
        check_record("mesh", mesh, sizeof mesh);
    }
}
