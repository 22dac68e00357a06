#pragma tilek kernel;
#pragma tilek kernel name(k) 42 if(x) "text" (y) [z]
#pragma tilek loop tile(dynamic), , seq,
#pragma tilek loop , , seq
#pragma tilek routine (x)
#pragma tilek wait(1) (2)
