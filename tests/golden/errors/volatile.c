volatile int flag;
void f(int n, volatile double *a, double *b)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i] = 1;
        b[i] = flag;
    }
}
