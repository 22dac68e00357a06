void f(int n, int m, int k)
{
    double a[n][m];
    m = 3;
    typedef double row[k];
    row *rows = 0;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i][0] = 1;
        rows[i][0] = 1;
    }
}
