"""The grammar of docs/LANGUAGE.md: the tokens of one directive to the types of `ir/directives.py`.

A new clause: its constructs in `constructs.CLAUSES`, its parser in `clauses.PARSERS`, its spelling
in `clauses.FORMS`, what contradicts it in `_check_clauses`, and its name in `_SINGLE` if it stands
once. What it means is a field of a directive in `ir/directives.py`, which `_kernel` or `_loop`
fills, or a class derived from `OtherClause`, which needs no field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostics, source_error
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.clauses import Clause, PlainClause, parse_clause
from tilepragma.frontend.pragma.constructs import (
    ALL_CLAUSES,
    CLAUSES,
    FOREIGN_CONSTRUCTS,
    listed,
    nearest_clause,
    unknown_word,
)
from tilepragma.frontend.pragma.spliced_source import Token, range_of
from tilepragma.frontend.pragma.syntax import RawClause, closing, matched, split_at_commas, split_clauses
from tilepragma.frontend.pragma.syntax import expression as clause_expression
from tilepragma.ir.directives import (
    AxisKind,
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
    Target,
    TileClause,
    TileKind,
)

_Kind = TypeVar("_Kind")

_WORDS: dict[tuple[str, ...], Construct] = {tuple(construct.value.split()): construct for construct in Construct}
#: Clauses that a directive has once at most.
_SINGLE = (
    *("name", "num_threads", "target", "device", "async", "wait", "if"),
    *("independent", "seq", "unroll", "collapse", "sor"),
)
_AXES = {TileKind(axis.value): axis for axis in AxisKind}
#: Directives about data, with a clause that says so.
_MOVES = {
    Construct.DATA: "copy(A[0:n])",
    Construct.ENTER_DATA: "copyin(A[0:n])",
    Construct.EXIT_DATA: "copyout(A[0:n])",
    Construct.UPDATE: "self(A[0:n]) or device(A[0:n])",
}
_ALL = f"the constructs are {listed([construct.value for construct in Construct])}"


def parse_directive(tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics) -> Directive | None:
    """The directive that `tokens`, those behind `tilek`, spell; `place` becomes its range.

    Reports every error, in textual order, and returns the correct rest; None for an unknown
    construct. For `kernel loop` both parts are returned. Clauses legal on either part (reduction,
    private, independent) go to the kernel.
    """
    unsorted = Diagnostics()
    directive: Directive | None = None
    with unsorted.reporting():
        directive = _parse(tokens, place, unsorted)
    diagnostics.add_all(sorted(unsorted, key=lambda item: item.range.start.offset))
    return directive


def _parse(tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics) -> Directive:
    construct, rest = _construct(tokens, place)
    rest = matched(rest, diagnostics)
    if construct is Construct.WAIT:
        return _wait(rest, place, diagnostics)
    clauses: list[tuple[str, Clause]] = []
    raws = split_clauses(rest, diagnostics)
    for raw in raws:
        if _allowed(raw, construct, diagnostics):
            clauses += [(raw.name, clause) for clause in parse_clause(raw, construct, diagnostics)]
    # Wrong data clauses count too.
    if construct in _MOVES and not {raw.name for raw in raws} - {"if", "async", "wait"}:
        message = f"'{construct.value}' names no data"
        diagnostics.error(place, message, f"add the data that it is about: {_MOVES[construct]}")
    _check_clauses(construct, clauses, diagnostics)
    return _assemble(construct, [clause for _, clause in clauses], place)


def _construct(tokens: Sequence[Token], place: SourceRange) -> tuple[Construct, Sequence[Token]]:
    """The construct at the head of `tokens`, and the tokens behind it. Raises SourceError."""
    for length in (2, 1):
        words = tuple(token.text for token in tokens[:length])
        if words in _WORDS:
            return _WORDS[words], tokens[length:]
    if not tokens:
        raise source_error(place, "this directive names no construct", _ALL)
    word, place = tokens[0].text, tokens[0].range
    if word in ("enter", "exit"):
        raise source_error(place, f"'data' must follow '{word}'", f"write {word} data")
    first_words = dict.fromkeys(words[0] for words in _WORDS)
    raise unknown_word(word, first_words, place, f"there is no tilek construct '{word}'", _ALL, FOREIGN_CONSTRUCTS)


def _wait(tokens: Sequence[Token], place: SourceRange, diagnostics: Diagnostics) -> DataDirective:
    queues: tuple[ClauseExpression, ...] = ()
    if tokens and tokens[0].text == "(":
        close = closing(tokens, 0)
        parts = split_at_commas(tokens[1:close])
        if all(parts):
            queues = tuple(clause_expression(part) for part in parts)
        else:
            message = "'wait' has an empty list of queues"
            diagnostics.error(range_of(tokens[: close + 1]), message, "write wait(queue), or wait alone")
        tokens = tokens[close + 1 :]
    for raw in split_clauses(tokens, diagnostics):
        _allowed(raw, Construct.WAIT, diagnostics)
    return DataDirective(Construct.WAIT, (), place, waits=queues, wait_all=not queues)


def _allowed(raw: RawClause, construct: Construct, diagnostics: Diagnostics) -> bool:
    if raw.name in CLAUSES[construct]:
        return True
    if raw.name in ALL_CLAUSES:
        owners = listed([f"'{owner.value}'" for owner, names in CLAUSES.items() if raw.name in names], "or")
        message = f"clause '{raw.name}' does not belong on '{construct.value}'"
        diagnostics.error(raw.name_range, message, f"it belongs on {owners}")
    else:
        near = nearest_clause(raw.name, construct)
        every = f"'{construct.value}' takes {listed(CLAUSES[construct] or ('no clauses',))}"
        message = f"there is no clause '{raw.name}'"
        diagnostics.error(raw.name_range, message, f"did you mean '{near}'?" if near else every)
    return False


def _assemble(construct: Construct, clauses: Sequence[Clause], place: SourceRange) -> Directive:
    if construct is Construct.KERNEL:
        return _kernel(clauses, place)
    if construct is Construct.LOOP:
        return _loop(clauses, place)
    if construct is Construct.KERNEL_LOOP:
        shared = (ReductionClause, PrivateClause)
        independent = [clause for clause in _of(PlainClause, clauses) if clause.name == "independent"]
        loop_clauses = [c for c in clauses if not isinstance(c, shared) and c not in independent]
        return _kernel(clauses, place), _loop(loop_clauses, place)
    if construct is Construct.ROUTINE:
        return RoutineDirective(place)
    plain = _plain(clauses)
    return DataDirective(
        construct,
        _of(DataClause, clauses),
        place,
        condition=_first("if", plain),
        asynchronous=_first("async", plain),
        asynchronous_default=plain.get("async") == (),
        waits=plain.get("wait", ()),
        wait_all=plain.get("wait") == (),
    )


def _kernel(clauses: Sequence[Clause], place: SourceRange) -> KernelDirective:
    plain = _plain(clauses)
    name, device = _first("name", plain), _first("device", plain)
    all_devices = device is not None and device.text.strip() == "all"
    return KernelDirective(
        place,
        name=None if name is None else name.text,
        data=_of(DataClause, clauses),
        counts=_of(CountClause, clauses),
        targets=tuple(Target(value.text) for value in plain.get("target", ())),
        device=None if all_devices else device,
        all_devices=all_devices,
        asynchronous=_first("async", plain),
        asynchronous_default=plain.get("async") == (),
        waits=plain.get("wait", ()),
        wait_all=plain.get("wait") == (),
        condition=_first("if", plain),
        reductions=_of(ReductionClause, clauses),
        privates=_of(PrivateClause, clauses),
        independent="independent" in plain,
        sor=next(iter(_of(SorClause, clauses)), None),
        others=_of(OtherClause, clauses),
    )


def _loop(clauses: Sequence[Clause], place: SourceRange) -> LoopDirective:
    plain = _plain(clauses)
    unroll, collapse = _first("unroll", plain), _first("collapse", plain)
    return LoopDirective(
        place,
        tiles=_of(TileClause, clauses),
        unroll=None if unroll is None else unroll.literal,
        sequential="seq" in plain,
        independent="independent" in plain,
        reductions=_of(ReductionClause, clauses),
        privates=_of(PrivateClause, clauses),
        collapse=(None if collapse is None else collapse.literal) or 1,
    )


def _of(kind: type[_Kind], clauses: Sequence[Clause]) -> tuple[_Kind, ...]:
    return tuple(clause for clause in clauses if isinstance(clause, kind))


def _plain(clauses: Sequence[Clause]) -> dict[str, tuple[ClauseExpression, ...]]:
    """The arguments of plain clauses by their names; the first of a name counts."""
    return {clause.name: clause.values for clause in reversed(_of(PlainClause, clauses))}


def _first(name: str, plain: Mapping[str, tuple[ClauseExpression, ...]]) -> ClauseExpression | None:
    return next(iter(plain.get(name, ())), None)


# -- clauses against each other: no repetition, no contradiction


def _check_clauses(construct: Construct, named: Sequence[tuple[str, Clause]], diagnostics: Diagnostics) -> None:
    """Report every repetition and contradiction among a directive's clauses, which have names."""
    seen: set[str] = set()
    for name, clause in named:
        if name in seen and name in _SINGLE and not isinstance(clause, DataClause):
            diagnostics.error(clause.range, f"clause '{name}' is given twice", "give it once")
        seen.add(name)
    clauses = [clause for _, clause in named]
    for check in (_check_counts, _check_tiles, _check_order, _check_targets):
        check(clauses, diagnostics)
    _check_variables(construct, clauses, diagnostics)


