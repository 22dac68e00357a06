/* Arrays of several dimensions indexed by hand: rows that are apart only if the launch finds the strides long enough. */
#include "check.h"

enum { ROOM = 4096 };

static void record_and_free(const char *label, unsigned char *image)
{
    check_record(label, image, ROOM);
    free(image);
}

static unsigned char *bytes(void)
{
    unsigned char *const found = check_allocate(ROOM, 1);
    for (size_t k = 0; k < ROOM; k++)
        found[k] = (unsigned char)check_random(k);
    return found;
}

// case strided_rows (a check fails): rows of any stride, so that they are apart, touch, overlap, coincide or come in decreasing order
static void strided_rows(unsigned char *image, const unsigned char *from, int width, int height, int stride)
{
#pragma tilek kernel
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            image[y * stride + x] = (unsigned char)(image[y * stride + x] / 2 + from[y * stride + x] + y);
}

CASE(strided_rows)
{
    static const int strides[] = {23, 17, 16, 5, 1, 0, -1, -16, -17, -23};
    for (size_t k = 0; k < sizeof strides / sizeof strides[0]; k++) {
        unsigned char *const image = bytes(), *const from = bytes();
        strided_rows(image + ROOM / 2, from + ROOM / 2, 17, 13, strides[k]);
        strided_rows(image + ROOM / 2, from + ROOM / 2, 1, 1, strides[k]);
        strided_rows(image + ROOM / 2, from + ROOM / 2, 0, 5, strides[k]);
        strided_rows(image + ROOM / 2, from + ROOM / 2, 5, -1, strides[k]);
        strided_rows(image + ROOM / 2, from + ROOM / 2, -3, 4, strides[k]);
        record_and_free("image", image);
        free(from);
    }
}

// case unsigned_rows (a check fails): the same with sizes and offsets of type size_t, whose products wrap where a bound is 0
static void unsigned_rows(unsigned char *image, const unsigned char *from, size_t width, size_t height, size_t stride)
{
#pragma tilek kernel
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t x = 1; x + 1 < width; x++)
            image[y * stride + x] =
                (unsigned char)((from[(y - 1) * stride + x] + from[(y + 1) * stride + x] + from[y * stride + x - 1] +
                                 from[y * stride + x + 1] + image[y * stride + x]) /
                                5);
}

CASE(unsigned_rows)
{
    static const size_t sizes[][3] = {{17, 13, 23}, {17, 13, 17}, {17, 13, 15}, {17, 13, 16}, {17, 13, 3}, {17, 13, 1},
                                      {17, 13, 0},  {3, 3, 3},    {2, 2, 2},    {1, 1, 1},    {0, 0, 0},   {0, 9, 4}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        unsigned char *const image = bytes(), *const from = bytes();
        unsigned_rows(image, from, sizes[k][0], sizes[k][1], sizes[k][2]);
        record_and_free("image", image);
        free(from);
    }
}

// case pixels (a check fails): interleaved channels, as many as the launch says, and three of them
static void channels(unsigned char *image, int width, int height, int stride, int count)
{
#pragma tilek kernel
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < count; c++)
                image[y * stride + x * count + c] = (unsigned char)(image[y * stride + x * count + c] * 3 + c + x);
}

static void three(unsigned char *image, int width, int height)
{
#pragma tilek kernel
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int grey = (image[(y * width + x) * 3] + image[(y * width + x) * 3 + 1] + image[(y * width + x) * 3 + 2]) / 3;
            for (int c = 0; c < 3; c++)
                image[(y * width + x) * 3 + c] = (unsigned char)grey;
        }
}

