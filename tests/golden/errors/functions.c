static double table[4] = {1, 2, 3, 4}, total; static int offset; static struct place { double x; } origin;
static double counter(void) { static int n; return ++n; }
static double global_user(int i) { return table[i] + offset; }
static double sums(int i) { return total += i; }
static double from_origin(int i) { return i - origin.x; }
static int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
static double variadic(int n, ...) { return n; }
static double prints(double x) { __builtin_printf("%f", x); return x; }
static double takes(const float *v) { return v[0]; }
void f(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i] = counter();
        a[i] = sums(i);
        a[i] = from_origin(i);
        a[i] = factorial(i);
        a[i] = variadic(i, 1);
        a[i] = prints(i);
        a[i] = takes(a) + takes(0);
        a[i] = table[0];
    }
}
void changes(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        offset = i;
        a[i] = global_user(i);
    }
}
void keeps_private(int n, double *a)
{
#pragma tilek kernel private(table)
    for (int i = 0; i < n; i++)
        a[i] = global_user(i);
}
void shadows(int n, double *a)
{
    double table[2] = {1, 2};
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = table[i % 2] + global_user(i);
}
void later(int n, double *a)
{
#pragma tilek kernel async
    for (int i = 0; i < n; i++)
        a[i] = global_user(i);
#pragma tilek wait
}
