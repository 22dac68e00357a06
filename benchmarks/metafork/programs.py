"""The slides' four programs, the sizes and blocks of their tables, and the speed-ups printed there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parent / "kernels"
Block = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """One table. `parameters` are those of a block, in the table's order; `names` the tile sizes of
    the plan for cores that stand for them there, one for each (empty: the plan has none). `printed`
    has the slides' speed-ups over serial C by block, for the powers of two in `printed_sizes`;
    `ppcg` is the block of PPCG's row and its speed-ups. `full` and `quick` are the sizes here, as
    powers of two.
    """

    name: str
    title: str
    parameters: tuple[str, ...]
    names: tuple[str, ...]
    full: tuple[int, ...]
    quick: tuple[int, ...]
    printed_sizes: tuple[int, ...]
    printed: Mapping[Block, tuple[float, ...]]
    ppcg: tuple[Block, tuple[float, ...]]
    steps: int = 0

    @property
    def source(self) -> Path:
        """Its C text."""
        return KERNELS / f"{self.name}.c"

    def settings(self, size: int, block: Block) -> str:
        """What a run of the program is told, as benchmarks/polybench_support.c takes it."""
        said = {"N": size, "STEPS": self.steps, **dict(zip(("B", "D", "E"), (1, 1, 1), strict=True))}
        said |= dict(zip(self.parameters, block, strict=True))
        return ",".join(["type=float", "seed=1", "time=1", *(f"{name}={value}" for name, value in said.items())])

    def tile_sizes(self, block: Block) -> str:
        """What TILEK_SIZES says for a block on cores."""
        return ",".join(f"{name}={value}" for name, value in zip(self.names, block, strict=True))

    @property
    def printed_best(self) -> Block:
        """The slides' best block at their largest size."""
        return max(self.printed, key=lambda block: self.printed[block][-1])


PROGRAMS = (
    Program(
        "reversal",
        "Reversing a one-dimensional array",
        ("B",),
        (),
        (23, 24, 25),
        (23, 24),
        (23, 24, 25, 26),
        {
            (16,): (3.558, 3.666, 3.450, 3.445),
            (32,): (7.107, 6.983, 7.039, 6.831),
            (64,): (12.227, 12.591, 12.763, 12.782),
            (128,): (17.743, 19.506, 19.733, 19.952),
            (256,): (19.035, 21.235, 22.416, 21.841),
            (512,): (18.127, 18.017, 19.206, 20.587),
        },
        ((32,), (8.312, 8.121, 8.204, 8.040)),
    ),
    Program(
        "jacobi",
        "1D-Jacobi",
        ("B",),
        ("t_i_size",),
        (13, 14, 15),
        (13, 15),
        (13, 14, 15),
        {
            (16,): (1.217, 1.890, 2.954),
            (32,): (1.718, 2.653, 5.059),
            (64,): (1.679, 3.222, 7.767),
            (128,): (1.819, 3.325, 10.127),
            (256,): (1.767, 3.562, 10.077),
            (512,): (2.081, 3.161, 9.654),
        },
        ((32,), (1.416, 2.424, 5.035)),
        steps=200,
    ),
    Program(
        "product",
        "Matrix multiplication",
        ("B", "D"),
        ("i_size", "i_size_2"),
        (10, 11),
        (9, 10),
        (10, 11),
        {
            (4, 8): (22.620, 80.610),
            (4, 16): (39.639, 142.244),
            (4, 32): (37.372, 135.583),
            (8, 8): (48.463, 172.871),
            (8, 16): (43.720, 162.263),
            (8, 32): (33.071, 122.960),
            (16, 8): (30.128, 101.367),
            (16, 16): (34.619, 133.497),
            (16, 32): (22.600, 84.319),
        },
        ((16, 32), (129.853, 393.851)),
    ),
    Program(
        "lu",
        "LU decomposition",
        ("B", "D", "E"),
        ("k_size", "i_2_size", "j_size"),
        (10, 11),
        (8, 9),
        (12, 13),
        {
            (32, 4, 4): (18.906, 27.025),
            (64, 4, 4): (18.763, 27.316),
            (128, 4, 4): (18.713, 27.109),
            (256, 4, 4): (18.553, 27.259),
            (512, 4, 4): (18.607, 27.353),
            (32, 8, 8): (34.936, 52.850),
            (64, 8, 8): (34.163, 53.133),
            (128, 8, 8): (34.050, 52.731),
            (256, 8, 8): (33.932, 52.616),
            (512, 8, 8): (34.850, 53.112),
            (32, 16, 16): (32.310, 41.131),
            (64, 16, 16): (32.093, 40.829),
            (128, 16, 16): (32.968, 41.219),
            (256, 16, 16): (32.229, 41.246),
            (512, 16, 16): (32.806, 40.705),
        },
        ((32, 16, 32), (31.497, 39.068)),
    ),
)