CASE(pixels)
{
    static const int sizes[][4] = {{7, 5, 30, 4}, {7, 5, 28, 4}, {7, 5, 27, 4}, {7, 5, 0, 3}, {7, 5, -21, 3},
                                   {7, 5, 30, 0}, {7, 5, 30, -2}, {7, 5, 4, 1}, {0, 5, 8, 4}, {1, 1, 1, 1}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        unsigned char *const image = bytes();
        channels(image + ROOM / 2, sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3]);
        three(image, sizes[k][0], sizes[k][1]);
        record_and_free("image", image);
    }
}

// case corners (a check fails): single cells, first and last rows and columns beside the nest, so that a stride of 0 puts them all in one place
static void corners(double *a, const double *b, int n, int m)
{
#pragma tilek kernel
    {
        for (int j = 0; j < m; j++) {
            a[j] = b[j];
            a[(n - 1) * m + j] = 2 * b[(n - 1) * m + j];
        }
        for (int i = 0; i < n; i++) {
            a[i * m] = 3 * b[i * m];
            a[i * m + m - 1] = 4 * b[i * m + m - 1];
        }
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i * m + j] = 0.25 * (b[(i - 1) * m + j] + b[(i + 1) * m + j] + b[i * m + j - 1] + b[i * m + j + 1]);
        a[0] = a[0] + a[1];
        a[(n - 1) * m] = a[0] * 0.5;
    }
}

CASE(corners)
{
    static const int sizes[][2] = {{7, 11}, {1, 5}, {5, 1}, {1, 1}, {3, 2}, {3, 0}, {3, -1}, {0, 3}, {-2, 4}, {2, -7}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        double *const a = check_doubles(256), *const b = check_doubles(256);
        corners(a + 100, b + 100, sizes[k][0], sizes[k][1]);
        check_record("a", a, 256 * sizeof *a);
        free(a);
        free(b);
    }
}

// case boxes (a check fails): three dimensions with strides of their own, a sweep in place along one of them
static void boxes(double *u, int nx, int ny, int nz, int row, int plane)
{
#pragma tilek kernel
    for (int z = 1; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++)
                u[z * plane + y * row + x] = 0.5 * u[z * plane + y * row + x] + 0.25 * u[(z - 1) * plane + y * row + x];
}

CASE(boxes)
{
    static const int sizes[][5] = {{5, 4, 3, 5, 20}, {5, 4, 3, 7, 29}, {5, 4, 3, 5, 19}, {5, 4, 3, 4, 20}, {5, 4, 3, 0, 20},
                                   {5, 4, 3, 20, 5}, {5, 4, 3, -5, 20}, {5, 4, 3, 5, 0}, {0, 4, 3, 5, 20}, {1, 1, 9, 1, 1}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        double *const u = check_doubles(512);
        boxes(u + 200, sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3], sizes[k][4]);
        check_record("u", u, 512 * sizeof *u);
        free(u);
    }
}

// case leading (a check fails): products of matrices with leading dimensions
static void leading(double *c, const double *a, const double *b, int n, int m, int p, int lda, int ldb, int ldc)
{
    int i, j, k;
#pragma tilek kernel
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            for (k = 0; k < p; k++)
                c[i * ldc + j] += a[i * lda + k] * b[k * ldb + j];
}

CASE(leading)
{
    static const int strides[][3] = {{9, 7, 7}, {11, 13, 12}, {9, 7, 6}, {0, 0, 9}, {3, -7, 8}, {9, 7, 0}, {9, 7, -8}};
    for (size_t k = 0; k < sizeof strides / sizeof strides[0]; k++) {
        double *const a = check_doubles(512), *const b = check_doubles(512), *const c = check_doubles(512);
        leading(c + 250, a + 250, b + 250, 5, 7, 9, strides[k][0], strides[k][1], strides[k][2]);
        check_record("c", c, 512 * sizeof *c);
        free(a);
        free(b);
        free(c);
    }
}

