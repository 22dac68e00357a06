"""What runs on the simulator, at which sizes, and what is counted as a unit of its work."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.formulas import value_of

POINT, TERM, PAIR = "point", "multiply-add", "pair"
OURS, NAIVE, TILED = "ours", "naive", "tiled"


@dataclass(frozen=True)
class SimulatedCase:
    """A kernel of `programs/`. `units`: how many of `unit` a run computes, arithmetic in N and STEPS.
    `goal`: the most instructions a unit, as a multiple of the naive kernel's, or as a number of its
    own where `absolute`; 0: none. `codes` are compared: ours and kernels of `by_hand.cu`.
    """

    kernel: str
    n: int
    units: str
    unit: str = POINT
    steps: int = 1
    goal: float = 1.15
    absolute: bool = False
    codes: tuple[str, ...] = (OURS, NAIVE)

    @property
    def title(self) -> str:
        """The kernel with its sizes."""
        return f"{self.kernel} {self.n}" + (f" x {self.steps}" if self.steps > 1 else "")

    @property
    def unit_count(self) -> float:
        return value_of(self.units, {"N": self.n, "STEPS": self.steps})


CASES = (
    SimulatedCase("axpy", 65536, "N"),
    SimulatedCase("reversal", 65536, "N"),
    SimulatedCase("gather", 65536, "N"),
    SimulatedCase("transpose", 256, "N*N"),
    SimulatedCase("star2d1r", 256, "(N-2)**2"),
    SimulatedCase("star2d1r_double", 256, "(N-2)**2"),
    SimulatedCase("box2d1r", 256, "(N-2)**2"),
    SimulatedCase("star3d1r", 50, "(N-2)**3"),
    SimulatedCase("box3d1r", 34, "(N-2)**3"),
    SimulatedCase("conv2d", 124, "N*N"),
    SimulatedCase("gemv", 512, "N*N", TERM),
    SimulatedCase("gemv_transposed", 512, "N*N", TERM),
    *(SimulatedCase("sgemm", n, "N**3", TERM, goal=1.8, absolute=True, codes=(OURS, NAIVE, TILED)) for n in (128, 256)),
    SimulatedCase("syrk", 128, "N*N*(N+1)//2", TERM),
    SimulatedCase("nbody", 512, "N*N", PAIR),
    SimulatedCase("jacobi2d", 256, "2*STEPS*(N-2)**2"),
    SimulatedCase("gauss_seidel", 64, "STEPS*(N-2)**2", steps=4, goal=0.0),
)
