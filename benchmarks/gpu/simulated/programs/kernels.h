/* The kernels that run in the simulator: kernels.c has them with tilek's lines alone, naive.c as
 * hand-written CUDA with a thread an element. */
#ifndef SIMULATED_KERNELS_H
#define SIMULATED_KERNELS_H

void axpy(int n, float s, const float x[restrict n], float y[restrict n]);
void reversal(int n, const float x[restrict n], float y[restrict n]);
void gather(int n, const int place[restrict n], const float x[restrict n], float y[restrict n]);
void transposition(int n, float a[restrict n][n], float b[restrict n][n]);
void star2d1r(int n, float a[restrict n][n], float b[restrict n][n]);
void star2d1r_double(int n, double a[restrict n][n], double b[restrict n][n]);
void box2d1r(int n, float a[restrict n][n], float b[restrict n][n]);
void star3d1r(int n, float a[restrict n][n][n], float b[restrict n][n][n]);
void box3d1r(int n, float a[restrict n][n][n], float b[restrict n][n][n]);
void convolution(int n, float w[restrict 5][5], float a[restrict n][n], float b[restrict n][n]);
void vector_product(int n, float a[restrict n][n], const float x[restrict n], float y[restrict n]);
void transposed_product(int n, float a[restrict n][n], const float x[restrict n], float y[restrict n]);
void product(int n, float a[restrict n][n], float b[restrict n][n], float c[restrict n][n]);
void rank_update(int n, float a[restrict n][n], float c[restrict n][n]);
void bodies(int n, const float x[restrict n], const float y[restrict n], const float m[restrict n],
            float fx[restrict n], float fy[restrict n]);
void jacobi(int n, int steps, float a[restrict n][n], float b[restrict n][n]);
void seidel(int n, int steps, float a[restrict n][n]);

#endif
