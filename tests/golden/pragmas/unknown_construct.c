#pragma tilek
#pragma tilek kernal data(A[0:n])
#pragma tilek parallel
#pragma tilek zzz
#pragma tilek enter copyin(A[0:n])
#pragma tilek 42
