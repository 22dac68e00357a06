"""Constants that the planner and the runtime share: a table that also gives the runtime's header.

    python -m tilepragma.plan.shared_constants > runtime/base/shared_constants.h

Both must choose alike: a launch does what `explain` predicts. A test compares header and table.
"""

from __future__ import annotations

#: A block costs as much as 1/BLOCK_COST of the default size's rows, since each block packs its
#: panels. A block has at most MOST_TIMES the default size, since its data must stay in the cache.
#: For products of 400 to 1000 a side on two and four cores, blocks of 200 and 256 rows take 0.89 to
#: 0.96 of the time of 104 to 136 where threads get equal numbers of rows; for 1000 a side on two
#: cores 0.99 to 1.01 of that of 168.
BLOCK_COST, MOST_TIMES = 5, 3
#: The same where a kernel's operations are unknown. Rows below diagonals, say, are not equal work:
#: threads take smaller blocks in turn.
OTHER_COST, OTHER_TIMES = 12, 2
#: A block may have this many rows whatever the default where operations are known: for batches of
#: products, whose default is 4, blocks of 20 take 0.98 of the time of 10.
FEW_ROWS = 24
#: A column costs as much as 1/COLUMN_COST of a thread's rows: 3-D Jacobi takes 0.97 to 1.14 times
#: as long with 2 steps a tile as with 3 where both are balanced; SOR on a line takes 1.07 and 1.27
#: times as long with 84 and 63 steps as with 125. Columns are no wider than by default; the search
#: tries COLUMNS_EACH columns a thread.
COLUMN_COST, COLUMNS_EACH = 12, 2
#: Floating-point operations that are worth a thread where one block would hold all rows: products
#: of 96 a side, 2.6 million operations in 13 us, take as long on two threads as on one; 80 rows by
#: matrices of 1000 a side take a quarter of the time on four.
LEAST_OPERATIONS = 2**20
#: One core runs host-loop steps of at most this many nanoseconds: to wake and join the pool takes
#: about as long.
BREAK_EVEN = 8000
#: The most wavefronts of tiles that overlap on cores.
MOST_WAVES = 64
#: The runtime's default workers of a gang by the number of axes; profitability is judged by these.
#: With one axis: axpy, a reversal and jacobi-1d in GPGPU-Sim take 0.96, 0.96 and 0.99 of the cycles
#: with 128 in place of 256, since the last gangs of a launch leave multiprocessors idle.
PREFERRED_WORKERS: dict[int, tuple[int, ...]] = {1: (128,), 2: (32, 8), 3: (32, 4, 2)}
#: The most workers along the only axis of gangs that run all iterations of a loop, such as the
#: columns of a streamed tile; and of gangs that reduce, which are at most REDUCING_GANGS.
WIDE_GANG_WORKERS = 256

#: Where gangs are fewer than a GPU's multiprocessors they are halved, but not below this many
#: workers: two warps of NVIDIA's, or a wavefront of 64. A x of 512 x 512 in GPGPU-Sim, with 20
#: multiprocessors, takes 0.71 of the cycles with gangs of 64 in place of 256.
LEAST_WORKERS = 64
#: A gang that copies its tile to shared memory and back keeps so many of the preferred workers,
#: though fewer compute: 3 sweeps over 90 x 90 in GPGPU-Sim, in tiles of 8 x 16 x 32, take 91 664
#: cycles with 128 workers and 114 318 with 64.
COPYING_WORKERS = 128
#: Workers of a GPU that run in step: a warp of NVIDIA's.
LANES = 32

#: Workers of a multiprocessor that hide the latency of what they compute, and how many points'
#: time it takes to copy an element to shared memory. Products in GPGPU-Sim, 20 multiprocessors: of
#: 130 x 134 with 8 points a worker in 15 gangs 33 095 cycles, with 4 in 25 gangs 28 984. 512
#: workers would give 2 points in place of 4 to products of about 128, for 4 to 11 % of the cycles,
#: with 1.5 times the instructions (docs/MODEL.md).
HIDING_WORKERS, COPIED_POINTS = 320, 4
#: Neighbouring points of a worker that shared memory serves together.
VECTOR_POINTS = 4
#: The most gangs of a launch with a reduction, and of threads for each multiprocessor.
REDUCING_GANGS, THREADS_PER_UNIT = 1024, 64
#: The most elements of an array whose places devices compute in 32 bits.
SHORT_ELEMENTS = 2**30


def header() -> str:
    """The table as C."""
    numbers = "".join(f"    TILEK_{name} = {value},\n" for name, value in globals().items() if isinstance(value, int))
    rows = ", ".join("{" + ", ".join(map(str, (*row, 1, 1)[:3])) + "}" for row in PREFERRED_WORKERS.values())
    return (
        "/* Made from tilepragma/plan/shared_constants.py, which explains the numbers; a test compares. */\n"
        "#ifndef TILEK_SHARED_CONSTANTS_H\n#define TILEK_SHARED_CONSTANTS_H\n\n"
        f"enum {{\n{numbers}}};\n\n#define TILEK_PREFERRED_WORKERS {{{rows}}}\n\n#endif\n"
    )


if __name__ == "__main__":
    print(header(), end="")
