double sum(int n, const double *x)
{
    double s = 0;
#pragma tilek kernel
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}

double last(int n, const double *x, double *y)
{
    double t;
#pragma tilek kernel
#pragma tilek loop tile(thread)
    for (int i = 0; i < n; i++) {
        t = x[i];
        y[i] = t * t;
    }
    return t;
}

double least(int n, const double *x)
{
    double low = x[0];
#pragma tilek kernel reduction(min: low)
#pragma tilek loop tile(gang) tile(worker)
    for (int i = 0; i < n; i++)
        low = low + x[i];
    return low;
}

void rows(int n, int m, double a[n][m])
{
#pragma tilek kernel
#pragma tilek loop tile(gang)
    for (int i = 0; i < n; i++) {
        double s = 0;
#pragma tilek loop tile(worker)
        for (int j = 0; j < m; j++) {
            s += a[i][j];
            a[i][j] = s;
        }
    }
}

int after(int n, const double *x, double *y)
{
    int i, found = 0;
#pragma tilek kernel
#pragma tilek loop tile(thread)
    for (i = 0; i < n; i++) {
        int k;
        for (k = 0; k < n; k++)
            if (x[k] < 0)
                break;
        y[i] = k;
    }
    return i + found;
}
