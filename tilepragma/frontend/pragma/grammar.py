"""The grammar of docs/LANGUAGE.md: the tokens of one directive to the types of `ir/directives.py`.

A clause has its constructs in `constructs.CLAUSES`, its parser in `clauses.PARSERS`, its spelling
in `clauses.FORMS`, and what contradicts it in `checks.py` (CONTRIBUTING.md, "Add a clause").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.checks import check_clauses, check_moves
from tilepragma.frontend.pragma.clauses import Clause, Expressions, Flag, KernelName, Number, Targets, parse_clause
from tilepragma.frontend.pragma.constructs import (
    ALL_CLAUSES,
    CLAUSES,
    constructs_with,
    listed,
    nearest_clause,
    nearest_construct,
)
from tilepragma.frontend.pragma.spliced_source import Token, range_of
from tilepragma.frontend.pragma.syntax import RawClause, closing, matched, split_at_commas, split_clauses
from tilepragma.frontend.pragma.syntax import expression as clause_expression
from tilepragma.ir.directives import (
    ClauseExpression,
    Construct,
    CountClause,
    DataClause,
    DataDirective,
    Directive,
    KernelDirective,
    LoopDirective,
    OtherClause,
    PrivateClause,
    ReductionClause,
    RoutineDirective,
    SorClause,
    TileClause,
    WaitDirective,
)

_Kind = TypeVar("_Kind")

_WORDS: dict[tuple[str, ...], Construct] = {tuple(construct.value.split()): construct for construct in Construct}
_ALL = f"the constructs are {listed([construct.value for construct in Construct])}"


def parse_directive(tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics) -> Directive | None:
    """The directive that `tokens`, those behind `tilek`, spell; `place` becomes its range.

    Reports every error, in textual order, and returns the correct rest; None for an unknown
    construct. For `kernel loop` both parts are returned. Clauses legal on either part (reduction,
    private, independent) go to the kernel.
    """
    unsorted = Diagnostics()
    directive = _parse(tokens, place, unsorted)
    diagnostics.add_all(sorted(unsorted, key=lambda item: item.range.start.offset))
    return directive


def _parse(tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics) -> Directive | None:
    construct, rest = _construct(tokens, place, diagnostics)
    if construct is None:
        return None
    rest = matched(rest, diagnostics)
    if construct is Construct.WAIT:
        return _wait(rest, place, diagnostics)
    clauses: list[tuple[str, Clause]] = []
    raws = split_clauses(rest, diagnostics)
    for raw in raws:
        if _allowed(raw, construct, diagnostics):
            clauses += [(raw.name, clause) for clause in parse_clause(raw, construct, diagnostics)]
    check_clauses(construct, clauses, diagnostics)
    check_moves(construct, [raw.name for raw in raws], place, diagnostics)
    return _assemble(construct, [clause for _, clause in clauses], place)


def _construct(
    tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics
) -> tuple[Construct | None, Sequence[Token]]:
    """The construct at the head of `tokens`, and the tokens behind it."""
    for length in (2, 1):
        words = tuple(token.text for token in tokens[:length])
        if words in _WORDS:
            return _WORDS[words], tokens[length:]
    if not tokens:
        diagnostics.error(place, "this directive names no construct", _ALL)
        return None, ()
    word = tokens[0].text
    if word in ("enter", "exit"):
        diagnostics.error(tokens[0].range, f"'data' must follow '{word}'", f"write {word} data")
        return None, ()
    near = nearest_construct(word)
    diagnostics.error(
        tokens[0].range, f"there is no tilek construct '{word}'", f"did you mean '{near}'? {_ALL}" if near else _ALL
    )
    return None, ()


def _wait(tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics) -> WaitDirective:
    queues: tuple[ClauseExpression, ...] = ()
    if tokens and tokens[0].text == "(":
        close = closing(tokens, 0)
        parts = split_at_commas(tokens[1:close])
        if all(parts):
            queues = tuple(clause_expression(part) for part in parts)
        else:
            diagnostics.error(
                range_of(tokens[: close + 1]), "'wait' has an empty list of queues", "write wait(queue), or wait alone"
            )
        tokens = tokens[close + 1 :]
    for raw in split_clauses(tokens, diagnostics):
        _allowed(raw, Construct.WAIT, diagnostics)
    return WaitDirective(queues, place)


def _allowed(raw: RawClause, construct: Construct, diagnostics: Diagnostics) -> bool:
    if raw.name in CLAUSES[construct]:
        return True
    if raw.name in ALL_CLAUSES:
        owners = listed([f"'{owner}'" for owner in constructs_with(raw.name)], "or")
        diagnostics.error(
            raw.name_range, f"clause '{raw.name}' does not belong on '{construct.value}'", f"it belongs on {owners}"
        )
    else:
        near = nearest_clause(raw.name, construct)
        every = f"'{construct.value}' takes {listed(CLAUSES[construct])}" if CLAUSES[construct] else "remove it"
        if not CLAUSES[construct]:
            every = f"'{construct.value}' takes no clauses"
        diagnostics.error(
            raw.name_range, f"there is no clause '{raw.name}'", f"did you mean '{near}'?" if near else every
        )
    return False


def _assemble(construct: Construct, clauses: Sequence[Clause], place: SourceRange) -> Directive:
    if construct is Construct.KERNEL:
        return _kernel(clauses, place)
    if construct is Construct.LOOP:
        return _loop(clauses, place)
    if construct is Construct.KERNEL_LOOP:
        shared = (ReductionClause, PrivateClause)
        loop_clauses = [c for c in clauses if not isinstance(c, shared) and not _is_flag(c, "independent")]
        return _kernel(clauses, place), _loop(loop_clauses, place)
    if construct is Construct.ROUTINE:
        return RoutineDirective(place)
    return DataDirective(
        construct,
        _of(DataClause, clauses),
        place,
        condition=_expression("if", clauses),
        asynchronous=_expression("async", clauses),
        asynchronous_default=_bare("async", clauses),
        waits=_expressions("wait", clauses),
        wait_all=_bare("wait", clauses),
    )


def _kernel(clauses: Sequence[Clause], place: SourceRange) -> KernelDirective:
    names = _of(KernelName, clauses)
    targets = _of(Targets, clauses)
    device = _expression("device", clauses)
    all_devices = device is not None and device.text.strip() == "all"
    return KernelDirective(
        place,
        name=names[0].value if names else None,
        data=_of(DataClause, clauses),
        counts=_of(CountClause, clauses),
        targets=targets[0].values if targets else (),
        device=None if all_devices else device,
        all_devices=all_devices,
        asynchronous=_expression("async", clauses),
        asynchronous_default=_bare("async", clauses),
        waits=_expressions("wait", clauses),
        wait_all=_bare("wait", clauses),
        condition=_expression("if", clauses),
        reductions=_of(ReductionClause, clauses),
        privates=_of(PrivateClause, clauses),
        independent=any(_is_flag(clause, "independent") for clause in clauses),
        sor=next(iter(_of(SorClause, clauses)), None),
        others=_of(OtherClause, clauses),
    )


def _loop(clauses: Sequence[Clause], place: SourceRange) -> LoopDirective:
    numbers = {number.name: number.value for number in reversed(_of(Number, clauses))}
    return LoopDirective(
        place,
        tiles=_of(TileClause, clauses),
        unroll=numbers.get("unroll"),
        sequential=any(_is_flag(clause, "seq") for clause in clauses),
        independent=any(_is_flag(clause, "independent") for clause in clauses),
        reductions=_of(ReductionClause, clauses),
        privates=_of(PrivateClause, clauses),
        collapse=numbers.get("collapse", 1),
    )


def _of(kind: type[_Kind], clauses: Sequence[Clause]) -> tuple[_Kind, ...]:
    return tuple(clause for clause in clauses if isinstance(clause, kind))


def _is_flag(clause: Clause, name: str) -> bool:
    return isinstance(clause, Flag) and clause.name == name


def _expressions(name: str, clauses: Sequence[Clause]) -> tuple[ClauseExpression, ...]:
    return next((clause.values for clause in _of(Expressions, clauses) if clause.name == name), ())


def _expression(name: str, clauses: Sequence[Clause]) -> ClauseExpression | None:
    return next(iter(_expressions(name, clauses)), None)


def _bare(name: str, clauses: Sequence[Clause]) -> bool:
    return any(clause.name == name and not clause.values for clause in _of(Expressions, clauses))
