"""The four kernels of the TileK paper's Listing 7, as case files with a case for each tiling."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.support.cases import Case, CaseFile
from tilepragma.tuning.paper_tilings import (
    Tiling,
    accelerator_tilings_1d,
    accelerator_tilings_2d,
    thread_tilings,
)

#: Counts that divide neither each other nor the sizes of the tests, in place of the paper's.
ODD = {
    "num_threads(16)": "num_threads(5)",
    "num_gangs(16) num_workers(256)": "num_gangs(3) num_workers(7)",
    "num_gangs[0](4) num_workers[0](16) num_gangs[1](4) num_workers[1](16)": (
        "num_gangs[0](2) num_workers[0](5) num_gangs[1](3) num_workers[1](3)"
    ),
}


def all_tilings(*, odd: bool = False) -> tuple[Tiling, ...]:
    """The paper's 8 + 16 + 24 versions, with its counts or odd ones."""
    tilings = thread_tilings() + accelerator_tilings_1d() + accelerator_tilings_2d()
    return tuple(replace(tiling, counts=ODD[tiling.counts]) for tiling in tilings) if odd else tilings


@dataclass(frozen=True)
class PaperKernel:
    """`text` is a function with places @name@, @kernel@, @i@, @j@; `call` runs and records it."""

    name: str
    sizes: tuple[int, ...]
    text: str
    call: str

    def case(self, tiling: Tiling) -> Case:
        """The kernel under one tiling."""
        name = f"{self.name}_{tiling.name}"
        text = self.text.replace("@kernel@", tiling.counts)
        text = text.replace("@i@", tiling.i).replace("@j@", tiling.j)
        body = self.call.replace("@name@", name)
        return Case(name, tiling.name, text.replace("@name@", name) + f"CASE({name})\n{{\n{body}}}\n")

    def case_file(self, tilings: tuple[Tiling, ...]) -> CaseFile:
        """All tilings in one program."""
        return CaseFile(f"{self.name}.c", '#include "check.h"\n', tuple(self.case(tiling) for tiling in tilings))


CONV2D = PaperKernel(
    "conv2d",
    (37, 53),
    """
static void @name@(int n, int m, float **A, float **B)
{
    int i, j;
#pragma tilek kernel data(A[0:n][0:m], mode:r, live:in) data(B[0:n][0:m], mode:w, live:inout) @kernel@
    {
#pragma tilek loop @i@
        for (i = 1; i < n-1; i++) {
#pragma tilek loop @j@
            for (j = 1; j < m-1; j++) {
                B[i][j] = 2.34 * A[i-1][j-1]
                        + 4.64 * A[i-1][j+1]
                        - 7.93 * A[i-1][j  ]
                        + 1.26 * A[i  ][j-1]
                        + 0.64 * A[i+1][j  ]
                        + 1.34 * A[i  ][j+1]
                        - 2.17 * A[i-1][j+1]
                        + 7.22 * A[i+1][j-1]
                        - 9.59 * A[i  ][j  ];
            }
        }
    }
}
""",
    """    const size_t n = (size_t)check_sizes[0], m = (size_t)check_sizes[1];
    float **const A = check_matrix(n, m), **const B = check_matrix(n, m);
    @name@(check_sizes[0], check_sizes[1], A, B);
    check_record_rows("B", (void *const *)B, n, m * sizeof **B);
    check_free_matrix(A, n);
    check_free_matrix(B, n);
""",
)

