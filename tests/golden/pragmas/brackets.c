#pragma tilek kernel name(k) dta(B) data(A[0:n]
#pragma tilek kernel data(A[0:n)) name(k)
#pragma tilek kernel name(3) num_gangs[0)(2)
#pragma tilek loop tile(dynamic)) tile(dynamic)
#pragma tilek loop tile[0](static, f(2)
#pragma tilek wait(1