def _check_counts(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    seen: set[tuple[AxisKind, int]] = set()
    for count in _of(CountClause, clauses):
        if (count.axis, count.dimension) in seen and count.axis is not AxisKind.THREAD:
            name = f"num_{count.axis.value}s[{count.dimension}]"
            remedy = "give each dimension one count; a count without [d] is that of dimension 0"
            diagnostics.error(count.range, f"'{name}' is given twice", remedy)
        seen.add((count.axis, count.dimension))


def _check_tiles(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    dynamic = False
    seen: set[tuple[TileKind, int]] = set()
    is_open = "tile(auto)" in _plain(clauses)
    for tile in _of(TileClause, clauses):
        if is_open:
            message = "tile(auto) leaves this loop's tiles to the translator, and here is one"
            diagnostics.error(tile.range, message, "remove one of the two")
        if tile.kind is TileKind.DYNAMIC:
            if dynamic:
                message = "a loop has one dynamic tile at most: the counts of two cannot be told apart"
                diagnostics.error(tile.range, message, "make the others tile(static, count) or tile(size, extent)")
            dynamic = True
        elif tile.kind in _AXES:
            if (tile.kind, tile.dimension) in seen:
                is_thread = tile.kind is TileKind.THREAD
                axis = "the threads" if is_thread else f"{tile.kind.value} dimension {tile.dimension}"
                remedy = "remove one of the two tiles" + ("" if is_thread else ", or give it another dimension")
                diagnostics.error(tile.range, f"this loop is distributed over {axis} twice", remedy)
            seen.add((tile.kind, tile.dimension))


def _check_order(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    """Report what contradicts `seq`, and `independent` beside `sor`."""
    is_sequential = "seq" in _plain(clauses)
    for clause in clauses:
        faults = []
        if is_sequential and isinstance(clause, TileClause) and clause.kind in _AXES:
            faults.append(
                f"'tile({clause.kind.value})' contradicts 'seq': the loop cannot be distributed and run in order"
            )
        is_independent = isinstance(clause, PlainClause) and clause.name == "independent"
        if is_sequential and is_independent:
            faults.append(
                "'independent' contradicts 'seq': one allows any order, the other asks for the order as written"
            )
        if is_independent and _of(SorClause, clauses):
            faults.append(
                "'independent' contradicts 'sor': in a relaxation in place iterations read what others have written"
            )
        for fault in faults:
            diagnostics.error(clause.range, fault, "remove one of the two")


def _check_targets(clauses: Sequence[Clause], diagnostics: Diagnostics) -> None:
    """Check that host and accelerator axes agree with each other and with the targets."""
    chosen = next((clause for clause in _of(PlainClause, clauses) if clause.name == "target"), None)
    targets = () if chosen is None else tuple(Target(value.text) for value in chosen.values)
    if chosen is not None and len(targets) > 1 and any(target.is_open for target in targets):
        message = "target 'auto' contradicts the other targets of the clause: it leaves the choice among all open"
        diagnostics.error(chosen.range, message, "write target(auto), or the targets without it")
    distributed = [(clause, *_axis(clause)) for clause in clauses if isinstance(clause, (CountClause, TileClause))]
    first: tuple[AxisKind, str] | None = None
    for clause, axis, spelling in distributed:
        if axis is None:
            continue
        if targets and not any(target.is_open or target.is_parallel for target in targets):
            message = f"'{spelling}' contradicts 'target(serial)': nothing is distributed there"
            diagnostics.error(clause.range, message, "remove it, or name a parallel target")
        elif axis is AxisKind.THREAD and targets and not any(t.is_open or t.has_threads for t in targets):
            message = f"'{spelling}' contradicts the targets of this directive, which do not include threads"
            diagnostics.error(clause.range, message, "add threads to target(…), or distribute over gangs and workers")
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
    for clause in _of(DataClause, clauses):
        for section in clause.sections:
            # `update` may name several sections of one array, in one direction.
            first = arrays.setdefault(section.path, clause)
            seen = section is not next(earlier for earlier in first.sections if earlier.path == section.path)
            if seen and (construct is not Construct.UPDATE or first.name != clause.name):
                message = f"'{section.path}' appears twice in the data of this directive"
                remedy = "name each array once, with a section that covers all that is used"
                diagnostics.error(section.range, message, remedy)
    roles: dict[str, str] = dict.fromkeys(arrays, "data")
    for owner in (clause for clause in clauses if isinstance(clause, (PrivateClause, ReductionClause))):
        for name in owner.names:
            role = roles.get(name)
            if role is None:
                roles[name] = _role(owner)
            else:
                second = f"and in '{role}'" if role != _role(owner) else "twice"
                message = f"'{name}' is named in '{_role(owner)}' {second}"
                diagnostics.error(owner.range, message, "a variable has one role in a kernel")


def _role(clause: PrivateClause | ReductionClause) -> str:
    if isinstance(clause, ReductionClause):
        return "reduction"
    return "firstprivate" if clause.first else "private"
