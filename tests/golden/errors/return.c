int f(int n, const double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        if (a[i] < 0)
            return i;
    }
    return -1;
}
