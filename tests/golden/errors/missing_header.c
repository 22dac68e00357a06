#include "there_is_no_such_header.h"
void f(int n, double *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