SGEMM = PaperKernel(
    "sgemm",
    (19, 31, 11),
    """
static void @name@(int n, int m, int p, float **A, float **B, float **C, float alpha, float beta)
{
    int i, j, k;
#pragma tilek kernel data(A[0:n][0:p], B[0:p][0:m], mode:r, live:in) data(C[0:n][0:m], mode:rw, live:inout) @kernel@
    {
#pragma tilek loop @i@
        for (i = 0; i < n; i++) {
#pragma tilek loop @j@
            for (j = 0; j < m; j++) {
                C[i][j] *= beta;
                for (k = 0; k < p; k++) {
                    C[i][j] += alpha * A[i][k] * B[k][j];
                }
            }
        }
    }
}
""",
    """    const size_t n = (size_t)check_sizes[0], m = (size_t)check_sizes[1], p = (size_t)check_sizes[2];
    float **const A = check_matrix(n, p), **const B = check_matrix(p, m), **const C = check_matrix(n, m);
    @name@(check_sizes[0], check_sizes[1], check_sizes[2], A, B, C, 1.37f, 0.71f);
    check_record_rows("C", (void *const *)C, n, m * sizeof **C);
    check_free_matrix(A, n);
    check_free_matrix(B, p);
    check_free_matrix(C, n);
""",
)

SYR2K = PaperKernel(
    "syr2k",
    (29, 13),
    """
static void @name@(int n, int m, float **A, float **B, float **C, float alpha, float beta)
{
    int i, j, k;
#pragma tilek kernel data(A[0:n][0:m], B[0:n][0:m], mode:r, live:in) data(C[0:n][0:n], mode:rw, live:inout) @kernel@
    {
#pragma tilek loop @i@
        for (i = 0; i < n; i++) {
#pragma tilek loop @j@
            for (j = 0; j < n; j++) {
                C[i][j] *= beta;
                for (k = 0; k < m; k++) {
                    C[i][j] += alpha * A[i][k] * B[j][k];
                    C[i][j] += alpha * B[i][k] * A[j][k];
                }
            }
        }
    }
}
""",
    """    const size_t n = (size_t)check_sizes[0], m = (size_t)check_sizes[1];
    float **const A = check_matrix(n, m), **const B = check_matrix(n, m), **const C = check_matrix(n, n);
    @name@(check_sizes[0], check_sizes[1], A, B, C, 1.37f, 0.71f);
    check_record_rows("C", (void *const *)C, n, n * sizeof **C);
    check_free_matrix(A, n);
    check_free_matrix(B, n);
    check_free_matrix(C, n);
""",
)

DOITGEN = PaperKernel(
    "doitgen",
    (11, 7, 13),
    """
static void @name@(int R, int Q, int P, float ***A, float ***sum, float **C4)
{
    int r, q, p, s;
#pragma tilek kernel data(A[0:R][0:Q][0:P], sum[0:R][0:Q][0:P], mode:rw, live:inout) data(C4[0:P][0:P], mode:r, live:in) @kernel@
    {
#pragma tilek loop @i@
        for (r = 0; r < R; r++) {
#pragma tilek loop @j@
            for (q = 0; q < Q; q++) {
                for (p = 0; p < P; p++) {
                    sum[r][q][p] = 0;
                    for (s = 0; s < P; s++)
                        sum[r][q][p] += A[r][q][s] * C4[s][p];
                }
                for (p = 0; p < P; p++)
                    A[r][q][p] = sum[r][q][p];
            }
        }
    }
}
""",
    """    const size_t R = (size_t)check_sizes[0], Q = (size_t)check_sizes[1], P = (size_t)check_sizes[2];
    float ***const A = check_allocate(R, sizeof *A), ***const sum = check_allocate(R, sizeof *sum);
    float **const C4 = check_matrix(P, P);
    for (size_t r = 0; r < R; ++r) {
        A[r] = check_matrix(Q, P);
        sum[r] = check_matrix(Q, P);
    }
    @name@(check_sizes[0], check_sizes[1], check_sizes[2], A, sum, C4);
    for (size_t r = 0; r < R; ++r) {
        check_record_rows("A", (void *const *)A[r], Q, P * sizeof(float));
        check_record_rows("sum", (void *const *)sum[r], Q, P * sizeof(float));
        check_free_matrix(A[r], Q);
        check_free_matrix(sum[r], Q);
    }
    free(A);
    free(sum);
    check_free_matrix(C4, P);
""",
)

PAPER_KERNELS = (CONV2D, SGEMM, SYR2K, DOITGEN)
