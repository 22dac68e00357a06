"""All constructs and clauses, and which construct takes which clause (docs/LANGUAGE.md)."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.source_ranges import SourceRange
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
    **{f"{prefix}{name}": name for prefix in ("p", "present_or_") for name in ("copy", "copyin", "copyout", "create")},
}
FOREIGN_CONSTRUCTS = {"parallel": "kernel", "kernels": "kernel", "serial": "kernel", "for": "loop", "target": "kernel"}


def nearest_clause(word: str, construct: Construct) -> str | None:
    """The clause that `word` likely means, those of `construct` first."""
    return _FOREIGN_CLAUSES.get(word) or nearest(word, CLAUSES[construct]) or nearest(word, ALL_CLAUSES)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` likely misspells."""
    return next(iter(difflib.get_close_matches(word, candidates, 1, 0.6)), None)


def unknown_word(
    word: str,
    known: Collection[str],
    place: SourceRange,
    fault: str,
    every: str,
    foreign: Mapping[str, str] = MappingProxyType({}),
) -> SourceError:
    """The error for a word that is none of the `known` ones; `foreign` ones are translated."""
    near = foreign.get(word) or nearest(word, known)
    return source_error(place, fault, f"did you mean '{near}'? {every}" if near else every)


def listed(words: Iterable[str], joint: str = "and") -> str:
    """`words` as prose: "a, b and c"."""
    *head, last = words
    return f"{', '.join(head)} {joint} {last}" if head else last
