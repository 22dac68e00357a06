	#pragma tilek kernel \
	    data(A[0:n], \
	         mode:q)
/* größer */ # /* é */ pragma tilek kernel /* ü */ dta(x)
_Pragma("tilek loop tile(\"x\")") for (;;);
#define TILED _Pragma("tilek loop tile(satic, 2)")
TILED for (;;);
TILED for (;;);
#pragma tilek kernel \
    name(k
