/* The kernels as hand-written CUDA of naive.cu. */
#include "kernels.h"

#include <stddef.h>

#include "cuda_launch.h"

static unsigned over(int count, unsigned width)
{
    return ((unsigned)count + width - 1) / width;
}

/* Threads along one dimension, two and three; the last arguments are addresses of the kernel's. */
#define LINE(kernel, count, ...) \
    cuda_launch(kernel, (unsigned[]){over(count, 256), 1, 1}, (unsigned[]){256, 1, 1}, (void *[]){__VA_ARGS__, NULL})
#define PLANE(kernel, count, ...)                                                                          \
    cuda_launch(kernel, (unsigned[]){over(count, 32), over(count, 8), 1}, (unsigned[]){32, 8, 1}, \
                (void *[]){__VA_ARGS__, NULL})
#define SPACE(kernel, count, ...)                                                                                 \
    cuda_launch(kernel, (unsigned[]){over(count, 32), over(count, 8), (unsigned)(count)}, (unsigned[]){32, 8, 1}, \
                (void *[]){__VA_ARGS__, NULL})
#define COPY(array) (&(cuda_address){cuda_array((void *)(size_t)(array))})

void axpy(int n, float s, const float x[restrict n], float y[restrict n])
{
    LINE("axpy", n, &n, &s, COPY(x), COPY(y));
}

void reversal(int n, const float x[restrict n], float y[restrict n])
{
    LINE("reversal", n, &n, COPY(x), COPY(y));
}

void gather(int n, const int place[restrict n], const float x[restrict n], float y[restrict n])
{
    LINE("gather", n, &n, COPY(place), COPY(x), COPY(y));
}

void transposition(int n, float a[restrict n][n], float b[restrict n][n])
{
    PLANE("transposition", n, &n, COPY(a), COPY(b));
}

void star2d1r(int n, float a[restrict n][n], float b[restrict n][n])
{
    PLANE("star2d1r", n - 2, &n, COPY(a), COPY(b));
}

void star2d1r_double(int n, double a[restrict n][n], double b[restrict n][n])
{
    PLANE("star2d1r_double", n - 2, &n, COPY(a), COPY(b));
}

void box2d1r(int n, float a[restrict n][n], float b[restrict n][n])
{
    PLANE("box2d1r", n - 2, &n, COPY(a), COPY(b));
}

void star3d1r(int n, float a[restrict n][n][n], float b[restrict n][n][n])
{
    SPACE("star3d1r", n - 2, &n, COPY(a), COPY(b));
}

void box3d1r(int n, float a[restrict n][n][n], float b[restrict n][n][n])
{
    SPACE("box3d1r", n - 2, &n, COPY(a), COPY(b));
}

void convolution(int n, float w[restrict 5][5], float a[restrict n][n], float b[restrict n][n])
{
    PLANE("convolution", n - 4, &n, COPY(w), COPY(a), COPY(b));
}

void vector_product(int n, float a[restrict n][n], const float x[restrict n], float y[restrict n])
{
    LINE("vector_product", n, &n, COPY(a), COPY(x), COPY(y));
}

void transposed_product(int n, float a[restrict n][n], const float x[restrict n], float y[restrict n])
{
    LINE("transposed_product", n, &n, COPY(a), COPY(x), COPY(y));
}

void product(int n, float a[restrict n][n], float b[restrict n][n], float c[restrict n][n])
{
#ifdef TILED
    cuda_launch("tiled_product", (unsigned[]){over(n, 16), over(n, 16), 1}, (unsigned[]){16, 16, 1},
                (void *[]){&n, COPY(a), COPY(b), COPY(c), NULL});
#else
    PLANE("product", n, &n, COPY(a), COPY(b), COPY(c));
#endif
}

void rank_update(int n, float a[restrict n][n], float c[restrict n][n])
{
    PLANE("rank_update", n, &n, COPY(a), COPY(c));
}

void bodies(int n, const float x[restrict n], const float y[restrict n], const float m[restrict n],
            float fx[restrict n], float fy[restrict n])
{
    LINE("bodies", n, &n, COPY(x), COPY(y), COPY(m), COPY(fx), COPY(fy));
}

void jacobi(int n, int steps, float a[restrict n][n], float b[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        PLANE("star2d1r", n - 2, &n, COPY(a), COPY(b));
        PLANE("star2d1r", n - 2, &n, COPY(b), COPY(a));
    }
}

void seidel(int n, int steps, float a[restrict n][n])
{
    for (int t = 0; t < steps; t++)
        for (int diagonal = 3; diagonal <= 3 * (n - 2); diagonal++)
            LINE("seidel", n - 2, &n, &diagonal, COPY(a));
}
