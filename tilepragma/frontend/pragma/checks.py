"""Checks the clauses of one directive against each other: no repetition, no contradiction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.clauses import Clause, Flag, Targets
from tilepragma.ir.directives import (
    AxisKind,
    Construct,
    CountClause,
    DataClause,
    PrivateClause,
    ReductionClause,
    SorClause,
    TileClause,
    TileKind,
)

_SINGLE = (
    *("name", "num_threads", "target", "device", "async", "wait", "if"),
    *("independent", "seq", "unroll", "collapse", "sor"),
)
_AXES = {TileKind.THREAD: AxisKind.THREAD, TileKind.GANG: AxisKind.GANG, TileKind.WORKER: AxisKind.WORKER}
_EXAMPLES = {
    Construct.DATA: "copy(A[0:n])",
    Construct.ENTER_DATA: "copyin(A[0:n])",
    Construct.EXIT_DATA: "copyout(A[0:n])",
    Construct.UPDATE: "self(A[0:n]) or device(A[0:n])",
}


def check_clauses(construct: Construct, clauses: Sequence[tuple[str, Clause]], diagnostics: Diagnostics) -> None:
    """Report every repetition and contradiction among a directive's named clauses."""
    _check_single(clauses, diagnostics)
    values = [clause for _, clause in clauses]
    _check_counts(values, diagnostics)
    _check_tiles(values, diagnostics)
    _check_sequential(values, diagnostics)
    _check_relaxation(values, diagnostics)
    _check_targets(values, diagnostics)
    _check_variables(construct, values, diagnostics)


def check_moves(construct: Construct, names: Collection[str], place: SourceRange, diagnostics: Diagnostics) -> None:
    """Report a directive about data without a data clause; wrong data clauses count too."""
    if construct in _EXAMPLES and not set(names) - {"if", "async", "wait"}:
        diagnostics.error(
            place, f"'{construct.value}' names no data", f"add the data that it is about: {_EXAMPLES[construct]}"
        )


def _check_single(clauses: Sequence[tuple[str, Clause]], diagnostics: Diagnostics) -> None:
    seen: set[str] = set()
    for name, clause in clauses:
        if name in seen and name in _SINGLE and not isinstance(clause, DataClause):
            diagnostics.error(clause.range, f"clause '{name}' is given twice", "give it once")
        seen.add(name)


