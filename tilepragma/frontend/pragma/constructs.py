"""All constructs and clauses, and which construct takes which clause (docs/LANGUAGE.md)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from tilepragma.ir.directives import Construct

_OPENACC_KERNEL = ("copy", "copyin", "copyout", "create", "present")
_QUEUES = ("if", "async", "wait")
_KERNEL = (
    *("data", "num_threads", "num_gangs", "num_workers", "target", "device", *_QUEUES, "name", "reduction"),
    *("private", "firstprivate", "sor", "independent", *_OPENACC_KERNEL),
)
_LOOP = ("tile", "unroll", "seq", "independent", "reduction", "private", "collapse")

CLAUSES: dict[Construct, tuple[str, ...]] = {
    Construct.KERNEL: _KERNEL,
    Construct.LOOP: _LOOP,
    Construct.KERNEL_LOOP: (*_KERNEL, *(name for name in _LOOP if name not in _KERNEL)),
    Construct.DATA: (*_OPENACC_KERNEL, *_QUEUES),
    Construct.ENTER_DATA: ("copyin", "create", *_QUEUES),
    Construct.EXIT_DATA: ("copyout", "delete", *_QUEUES),
    Construct.UPDATE: ("self", "device", *_QUEUES),
    Construct.WAIT: (),
    Construct.ROUTINE: (),
}
"""The clauses each construct takes."""

ALL_CLAUSES: tuple[str, ...] = tuple(dict.fromkeys(name for names in CLAUSES.values() for name in names))
"""Every clause."""

# Words of OpenACC and OpenMP whose meaning is not that of the nearest spelling.
_FOREIGN_CLAUSES = {
    "gang": "tile(gang)",
    "worker": "tile(worker)",
    "vector": "tile(worker)",
    "vector_length": "num_workers",
    "num_teams": "num_gangs",
    "schedule": "tile",
    "map": "data",
    "host": "self",
    "pcopy": "copy",
    "pcopyin": "copyin",
    "pcopyout": "copyout",
    "pcreate": "create",
    "present_or_copy": "copy",
    "present_or_copyin": "copyin",
    "present_or_copyout": "copyout",
    "present_or_create": "create",
}
_FOREIGN_CONSTRUCTS = {"parallel": "kernel", "kernels": "kernel", "serial": "kernel", "for": "loop", "target": "kernel"}


def nearest_clause(word: str, construct: Construct) -> str | None:
    """The clause that `word` likely means, those of `construct` first."""
    return _FOREIGN_CLAUSES.get(word) or nearest(word, CLAUSES[construct]) or nearest(word, ALL_CLAUSES)


def nearest_construct(word: str) -> str | None:
    """The construct that `word` likely means."""
    return _FOREIGN_CONSTRUCTS.get(word) or nearest(
        word, ("kernel", "loop", "data", "enter", "exit", "update", "wait", "routine")
    )


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` likely misspells."""
    return next(iter(difflib.get_close_matches(word, candidates, 1, 0.6)), None)


def constructs_with(clause: str) -> list[str]:
    """The constructs that take `clause`."""
    return [construct.value for construct, names in CLAUSES.items() if clause in names]


def listed(words: Iterable[str], joint: str = "and") -> str:
    """`words` as prose: "a, b and c"."""
    *head, last = words
    return f"{', '.join(head)} {joint} {last}" if head else last
