"""What is timed: kernels, their sizes, and how much arithmetic and memory traffic they are.

Sizes are such that the original takes 0.5 to 5 s on one core of 2026, those of ../shared/PEERS.md
where it names them; a few that pass once over a matrix cannot take so long without more memory than
a machine has.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.formulas import sizes_of, value_of

Sizes = dict[str, int]

POLYBENCH, TILEK, THESIS, ICS, METAFORK, PRODUCT = "PolyBench/C", "TileK", "thesis", "ICS'08", "MetaFork", "product"
#: PolyBench's two integer programs are measured as they are, everything else at both.
BOTH, INTEGER = ("double", "float"), ("int",)


@dataclass(frozen=True)
class Case:
    """A kernel at one size; `quick` holds smaller sizes.

    `flops` and `moved` are arithmetic in the sizes. `flops`: operations as written, what does not
    change in the innermost loop counted outside. `moved`: elements that go through memory if every
    sweep over an array reads or writes each element once, so that reuse between sweeps shows as
    more than what a copy reaches. `scratch`: arrays that mean nothing afterwards. `seed` chooses
    the random data; 0 leaves the program's own, for kernels that random data lead to infinity.
    `condition`: how much more than elsewhere a rounding error grows.
    """

    name: str
    group: str
    sizes: Sizes
    quick: Sizes
    flops: str
    moved: str
    program: str = ""
    types: tuple[str, ...] = BOTH
    scratch: tuple[str, ...] = ()
    seed: int = 1
    condition: float = 1.0

    @property
    def source(self) -> str:
        """The name of the program."""
        return self.program or self.name

    def numbers(self, quick: bool) -> Sizes:
        return self.quick if quick else self.sizes

    def count(self, formula: str, quick: bool) -> float:
        """The value of `flops` or `moved` at the sizes."""
        return float(value_of(formula, self.numbers(quick)))


def _case(name: str, group: str, sizes: str, quick: str, flops: str, moved: str, **more: object) -> Case:
    """A case whose sizes are written as "N=1000 M=900", those of `quick` in the same order without names."""
    numbers = sizes_of(sizes)
    smaller = dict(zip(numbers, map(int, quick.split()), strict=True))
    return Case(name, group, numbers, smaller, flops, moved, **more)  # type: ignore[arg-type]


def _polybench(name: str, sizes: str, quick: str, flops: str, moved: str, **more: object) -> Case:
    return _case(name, POLYBENCH, sizes, quick, flops, moved, **more)


_PRODUCTS = (
    _polybench(
        "2mm",
        "NI=900 NJ=1000 NK=1000 NL=1100",
        "400 420 440 460",
        "2*NI*NJ*NK + 2*NI*NL*NJ + NI*NL",
        "NI*NK + NK*NJ + 2*NI*NJ + NJ*NL + 2*NI*NL",
    ),
    _polybench(
        "3mm",
        "NI=800 NJ=900 NK=1000 NL=1100 NM=1200",
        "380 400 420 440 460",
        "2*NI*NJ*NK + 2*NJ*NL*NM + 2*NI*NL*NJ",
        "NI*NK + NK*NJ + 2*NI*NJ + NJ*NM + NM*NL + 2*NJ*NL + NI*NL",
    ),
    _polybench(
        "gemm", "NI=1600 NJ=1700 NK=1800", "600 640 680", "2*NI*NJ*NK + NI*NJ + NI*NK", "NI*NK + NK*NJ + 2*NI*NJ"
    ),
    _polybench("symm", "M=1000 N=1200", "400 480", "2*M*M*N + 6*M*N", "M*M/2 + 3*M*N"),
    _polybench("syr2k", "M=1000 N=1200", "400 480", "N*(N + 1)/2*(4*M + 1)", "2*N*M + N*(N + 1)"),
    _polybench("syrk", "M=1000 N=1200", "480 560", "N*(N + 1)/2*(2*M + 1)", "N*M + N*(N + 1)"),
    _polybench("trmm", "M=1000 N=1200", "440 520", "M*M*N", "M*M/2 + 2*M*N"),
    _polybench(
        "doitgen",
        "NR=150 NQ=160 NP=270",
        "60 64 160",
        "2*NR*NQ*NP*NP",
        "2*NR*NQ*NP + NP*NP",
        scratch=("sum",),
    ),
    _polybench("correlation", "M=1200 N=1400", "480 560", "M*N*6 + M*(M - 1)*N", "5*M*N + M*M"),
    _polybench("covariance", "M=1200 N=1400", "480 560", "2*M*N + M*(M + 1)*N", "4*M*N + M*M"),
)
_STREAMS = (
    _polybench("atax", "M=14000 N=15000", "5000 5500", "4*M*N", "M*N"),
    _polybench("bicg", "M=14000 N=15000", "5000 5500", "4*M*N", "M*N"),
    _polybench("gemver", "N=8000", "3000", "10*N*N", "4*N*N"),
    _polybench("gesummv", "N=14000", "4000", "4*N*N", "2*N*N"),
    _polybench("mvt", "N=8000", "4000", "4*N*N", "2*N*N"),
    _polybench("trisolv", "N=16000", "6000", "N*N", "N*N/2"),
    _polybench("deriche", "W=7680 H=4320", "2000 2400", "32*W*H", "14*W*H"),
)
_SOLVERS = (
    _polybench("cholesky", "N=2000", "900", "N**3/3", "N*N"),
    _polybench("durbin", "N=40000", "12000", "2*N*N", "2*N", seed=0, condition=1000.0),
    _polybench("gramschmidt", "M=1200 N=1000", "400 360", "2*M*N*N + 3*M*N", "3*M*N + N*N/2"),
    _polybench("lu", "N=1300", "640", "2*N**3/3", "2*N*N"),
    _polybench("ludcmp", "N=1600", "640", "2*N**3/3 + 2*N*N", "3*N*N"),
    _polybench("floyd-warshall", "N=1200", "480", "2*N**3", "2*N**3", types=INTEGER),
    _polybench("nussinov", "N=2200", "900", "N**3/3", "N*N", types=INTEGER),
)
_STENCILS = (
    _polybench("adi", "TSTEPS=100 N=1000", "12 700", "26*TSTEPS*N*N", "12*TSTEPS*N*N"),
    _polybench("fdtd-2d", "TMAX=500 NX=1000 NY=1200", "40 800 840", "11*TMAX*NX*NY", "10*TMAX*NX*NY"),
    _polybench("heat-3d", "TSTEPS=500 N=120", "30 100", "30*TSTEPS*N**3", "4*TSTEPS*N**3"),
    _polybench("jacobi-1d", "TSTEPS=1500 N=1000000", "160 500000", "6*TSTEPS*N", "4*TSTEPS*N"),
    _polybench("jacobi-2d", "TSTEPS=500 N=1300", "60 900", "10*TSTEPS*N*N", "4*TSTEPS*N*N"),
    _polybench("jacobi-2d-large", "TSTEPS=20 N=4000", "4 2400", "10*TSTEPS*N*N", "4*TSTEPS*N*N", program="jacobi-2d"),
    _polybench("seidel-2d", "TSTEPS=50 N=2000", "10 1000", "9*TSTEPS*N*N", "2*TSTEPS*N*N"),
)
_LISTINGS = (
    _case("tilek-sgemm", TILEK, "N=1200 M=1200 P=1200", "440 440 440", "N*M*(2*P + 1)", "N*P + P*M + 2*N*M"),
    _case("tilek-syr2k", TILEK, "N=1000 M=1000", "400 400", "N*N*(4*M + 1)", "2*N*M + 2*N*N"),
    _case("tilek-doitgen", TILEK, "R=160 Q=160 P=200", "60 60 140", "2*R*Q*P*P", "4*R*Q*P + P*P"),
    _case("tilek-conv2d", TILEK, "REPEATS=50 N=4000 M=4000", "6 3000 3000", "17*REPEATS*N*M", "2*REPEATS*N*M"),
    _case("product", PRODUCT, "N=2048", "800", "2*N**3", "4*N*N"),
    _case("ics-mv", ICS, "REPEATS=10 N=8000", "4 4000", "2*REPEATS*N*N", "REPEATS*N*N"),
    _case("ics-tmv", ICS, "REPEATS=4 N=8000", "2 4000", "2*REPEATS*N*N", "REPEATS*N*N"),
    _case("ics-mvt", ICS, "REPEATS=4 N=8000", "2 4000", "4*REPEATS*N*N", "2*REPEATS*N*N"),
    _case("metafork-reversal", METAFORK, "REPEATS=40 N=20000000", "8 8000000", "0", "2*REPEATS*N"),
    _case("metafork-polynomial", METAFORK, "N=60000", "24000", "2*N*N", "4*N"),
)
_STENCILS_OF_THE_THESIS = (
    _case("thesis-jacobi-1d-3", THESIS, "STEPS=30000 N=65536", "4000 65536", "3*STEPS*N", "4*STEPS*N"),
    _case("thesis-jacobi-2d-5", THESIS, "STEPS=25 N=4096", "4 2400", "5*STEPS*N*N", "4*STEPS*N*N"),
    _case("thesis-jacobi-3d-7", THESIS, "STEPS=20 N=256", "6 160", "7*STEPS*N**3", "4*STEPS*N**3"),
    _case("thesis-jacobi-3d-27", THESIS, "STEPS=15 N=256", "4 140", "27*STEPS*N**3", "4*STEPS*N**3"),
    _case("thesis-sor-1d-3", THESIS, "STEPS=4000 N=65536", "800 32768", "3*STEPS*N", "2*STEPS*N"),
    _case("thesis-sor-2d-5", THESIS, "STEPS=12 N=4096", "4 2048", "5*STEPS*N*N", "2*STEPS*N*N"),
    _case("thesis-sor-3d-7", THESIS, "STEPS=15 N=256", "4 140", "7*STEPS*N**3", "2*STEPS*N**3"),
    _case("thesis-fdtd-2d", THESIS, "STEPS=15 N=4096", "4 2048", "11*STEPS*N*N", "10*STEPS*N*N"),
    _case("thesis-heat-2d-7", THESIS, "STEPS=25 N=4096", "4 2400", "9*STEPS*N*N", "4*STEPS*N*N"),
)

#: Kernels of every shape (products, one pass over a matrix, wavefronts, stencils) on which it is
#: measured at double what sizes cost that are parameters: those whose times are steady.
PARAMETRIC = (
    *("2mm", "syr2k", "doitgen", "mvt", "gesummv", "lu", "jacobi-2d", "heat-3d", "fdtd-2d", "seidel-2d"),
    *("product", "tilek-conv2d", "thesis-jacobi-2d-5"),
)

CASES = (*_PRODUCTS, *_STREAMS, *_SOLVERS, *_STENCILS, *_LISTINGS, *_STENCILS_OF_THE_THESIS)
