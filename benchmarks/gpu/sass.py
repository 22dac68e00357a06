"""Static counts of the machine code (SASS) of emitted CUDA kernels; needs no GPU.

Each program of `programs/` is translated and run with the real runtime and the real NVRTC, but a
driver that launches nothing (`recorder.c`): what it is given to load is what a device of
that architecture would get for these sizes. A row tells of one entry point:

    local       bytes of local memory a thread: spills, and arrays that found no registers
    occupancy   by registers, shared memory and the block of the launch (model/occupancy.py), in %
    code        instructions
    loop        those of the innermost loop that does the work
    work        those of them that do it, such as the product of a stencil's point
    point       instructions a point, in the loop, or in all of the code where there is no loop

Points come from the work: a point of a stencil has one product, whatever the compiler unrolls.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.gpu.cubin import EntryPoint, Instruction, entry_points, loops, nvdisasm, reachable, wheel_file
from benchmarks.gpu.kernel_runs import kernel_settings, sources_of
from benchmarks.measure import COMPILER, EXACT, TILECC, BenchmarkError, checked_output, environment
from tilepragma.cli.runtime_library import runtime_includes
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.model.occupancy import occupancy

HERE = Path(__file__).resolve().parent
#: Devices with NVIDIA's architectures that kernels are emitted for: sm_80 and sm_90.
DEVICES = ("a100", "h100")
LEAST_OCCUPANCY = 50
_PRODUCT, _SUM, _STORE = r"[FD]MUL\b", r"FADD\b", r"STG\b"
#: Of a device that is described (numbers of CUdevice_attribute): the largest block, and grid, no
#: limit of a display's, cooperative launches.
_LIMITS = {1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535, 17: 0, 95: 1}


@dataclass(frozen=True)
class Kernel:
    """A kernel of `programs/`, and the sizes at which it is recorded. Its entry points' names begin
    with `name`. `count` instructions that match `work` compute a point.
    """

    name: str
    n: int
    steps: int = 1
    work: str = _PRODUCT
    count: int = 1


@dataclass(frozen=True)
class Program:
    """Kernels of a file of `programs/`; `tiles` is TILEK_TILES of its translation."""

    name: str
    kernels: tuple[Kernel, ...]
    source: str = ""
    tiles: str = "auto"


PROGRAMS = (
    Program(
        "elementwise",
        (
            Kernel("axpy", 1 << 22),
            Kernel("reversal", 1 << 22, work=_STORE),
            Kernel("transpose", 2048, work=_STORE),
            Kernel("gather", 1 << 22, work=_STORE),
            Kernel("sum", 1 << 22, work=_SUM),
        ),
    ),
    Program(
        "stencils",
        (
            *(Kernel(name, 2048) for name in ("star2d1r", "star2d1r_double", "box2d1r")),
            *(Kernel(name, 256) for name in ("star3d1r", "box3d1r")),
            Kernel("conv2d", 2048, count=25),
            *(Kernel(name, 2048, 4) for name in ("jacobi2d", "fdtd2d")),
        ),
    ),
    Program("overlapped", (Kernel("jacobi2d", 2048, 12),), "stencils", "overlapped"),
    Program(
        "products",
        (
            *(Kernel(name, 2048) for name in ("gemv", "gemv_transposed", "mvt", "sgemm", "syrk")),
            Kernel("nbody", 2048, work=r"MUFU\.RSQ\b"),
        ),
    ),
    Program("sweeps", (Kernel("gauss_seidel", 1024, 16), Kernel("sor3d", 128, 16))),
)


@dataclass(frozen=True)
class Launch:
    """A recorded launch: the entry point, the module it is of, and the threads of a block."""

    module: Path
    entry: str
    threads: int


@dataclass(frozen=True)
class Row:
    """The counts of an entry point. `loop` is 0 without a loop; `point` is in tenths, 0 where there
    is no work. `reason` is a person's, for what would else be a fault. `region`: the instructions
    that `point` counts.
    """

    entry: str
    sm: int
    threads: int
    registers: int
    local: int
    shared: int
    occupancy: int
    code: int
    loop: int
    work: int
    point: int
    reason: str = ""
    region: tuple[Instruction, ...] = field(default=(), compare=False, repr=False)

    @property
    def key(self) -> tuple[str, int]:
        return self.entry, self.sm


# ---- Recording -------------------------------------------------------------------------------------


def nvrtc() -> tuple[Path, str]:
    """The wheel's library and its version. Raises BenchmarkError without it."""
    return wheel_file("nvidia-cuda-nvrtc-cu12", "libnvrtc.so.12")


def compilers() -> str:
    """What the counts depend on besides us. Raises BenchmarkError where it is missing."""
    return f"NVRTC {nvrtc()[1]}, nvdisasm {nvdisasm()[1]}"