def _check_counts(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    seen: set[tuple[AxisKind, int]] = set()
    for count in (clause for clause in clauses if isinstance(clause, CountClause)):
        if (count.axis, count.dimension) in seen and count.axis is not AxisKind.THREAD:
            name = f"num_{count.axis.value}s[{count.dimension}]"
            diagnostics.error(
                count.range,
                f"'{name}' is given twice",
                "give each dimension one count; a count without [d] is that of dimension 0",
            )
        seen.add((count.axis, count.dimension))


def _check_tiles(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    dynamic = False
    seen: set[tuple[TileKind, int]] = set()
    is_open = any(isinstance(clause, Flag) and clause.name == "tile(auto)" for clause in clauses)
    for tile in (clause for clause in clauses if isinstance(clause, TileClause)):
        if is_open:
            diagnostics.error(
                tile.range,
                "tile(auto) leaves this loop's tiles to the translator, and here is one",
                "remove one of the two",
            )
        if tile.kind is TileKind.DYNAMIC:
            if dynamic:
                diagnostics.error(
                    tile.range,
                    "a loop has one dynamic tile at most: the counts of two cannot be told apart",
                    "make the others tile(static, count) or tile(size, extent)",
                )
            dynamic = True
        elif tile.kind in _AXES:
            if (tile.kind, tile.dimension) in seen:
                axis = (
                    "the threads" if tile.kind is TileKind.THREAD else f"{tile.kind.value} dimension {tile.dimension}"
                )
                diagnostics.error(
                    tile.range,
                    f"this loop is distributed over {axis} twice",
                    "remove one of the two tiles"
                    if tile.kind is TileKind.THREAD
                    else "remove one of the two tiles, or give it another dimension",
                )
            seen.add((tile.kind, tile.dimension))


def _check_relaxation(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    if not any(isinstance(clause, SorClause) for clause in clauses):
        return
    for clause in clauses:
        if isinstance(clause, Flag) and clause.name == "independent":
            diagnostics.error(
                clause.range,
                "'independent' contradicts 'sor': in a relaxation in place iterations read what others have written",
                "remove one of the two",
            )


def _check_sequential(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    if not any(isinstance(clause, Flag) and clause.name == "seq" for clause in clauses):
        return
    for clause in clauses:
        if isinstance(clause, TileClause) and clause.kind in _AXES:
            diagnostics.error(
                clause.range,
                f"'tile({clause.kind.value})' contradicts 'seq': the loop cannot be distributed and run in order",
                "remove one of the two",
            )
        if isinstance(clause, Flag) and clause.name == "independent":
            diagnostics.error(
                clause.range,
                "'independent' contradicts 'seq': one allows any order, the other asks for the order as written",
                "remove one of the two",
            )


def _check_targets(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    """Check that host and accelerator axes agree with each other and with the targets."""
    targets = next((clause.values for clause in clauses if isinstance(clause, Targets)), ())
    chosen = next((clause for clause in clauses if isinstance(clause, Targets)), None)
    if chosen is not None and len(targets) > 1 and any(target.is_open for target in targets):
        diagnostics.error(
            chosen.range,
            "target 'auto' contradicts the other targets of the clause: it leaves the choice among all open",
            "write target(auto), or the targets without it",
        )
    distributed = [(clause, *_axis(clause)) for clause in clauses if isinstance(clause, (CountClause, TileClause))]
    first: tuple[AxisKind, str] | None = None
    for clause, axis, spelling in distributed:
        if axis is None:
            continue
        if targets and not any(target.is_open or target.is_parallel for target in targets):
            diagnostics.error(
                clause.range,
                f"'{spelling}' contradicts 'target(serial)': nothing is distributed there",
                "remove it, or name a parallel target",
            )
        elif (
            axis is AxisKind.THREAD and targets and not any(target.is_open or target.has_threads for target in targets)
        ):
            diagnostics.error(
                clause.range,
                f"'{spelling}' contradicts the targets of this directive, which do not include threads",
                "add threads to target(…), or distribute over gangs and workers",
            )
        elif first is not None and (first[0] is AxisKind.THREAD) != (axis is AxisKind.THREAD):
            diagnostics.error(
                clause.range,
                f"'{spelling}' contradicts '{first[1]}': threads belong to the host, "
                "gangs and workers to an accelerator",
                "keep the one or the other",
            )
        first = first or (axis, spelling)


def _axis(clause: CountClause | TileClause) -> tuple[AxisKind | None, str]:
    """The axis of `clause`, None for a tile that is not distributed; and the clause's spelling."""
    if isinstance(clause, CountClause):
        return clause.axis, f"num_{clause.axis.value}s"
    return _AXES.get(clause.kind), f"tile({clause.kind.value})"


def _check_variables(construct: Construct, clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    """No array may appear twice in the data, no variable may have two roles."""
    arrays: dict[str, DataClause] = {}
    for clause in (clause for clause in clauses if isinstance(clause, DataClause)):
        for section in clause.sections:
            # `update` may name several sections of one array, in one direction.
            first = arrays.setdefault(section.path, clause)
            seen = section is not next(earlier for earlier in first.sections if earlier.path == section.path)
            if seen and (construct is not Construct.UPDATE or first.name != clause.name):
                diagnostics.error(
                    section.range,
                    f"'{section.path}' appears twice in the data of this directive",
                    "name each array once, with a section that covers all that is used",
                )
    roles: dict[str, str] = dict.fromkeys(arrays, "data")
    for owner in (clause for clause in clauses if isinstance(clause, (PrivateClause, ReductionClause))):
        for name in owner.names:
            role = roles.get(name)
            if role is None:
                roles[name] = _role(owner)
            else:
                second = f"and in '{role}'" if role != _role(owner) else "twice"
                diagnostics.error(
                    owner.range,
                    f"'{name}' is named in '{_role(owner)}' {second}",
                    "a variable has one role in a kernel",
                )


def _role(clause: PrivateClause | ReductionClause) -> str:
    if isinstance(clause, ReductionClause):
        return "reduction"
    return "firstprivate" if clause.first else "private"