// case numbered_cells: the cell's number in a variable of its own, of several types, built in several steps
static void numbered_cells(double *u, const double *v, int nx, int ny, int nz)
{
#pragma tilek kernel
    for (int k = 1; k < nz - 1; k++)
        for (int j = 1; j < ny - 1; j++) {
            const int row = nx * (j + ny * k);
            for (int i = 1; i < nx - 1; i++) {
                const size_t c = (size_t)(row + i);
                int above = row + i;
                above += nx * ny;
                u[c] = v[c] + 0.125 * (v[c - 1] + v[c + 1] + v[c - nx] + v[c + nx] + v[c - nx * ny] + v[above] - 6 * v[c]);
            }
        }
}

// a number that is written again before it is used, once under a condition, is not the one it was
static void changed_cells(double *u, int n, int m)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            int c = i * m + j;
            if (u[c] > 0)
                c = 0;
            for (int k = 0; k < 2; k++) {
                u[c] += 0.5;
                c = (c + m) % (n * m);
            }
            u[c] -= 0.25;
        }
}

CASE(numbered_cells)
{
    static const int sizes[][3] = {{5, 4, 3}, {3, 3, 3}, {7, 2, 5}, {0, 3, 4}, {-2, 3, 4}, {5, -3, -4}, {9, 5, 6}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        double *const u = check_doubles(512), *const v = check_doubles(512);
        numbered_cells(u, v, sizes[k][0], sizes[k][1], sizes[k][2]);
        changed_cells(v, sizes[k][0], sizes[k][1]);
        check_record("u", u, 512 * sizeof *u);
        check_record("v", v, 512 * sizeof *v);
        free(u);
        free(v);
    }
}

// case clamped (a check fails): borders repeated by functions, conditions and choices, each of which says what part of the image is read
static int clamp(int value, int low, int high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

static void clamped_by_calls(unsigned char *to, const unsigned char *from, int width, int height, int stride)
{
#pragma tilek kernel
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int sum = 8 * from[y * stride + x];
            sum -= from[clamp(y - 1, 0, height - 1) * stride + x] + from[clamp(y + 1, 0, height - 1) * stride + x];
            sum -= from[y * stride + clamp(x - 1, 0, width - 1)] + from[y * stride + clamp(x + 1, 0, width - 1)];
            to[y * stride + x] = (unsigned char)clamp(sum / 4, 0, 255);
        }
}

static void clamped_by_conditions(unsigned char *to, const unsigned char *from, int width, int height)
{
#pragma tilek kernel
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int sum = 0;
            for (int dy = -2; dy <= 2; dy++) {
                int row = y + dy;
                if (row < 0)
                    row = 0;
                if (row >= height) {
                    row = height - 1;
                }
                for (int dx = -2; dx <= 2; dx++) {
                    int column = x + dx < 0 ? 0 : x + dx;
                    column = column < width ? column : width - 1;
                    sum += from[row * width + column];
                }
            }
            to[y * width + x] = (unsigned char)(sum / 25);
        }
}

static void clamped_line(double *to, const double *from, int n)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        to[i] = from[i - 1 < 0 ? 0 : i - 1] + from[clamp(i + 1, 0, n - 1)];
}

CASE(clamped)
{
    static const int sizes[][3] = {{17, 13, 17}, {17, 13, 23}, {17, 13, 9}, {1, 5, 1}, {5, 1, 5},
                                   {2, 2, 0},    {0, 5, 3},    {5, 0, 5},   {-2, 3, 4}, {3, 4, -3}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        unsigned char *const to = bytes(), *const from = bytes();
        double *const x = check_doubles(64), *const z = check_doubles(64);
        clamped_by_calls(to + ROOM / 2, from + ROOM / 2, sizes[k][0], sizes[k][1], sizes[k][2]);
        clamped_by_conditions(to, from, sizes[k][0], sizes[k][1]);
        clamped_line(x, z, sizes[k][0]);
        check_record("x", x, 64 * sizeof *x);
        record_and_free("to", to);
        free(from);
        free(x);
        free(z);
    }
}

