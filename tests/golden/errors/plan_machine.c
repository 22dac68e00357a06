void mixed(int n, double *a)
{
#pragma tilek kernel num_gangs(3)
#pragma tilek loop tile(thread)
    for (int i = 0; i < n; i++)
        a[i] = 0;
}

void unused(int n, double *a)
{
#pragma tilek kernel num_gangs(4, 4) num_workers(0)
#pragma tilek loop tile(gang) tile(worker)
    for (int i = 0; i < n; i++)
        a[i] = 0;
}

void wide(int n, long double *a)
{
#pragma tilek kernel independent target(opencl)
    for (int i = 0; i < n; i++)
        a[i] = 1;
}
