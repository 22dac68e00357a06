void jacobi(int steps, int n, double A[n], double B[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = (A[i-1] + A[i] + A[i+1]) / 3.0;
        for (int i = 1; i < n - 1; i++)
            A[i] = (B[i-1] + B[i] + B[i+1]) / 3.0;
    }
}
