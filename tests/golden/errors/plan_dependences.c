void interchange(int J, int I, float A[I + 2])
{
#pragma tilek kernel
#pragma tilek loop tile[1](dynamic)
    for (int j = 1; j <= J; j++)
#pragma tilek loop tile[0](dynamic)
        for (int i = 1; i <= I; i++)
            A[i] = 0.5f * (A[i] + A[i + 1]);
}

void split(int J, int I, float B[J + 2][I + 2])
{
#pragma tilek kernel
#pragma tilek loop tile[0](static, 4) tile[2](dynamic)
    for (int j = 1; j <= J; j++)
#pragma tilek loop tile[1](dynamic)
        for (int i = 1; i <= I; i++)
            B[j][i] = B[j - 1][i] + B[j - 1][i + 1];
}

void distribute(int J, int I, float B[J + 2][I + 2])
{
#pragma tilek kernel
#pragma tilek loop tile(thread) tile(dynamic)
    for (int j = 1; j <= J; j++)
        for (int i = 1; i <= I; i++)
            B[j][i] = B[j - 1][i];
#pragma tilek kernel
    for (int j = 1; j <= J; j++)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
        for (int i = 1; i <= I; i++)
            B[j][i] = B[j - 1][i] + B[j - 1][i - 1];
#pragma tilek kernel
#pragma tilek loop tile(gang) tile(dynamic)
    for (int j = J; j > 0; j--)
#pragma tilek loop tile(dynamic)
        for (int i = 1; i <= I; i++)
            B[j][i] = B[j + 1][i];
}

void vouched(int J, int I, float B[J + 2][I + 2])
{
#pragma tilek kernel independent
#pragma tilek loop tile(thread) tile(dynamic)
    for (int j = 1; j <= J; j++)
        B[j][0] = B[j - 1][0];
}

void suspected(int n, const int *k, float *a)
{
#pragma tilek kernel data(a[0:n])
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; i++)
        a[k[i]] = 0;
}

void columns(int n, float *a)
{
#pragma tilek kernel
#pragma tilek loop tile(thread) tile(dynamic)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i + j] += 1;
}

void start_moves(int n, double a[n])
{
#pragma tilek kernel data(a[0:n])
    for (int i = 0; i < n; i++) {
#pragma tilek loop tile(dynamic) tile(gang) tile(worker) /* a[j] is another instance's in the next round of i */
        for (int j = i; j < n; j++)
            a[j] = a[j] * 0.5 + i;
    }
}