// case whole_arrays (a check fails): nests over rows beside loops over all elements, whose number the strides make or a parameter gives
static void heat_step(double *u, double *v, int nx, int ny, int nz, int steps, int total)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int z = 1; z < nz - 1; z++)
            for (int y = 1; y < ny - 1; y++)
                for (int x = 1; x < nx - 1; x++)
                    v[(z * ny + y) * nx + x] =
                        0.5 * u[(z * ny + y) * nx + x] +
                        0.0625 * (u[((z - 1) * ny + y) * nx + x] + u[((z + 1) * ny + y) * nx + x] + u[(z * ny + y - 1) * nx + x] +
                                  u[(z * ny + y + 1) * nx + x] + u[(z * ny + y) * nx + x - 1] + u[(z * ny + y) * nx + x + 1]);
        for (int i = 0; i < nx * ny * nz; i++)
            u[i] = v[i];
        for (int i = total - 1; i >= 0; i -= 2)
            v[i] = 0.25 * v[i];
        u[0] = v[total - 1];
    }
}

CASE(whole_arrays)
{
    static const int sizes[][4] = {{5, 4, 3, 60}, {3, 3, 3, 7}, {7, 2, 5, 70}, {9, 5, 6, 1}, {1, 1, 1, 1}, {5, -3, -4, 60}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        double *const u = check_doubles(512), *const v = check_doubles(512);
        heat_step(u, v, sizes[k][0], sizes[k][1], sizes[k][2], 3, sizes[k][3]);
        check_record("u", u, 512 * sizeof *u);
        check_record("v", v, 512 * sizeof *v);
        free(u);
        free(v);
    }
}

// case walked_cells: cells that a loop without a count walks on to, from a number that was known before it
static void walked_cells(int n, int m, double u[n * m])
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        int p = i * m;
        while (p < n * m) {
            u[p] = 0.5 * u[p] + i;
            p += m;
        }
        int q = i;
        do {
            u[q] = 0.25 * u[q] - i;
            q += 3;
        } while (q < m);
    }
}

CASE(walked_cells)
{
    for (int n = 1; n < 30; n += 7) {
        const int m = 31;
        double *const u = check_doubles((size_t)(n * m));
        walked_cells(n, m, u);
        check_record("u", u, (size_t)(n * m) * sizeof *u);
        free(u);
    }
}

// case constant_rows: rows whose length is a number, read across their ends in one kernel and not in the others
enum { LONG_ROW = 40, PLANE = 16 * 20 };
static void smoothed(int height, const float *from, float *to)
{
#pragma tilek kernel
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x < LONG_ROW - 2; x++) {
            const int at = y * LONG_ROW + x;
            float sum = 0;
            for (int q = -2; q <= 2; q++)
                sum += from[at + q * LONG_ROW - q] + from[at - 2 * LONG_ROW + 2] * (float)q;
            to[at] = sum;
        }
}

static void swept(int steps, int height, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int y = 1; y < height - 1; y++)
            for (int x = 1; x < LONG_ROW - 1; x++)
                a[LONG_ROW * y + x] = (a[LONG_ROW * y + x - 1] + a[LONG_ROW * y + x + 1] + a[LONG_ROW * (y - 1) + x] +
                                       a[LONG_ROW * (y + 1) + x]) *
                                      0.25f;
}

static void planes(int depth, const float *a, float *b)
{
#pragma tilek kernel
    for (int i = 0; i < depth; i++)
        for (int j = 1; j < 15; j++)
            for (int k = 0; k < 20; k++)
                b[PLANE * i + 20 * j + k] = a[PLANE * i + 20 * j + 20 + k] - a[PLANE * i + 20 * j - 1 - k];
}

static void mirrored(float *a)
{
#pragma tilek kernel
    for (int i = 0; i < 20; i++) {
        a[(LONG_ROW + 1) * i] *= 2;
        for (int j = 0; j < i; j++)
            a[LONG_ROW * i + j] = a[LONG_ROW * j + i] + a[LONG_ROW * i + (LONG_ROW - 1 - j)];
    }
}

