// What a programmer writes first in CUDA: a thread an element, int indices, guards, nothing staged.
// Parameters are those of the kernels in C.

#define ROW_COLUMN(low, high)                                  \
    const int j = blockIdx.x * blockDim.x + threadIdx.x + low; \
    const int i = blockIdx.y * blockDim.y + threadIdx.y + low; \
    if (i >= high || j >= high)                                \
        return;

#define ELEMENT(n)                                       \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= n)                                          \
        return;

extern "C" __global__ void axpy(int n, float a, float *y, const float *x)
{
    ELEMENT(n)
    y[i] += a * x[i];
}

extern "C" __global__ void reversal(int n, float *to, const float *from)
{
    ELEMENT(n)
    to[i] = from[n - 1 - i];
}

extern "C" __global__ void gather(int n, float *to, const float *from, const int *place)
{
    ELEMENT(n)
    to[i] = from[place[i]];
}

extern "C" __global__ void transpose(int n, float *to, const float *from)
{
    ROW_COLUMN(0, n)
    to[i * n + j] = from[j * n + i];
}

extern "C" __global__ void star2d1r(int n, float *b, const float *a)
{
    ROW_COLUMN(1, n - 1)
    b[i * n + j] = 0.2f * (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] +
                           a[i * n + j + 1]);
}

extern "C" __global__ void star2d1r_double(int n, double *b, const double *a)
{
    ROW_COLUMN(1, n - 1)
    b[i * n + j] = 0.2 * (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

extern "C" __global__ void box2d1r(int n, float *b, const float *a)
{
    ROW_COLUMN(1, n - 1)
    b[i * n + j] = 0.111f * (a[(i - 1) * n + j - 1] + a[(i - 1) * n + j] + a[(i - 1) * n + j + 1] + a[i * n + j - 1] +
                             a[i * n + j] + a[i * n + j + 1] + a[(i + 1) * n + j - 1] + a[(i + 1) * n + j] +
                             a[(i + 1) * n + j + 1]);
}

#define VOLUME(n)                                              \
    const int k = blockIdx.x * blockDim.x + threadIdx.x + 1;   \
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;   \
    const int i = blockIdx.z * blockDim.z + threadIdx.z + 1;   \
    if (i >= n - 1 || j >= n - 1 || k >= n - 1)                \
        return;

#define A(i, j, k) a[((i) * n + (j)) * n + (k)]

extern "C" __global__ void star3d1r(int n, float *b, const float *a)
{
    VOLUME(n)
    b[(i * n + j) * n + k] = 0.142f * (A(i, j, k) + A(i - 1, j, k) + A(i + 1, j, k) + A(i, j - 1, k) + A(i, j + 1, k) +
                                      A(i, j, k - 1) + A(i, j, k + 1));
}

#define BOX_ROW(i, j) (A(i, j, k - 1) + A(i, j, k) + A(i, j, k + 1))
#define BOX_PLANE(i) (BOX_ROW(i, j - 1) + BOX_ROW(i, j) + BOX_ROW(i, j + 1))

extern "C" __global__ void box3d1r(int n, float *b, const float *a)
{
    VOLUME(n)
    b[(i * n + j) * n + k] = 0.037f * (BOX_PLANE(i - 1) + BOX_PLANE(i) + BOX_PLANE(i + 1));
}

extern "C" __global__ void conv2d(int n, float *b, const float *a, const float *weight)
{
    ROW_COLUMN(0, n)
    float sum = 0;
    for (int k = 0; k < 5; k++)
        for (int l = 0; l < 5; l++)
            sum += weight[k * 5 + l] * a[(i + k) * (n + 4) + j + l];
    b[i * n + j] = sum;
}

extern "C" __global__ void gemv(int n, float *y, const float *a, const float *x)
{
    ELEMENT(n)
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += a[i * n + j] * x[j];
    y[i] = sum;
}

extern "C" __global__ void gemv_transposed(int n, float *y, const float *a, const float *x)
{
    ELEMENT(n)
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += a[j * n + i] * x[j];
    y[i] = sum;
}

extern "C" __global__ void sgemm(int n, float *c, const float *a, const float *b)
{
    ROW_COLUMN(0, n)
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

// The product of the CUDA programming guide: tiles of 16 x 16 in shared memory.
extern "C" __global__ void sgemm_tiled(int n, float *c, const float *a, const float *b)
{
    __shared__ float rows[16][16], columns[16][16];
    const int x = threadIdx.x, y = threadIdx.y, j = blockIdx.x * 16 + x, i = blockIdx.y * 16 + y;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        rows[y][x] = i < n && tile + x < n ? a[i * n + tile + x] : 0;
        columns[y][x] = tile + y < n && j < n ? b[(tile + y) * n + j] : 0;
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += rows[y][k] * columns[k][x];
        __syncthreads();
    }
    if (i < n && j < n)
        c[i * n + j] = sum;
}

extern "C" __global__ void syrk(int n, float *c, const float *a)
{
    ROW_COLUMN(0, n)
    if (j > i)
        return;
    float sum = c[i * n + j];
    for (int k = 0; k < n; k++)
        sum += a[i * n + k] * a[j * n + k];
    c[i * n + j] = sum;
}

extern "C" __global__ void nbody(int n, float *ax, float *ay, const float *x, const float *y)
{
    ELEMENT(n)
    float sum_x = 0, sum_y = 0;
    for (int j = 0; j < n; j++) {
        const float dx = x[j] - x[i], dy = y[j] - y[i];
        const float w = 1 / sqrtf(dx * dx + dy * dy + 0.01f);
        sum_x += dx * w;
        sum_y += dy * w;
    }
    ax[i] = sum_x;
    ay[i] = sum_y;
}

// The points of a diagonal 2 i + j.
extern "C" __global__ void gauss_seidel(int n, int diagonal, float *a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = diagonal - 2 * i;
    if (i >= n - 1 || j < 1 || j >= n - 1)
        return;
    a[i * n + j] = 0.2f * (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] +
                           a[i * n + j + 1]);
}
