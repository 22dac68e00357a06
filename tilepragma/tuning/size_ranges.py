"""The sizes to measure at: `n=256:4096:x2,m=512` and the like, all combinations of all values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping

from tilepragma.base.refusals import CommandError

#: The most combinations.
MOST = 10_000
_RANGE = re.compile(r"\s*([^=\s]+)\s*=\s*(\d+)(?::(\d+)(?::([x+])(\d+))?)?\s*")


def parse_ranges(words: Iterable[str]) -> tuple[dict[str, int], ...]:
    """The combinations in ascending order; an empty one without words. A repeated name has the
    values of all its ranges. Raises CommandError.
    """
    values: dict[str, set[int]] = {}
    for word in (part for whole in words for part in whole.split(",")):
        match = _RANGE.fullmatch(word)
        if match is None:
            raise CommandError(
                f"--sizes {word}: write NAME=INTEGER, NAME=FIRST:LAST:xFACTOR or NAME=FIRST:LAST:+STEP, "
                f"as in n=256:4096:x2"
            )
        values.setdefault(match[1], set()).update(_range(word, match))
    count = math.prod(map(len, values.values()))
    if count > MOST:
        raise CommandError(f"--sizes: there are {count} combinations, and more than {MOST} are not measured")
    combinations = itertools.product(*map(sorted, values.values()))
    return tuple(dict(zip(values, combination, strict=True)) for combination in combinations)


def _range(word: str, match: re.Match[str]) -> list[int]:
    first, last, way = int(match[2]), int(match[3] or match[2]), match[4] or "x"
    step = int(match[5] or 2)
    if last < first:
        raise CommandError(f"--sizes {word}: {last} is less than {first}")
    if step < (2 if way == "x" else 1) or (way == "x" and first == 0 and last > 0):
        raise CommandError(f"--sizes {word}: it would never get to {last}")
    values = []
    value = first
    while value <= last:
        values.append(value)
        if len(values) > MOST:
            raise CommandError(f"--sizes {word}: there are more than {MOST} values")
        value = value * step if way == "x" else value + step
        if value == 0:
            break
    return values


def sizes_text(numbers: Mapping[str, int]) -> str:
    """`m=512,n=256`: the name of sizes in the database and for people."""
    return ",".join(f"{name}={number}" for name, number in sorted(numbers.items()))


def sizes_of(text: str) -> dict[str, int]:
    """The numbers of such a name."""
    return {name: int(number) for name, _, number in (word.rpartition("=") for word in text.split(",") if word)}