static void across(int height, const float *a, float *b)
{
#pragma tilek kernel
    for (int y = 1; y < height - 1; y++)
        for (int x = 0; x < LONG_ROW; x++)
            b[LONG_ROW * y + x] = a[LONG_ROW * y + x - 1] + a[LONG_ROW * y + x + 1];
}

CASE(constant_rows)
{
    static const int heights[] = {0, 1, 3, 5, 17, 34};
    for (size_t k = 0; k < sizeof heights / sizeof heights[0]; k++) {
        const int height = heights[k];
        const size_t count = (size_t)height * LONG_ROW;
        float *const a = check_floats(count), *const b = check_floats(count);
        smoothed(height, a, b);
        check_record("smoothed", b, count * sizeof *b);
        swept(4, height, a);
        check_record("swept", a, count * sizeof *a);
        across(height, a, b);
        check_record("across", b, count * sizeof *b);
        if (height >= 20) {
            mirrored(b);
            planes(height / 8, a, b);
            check_record("planes", b, count * sizeof *b);
        }
        free(a);
        free(b);
    }
}

// case declared_before: integers that cells are numbered by, declared before the loops; some are read after them
static int declared_before(int n, int m, const float *from, float *to)
{
    int i, j, k = 0, up, left, last = 0;
#pragma tilek kernel
    for (i = 1; i < n; i++) {
        last = i * m;
        for (j = 1; j < m; j++) {
            k = i * m + j;
            up = k - m;
            if (j > 1)
                left = k - 1;
            else
                left = k + m - 2;
            to[k] = from[up] - from[left] + from[k];
        }
    }
#pragma tilek kernel
    for (i = 0; i < n; i++) {
        for (j = m - 1; j >= 0; j--) {
            k = j + i * m;
            to[k] *= 0.5f;
        }
        for (k = i * m; k < i * m + m; k++)
            to[k] += from[k];
    }
    return last + k;
}

CASE(declared_before)
{
    for (int n = 1; n < 40; n += 19) {
        const size_t cells = (size_t)n * 23;
        float *from = check_floats(cells), *to = check_floats(cells);
        const int left = declared_before(n, 23, from, to);
        check_record("to", to, cells * sizeof *to);
        check_record("left", &left, sizeof left);
        free(from);
        free(to);
    }
}

// case chosen_cells: cells numbered by a function, and neighbours chosen among cells at the borders of three dimensions
static inline int cell(int z, int y, int x, int ny, int nx)
{
    return (z * ny + y) * nx + x;
}

static void chosen_cells(int nz, int ny, int nx, const float *from, float *to)
{
    int x, y, z, here, west, east, north, south, below;
#pragma tilek kernel
    for (z = 0; z < nz; z++)
        for (y = 0; y < ny; y++)
            for (x = 0; x < nx; x++) {
                here = cell(z, y, x, ny, nx);
                west = x == 0 ? here : here - 1;
                east = x == nx - 1 ? here : here + 1;
                north = y == 0 ? here : here - nx;
                south = y < ny - 1 ? here + nx : here;
                below = z == 0 ? here + (nz - 1) * ny * nx : here - nx * ny;
                to[here] = from[here] - from[west] + from[east] * from[north] - from[south] * from[below];
            }
}

CASE(chosen_cells)
{
    static const int sizes[][3] = {{5, 7, 9}, {1, 4, 3}, {3, 1, 33}, {2, 20, 1}, {1, 1, 1}, {0, 3, 3}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const int *n = sizes[k];
        const size_t cells = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
        float *from = check_floats(cells + 1), *to = check_floats(cells + 1);
        chosen_cells(n[0], n[1], n[2], from, to);
        check_record("to", to, (cells + 1) * sizeof *to);
        free(from);
        free(to);
    }
}

