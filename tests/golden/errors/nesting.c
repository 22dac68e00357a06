void f(int n, double *a)
{
#pragma tilek loop tile(gang)
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
#pragma tilek kernel
        for (int j = 0; j < n; j++)
            a[i] += j;
#pragma tilek update self(a[0:n])
        a[i] += 1;
    }
#pragma tilek kernel
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma tilek kernel
#pragma tilek loop seq
#pragma tilek loop seq
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