def rows_of(program: Program, folder: Path) -> tuple[Row, ...]:
    """The rows of a program for all DEVICES; it is built in `folder`. Raises BenchmarkError."""
    recorder, built = folder / "recorder.so", folder / program.name
    shared = ("-std=c11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", *runtime_includes())
    _run((COMPILER, *shared, "-o", str(recorder), str(HERE / "recorder.c")))
    sources = sources_of(program.source or program.name)
    _run((*TILECC, *EXACT, "-o", str(built), *sources, "-lm"), TILEK_TILES=program.tiles)
    result = []
    for name in DEVICES:
        gpu = named_device(name)
        assert isinstance(gpu, Gpu)
        records = folder / f"{program.name}.{name}"
        records.mkdir()
        result += list(_rows(program, gpu, _recorded(program, built, recorder, gpu, records)))
    return tuple(sorted(result, key=lambda row: row.key))


def _recorded(program: Program, built: Path, recorder: Path, gpu: Gpu, folder: Path) -> Sequence[Launch]:
    """The launches of a run, each entry point once: the first of its largest block."""
    major, minor = divmod(_architecture(gpu), 10)
    attributes = _LIMITS | {13: int(gpu.clock / 1e3), 16: gpu.multiprocessors, 75: major, 76: minor}
    _run(
        (str(built), "-", *(kernel_settings(kernel.name, kernel.n, kernel.steps) for kernel in program.kernels)),
        TILEK_TARGET="cuda",
        TILEK_STRICT="1",
        TILEK_CACHE_DIR=str(folder / "cache"),
        TILEK_CUDA_LIBRARY=str(recorder),
        TILEK_NVRTC_LIBRARY=str(nvrtc()[0]),
        TILEK_RECORDER_FOLDER=str(folder),
        TILEK_RECORDER_ATTRIBUTES=",".join(f"{number}:{value}" for number, value in attributes.items()),
    )
    launches: dict[str, Launch] = {}
    for line in (folder / "launches").read_text().splitlines():
        module, entry, *sizes = line.split()
        x, y, z = map(int, sizes[3:])
        if entry not in launches or launches[entry].threads < x * y * z:
            launches[entry] = Launch(folder / f"{module}.cubin", entry, x * y * z)
    return tuple(launches.values())


def _run(command: tuple[str, ...], **variables: str) -> None:
    """With this source tree, and nothing of the user's settings and tuned sizes but the cache."""
    kept = {
        name: value
        for name, value in environment().items()
        if not name.startswith("TILEK_") or name in ("TILEK_CACHE_DIR", "TILEK_CC")
    }
    apart = {"TILEK_DATA_DIR": str(HERE / "no-data")}
    checked_output(command, kept | apart | variables)


def _rows(program: Program, gpu: Gpu, launches: Sequence[Launch]) -> Iterator[Row]:
    modules = sorted({launch.module for launch in launches})
    entries = entry_points(modules, _architecture(gpu))
    for launch in launches:
        candidates = [kernel for kernel in program.kernels if re.match(rf"{kernel.name}(_|$)", launch.entry)]
        kernel = max(candidates, key=lambda each: len(each.name))
        yield row_of(kernel, launch, gpu, entries[launch.module][launch.entry])


def _architecture(gpu: Gpu) -> int:
    assert gpu.compute_capability is not None
    major, minor = gpu.compute_capability
    return 10 * major + minor


def row_of(kernel: Kernel, launch: Launch, gpu: Gpu, entry: EntryPoint) -> Row:
    """The counts of one launch's entry point."""
    sm = _architecture(gpu)
    # From 9.0 on the section begins with the system's bytes.
    shared = max(entry.shared - (gpu.shared_reserved if sm >= 90 else 0), 0)
    share = occupancy(gpu, launch.threads, entry.registers, shared).share
    body, work = _innermost(kernel, entry)
    region = tuple(entry.instructions[place] for place in sorted(body or reachable(entry.instructions)))
    return Row(
        launch.entry,
        sm,
        launch.threads,
        entry.registers,
        entry.local,
        shared,
        int(100 * share),
        len(entry.instructions),
        len(body),
        work,
        round(10 * len(region) * kernel.count / work) if work else 0,
        region=region,
    )


def _innermost(kernel: Kernel, entry: EntryPoint) -> tuple[frozenset[int], int]:
    """The innermost loop that does most of the work, and its work; without loops that do any, no
    body and the work of all the code.
    """
    points = {
        place: _elements(instruction.opcode)
        for place, instruction in enumerate(entry.instructions)
        if re.match(kernel.work, instruction.opcode)
    }
    bodies = [loop.body for loop in loops(entry.instructions) if any(place in loop.body for place in points)]
    innermost = [body for body in bodies if not any(other < body for other in bodies)]
    if not innermost:
        return frozenset(), sum(points.values())
    works = {body: sum(count for place, count in points.items() if place in body) for body in innermost}
    best = max(innermost, key=lambda body: (works[body], -min(body)))
    return best, works[best]


def _elements(opcode: str) -> int:
    """The words that an access moves at once, of 32 bits."""
    return {"64": 2, "128": 4}.get(opcode.rsplit(".", 1)[-1], 1) if opcode.startswith("STG") else 1


