void scatter(int n, const int where[n], const double x[n], double *y, double limit)
{
#pragma tilek kernel data(y[0:n])
    for (int i = n - 1; i >= 0; i--)
        if (x[i] < limit)
            y[where[i]] += x[i];
}