// case bordered (a check fails): what is r elements away from the ends of rows, for an r that only the launch knows, and that may be less than 0
static void bordered(int n, int m, int r, const float *from, float *to)
{
#pragma tilek kernel
    for (int i = r; i < n - r; i++)
        for (int j = r; j < m - r; j++) {
            float sum = 0;
            for (int u = -r; u <= r; u++)
                for (int v = -r; v <= r; v++)
                    sum += from[(i + u) * m + j + v];
            to[i * m + j] = sum - from[i * m + j];
        }
}

CASE(bordered)
{
    for (int r = -2; r < 4; r++) {
        float *from = check_floats(60 * 31), *to = check_floats(60 * 31);
        bordered(29, 31, r, from + 10 * 31, to + 10 * 31);
        check_record("to", to, 60 * 31 * sizeof *to);
        free(from);
        free(to);
    }
}

// case edges (a check fails): rows and faces of flat arrays that no loop counts
#define CELL(i, j) ((i) * (m + 2) + (j))
static void edges(int n, int m, double *u, int row, int planes, double *v, double *old)
{
#pragma tilek kernel
    for (int j = 1; j <= m; j++) {
        u[CELL(0, j)] = u[CELL(n, j)];
        u[CELL(n + 1, j)] = u[CELL(1, j)];
    }
#pragma tilek kernel
    for (int i = 0; i < planes - 1; i++)
        for (int k = 0; k < m; k++) {
            v[(i * n + row) * m + k] = old[i * m + k] + 0.5 * (v[(i * n + row + 1) * m + k] - v[(i * n + row) * m + k]);
            old[i * m + k] = v[(i * n + row + 1) * m + k];
        }
}

CASE(edges)
{
    static const int sizes[][3] = {{5, 9, 4}, {1, 2000, 3}, {0, 1, 1}, {7, 0, 3}, {2, 1, 5}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int row = -1; row < 2; row++) {
            const int n = sizes[k][0], m = sizes[k][1], planes = sizes[k][2];
            const size_t cells = (size_t)((n + 3) * (m + 2)), all = (size_t)((n + 3) * (m + 2) * (planes + 2));
            double *u = check_doubles(cells), *v = check_doubles(all), *old = check_doubles((size_t)(m + 1) * 8);
            edges(n, m, u, row, planes, v + (n + 2) * (m + 1), old);
            check_record("u", u, cells * sizeof *u);
            check_record("v", v, all * sizeof *v);
            check_record("old", old, (size_t)(m + 1) * 8 * sizeof *old);
            free(u);
            free(v);
            free(old);
        }
}

// case either_sign: rows at a distance from outside the kernel, which may be negative, up to a row that another loop counts (attention's scores)
static void either_sign(int heads, int rows, int row, int size, const float *keys, float *scores)
{
#pragma tilek kernel
    for (int h = 0; h < heads; h++)
        for (int t = 0; t < rows; t++) {
            const float *query = keys + t * row + h * size;
            float most = -10000.0f;
            for (int t2 = 0; t2 <= t; t2++) {
                const float *key = keys + t2 * row + h * size;
                float sum = 0;
                for (int i = 0; i < size; i++)
                    sum += query[i] * key[i];
                if (sum > most)
                    most = sum;
            }
            scores[h * rows + t] = most;
        }
}
CASE(either_sign)
{
    enum { HEADS = 3, ROWS = 7, SIZE = 5 };
    const int row = HEADS * SIZE * 2;
    float *const keys = check_floats((size_t)(ROWS * row)), *const scores = check_floats(HEADS * ROWS);
    either_sign(HEADS, ROWS, row, SIZE, keys, scores);
    check_record("down", scores, HEADS * ROWS * sizeof *scores);
    either_sign(HEADS, ROWS, -row, SIZE, keys + (ROWS - 1) * row, scores);
    check_record("up", scores, HEADS * ROWS * sizeof *scores);
    either_sign(HEADS, ROWS, 0, SIZE, keys, scores);
    check_record("one", scores, HEADS * ROWS * sizeof *scores);
    free(keys);
    free(scores);
}

