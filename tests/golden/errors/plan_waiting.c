void steps(int n, int t, double *a, double *b)
{
#pragma tilek kernel
    for (int k = 0; k < t; k++) {
#pragma tilek loop tile(gang)
        for (int i = 1; i < n - 1; i++)
            b[i] = a[i - 1] + a[i + 1];
#pragma tilek loop tile(gang)
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}

void until(int n, double *a, double *b)
{
#pragma tilek kernel data(a[0:n], b[0:n])
    {
    while (a[0] > 0) {
#pragma tilek loop tile(worker)
        for (int i = 1; i < n - 1; i++)
            b[i] = a[i - 1] + a[i + 1];
#pragma tilek loop tile(worker)
        for (int i = 0; i < n - 1; i++)
            a[i] = b[i];
    }
    }
}
