void clear(int n, double *a, int *count)
{
#pragma tilek kernel
    {
        count[0] = 1;
#pragma tilek loop tile(gang)
        for (int i = 0; i < n; i++)
            a[i] = 0;
    }
}

void rows(int n, int m, double a[n][m], double *sums)
{
#pragma tilek kernel
#pragma tilek loop tile(gang)
    for (int i = 0; i < n; i++) {
        sums[i] = 0;
#pragma tilek loop tile(worker)
        for (int j = 0; j < m; j++)
            a[i][j] *= 2;
    }
}
