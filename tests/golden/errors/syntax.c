void f(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = ;
    undeclared = 3;
}
