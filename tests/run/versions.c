/* A sum of two arrays and a stencil, of which programs have several versions: versions N … prints what they leave, in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>

static int add(int n, int m, double A[n][m], double B[n][m])
{
    int i;
#pragma tilek kernel
    for (i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = A[i][j] * 0.5 + B[i][j];
    return i;
}

static void smooth(int steps, int n, double A[n], double B[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.3 * (B[i - 1] + B[i] + B[i + 1]);
    }
}

int main(int argc, char **argv)
{
    for (int at = 1; at < argc; at++) {
        const int n = atoi(argv[at]), m = n + 3;
        double *const A = malloc(sizeof(double) * (n * m + 1)), *const B = malloc(sizeof(double) * (n * m + 1));
        double sum = 0;
        int last;
        if (A == NULL || B == NULL)
            return 1;
        for (int i = 0; i < n * m; i++) {
            A[i] = i % 17 * 0.25 - 1;
            B[i] = i % 11 * 0.5;
        }
        last = add(n, m, (void *)A, (void *)B);
        smooth(5, n * m, A, B);
        for (int i = 0; i < n * m; i++)
            sum = sum * 0.75 + A[i];
        printf("%d %d %a\n", n, last, sum);
        free(A);
        free(B);
    }
    return 0;
}