# ---- The table -------------------------------------------------------------------------------------

_HEADING = ("entry point", "sm", "block", "regs", "local", "shared", "occupancy", "code", "loop", "work", "point")


def table_text(rows: tuple[Row, ...], versions: str) -> str:
    """The table that `table_of` reads."""
    cells = [_HEADING, *(_cells(row) for row in rows)]
    widths = [max(len(cell[column]) for cell in cells) for column in range(len(_HEADING))]
    lines = [f"# {versions}"]
    for number, cell in enumerate(cells):
        columns = zip(cell, widths, strict=True)
        line = "  ".join(text.ljust(width) if k == 0 else text.rjust(width) for k, (text, width) in enumerate(columns))
        reason = rows[number - 1].reason if number > 0 else ""
        lines.append(f"{line}  # {reason}" if reason else line.rstrip())
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (row.sm, row.threads, row.registers, row.local, row.shared)
    counts = (row.code, row.loop or "-", row.work or "-", f"{row.point / 10:.1f}" if row.point else "-")
    return (row.entry, *map(str, numbers), f"{row.occupancy}%", *map(str, counts))


def table_of(text: str) -> tuple[str, tuple[Row, ...]]:
    """The versions and the rows of a table."""
    versions, _, *lines = text.splitlines()
    rows = []
    for line in lines:
        cells, _, reason = line.partition("  # ")
        entry, *numbers = cells.replace("%", "").split()
        *counts, point = (0.0 if number == "-" else float(number) for number in numbers)
        rows.append(Row(entry, *map(int, counts), round(10 * point), reason.strip()))
    return versions.removeprefix("# "), tuple(rows)


def changes(table: tuple[Row, ...], rows: tuple[Row, ...]) -> Iterator[str]:
    """What is not as in the table, and what would need a reason there, a line each."""
    known, now = {row.key: row for row in table}, {row.key: row for row in rows}
    for (entry, sm), row in sorted({**known, **now}.items()):
        where = f"{entry} for sm_{sm}"
        old, new = known.get(row.key), now.get(row.key)
        if old is None or new is None:
            yield f"{where}: {'is new' if old is None else 'is there no more'}"
        elif rises(old, new):
            yield f"{where} rose: {', '.join(rises(old, new))}"
        elif replace(new, reason=old.reason) != old:
            columns = zip(_HEADING, _cells(old), _cells(new), strict=True)
            differing = (f"{name} {before} -> {after}" for name, before, after in columns if before != after)
            yield f"{where} is no worse, but not as it was: {', '.join(differing)}"
        kept = replace(row, reason=old.reason if old is not None else "")
        if new is not None and faults(kept):
            yield f"{where} has {' and '.join(faults(kept))}: say why in the table, after # at the end of its line"


def rises(before: Row, after: Row) -> tuple[str, ...]:
    """What became worse, in words."""
    counts = (
        ("instructions", before.code, after.code),
        ("instructions a point", before.point / 10, after.point / 10),
        ("bytes of local memory", before.local, after.local),
        ("% of occupancy lost", 100 - before.occupancy, 100 - after.occupancy),
    )
    return tuple(f"{old} -> {new} {name}" for name, old, new in counts if new > old)


def faults(row: Row) -> tuple[str, ...]:
    """What the row would need a reason for."""
    local = f"{row.local} bytes of local memory" if row.local else ""
    low = f"an occupancy of {row.occupancy} %" if row.occupancy < LEAST_OCCUPANCY else ""
    return tuple(each for each in (local, low) if each) if not row.reason else ()


def merged(before: tuple[Row, ...], after: tuple[Row, ...], *, rising: bool) -> tuple[Row, ...]:
    """The new rows, with the reasons of the old; the old ones where a count rose, unless `rising`."""
    known = {row.key: row for row in before}
    result = []
    for row in after:
        old = known.get(row.key)
        keep = old is not None and not rising and rises(old, row)
        result.append(old if old is not None and keep else replace(row, reason=old.reason if old else ""))
    return tuple(result)


def main() -> int:
    """Print the tables of all programs, or of those that are named."""
    names = [program.name for program in PROGRAMS]
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.sass", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(names)}; all without any")
    options.add_argument(
        "--show", action="append", default=[], metavar="ENTRY", help="and the instructions of its loop"
    )
    given = options.parse_args()
    unknown = set(given.programs) - set(names)
    if unknown:
        options.error(f"no program is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    try:
        versions = compilers()
        for program in PROGRAMS:
            if not given.programs or program.name in given.programs:
                with tempfile.TemporaryDirectory() as folder:
                    rows = rows_of(program, Path(folder))
                print(table_text(rows, versions), flush=True)
                for row in rows:
                    if row.entry in given.show:
                        print(f"{row.entry} for sm_{row.sm}, {'the loop' if row.loop else 'all'}:")
                        print("".join(f"    {each}\n" for each in row.region))
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
