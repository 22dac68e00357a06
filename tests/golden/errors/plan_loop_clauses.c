void flat(int n, int m, double a[n][m])
{
#pragma tilek kernel
#pragma tilek loop independent collapse(3)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = 0;
}

void counts(double *a)
{
#pragma tilek kernel
#pragma tilek loop tile(static, 0) tile(dynamic)
    for (int i = 0; i < 10; i++)
        a[i] = 0;
#pragma tilek kernel
#pragma tilek loop tile(static, 2) tile(static, 3)
    for (int i = 0; i < 10; i++)
        a[i] = 0;
}
