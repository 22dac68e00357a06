#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
double elsewhere(double);
void f(int n, double *a, double (*g)(double))
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        printf("%f\n", a[i]);
        a[i] = elsewhere(a[i]);
        a[i] = g(a[i]);
        memset(a, 0, sizeof *a);
        a[i] = rand();
        free(malloc(3));
        assert(a[i] > 0);
        a[i] = sqrt(a[i]);
        __builtin_prefetch(&a[i + 1]);
    }
}
