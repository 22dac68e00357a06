"""Speed-ups by block and size, as the slides print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.metafork.programs import Block, Program

#: A row of the default block, and one of a given block, in one of two forms: workers of gangs,
#: or the tile sizes of the plan for cores.
UNSAID, WORKERS, TILES = "nothing said", "B workers", "TILEK_SIZES"


@dataclass(frozen=True)
class Line:
    """A row of a table: how the kernel is launched."""

    form: str
    block: Block = ()

    @property
    def label(self) -> str:
        """As the slides write blocks: `32, 8 * 8`, `16 * 32`."""
        if not self.block:
            return self.form
        first, rest = (self.block[:1], self.block[1:]) if len(self.block) == 3 else ((), self.block)
        return ", ".join(filter(None, ["".join(map(str, first)), " * ".join(map(str, rest))]))


@dataclass
class Measured:
    """A program on a target: seconds of each run of the original by size, and of the kernel by line
    and size. `compiled` counts what the driver compiled for all blocks of the form of workers, None
    where there is no driver; `wrong` are runs whose results are not the original's, bit for bit.
    """

    program: str
    target: str
    original: dict[int, list[float]] = field(default_factory=dict)
    ours: dict[Line, dict[int, list[float]]] = field(default_factory=dict)
    compiled: int | None = None
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def speedup(self, line: Line, size: int) -> float | None:
        """The original's median over ours; None where either did not run."""
        own, other = self.ours.get(line, {}).get(size, []), self.original.get(size, [])
        return median(other) / median(own) if own and other else None

    def best(self, form: str, size: int) -> Line | None:
        """The fastest of the blocks in a form."""
        result = {line: speed for line in self.ours if line.form == form and (speed := self.speedup(line, size))}
        return max(result, key=result.__getitem__) if result else None


def table(program: Program, measured: Measured, sizes: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: speed-ups here, and the slides' beside."""
    head = ["block", "how", *(f"2^{size}" for size in sizes), *(f"slides 2^{size}" for size in program.printed_sizes)]
    block, speeds = program.ppcg
    rows = [[Line(WORKERS, block).label, "PPCG", *("" for _ in sizes), *(f"{each:.3f}" for each in speeds)]]
    for line in measured.ours:
        own = [measured.speedup(line, size) for size in sizes]
        printed = program.printed.get(line.block, ())
        cells = [f"{each:.3f}" for each in printed] or [""] * len(program.printed_sizes)
        rows.append(
            [
                line.label if line.block else "",
                line.form,
                *("" if each is None else f"{each:.3f}" for each in own),
                *cells,
            ]
        )
    return head, rows


def remarks(program: Program, measured: Measured, sizes: Sequence[int]) -> list[str]:
    """What the table says, and what failed."""
    last, said = sizes[-1], []
    slides = Line(WORKERS, program.printed_best).label
    for form in (WORKERS, TILES):
        best = measured.best(form, last)
        if best is not None:
            said.append(
                f"{program.name} on {measured.target}, {form}: best at 2^{last} is {best.label} (slides: {slides})"
            )
    if measured.compiled is not None:
        said.append(
            f"{program.name} on {measured.target}: kernels compiled for all blocks and sizes: {measured.compiled}"
        )
    said += [f"{program.name} on {measured.target}: {each}" for each in (*measured.wrong, *measured.failed)]
    return said


def as_json(machine: Mapping[str, Any], found: Sequence[Measured]) -> dict[str, Any]:
    """Everything, for a file."""
    return {
        "machine": dict(machine),
        "programs": [
            {
                **{name: value for name, value in vars(item).items() if name != "ours"},
                "ours": [
                    {"form": line.form, "block": line.block, "seconds": {str(size): each for size, each in own.items()}}
                    for line, own in item.ours.items()
                ],
            }
            for item in found
        ],
    }
