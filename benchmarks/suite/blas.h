/* Products as calls of a BLAS, for the element type of the program. Included before a program's own text (see blas.py).
 * BLAS_BEFORE and BLAS_AFTER stand around a routine's name, BLAS_INTEGER is its integer type. */
#ifndef SUITE_BLAS_H
#define SUITE_BLAS_H

#define BLAS_JOINED(before, name, after) before##name##after
#define BLAS_SPELLED(before, name, after) BLAS_JOINED(before, name, after)
#if defined DATA_TYPE_IS_FLOAT
typedef float blas_real;
#define BLAS(single, twice) BLAS_SPELLED(BLAS_BEFORE, single, BLAS_AFTER)
#else
typedef double blas_real;
#define BLAS(single, twice) BLAS_SPELLED(BLAS_BEFORE, twice, BLAS_AFTER)
#endif

typedef BLAS_INTEGER blas_integer;
enum { CblasRowMajor = 101, CblasNoTrans = 111, CblasTrans = 112, CblasLower = 122, CblasUnit = 132, CblasLeft = 141 };

void BLAS(sgemm, dgemm)(int, int, int, blas_integer, blas_integer, blas_integer, blas_real, const void *, blas_integer, const void *, blas_integer, blas_real, void *, blas_integer);
void BLAS(ssymm, dsymm)(int, int, int, blas_integer, blas_integer, blas_real, const void *, blas_integer, const void *, blas_integer, blas_real, void *, blas_integer);
void BLAS(ssyrk, dsyrk)(int, int, int, blas_integer, blas_integer, blas_real, const void *, blas_integer, blas_real, void *, blas_integer);
void BLAS(ssyr2k, dsyr2k)(int, int, int, blas_integer, blas_integer, blas_real, const void *, blas_integer, const void *, blas_integer, blas_real, void *, blas_integer);
void BLAS(strmm, dtrmm)(int, int, int, int, int, blas_integer, blas_integer, blas_real, const void *, blas_integer, void *, blas_integer);
void BLAS(sgemv, dgemv)(int, int, blas_integer, blas_integer, blas_real, const void *, blas_integer, const void *, blas_integer, blas_real, void *, blas_integer);

#define GEMM(rows, columns, inner, alpha, a, lda, b, ldb, beta, c, ldc) \
    BLAS(sgemm, dgemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, alpha, a, lda, b, ldb, beta, c, ldc)
#define SYMM(rows, columns, alpha, a, lda, b, ldb, beta, c, ldc) \
    BLAS(ssymm, dsymm)(CblasRowMajor, CblasLeft, CblasLower, rows, columns, alpha, a, lda, b, ldb, beta, c, ldc)
#define SYRK(rows, inner, alpha, a, lda, beta, c, ldc) \
    BLAS(ssyrk, dsyrk)(CblasRowMajor, CblasLower, CblasNoTrans, rows, inner, alpha, a, lda, beta, c, ldc)
#define SYR2K(rows, inner, alpha, a, lda, b, ldb, beta, c, ldc) \
    BLAS(ssyr2k, dsyr2k)(CblasRowMajor, CblasLower, CblasNoTrans, rows, inner, alpha, a, lda, b, ldb, beta, c, ldc)
#define TRMM(rows, columns, alpha, a, lda, b, ldb) \
    BLAS(strmm, dtrmm)(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasUnit, rows, columns, alpha, a, lda, b, ldb)
#define GEMV(transposed, side, a, lda, x, y) BLAS(sgemv, dgemv)(CblasRowMajor, transposed, side, side, 1, a, lda, x, 1, 0, y, 1)

#endif
