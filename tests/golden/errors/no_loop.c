void f(int n, double *a)
{
#pragma tilek kernel
    a[0] = 1;
#pragma tilek kernel loop
    {
        a[1] = n;
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
#pragma tilek loop tile(gang)
        a[i] = 1;
    }
#pragma tilek kernel
    while (a[0] < n)
        for (int i = 0; i < n; i++)
            a[i] += 1;
#pragma tilek kernel
}
#pragma tilek kernel
