void f(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        if (a[i] < 0)
            goto next;
        a[i] = 1;
    next:
        a[i] += 1;
    }
}
