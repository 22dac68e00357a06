void f(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
    again:
        a[i] += 1;
        if (a[i] < 0)
            goto again;
    }
}
