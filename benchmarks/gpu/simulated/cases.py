"""What runs on the simulator, at which sizes, and what is counted as a unit of its work."""

from __future__ import annotations

from dataclasses import dataclass

POINT, TERM, PAIR = "point", "multiply-add", "pair"


@dataclass(frozen=True)
class SimulatedCase:
    """A kernel of `programs/`. `units`: how many of `unit` a run computes, arithmetic in `n` and
    `steps`. `goal`: the most instructions a unit, as a multiple of the naive kernel's, or as a number
    of its own where `absolute`; 0: none.
    """

    kernel: str
    n: int
    units: str
    unit: str = POINT
    steps: int = 1
    goal: float = 1.15
    absolute: bool = False

    @property
    def title(self) -> str:
        """The kernel with its sizes."""
        return f"{self.kernel} {self.n}" + (f" x {self.steps}" if self.steps > 1 else "")

    @property
    def unit_count(self) -> int:
        return int(eval(self.units, {"__builtins__": {}}, {"n": self.n, "steps": self.steps}))


CASES = (
    SimulatedCase("axpy", 65536, "n"),
    SimulatedCase("reversal", 65536, "n"),
    SimulatedCase("gather", 65536, "n"),
    SimulatedCase("transposition", 256, "n*n"),
    SimulatedCase("star2d1r", 256, "(n-2)**2"),
    SimulatedCase("star2d1r_double", 256, "(n-2)**2"),
    SimulatedCase("box2d1r", 256, "(n-2)**2"),
    SimulatedCase("star3d1r", 50, "(n-2)**3"),
    SimulatedCase("box3d1r", 34, "(n-2)**3"),
    SimulatedCase("convolution", 128, "(n-4)**2"),
    SimulatedCase("vector_product", 512, "n*n", TERM),
    SimulatedCase("transposed_product", 512, "n*n", TERM),
    SimulatedCase("product", 128, "n**3", TERM, goal=1.8, absolute=True),
    SimulatedCase("product", 256, "n**3", TERM, goal=1.8, absolute=True),
    SimulatedCase("rank_update", 128, "n*n*(n+1)//2", TERM),
    SimulatedCase("bodies", 512, "n*n", PAIR),
    SimulatedCase("jacobi", 256, "2*steps*(n-2)**2", steps=1),
    SimulatedCase("seidel", 64, "steps*(n-2)**2", steps=4, goal=0.0),
)