// case diagonals: rows of length n with steps of n + 1 along the diagonal: no launch check asks for n / (n + 1) rows
enum { SIDE = 48, BLOCK = 4 };

static void eliminate_border(float *matrix, int n, int first, int blocks)
{
    int c;
#pragma tilek kernel
    for (c = 0; c < blocks; c++) {
        int i, j, k, row;
        float sum;
        row = first + BLOCK * (c + 1);
        for (i = 0; i < BLOCK; i++)
            for (j = 0; j < BLOCK; j++) {
                sum = 0;
                for (k = 0; k < j; k++) sum += matrix[(row + i) * n + first + k] * matrix[n * (first + k) + first + j];
                matrix[n * (row + i) + first + j] = (matrix[n * (row + i) + first + j] - sum) / matrix[n * (first + j) + first + j];
            }
    }
}

CASE(diagonals)
{
    static float matrix[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) matrix[i] = (float)(i % 7 + 1);
    eliminate_border(matrix, SIDE, 4, (SIDE - 8) / BLOCK);
    check_record("matrix", matrix, sizeof matrix);
}

// case halo_columns (a check fails): columns mirrored at a border and packed, whose number and place the launch knows
static void halo_columns(int w, int h, int depth, int halo, double *f, double *buf)
{
#pragma tilek kernel
    for (int j = halo; j < h - halo; j++)
        for (int k = 0; k < depth; k++)
            f[j * w + (halo - k - 1)] = f[j * w + halo + k];
#pragma tilek kernel
    for (int j = halo; j < h - halo; j++)
        for (int k = 0; k < depth; k++)
            f[j * w + (w - halo + k)] = 0.5 * f[j * w + (w - halo - 1 - k)];
#pragma tilek kernel
    for (int j = halo; j < h - halo; j++)
        for (int k = w - halo - depth; k < w - halo; k++)
            buf[(k - (w - halo - depth)) + (j - halo) * depth] = f[j * w + k];
#pragma tilek kernel
    for (int j = halo; j < h - halo; j++)
        for (int k = halo - depth; k < halo; k++)
            f[j * w + k] = buf[(k - (halo - depth)) + (j - halo) * depth];
#pragma tilek kernel
    for (int j = 1; j < h; j++)
        for (int k = 1; k <= depth; k++)
            f[(2 - k) + w * j] += f[(1 + k) + w * j];
}

CASE(halo_columns)
{
    static const int depths[] = {1, 2, 3, 5}; /* with the last, columns are those of other rows */
    const int w = 37, h = 23, halo = 3;
    for (size_t place = 0; place < sizeof depths / sizeof depths[0]; ++place) {
        double *const f = check_doubles((size_t)w * (size_t)h), *const buf = check_doubles((size_t)w * (size_t)h);
        halo_columns(w, h, depths[place], halo, f, buf);
        check_record("f", f, (size_t)w * (size_t)h * sizeof *f);
        check_record("buf", buf, (size_t)w * (size_t)h * sizeof *buf);
        free(f);
        free(buf);
    }
}

// case growing_places: places that grow by the same in each iteration, packed columns, and rows from an offset on
static void growing_places(int n, int m, int first, const float *in, float *out, float *packed)
{
    int i, j, k = first;
#pragma tilek kernel
    for (i = 0; i < m; i++) {
        for (j = 0; j < n; j++) {
            out[k++] = in[i * n + j] + j;
        }
        out[k] = -1;
        k += 2;
    }
#pragma tilek kernel
    {
        k = 5;
        for (i = n; i > 0; i--) {
            k += 2;
            out[++k] += in[i];
            k -= 1;
        }
    }
#pragma tilek kernel
    for (i = 0; i < m; i++)
        for (j = n - m; j < n; j++)
            packed[first + j + i * m] = 0.5f * in[i * n + j];
#pragma tilek kernel
    for (i = 0; i < m; i++) {
        int at;
        for (j = 0, at = i * n; j < n; j++, ++at)
            packed[at] += in[n * m - 1 - at];
    }
}

