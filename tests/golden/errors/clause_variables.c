/* Clauses are evaluated before the kernel: what only the kernel declares does not exist there. */
enum { width = 3 };
struct shape { int i; };

void inside(int n, float *restrict x)
{
#pragma tilek kernel num_threads(i)
#pragma tilek loop tile(static, 2 * i + 1) tile(thread) tile(dynamic)
    for (int i = 0; i < n; i++)
        x[i] *= 2;
}

void outside(int n, float *restrict x, const struct shape *shape)
{
    int i = 4;
#pragma tilek kernel
#pragma tilek loop tile(static, i + width + shape->i) tile(thread) tile(dynamic)
    for (int i = 0; i < n; i++)
        x[i] *= 2;
}
