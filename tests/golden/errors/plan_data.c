double fixed[10][20];

void modes(int n, double *a)
{
#pragma tilek kernel data(a[0:n], mode:r)
#pragma tilek loop tile(thread)
    for (int i = 0; i < n; i++)
        a[i] = 0;
}

void sections(double scale)
{
#pragma tilek kernel data(fixed[0:10][1:20])
#pragma tilek loop tile(thread)
    for (int i = 0; i < 10; i++)
        fixed[i][0] *= scale;
#pragma tilek kernel data(fixed[0:10])
#pragma tilek loop tile(thread)
    for (int i = 0; i < 10; i++)
        fixed[i][0] *= scale;
}

void gather(int n, const int *index, const double *x, double *y)
{
#pragma tilek kernel independent
    for (int i = 0; i < n; i++)
        y[i] = x[index[i]];
}

void branch(int n, const double *x, double *y)
{
#pragma tilek kernel independent
    for (int i = 1; i < n - 1; i++)
        y[i] = x[i] > 0 ? x[i - 1] : x[i + 1];
}