CASE(growing_places)
{
    static const int sizes[][2] = {{37, 11}, {1, 1}, {0, 0}, {12, 0}, {23, 23}};
    for (size_t place = 0; place < sizeof sizes / sizeof sizes[0]; ++place) {
        const int n = sizes[place][0], m = sizes[place][1];
        const size_t whole = (size_t)n * (size_t)m + 1, more = whole + 2 * (size_t)(n + m) + 16;
        float *const in = check_floats(more), *const out = check_floats(more), *const packed = check_floats(more);
        growing_places(n, m, 3, in, out, packed);
        check_record("out", out, more * sizeof *out);
        check_record("packed", packed, more * sizeof *packed);
        free(in);
        free(out);
        free(packed);
    }
}

// case pointers_into_rows: pointers into rows that leave them, for the rows around and for planes
enum { LEVELS = 3, HEIGHT = 23, WIDTH = 17 };

static double cells[HEIGHT][WIDTH], levels[LEVELS][HEIGHT][WIDTH];

static void pointers_into_rows(int n, int w, const int *order, double other[][w])
{
#pragma tilek kernel
    for (int i = 0; i < HEIGHT - 1; i++) {
        double *row = cells[i];
        for (int j = 0; j < WIDTH; j++)
            row[j + WIDTH] += 0.5 * row[j];
    }
#pragma tilek kernel
    for (int i = 2; i < HEIGHT; i++) {
        double *row = cells[i];
        for (int j = 0; j < n; j++)
            row[j] = 0.5 * row[j - WIDTH - 1] + cells[i][j];
    }
#pragma tilek kernel
    {
        double *place = cells[0] + WIDTH;
        for (int i = 0; i < HEIGHT - 1; i++)
            for (int j = 0; j < WIDTH; j++)
                *place++ += cells[i][j];
    }
#pragma tilek kernel
    for (int i = 0; i < HEIGHT - 2; i++) {
        double *row = cells[order[i]];
        for (int j = 0; j < n; j++)
            row[j + WIDTH] += other[i][j];
    }
#pragma tilek kernel
    for (int z = 1; z < LEVELS; z++) {
        double(*at)[WIDTH] = levels[z];
        for (int i = 0; i < HEIGHT; i++)
            for (int j = 0; j < WIDTH; j++)
                at[i - HEIGHT][j] += 0.25 * levels[z][i][j];
    }
#pragma tilek kernel
    for (int i = 1; i < HEIGHT; i++) {
        double *row = other[i];
        for (int j = 0; j < w; j++)
            row[j] += 0.5 * row[j - w];
    }
}

CASE(pointers_into_rows)
{
    for (int n = WIDTH - 2; n <= WIDTH; ++n) {
        double(*const other)[WIDTH] = (double(*)[WIDTH])check_doubles((size_t)HEIGHT * WIDTH);
        int order[HEIGHT];
        for (int i = 0; i < HEIGHT; ++i) {
            order[i] = i * 7 % (HEIGHT - 2);
            for (int j = 0; j < WIDTH; ++j) {
                cells[i][j] = other[i][j] - i;
                for (int z = 0; z < LEVELS; ++z)
                    levels[z][i][j] = cells[i][j] + z;
            }
        }
        pointers_into_rows(n, WIDTH, order, other);
        check_record("other", other, sizeof cells);
        check_record("cells", cells, sizeof cells);
        check_record("levels", levels, sizeof levels);
        free(other);
    }
}
