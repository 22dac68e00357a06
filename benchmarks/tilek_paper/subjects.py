"""The paper's four kernels (Listing 7), the inputs at which they are measured here, and what the paper says of them (Tables 1 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import ROOT
from tilepragma.tuning.size_ranges import parse_ranges, sizes_text

Numbers = Mapping[str, int]


@dataclass(frozen=True)
class CalibrationTarget:
    """A kernel. `flops` is Table 1's count, in operations. `full` and `quick` are inputs, as
    `tilepragma tune --sizes` has them. `paper` has Table 4's mean and worst speed-up of the
    adaptive kernel over the best on average, on threads and on the accelerator.
    """

    name: str
    sample: str
    flops: Callable[[Numbers], int]
    full: str
    quick: str
    paper: Mapping[str, tuple[float, float]]

    @property
    def source(self) -> Path:
        """The sample of the kernel."""
        return ROOT / "samples" / self.sample / f"{self.sample}.c"

    def points(self, quick: bool) -> dict[str, Numbers]:
        """The inputs by their texts, the smallest first."""
        result = parse_ranges([self.quick if quick else self.full])
        return {sizes_text(each): each for each in sorted(result, key=self.flops)}


SUBJECTS = (
    CalibrationTarget(
        "2d-conv",
        "conv2d",
        lambda at: 17 * at["n"] * at["m"],
        "n=128:4096:x2,m=128:4096:x2",
        "n=200:3200:x4,m=200:3200:x4",
        {"threads": (1.06, 1.01), "accelerator": (1.48, 8.00)},
    ),
    CalibrationTarget(
        "sgemm",
        "sgemm",
        # As printed; the listing has 3 p + 1.
        lambda at: at["n"] * at["m"] * (6 * at["p"] + 1),
        "n=100:800:x2,m=100:800:x2,p=100:400:x2",
        "n=100:400:x4,m=100:400:x4,p=100:400:x4",
        {"threads": (1.02, 1.17), "accelerator": (1.01, 5.33)},
    ),
    CalibrationTarget(
        "syr2k",
        "syr2k",
        lambda at: at["n"] ** 2 * (6 * at["m"] + 1),
        "n=100:800:+100,m=50:800:x2",
        "n=100:400:x2,m=100:400:x4",
        {"threads": (1.01, 1.31), "accelerator": (1.01, 1.21)},
    ),
    CalibrationTarget(
        "doitgen",
        "doitgen",
        lambda at: 2 * at["R"] * at["Q"] * at["P"] ** 2,
        "R=10:90:x3,Q=10:90:x3,P=20:160:x2",
        "R=10:40:x4,Q=10:40:x4,P=40:160:x4",
        {"threads": (1.02, 1.03), "accelerator": (1.15, 2.46)},
    ),
)
