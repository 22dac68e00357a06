void scale(int n, int m, double a[n][m], double *sums)
{
#pragma tilek kernel
#pragma tilek loop tile[0](static, 2) tile[2](dynamic)
    for (int i = 0; i < n; i++) {
        sums[i] = 0;
#pragma tilek loop tile[1](static, 2) tile[3](dynamic)
        for (int j = 0; j < m; j++)
            a[i][j] *= 2;
    }
}

void triangle(int n, double a[n][n])
{
#pragma tilek kernel
#pragma tilek loop tile[1](static, 2) tile[3](dynamic)
    for (int i = 0; i < n; i++)
#pragma tilek loop tile[0](static, 4) tile[2](dynamic)
        for (int j = i + 1; j < n; j++)
            a[i][j] += 1;
}
