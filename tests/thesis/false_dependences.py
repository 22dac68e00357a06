"""Thesis Algorithm 4.2: false dependences that keep Algorithm 4.1 from better hyperplanes, and
their removal by array copying.

    E_p = { e in E, false : H(E - e) != H(E) }                               Definition 4.2, Algorithm 4.2 steps 3 to 9

H(E) is the linear part of what Algorithm 4.1 finds for the dependences E. A stencil wider than a
cross has many anti dependences that ask for the same: none of them hinders alone, and the
definition, taken one dependence at a time, sees none. So the set is also taken as a whole: E_p is
what cannot be put back without losing H(E - all that can be removed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.band_orders import matrix, of
from tests.thesis.access_flow import value_based_dependences
from tests.thesis.array_copying import ArrayCopy, NotCopied, refusal, with_copies
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.hyperplanes import HyperplaneOptions, tiling_hyperplanes
from tilepragma.poly.schedule import Matrix, Schedule
from tilepragma.poly.scop import ScopStatement

FALSE = (DependenceKind.ANTI, DependenceKind.OUTPUT)
"""These only stem from storage being used twice."""
MOST_BUFFERS = 2
"""Copies of two iterations at once remove what one copy's own anti dependences bring back, for stencils of any shape."""


@dataclass(frozen=True)
class Elimination:
    """What Algorithm 4.2 did: the program that results, with its dependences, and the schedules
    before and after.

    Where nothing is gained `copies` is empty and the program is the one given.
    """

    hindering: tuple[Dependence, ...]
    kept: tuple[NotCopied, ...]
    copies: tuple[ArrayCopy, ...]
    statements: tuple[ScopStatement, ...]
    dependences: tuple[Dependence, ...]
    before: Schedule
    after: Schedule


def hindering_alone(
    statements: tuple[ScopStatement, ...],
    dependences: tuple[Dependence, ...],
    options: HyperplaneOptions = HyperplaneOptions(),  # noqa: B008 - frozen
) -> tuple[Dependence, ...]:
    """E_p of Algorithm 4.2 as printed: each false dependence whose removal alone changes the hyperplanes."""
    whole = _linear_parts(statements, dependences, options)
    return tuple(
        each
        for each in dependences
        if each.kind in FALSE and _linear_parts(statements, _without(dependences, [each]), options) != whole
    )


def hindering_together(
    statements: tuple[ScopStatement, ...],
    dependences: tuple[Dependence, ...],
    candidates: Sequence[Dependence],
    options: HyperplaneOptions = HyperplaneOptions(),  # noqa: B008 - frozen
) -> tuple[Dependence, ...]:
    """The candidates that cannot be put back without losing what the absence of all of them gains."""
    free = _without(dependences, candidates)
    best = _linear_parts(statements, free, options)
    if best == _linear_parts(statements, dependences, options):
        return ()
    return _unreturnable(statements, free, tuple(candidates), best, options)


def _unreturnable(
    statements: tuple[ScopStatement, ...],
    kept: tuple[Dependence, ...],
    group: tuple[Dependence, ...],
    best: tuple[Matrix, ...],
    options: HyperplaneOptions,
) -> tuple[Dependence, ...]:
    """Those of the group, known not to come back as a whole, that cannot join `kept`; tested by halves."""
    if len(group) <= 1:
        return group
    hindering: tuple[Dependence, ...] = ()
    middle = len(group) // 2
    for half in (group[:middle], group[middle:]):
        found: tuple[Dependence, ...] = ()
        if _linear_parts(statements, kept + half, options) != best:
            found = _unreturnable(statements, kept, half, best, options)
        kept += _without(half, found)
        hindering += found
    return hindering


def eliminate_false_dependences(
    statements: tuple[ScopStatement, ...],
    dependences: tuple[Dependence, ...],
    options: HyperplaneOptions = HyperplaneOptions(),  # noqa: B008 - frozen
) -> Elimination:
    """Algorithm 4.2: E_p found, and removed by array copying where the program that results has the
    better hyperplanes.

    `statements` carry their accesses. The dependences of the result are value-based.
    """
    before = tiling_hyperplanes(statements, dependences, options)
    refused = {id(each): refusal(each, statements, dependences) for each in dependences if each.kind in FALSE}
    candidates = [each for each in dependences if each.kind in FALSE and refused[id(each)] is None]
    hindering = hindering_together(statements, dependences, candidates, options)
    kept = _kept(statements, dependences, refused, before, options)
    if hindering:
        best = _linear_parts(statements, _without(dependences, hindering), options)
        for buffers in range(1, MOST_BUFFERS + 1):
            changed, copies = with_copies(statements, hindering, buffers)
            found = value_based_dependences(changed)
            after = tiling_hyperplanes(changed, found, options)
            if _parts(after, statements) == best:
                return Elimination(hindering, kept, copies, changed, found, before, after)
    lost = "A copy's own dependences would cost as much as it removes."
    kept += tuple(NotCopied(each, lost) for each in hindering)
    everything = hindering + tuple(each.dependence for each in kept if each.dependence not in hindering)
    return Elimination(everything, kept, (), statements, dependences, before, before)


def _kept(
    statements: tuple[ScopStatement, ...],
    dependences: tuple[Dependence, ...],
    refused: dict[int, str | None],
    before: Schedule,
    options: HyperplaneOptions,
) -> tuple[NotCopied, ...]:
    """The false dependences that hinder alone but cannot be copied away; one test says when there are none at all."""
    stay = [each for each in dependences if each.kind in FALSE and refused[id(each)] is not None]
    parts = _parts(before, statements)
    if _linear_parts(statements, _without(dependences, stay), options) == parts:
        return ()
    return tuple(
        NotCopied(each, refused[id(each)] or "")
        for each in stay
        if _linear_parts(statements, _without(dependences, [each]), options) != parts
    )


def _without(dependences: Sequence[Dependence], removed: Sequence[Dependence]) -> tuple[Dependence, ...]:
    gone = {id(each) for each in removed}
    return tuple(each for each in dependences if id(each) not in gone)


def _linear_parts(
    statements: tuple[ScopStatement, ...], dependences: tuple[Dependence, ...], options: HyperplaneOptions
) -> tuple[Matrix, ...]:
    return _parts(tiling_hyperplanes(statements, dependences, options), statements)


def _parts(schedule: Schedule, statements: tuple[ScopStatement, ...]) -> tuple[Matrix, ...]:
    return tuple(matrix(of(schedule, each.name)) for each in statements)
