#define LOOP _Pragma("tilek loop tile(dynamic)") for
#define BOTH _Pragma("omp simd") _Pragma("tilek loop")
#define PARALLEL(n) _Pragma("tilek kernel loop tile(gang)") for (int i = 0; i < n; ++i)
#define PRAGMA(x) _Pragma(#x)
#define TILEK(x) PRAGMA(tilek x)
#define PASS(...) PRAGMA(__VA_ARGS__)
LOOP (;;);
BOTH for (;;);
PARALLEL(8);
TILEK(loop) for (;;);
PASS(tilek lop)
PRAGMA(tilek loop tile(statc, 2),
       seq seq) for (;;);
#undef LOOP
LOOP (;;);
