/* Stencils of one sweep, and of several in one region. star2d1r: a star in two dimensions, one
 * neighbour to each side. */
#include "kernel_run.h"

void star2d1r(int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}
RUN(star2d1r, MATRIX MATRIX, star2d1r(n, A(0), A(1)), PLANE("star2d1r", n - 2, BUFFER(0), BUFFER(1)))

void star2d1r_double(int n, double b[restrict n][n], double a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}
RUN(star2d1r_double, ARRAY(double, n * n) ARRAY(double, n * n),
    star2d1r_double(n, A(0), A(1)), PLANE("star2d1r_double", n - 2, BUFFER(0), BUFFER(1)))

void box2d1r(int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.111f * (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] +
                                a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]);
}
RUN(box2d1r, MATRIX MATRIX, box2d1r(n, A(0), A(1)), PLANE("box2d1r", n - 2, BUFFER(0), BUFFER(1)))

void star3d1r(int n, float b[restrict n][n][n], float a[restrict n][n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = 0.142f * (a[i][j][k] + a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] + a[i][j + 1][k] +
                                       a[i][j][k - 1] + a[i][j][k + 1]);
}
RUN(star3d1r, CUBE CUBE, star3d1r(n, A(0), A(1)), SPACE("star3d1r", n - 2, BUFFER(0), BUFFER(1)))

#define BOX_ROW(i, j) (a[i][j][k - 1] + a[i][j][k] + a[i][j][k + 1])
#define BOX_PLANE(i) (BOX_ROW(i, j - 1) + BOX_ROW(i, j) + BOX_ROW(i, j + 1))

void box3d1r(int n, float b[restrict n][n][n], float a[restrict n][n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = 0.037f * (BOX_PLANE(i - 1) + BOX_PLANE(i) + BOX_PLANE(i + 1));
}
RUN(box3d1r, CUBE CUBE, box3d1r(n, A(0), A(1)), SPACE("box3d1r", n - 2, BUFFER(0), BUFFER(1)))

void conv2d(int n, float b[restrict n][n], float a[restrict n + 4][n + 4], float weight[restrict 5][5])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < 5; k++)
                for (int l = 0; l < 5; l++)
                    s += weight[k][l] * a[i + k][j + l];
            b[i][j] = s;
        }
}
RUN(conv2d, MATRIX ARRAY(float, (n + 4) * (n + 4)) ARRAY(float, 25), conv2d(n, A(0), A(1), A(2)),
    PLANE("conv2d", n, BUFFER(0), BUFFER(1), BUFFER(2)))

void jacobi2d(int steps, int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.2f * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2f * (b[i][j] + b[i - 1][j] + b[i + 1][j] + b[i][j - 1] + b[i][j + 1]);
    }
}
RUN(jacobi2d, MATRIX MATRIX, jacobi2d(steps, n, A(0), A(1)),
    for (int t = 0; t < steps; t++) {
        PLANE("star2d1r", n - 2, BUFFER(0), BUFFER(1));
        PLANE("star2d1r", n - 2, BUFFER(1), BUFFER(0));
    })

#define BOX(a)                                                                                                        \
    (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i + 1][j - 1] +       \
     a[i + 1][j] + a[i + 1][j + 1])

void jacobi2d_box(int steps, int n, float b[restrict n][n], float a[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.111f * BOX(a);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.111f * BOX(b);
    }
}
RUN(jacobi2d_box, MATRIX MATRIX, jacobi2d_box(steps, n, A(0), A(1)),
    for (int t = 0; t < steps; t++) {
        PLANE("box2d1r", n - 2, BUFFER(0), BUFFER(1));
        PLANE("box2d1r", n - 2, BUFFER(1), BUFFER(0));
    })

#define STAR(a) \
    (a[i][j][k] + a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] + a[i][j + 1][k] + a[i][j][k - 1] + a[i][j][k + 1])

void jacobi3d(int steps, int n, float b[restrict n][n][n], float a[restrict n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    b[i][j][k] = 0.142f * STAR(a);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    a[i][j][k] = 0.142f * STAR(b);
    }
}
RUN(jacobi3d, CUBE CUBE, jacobi3d(steps, n, A(0), A(1)),
    for (int t = 0; t < steps; t++) {
        SPACE("star3d1r", n - 2, BUFFER(0), BUFFER(1));
        SPACE("star3d1r", n - 2, BUFFER(1), BUFFER(0));
    })

void fdtd2d(int steps, int n, float ex[restrict n][n], float ey[restrict n][n], float hz[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                ey[i][j] -= 0.5f * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++)
                ex[i][j] -= 0.5f * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                hz[i][j] -= 0.7f * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}
RUN(fdtd2d, MATRIX MATRIX MATRIX, fdtd2d(steps, n, A(0), A(1), A(2)),
    NOT_BY_HAND)
