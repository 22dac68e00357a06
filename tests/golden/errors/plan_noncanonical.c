void powers(int n, double *a)
{
#pragma tilek kernel
#pragma tilek loop tile(thread)
    for (int i = 1; i < n; i *= 2)
        a[i] = 0;
}

void moving(int n, double *a)
{
#pragma tilek kernel
#pragma tilek loop tile(thread)
    for (int i = 1; i < n; i++) {
        a[i] = 0;
        n = n - 1;
    }
}

void leaving(int n, double *a)
{
#pragma tilek kernel
#pragma tilek loop tile(thread)
    for (int i = 1; i < n; i++) {
        if (a[i] < 0)
            break;
        a[i] = 0;
    }
}
