#pragma tilek kernel dta(A[0:n])
#pragma tilek kernel vector_length(32)
#pragma tilek loop tlie(dynamic)
#pragma tilek loop gang
#pragma tilek update host(A[0:n]) self(B)
#pragma tilek routine seq
#pragma tilek kernel xyzzy
#pragma tilek routine xyzzy
