"""The kernels of `programs/` that are compared with others: at which sizes, and what a unit of their work is."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.formulas import value_of

POINT, TERM, PAIR = "point", "multiply-add", "pair"
OURS, STREAMED, NAIVE, TILED = "ours", "streamed", "naive", "tiled"


@dataclass(frozen=True)
class KernelCase:
    """A kernel of the file `program` of `programs/`. It is simulated at `n` and `steps`, and timed on
    a GPU at `timed_n` (0: it is not) and `timed_steps`. `units`: how many of `unit` a run computes,
    arithmetic in N and STEPS. `goal`: the most instructions a unit in the simulator, as a multiple
    of the naive kernel's, or as a number of its own where `absolute`; 0: none. `codes` are
    compared: ours, ours in streamed tiles (TILEK_TILES), and kernels of `by_hand.cu`.
    """

    program: str
    kernel: str
    n: int
    units: str
    unit: str = POINT
    steps: int = 1
    goal: float = 1.15
    absolute: bool = False
    codes: tuple[str, ...] = (OURS, NAIVE)
    timed_n: int = 0
    timed_steps: int = 1

    def title_at(self, n: int, steps: int) -> str:
        """The kernel with these sizes."""
        return f"{self.kernel} {n}" + (f" x {steps}" if steps > 1 else "")

    def units_at(self, n: int, steps: int) -> float:
        """What a run at these sizes computes."""
        return value_of(self.units, {"N": n, "STEPS": steps})

    @property
    def title(self) -> str:
        """The kernel with the sizes at which it is simulated."""
        return self.title_at(self.n, self.steps)

    @property
    def unit_count(self) -> float:
        """Of a simulated run."""
        return self.units_at(self.n, self.steps)


_STREAM, _PLANE, _SPACE = 1 << 26, 8192, 512
_PRODUCT_CODES = (OURS, NAIVE, TILED)
_TIME_CODES = (OURS, STREAMED, NAIVE)
CASES = (
    KernelCase("elementwise", "axpy", 65536, "N", timed_n=_STREAM),
    KernelCase("elementwise", "reversal", 65536, "N", timed_n=_STREAM),
    KernelCase("elementwise", "gather", 65536, "N", timed_n=1 << 24),
    KernelCase("elementwise", "transpose", 256, "N*N", timed_n=_PLANE),
    KernelCase("stencils", "star2d1r", 256, "(N-2)**2", timed_n=_PLANE),
    KernelCase("stencils", "star2d1r_double", 256, "(N-2)**2", timed_n=_PLANE),
    KernelCase("stencils", "box2d1r", 256, "(N-2)**2", timed_n=_PLANE),
    KernelCase("stencils", "star3d1r", 50, "(N-2)**3", timed_n=_SPACE),
    KernelCase("stencils", "box3d1r", 34, "(N-2)**3", timed_n=_SPACE),
    KernelCase("stencils", "conv2d", 124, "N*N", timed_n=_PLANE),
    KernelCase("products", "gemv", 512, "N*N", TERM, timed_n=_PLANE),
    KernelCase("products", "gemv_transposed", 512, "N*N", TERM, timed_n=_PLANE),
    KernelCase("products", "sgemm", 128, "N**3", TERM, goal=1.8, absolute=True, codes=_PRODUCT_CODES, timed_n=1024),
    KernelCase("products", "sgemm", 256, "N**3", TERM, goal=1.8, absolute=True, codes=_PRODUCT_CODES, timed_n=4096),
    KernelCase("products", "syrk", 128, "N*N*(N+1)//2", TERM, timed_n=2048),
    KernelCase("products", "nbody", 512, "N*N", PAIR, timed_n=32768),
    KernelCase("stencils", "jacobi2d", 256, "2*STEPS*(N-2)**2", timed_n=_PLANE, timed_steps=20),
    KernelCase("stencils", "jacobi3d", 50, "2*STEPS*(N-2)**3", timed_n=_SPACE, timed_steps=10),
    KernelCase("stencils", "jacobi2d", 256, "2*STEPS*(N-2)**2", steps=4, goal=0.0, codes=_TIME_CODES),
    KernelCase("stencils", "jacobi2d_box", 256, "2*STEPS*(N-2)**2", steps=4, goal=0.0, codes=_TIME_CODES),
    KernelCase("stencils", "jacobi3d", 50, "2*STEPS*(N-2)**3", steps=2, goal=0.0, codes=_TIME_CODES),
    KernelCase("sweeps", "gauss_seidel", 64, "STEPS*(N-2)**2", steps=4, goal=0.0),
    KernelCase("sweeps", "gauss_seidel", 128, "STEPS*(N-2)**2", steps=8, goal=0.0, codes=(OURS,)),
)
