void names(int n, const double *x, double *y, double total[1])
{
    double part[4];
#pragma tilek kernel private(part)
#pragma tilek loop tile(thread)
    for (int i = 0; i < n; i++) {
        part[0] = x[i];
        y[i] = part[0];
    }
#pragma tilek kernel firstprivate(other)
#pragma tilek loop tile(thread)
    for (int i = 0; i < n; i++)
        y[i] = 0;
#pragma tilek kernel
#pragma tilek loop tile(thread) reduction(+: total)
    for (int i = 0; i < n; i++)
        total[0] += x[i];
}
