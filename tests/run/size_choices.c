/* A stencil and a product whose tiles may have any size: choices N STEPS prints what both leave, in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>

static void smooth(int steps, int n, double A[n][n], double B[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i - 1][j] + B[i + 1][j] + B[i][j - 1] + B[i][j + 1]);
    }
}

static void product(int n, double A[n][n], double B[n][n], double C[n][n])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = 0;
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
}

int main(int argc, char **argv)
{
    for (int at = 1; at + 1 < argc; at += 2) {
        const int n = atoi(argv[at]), steps = atoi(argv[at + 1]);
        const size_t bytes = ((size_t)n * n + 1) * sizeof(double);
        double *const A = malloc(bytes), *const B = malloc(bytes), *const C = malloc(bytes);
        double sum = 0;
        if (A == NULL || B == NULL || C == NULL)
            return 1;
        for (int i = 0; i < n * n; i++) {
            A[i] = i % 17 * 0.25 - 1;
            B[i] = i % 11 * 0.5;
            C[i] = -1;
        }
        smooth(steps, n, (void *)A, (void *)B);
        product(n, (void *)A, (void *)B, (void *)C);
        for (int i = 0; i < n * n; i++)
            sum = sum * 0.75 + A[i] + C[i];
        printf("%d %d %a %a\n", n, steps, sum, n > 0 ? C[n * n - 1] : 0);
        free(A);
        free(B);
        free(C);
    }
    return 0;
}
