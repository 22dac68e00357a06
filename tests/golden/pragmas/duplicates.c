#pragma tilek kernel num_gangs(2) num_gangs[0](3)
#pragma tilek kernel num_workers(2, 2) num_workers[1](3)
#pragma tilek kernel name(a) name(b) if(x) if(y) async async(1) wait wait(2)
#pragma tilek kernel num_threads(2) num_threads(4) independent independent
#pragma tilek kernel target(opencl) target(cuda) device(0) device(1)
#pragma tilek loop seq seq unroll(2) unroll(4) collapse(2) collapse(2)
#pragma tilek kernel copyin(A[0:n]) data(B, A[0:m])
#pragma tilek update self(A[0:n]) self(A[m:n]) device(A[0:n])
