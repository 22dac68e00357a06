"""What is timed on a GPU, and at which sizes."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.formulas import sizes_of, value_of

STREAMING, REVERSAL, PRODUCT, JACOBI_2D, JACOBI_3D = "streaming", "reversal", "sgemm", "jacobi-2d", "jacobi-3d"
#: Of many small launches: seconds of a whole run with CUDA's graphs over those without.
GRAPHS = "graphs"
#: Of wavefronts of tiles: seconds of a whole run with one launch for all wavefronts over those with
#: a launch for each.
PERSISTENT = "persistent"


@dataclass(frozen=True)
class GpuCase:
    """A kernel of the suite's or of `kernels/`. `moved`: bytes if each step or repetition reads and
    writes each element once, and `flops`: both arithmetic in the sizes and in `width`, the bytes of
    an element. `figure`: what it says of which goal. `check`: small sizes that divide nothing, at
    which results are compared with the original's. `tiles` is TILEK_TILES of its translation.
    `label` names the case where its program does not say enough.
    """

    program: str
    type: str
    figure: str
    sizes: str
    check: str
    moved: str
    flops: str
    tiles: str = "auto"
    label: str = ""

    @property
    def title(self) -> str:
        """What the user calls it."""
        return self.label or self.program

    @property
    def name(self) -> str:
        return f"{self.title}.{self.type}"

    def numbers(self, check: bool) -> dict[str, int]:
        return sizes_of(self.check if check else self.sizes)

    def count(self, formula: str, check: bool) -> float:
        """The value of `moved` or `flops`."""
        known = self.numbers(check) | {"width": 8 if self.type == "double" else 4}
        return float(value_of(formula, known))


_VECTOR = "REPEATS*N*N*width"
CASES = (
    GpuCase(
        "metafork-reversal", "float", REVERSAL, "REPEATS=10 N=268435456", "REPEATS=2 N=10007", "2*REPEATS*N*width", "0"
    ),
    GpuCase(
        "metafork-reversal", "double", REVERSAL, "REPEATS=10 N=134217728", "REPEATS=2 N=10007", "2*REPEATS*N*width", "0"
    ),
    *(
        GpuCase(program, type_, STREAMING, "REPEATS=10 N=16384", "REPEATS=2 N=131", _VECTOR, "2*REPEATS*N*N")
        for program in ("ics-mv", "ics-tmv")
        for type_ in ("float", "double")
    ),
    *(
        GpuCase(
            "tilek-conv2d",
            type_,
            STREAMING,
            "REPEATS=10 N=16384 M=16384",
            "REPEATS=2 N=131 M=137",
            f"2*{area}*width",
            f"17*{area}",
        )
        for area in ("REPEATS*N*M",)
        for type_ in ("float", "double")
    ),
    GpuCase("product", "float", PRODUCT, "N=4096", "N=131", "4*N*N*width", "2*N**3"),
    *(
        GpuCase(program, "float", figure, sizes, check, f"2*STEPS*{area}*width", f"{flops}*STEPS*{area}", "overlapped")
        for program, figure, sizes, check, area, flops in (
            ("jacobi-2d", JACOBI_2D, "STEPS=100 N=16384", "STEPS=6 N=131", "N*N", 5),
            ("jacobi-3d", JACOBI_3D, "STEPS=100 N=512", "STEPS=6 N=37", "N**3", 7),
        )
    ),
    GpuCase("lu", "float", GRAPHS, "N=512", "N=37", "2*N**3*width/3", "2*N**3/3"),
    GpuCase(
        "jacobi-2d",
        "float",
        GRAPHS,
        "STEPS=1000 N=256",
        "STEPS=12 N=37",
        "2*STEPS*N*N*width",
        "5*STEPS*N*N",
        label="small-jacobi-2d",
    ),
    GpuCase(
        "thesis-sor-2d-5", "float", PERSISTENT, "STEPS=100 N=4096", "STEPS=40 N=131", "2*STEPS*N*N*width", "5*STEPS*N*N"
    ),
    GpuCase(
        "thesis-sor-2d-5",
        "float",
        PERSISTENT,
        "STEPS=1000 N=512",
        "STEPS=40 N=67",
        "2*STEPS*N*N*width",
        "5*STEPS*N*N",
        label="small-sor-2d",
    ),
    GpuCase(
        "thesis-sor-3d-7", "float", PERSISTENT, "STEPS=20 N=256", "STEPS=20 N=41", "2*STEPS*N**3*width", "7*STEPS*N**3"
    ),
    GpuCase("alignment", "float", PERSISTENT, "N=16384", "N=203", "2*N*N*width", "0"),
)

#: Bytes of the copy and the side of the product that limits are measured with.
LIMITS = (1 << 30, 4096)
CHECK_LIMITS = (1 << 16, 16)


@dataclass(frozen=True)
class Variant:
    """Our code for kernels of `programs/`, or for those that are named. `tiles` is TILEK_TILES of its
    translation; `contract` fuses multiplications with additions, and results differ from the
    original's by no more than `tolerance`.
    """

    name: str
    tiles: str = "auto"
    contract: bool = False
    tolerance: str = "0"
    kernels: tuple[str, ...] = ()

    def has(self, kernel: str) -> bool:
        return not self.kernels or kernel in self.kernels

    @property
    def folder(self) -> str:
        """The name of the folder of its sources."""
        return self.name.replace(" ", "_")


_SWEEPS = ("jacobi2d", "jacobi3d")
VARIANTS = (
    Variant("ours"),
    *(Variant(f"ours {tiles}", tiles=tiles, kernels=_SWEEPS) for tiles in ("overlapped", "streamed")),
    Variant("ours fused", contract=True, tolerance="1e-4", kernels=("sgemm", "syrk", *_SWEEPS)),
)
