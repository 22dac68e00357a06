"""Numbers that the planner and the runtime share: one table, from which the runtime's header is made.

    python -m tilepragma.plan.shared_constants > runtime/base/shared_constants.h

Both must choose alike: what `explain` predicts is what a launch does. A test holds the header to this table.
"""

from __future__ import annotations

#: A block costs as much as so small a part of the default size's rows, since panels are packed for
#: each, and so many times the default size is the most, since what a block goes through must stay
#: in the cache. Of products of 400 to 1000 a side on two and four cores blocks of 200 and 256 rows
#: take 0.89 to 0.96 of the time of 104 to 136 where threads have as many rows; 1000 a side on two
#: cores 0.99 to 1.01 of that of 168.
BLOCK_COST, MOST_TIMES = 5, 3
#: The same where the operations of a kernel are not known, as below diagonals, where rows are not
#: all as much work: threads take smaller blocks in turn.
OTHER_COST, OTHER_TIMES = 12, 2
#: Blocks may have so many rows whatever the default where operations are known: of batches of
#: products, whose default is 4, blocks of 20 take 0.98 of the time of 10.
FEW_ROWS = 24
#: A column costs as much as a twelfth: of 3-D Jacobi 2 steps a tile take 0.97 to 1.14 times as long
#: as 3 where both are even, of SOR on a line 84 and 63 steps take 1.07 and 1.27 times as long as
#: 125. Columns are no wider than by default; so many for each thread are looked at.
COLUMN_COST, COLUMNS_EACH = 12, 2
#: Floating-point operations that are worth a thread where one block would hold all rows: products
#: of 96 a side, which make 2.6 million in 13 us, take as long on two threads as on one; 80 rows by
#: matrices of 1000 a side a quarter of it on four.
LEAST_OPERATIONS = 2**20
#: Nanoseconds of a step of a host loop up to which one core does it all: waking and gathering the
#: pool takes about as long.
BREAK_EVEN = 8000
#: Wavefronts of tiles that overlap at most on cores.
MOST_WAVES = 64
#: The workers that the runtime gives a gang where nobody says anything, by the number of axes: the
#: planner judges by these what is worth staging.
PREFERRED_WORKERS: dict[int, tuple[int, ...]] = {1: (256,), 2: (32, 8), 3: (32, 4, 2)}

_NUMBERS = (
    "BLOCK_COST",
    "MOST_TIMES",
    "OTHER_COST",
    "OTHER_TIMES",
    "FEW_ROWS",
    "COLUMN_COST",
    "COLUMNS_EACH",
    "LEAST_OPERATIONS",
    "BREAK_EVEN",
    "MOST_WAVES",
)


def header() -> str:
    """The table as C."""
    numbers = "".join(f"    TILEK_{name} = {globals()[name]},\n" for name in _NUMBERS)
    rows = ", ".join("{" + ", ".join(map(str, (*row, 1, 1)[:3])) + "}" for row in PREFERRED_WORKERS.values())
    return (
        "/* Made from tilepragma/plan/shared_constants.py, which says what the numbers mean; a test compares. */\n"
        "#ifndef TILEK_SHARED_CONSTANTS_H\n#define TILEK_SHARED_CONSTANTS_H\n\n"
        f"enum {{\n{numbers}}};\n\n#define TILEK_PREFERRED_WORKERS {{{rows}}}\n\n#endif\n"
    )


if __name__ == "__main__":
    print(header(), end="")
