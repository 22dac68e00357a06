void smooth(int J, int I, double A[I+2]) {
#pragma tilek kernel
  for (int j = 1; j <= J; j++)
    for (int i = 1; i <= I; i++)
      A[i] = 0.5 * (A[i] + A[i+1]);
}
