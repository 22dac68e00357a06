void both(int n, int m, double a[n][m])
{
#pragma tilek kernel
#pragma tilek loop tile(gang, 0)
    for (int i = 0; i < n; i++)
#pragma tilek loop tile(gang, 0)
        for (int j = 0; j < m; j++)
            a[i][j] = 0;
#pragma tilek kernel
#pragma tilek loop tile(worker, 1)
    for (int i = 0; i < n; i++) {
        double factor = i;
#pragma tilek loop tile(worker, 1)
        for (int j = 0; j < m; j++)
            a[i][j] = factor;
    }
}
