// What a programmer writes first in CUDA: a thread an element, int indices, guards, nothing staged.

#define ROW_COLUMN(low, high)                                  \
    const int j = blockIdx.x * blockDim.x + threadIdx.x + low; \
    const int i = blockIdx.y * blockDim.y + threadIdx.y + low; \
    if (i >= high || j >= high)                                \
        return;

#define ELEMENT(n)                                       \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= n)                                          \
        return;

extern "C" __global__ void axpy(int n, float s, const float *x, float *y)
{
    ELEMENT(n)
    y[i] = s * x[i] + y[i];
}

extern "C" __global__ void reversal(int n, const float *x, float *y)
{
    ELEMENT(n)
    y[i] = x[n - 1 - i];
}

extern "C" __global__ void gather(int n, const int *place, const float *x, float *y)
{
    ELEMENT(n)
    y[i] = x[place[i]];
}

extern "C" __global__ void transposition(int n, const float *a, float *b)
{
    ROW_COLUMN(0, n)
    b[i * n + j] = a[j * n + i];
}

extern "C" __global__ void star2d1r(int n, const float *a, float *b)
{
    ROW_COLUMN(1, n - 1)
    b[i * n + j] = 0.2f * (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] +
                           a[i * n + j + 1]);
}

extern "C" __global__ void star2d1r_double(int n, const double *a, double *b)
{
    ROW_COLUMN(1, n - 1)
    b[i * n + j] = 0.2 * (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

extern "C" __global__ void box2d1r(int n, const float *a, float *b)
{
    ROW_COLUMN(1, n - 1)
    b[i * n + j] = (a[(i - 1) * n + j - 1] + a[(i - 1) * n + j] + a[(i - 1) * n + j + 1] + a[i * n + j - 1] +
                    a[i * n + j] + a[i * n + j + 1] + a[(i + 1) * n + j - 1] + a[(i + 1) * n + j] +
                    a[(i + 1) * n + j + 1]) * 0.111f;
}

#define VOLUME(n)                                              \
    const int k = blockIdx.x * blockDim.x + threadIdx.x + 1;   \
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;   \
    const int i = blockIdx.z * blockDim.z + threadIdx.z + 1;   \
    if (i >= n - 1 || j >= n - 1 || k >= n - 1)                \
        return;

#define A(i, j, k) a[((i) * n + (j)) * n + (k)]

extern "C" __global__ void star3d1r(int n, const float *a, float *b)
{
    VOLUME(n)
    b[(i * n + j) * n + k] = 0.14f * (A(i, j, k) + A(i - 1, j, k) + A(i + 1, j, k) + A(i, j - 1, k) + A(i, j + 1, k) +
                                      A(i, j, k - 1) + A(i, j, k + 1));
}

extern "C" __global__ void box3d1r(int n, const float *a, float *b)
{
    VOLUME(n)
    b[(i * n + j) * n + k] =
        (A(i - 1, j - 1, k - 1) + A(i - 1, j - 1, k) + A(i - 1, j - 1, k + 1) + A(i - 1, j, k - 1) + A(i - 1, j, k) +
         A(i - 1, j, k + 1) + A(i - 1, j + 1, k - 1) + A(i - 1, j + 1, k) + A(i - 1, j + 1, k + 1) +
         A(i, j - 1, k - 1) + A(i, j - 1, k) + A(i, j - 1, k + 1) + A(i, j, k - 1) + A(i, j, k) + A(i, j, k + 1) +
         A(i, j + 1, k - 1) + A(i, j + 1, k) + A(i, j + 1, k + 1) + A(i + 1, j - 1, k - 1) + A(i + 1, j - 1, k) +
         A(i + 1, j - 1, k + 1) + A(i + 1, j, k - 1) + A(i + 1, j, k) + A(i + 1, j, k + 1) + A(i + 1, j + 1, k - 1) +
         A(i + 1, j + 1, k) + A(i + 1, j + 1, k + 1)) * 0.037f;
}

extern "C" __global__ void convolution(int n, const float *w, const float *a, float *b)
{
    ROW_COLUMN(0, n - 4)
    float sum = 0;
    for (int k = 0; k < 5; k++)
        for (int l = 0; l < 5; l++)
            sum += w[k * 5 + l] * a[(i + k) * n + j + l];
    b[i * n + j] = sum;
}

extern "C" __global__ void vector_product(int n, const float *a, const float *x, float *y)
{
    ELEMENT(n)
    float sum = y[i];
    for (int j = 0; j < n; j++)
        sum += a[i * n + j] * x[j];
    y[i] = sum;
}

extern "C" __global__ void transposed_product(int n, const float *a, const float *x, float *y)
{
    ELEMENT(n)
    float sum = y[i];
    for (int j = 0; j < n; j++)
        sum += a[j * n + i] * x[j];
    y[i] = sum;
}

extern "C" __global__ void product(int n, const float *a, const float *b, float *c)
{
    ROW_COLUMN(0, n)
    float sum = c[i * n + j];
    for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

// The product of the CUDA programming guide: tiles of 16 x 16 in shared memory.
extern "C" __global__ void tiled_product(int n, const float *a, const float *b, float *c)
{
    __shared__ float rows[16][16], columns[16][16];
    const int x = threadIdx.x, y = threadIdx.y, j = blockIdx.x * 16 + x, i = blockIdx.y * 16 + y;
    const int inside = i < n && j < n;
    float sum = inside ? c[i * n + j] : 0;
    for (int tile = 0; tile < n; tile += 16) {
        rows[y][x] = i < n && tile + x < n ? a[i * n + tile + x] : 0;
        columns[y][x] = tile + y < n && j < n ? b[(tile + y) * n + j] : 0;
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += rows[y][k] * columns[k][x];
        __syncthreads();
    }
    if (inside)
        c[i * n + j] = sum;
}

extern "C" __global__ void rank_update(int n, const float *a, float *c)
{
    ROW_COLUMN(0, n)
    if (j > i)
        return;
    float sum = c[i * n + j];
    for (int k = 0; k < n; k++)
        sum += a[i * n + k] * a[j * n + k];
    c[i * n + j] = sum;
}

extern "C" __global__ void bodies(int n, const float *x, const float *y, const float *m, float *fx, float *fy)
{
    ELEMENT(n)
    float force_x = 0, force_y = 0;
    for (int j = 0; j < n; j++) {
        const float dx = x[j] - x[i], dy = y[j] - y[i];
        const float s = m[j] / (dx * dx + dy * dy + 0.01f);
        force_x += s * dx;
        force_y += s * dy;
    }
    fx[i] = force_x;
    fy[i] = force_y;
}

// The points of a diagonal 2 i + j.
extern "C" __global__ void seidel(int n, int diagonal, float *a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = diagonal - 2 * i;
    if (i >= n - 1 || j < 1 || j >= n - 1)
        return;
    a[i * n + j] = (a[(i - 1) * n + j] + a[i * n + j - 1] + a[i * n + j] + a[i * n + j + 1] + a[(i + 1) * n + j]) *
                   0.2f;
}
