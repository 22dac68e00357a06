#include <math.h>
#include <stdio.h>

void send(double *u);

static int above(const double *u, int n)
{
    return u[n] > 0;
}

void output(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        printf("%g\n", u[n / 2]);
        res *= 0.5;
    }
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        send(u);
        res *= 0.5;
    }
}

void declared(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        double old = u[0];
        res *= old;
    }
#pragma tilek kernel
    do {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        res *= above(u, n) ? 0.5 : 0.25;
    } while (res > tol);
}

int leaves(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        if (res < 0.1)
            return 1;
        res *= 0.5;
    }
#pragma tilek kernel async(1)
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        res *= 0.5;
    }
    return 0;
}

void moves(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        u += n;
        res *= 0.5;
    }
}

void said(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
#pragma tilek loop independent
    for (int it = 0; it < 10; it++) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        printf("%d\n", it);
        res *= 0.5;
        if (res < tol)
            break;
    }
}

void scalars(double res, double tol)
{
#pragma tilek kernel
    while (res > tol)
        res *= 0.5;
}

#define CHANGE(r) r = 0; for (int i = 0; i < n; i++) r += u[i]

void macro(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        CHANGE(res);
    }
}

void bounds(int n, int *m, const int *d, double *u)
{
#pragma tilek kernel
    for (int k = 0; k < d[2]; k++) {
        for (int i = 0; i < n; i++) {
            u[i] *= 0.5;
            m[i] = k;
        }
        printf("%d\n", k);
    }
}

void assembly(int n, double *u, double tol)
{
    double res = 1;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        __asm__ volatile("" ::: "memory");
        res *= 0.5;
    }
}

void bytes(int n, double *u, double tol)
{
    double res = 1;
    char *parts = (char *)u;
#pragma tilek kernel
    while (res > tol) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        fwrite(parts, 1, 8, stdout);
        res = u[0];
    }
}

void tiled(int n, double *u)
{
#pragma tilek kernel
#pragma tilek loop tile(static, 2)
    for (int it = 0; it < 10; it++) {
        for (int i = 0; i < n; i++)
            u[i] *= 0.5;
        printf("%d\n", it);
    }
}

int neighbours(const int *cells, int box, int *list);
double sample(unsigned long *seed);

/* Whoever calls loops independent wants them in a kernel: the call is the fault, not what the host would need. */
void forces(int boxes, const int *atoms, const int *cells, const double *r, double *energy)
{
#pragma tilek kernel independent
    for (int box = 0; box < boxes; box++) {
        int list[27];
        int count = neighbours(cells, box, list);
        for (int k = 0; k < count; k++)
            for (int i = 0; i < atoms[box]; i++)
                energy[box * 64 + i] += r[list[k] * 64 + i];
    }
}

void lookups(int n, int materials, const double *density, double *total)
{
#pragma tilek kernel
#pragma tilek loop independent
    for (int k = 0; k < n; k++) {
        unsigned long seed = k;
        double sum = sample(&seed);
        for (int i = 0; i < materials; i++)
            sum += density[i];
        total[k] = sum;
    }
}
