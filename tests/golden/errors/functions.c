static double table[4] = {1, 2, 3, 4};
static double counter(void) { static int n; return ++n; }
static double global_user(int i) { return table[i]; }
static int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
static double variadic(int n, ...) { return n; }
static double prints(double x) { __builtin_printf("%f", x); return x; }
static double takes(const float *v) { return v[0]; }
void f(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i] = counter();
        a[i] = global_user(i);
        a[i] = factorial(i);
        a[i] = variadic(i, 1);
        a[i] = prints(i);
        a[i] = takes(a) + takes(0);
        a[i] = table[0];
    }
}
