"""Parses the clauses of a directive to the types of `ir/directives.py`.

The brackets of a `RawClause` match already. A clause with a mistake yields nothing; the mistake
goes to the diagnostics, with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import RESERVED
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.constructs import listed, nearest
from tilepragma.frontend.pragma.data_clauses import parse_data
from tilepragma.frontend.pragma.spliced_source import Token, range_of, text_of
from tilepragma.frontend.pragma.syntax import RawClause, expression, split_at_commas
from tilepragma.ir.directives import (
    AxisKind,
    ClauseExpression,
    Construct,
    CountClause,
    DataClause,
    OtherClause,
    PrivateClause,
    ReductionClause,
    SorClause,
    SorMethod,
    Target,
    TileClause,
    TileKind,
)

REDUCTION_OPERATORS = ("+", "*", "min", "max", "&", "|", "^", "&&", "||")
_KEYWORDS = frozenset(
    (
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern"),
        *("float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed"),
        *("sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
    )
)


@dataclass(frozen=True)
class Flag:
    """`independent`, `seq` or `tile(auto)`."""

    name: str
    range: SourceRange


@dataclass(frozen=True)
class Expressions:
    """`device(e)`, `if(e)`, `async[(e)]`, `wait[(e, …)]`; without parentheses no expression."""

    name: str
    values: tuple[ClauseExpression, ...]
    range: SourceRange


@dataclass(frozen=True)
class Number:
    """`unroll(n)` or `collapse(n)`, n ≥ 1."""

    name: str
    value: int
    range: SourceRange


@dataclass(frozen=True)
class KernelName:
    """`name(identifier)`."""

    name: str
    value: str
    range: SourceRange


@dataclass(frozen=True)
class Targets:
    """`target(t, …)`."""

    name: str
    values: tuple[Target, ...]
    range: SourceRange


Clause = (
    DataClause
    | CountClause
    | ReductionClause
    | PrivateClause
    | SorClause
    | TileClause
    | OtherClause
    | Flag
    | Expressions
    | Number
    | KernelName
    | Targets
)
"""The meaning of a clause; the list form of a count yields several."""

#: The meaning of a clause; nothing after errors, which are reported.
Parser = Callable[[RawClause, Diagnostics], tuple[Clause, ...]]


def parse_clause(raw: RawClause, construct: Construct, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    """The meaning of `raw`, a clause of `construct`; empty after errors, which are reported."""
    parser, form = PARSERS[raw.name], FORMS[raw.name]
    if construct is Construct.UPDATE and raw.name == "device":
        parser, form = parse_data, "device(A[0:n])"
    if raw.index is not None and raw.name not in ("tile", "num_gangs", "num_workers"):
        diagnostics.error(
            range_of(raw.index), f"clause '{raw.name}' takes no number in brackets", "remove the brackets"
        )
        return ()
    if raw.arguments is None and raw.name not in _WITHOUT_ARGUMENTS:
        diagnostics.error(raw.range, f"clause '{raw.name}' needs arguments", f"write {form}")
        return ()
    if raw.arguments is not None and not raw.arguments:
        remedy = "remove the parentheses" if raw.name in _WITHOUT_ARGUMENTS else f"write {form}"
        diagnostics.error(raw.range, f"clause '{raw.name}' has empty parentheses", remedy)
        return ()
    return parser(raw, diagnostics)


def _flag(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    if raw.arguments is not None:
        diagnostics.error(range_of(raw.arguments), f"clause '{raw.name}' takes no arguments", "remove the parentheses")
        return ()
    return (Flag(raw.name, raw.range),)


def _expression(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    values = _values(raw, diagnostics)
    if values is None:
        return ()
    if len(values) > 1 and raw.name != "wait":
        diagnostics.error(values[1].range, f"clause '{raw.name}' takes one expression", f"write {FORMS[raw.name]}")
        return ()
    if raw.name == "device" and (values[0].literal or 0) < 0:
        diagnostics.error(values[0].range, "a device number cannot be negative", "devices are counted from 0")
        return ()
    return (Expressions(raw.name, values, raw.range),)


def _values(raw: RawClause, diagnostics: Diagnostics) -> tuple[ClauseExpression, ...] | None:
    """The expressions between the parentheses of `raw`, if it has any; None after an error."""
    if raw.arguments is None:
        return ()
    parts = split_at_commas(raw.arguments)
    if not _all_present(parts, raw, diagnostics):
        return None
    return tuple(expression(part) for part in parts)


def _all_present(parts: Sequence[Sequence[Token]], raw: RawClause, diagnostics: Diagnostics) -> bool:
    if all(parts):
        return True
    diagnostics.error(raw.range, f"clause '{raw.name}' has an empty argument", "remove the comma that stands alone")
    return False


def _count(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    values = _values(raw, diagnostics)
    first = _dimension(raw.index, f"of '{raw.name}'", diagnostics) if raw.index is not None else 0
    if values is None or first is None:
        return ()
    axis = AxisKind(raw.name[len("num_") : -1])
    most = 1 if axis is AxisKind.THREAD or raw.index is not None else 3
    if len(values) > most:
        many = "gangs and workers have three dimensions" if most == 3 else f"write {FORMS[raw.name]}"
        diagnostics.error(values[most].range, f"clause '{raw.name}' has too many counts", many)
        return ()
    positive = [_positive(value, f"the count of '{raw.name}'", diagnostics) for value in values]
    if not all(positive):
        return ()
    return tuple(CountClause(axis, first + index, value, raw.range) for index, value in enumerate(values))


def _positive(value: ClauseExpression, what: str, diagnostics: Diagnostics) -> bool:
    if value.literal is None or value.literal > 0:
        return True
    diagnostics.error(value.range, f"{what} must be at least 1", "write a positive count")
    return False


def _dimension(tokens: Sequence[Token], what: str, diagnostics: Diagnostics) -> int | None:
    value = expression(tokens).literal if tokens else None
    if value is not None and 0 <= value <= 2:
        return value
    kind = tokens[0].text if len(tokens) == 1 else ""
    another = kind in {tile.value for tile in TileKind}
    remedy = (
        f"write a tile clause for each kind: ... tile({kind})" if another else "gangs and workers have three dimensions"
    )
    diagnostics.error(range_of(tokens), f"the dimension {what} must be 0, 1 or 2", remedy)
    return None


def _number(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    value = expression(raw.arguments or ())
    if value.literal is None or value.literal < 1:
        diagnostics.error(
            value.range, f"clause '{raw.name}' needs a positive integer literal", f"write {FORMS[raw.name]}"
        )
        return ()
    return (Number(raw.name, value.literal, raw.range),)


def _name(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    names = _identifiers(raw.arguments or (), raw, diagnostics)
    if names is None:
        return ()
    if len(names) > 1:
        diagnostics.error(range_of(raw.arguments or ()), "a kernel has one name", "write name(identifier)")
        return ()
    if names[0] in RESERVED or names[0] == "main":
        diagnostics.error(
            range_of(raw.arguments or ()),
            f"'{names[0]}' cannot name a kernel: OpenCL C, CUDA C++ or C has taken the word",
            f"choose another name, {names[0]}_kernel for example",
        )
        return ()
    return (KernelName("name", names[0], raw.range),)


#: `s.x`, `s->x.y`: a member of a struct.
_MEMBER = re.compile(r"[A-Za-z_]\w*((\.|->)[A-Za-z_]\w*)+")


def _identifiers(tokens: Sequence[Token], raw: RawClause, diagnostics: Diagnostics) -> tuple[str, ...] | None:
    """The names in a list of variables or struct members, each once; None after an error."""
    parts = split_at_commas(tokens)
    if not _all_present(parts, raw, diagnostics):
        return None
    names: list[str] = []
    fine = True
    for part in parts:
        is_plain = len(part) == 1 and part[0].is_identifier
        name = "".join(token.text for token in part)
        if not (is_plain or (raw.name != "name" and _MEMBER.fullmatch(name))) or part[0].text in _KEYWORDS:
            what = "a variable" if raw.name != "name" else "a name"
            diagnostics.error(range_of(part), f"'{text_of(part)}' is not {what}", f"write {FORMS[raw.name]}")
            fine = False
        elif name in names:
            diagnostics.error(range_of(part), f"'{name}' is named twice in clause '{raw.name}'", "name it once")
            fine = False
        else:
            names.append(name)
    return tuple(names) if fine else None


def _private(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    names = _identifiers(raw.arguments or (), raw, diagnostics)
    return () if names is None else (PrivateClause(names, raw.name == "firstprivate", raw.range),)


def _reduction(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    tokens = raw.arguments or ()
    colon = next((index for index, token in enumerate(tokens) if token.text == ":"), None)
    if not colon or colon + 1 == len(tokens):
        diagnostics.error(
            raw.range, "clause 'reduction' needs an operator, a colon and variables", f"write {FORMS['reduction']}"
        )
        return ()
    operator = text_of(tokens[:colon])
    names = _identifiers(tokens[colon + 1 :], raw, diagnostics)
    if operator not in REDUCTION_OPERATORS:
        near = _FOREIGN_OPERATORS.get(operator) or nearest(operator, REDUCTION_OPERATORS)
        operators = f"the operators are {listed(REDUCTION_OPERATORS)}"
        diagnostics.error(
            range_of(tokens[:colon]),
            f"'{operator}' is not an operator of reductions",
            f"did you mean '{near}'? {operators}" if near else operators,
        )
        return ()
    return () if names is None else (ReductionClause(operator, names, raw.range),)


_FOREIGN_OPERATORS = {
    "-": "+",
    "+=": "+",
    "-=": "+",
    "*=": "*",
    "&=": "&",
    "|=": "|",
    "^=": "^",
    "add": "+",
    "sum": "+",
    "plus": "+",
    "times": "*",
    "mul": "*",
    "and": "&&",
    "or": "||",
    "fmin": "min",
    "fmax": "max",
}


def _targets(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    parts = split_at_commas(raw.arguments or ())
    if not _all_present(parts, raw, diagnostics):
        return ()
    known = {target.value: target for target in Target}
    values: list[Target] = []
    for part in parts:
        word = text_of(part)
        target = known.get(word)
        if target is None:
            near = _FOREIGN_TARGETS.get(word) or nearest(word, known)
            targets = f"the targets are {listed(known)}"
            remedy = f"did you mean '{near}'? {targets}" if near else targets
            diagnostics.error(range_of(part), f"there is no target '{word}'", remedy)
        elif target in values:
            diagnostics.error(range_of(part), f"target '{word}' is named twice", "name it once")
        else:
            values.append(target)
    return (Targets("target", tuple(values), raw.range),) if len(values) == len(parts) else ()


_FOREIGN_TARGETS = {"nvidia": "cuda", "openmp": "threads", "cpu": "threads", "host": "serial"}


def _tile(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    order = _order(raw.index, diagnostics)
    parts = split_at_commas(raw.arguments or ())
    if not _all_present(parts, raw, diagnostics):
        return ()
    word = text_of(parts[0])
    if word == "auto":
        if order is not None or len(parts) > 1:
            diagnostics.error(
                raw.range, "tile(auto) leaves all of the loop's tiles open, their order too", "write tile(auto)"
            )
            return ()
        return (Flag("tile(auto)", raw.range),)
    kinds = {kind.value: kind for kind in TileKind}
    if word not in kinds:
        near = "worker" if word == "vector" else nearest(word, kinds)
        every = f"the kinds are {listed(kinds)}"
        remedy = f"did you mean '{near}'? {every}" if near else every
        diagnostics.error(range_of(parts[0]), f"there is no kind of tile '{word}'", remedy)
        return ()
    kind = kinds[word]
    fewest, most = _TILE_ARGUMENTS[kind]
    if not fewest <= len(parts) - 1 <= most:
        place = range_of(parts[most + 1]) if len(parts) - 1 > most else raw.range
        fault = (
            "too many arguments" if len(parts) - 1 > most else "no count" if kind is TileKind.STATIC else "no extent"
        )
        diagnostics.error(place, f"a {word} tile has {fault} here", f"write {_TILE_FORMS[kind]}")
        return ()
    return _tile_with_argument(raw, kind, order, parts[1:], diagnostics)


def _tile_with_argument(
    raw: RawClause, kind: TileKind, order: int | None, rest: Sequence[Sequence[Token]], diagnostics: Diagnostics
) -> tuple[Clause, ...]:
    if kind in (TileKind.STATIC, TileKind.SIZE):
        argument = expression(rest[0])
        what = "the count of a static tile" if kind is TileKind.STATIC else "the extent of a size tile"
        if not _positive(argument, what, diagnostics):
            return ()
        return (TileClause(kind, order, argument, 0, raw.range),)
    dimension = _dimension(rest[0], f"of a {kind.value} tile", diagnostics) if rest else 0
    return () if dimension is None else (TileClause(kind, order, None, dimension, raw.range),)


def _order(tokens: Sequence[Token] | None, diagnostics: Diagnostics) -> int | None:
    if tokens is None:
        return None
    value = expression(tokens).literal
    if value is None:
        diagnostics.error(
            range_of(tokens), "the order of a tile must be an integer literal", "write tile[0](static, 4) for example"
        )
    return value


_TILE_ARGUMENTS = {
    TileKind.STATIC: (1, 1),
    TileKind.SIZE: (1, 1),
    TileKind.DYNAMIC: (0, 0),
    TileKind.THREAD: (0, 0),
    TileKind.GANG: (0, 1),
    TileKind.WORKER: (0, 1),
}
_TILE_FORMS = {
    TileKind.STATIC: "tile(static, count)",
    TileKind.SIZE: "tile(size, extent)",
    TileKind.DYNAMIC: "tile(dynamic)",
    TileKind.THREAD: "tile(thread)",
    TileKind.GANG: "tile(gang, dimension)",
    TileKind.WORKER: "tile(worker, dimension)",
}


def _sor(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    parts = split_at_commas(raw.arguments or ())
    if not _all_present(parts, raw, diagnostics):
        return ()
    known = {method.value: method for method in SorMethod}
    word = text_of(parts[0])
    method = known.get(word)
    if method is None:
        near, methods = nearest(word, known), f"the methods are {listed(known)}"
        remedy = f"did you mean '{near}'? {methods}" if near else methods
        diagnostics.error(range_of(parts[0]), f"there is no method '{word}' of relaxation", remedy)
        return ()
    if method is SorMethod.MULTILAYER:
        return _multilayer(raw, parts[1:], diagnostics)
    if len(parts) > 1:
        diagnostics.error(range_of(parts[1]), f"sor({word}) has no further arguments", f"write sor({word})")
        return ()
    return (SorClause(method, raw.range),)


def _multilayer(raw: RawClause, parts: Sequence[tuple[Token, ...]], diagnostics: Diagnostics) -> tuple[Clause, ...]:
    """`sor(multilayer, layers: K, subdomain: P)`, 1 <= K <= P/2; absent numbers are 0."""
    numbers: dict[str, int] = {}
    for part in parts:
        key = part[0].text
        if key not in ("layers", "subdomain") or key in numbers or len(part) < 3 or part[1].text != ":":
            diagnostics.error(
                range_of(part),
                f"clause '{raw.name}' gives '{key}' twice"
                if key in numbers
                else "sor(multilayer) takes layers: K and subdomain: P",
                "write sor(multilayer, layers: 16, subdomain: 32)",
            )
            return ()
        value, least = expression(part[2:]), 2 if key == "subdomain" else 1
        if value.literal is None or value.literal < least:
            diagnostics.error(
                value.range,
                f"'{key}' is an integer literal of at least {least}",
                "write sor(multilayer, layers: 16, subdomain: 32)",
            )
            return ()
        numbers[key] = value.literal
    subdomain, layers = numbers.get("subdomain", 0), numbers.get("layers", 0)
    if subdomain and layers > subdomain // 2:
        diagnostics.error(
            raw.range,
            f"subdomains of {subdomain} x {subdomain} have at most {subdomain // 2} layers: "
            "each takes two places off a tile",
            f"write layers: {subdomain // 2}, or subdomain: {2 * layers}",
        )
        return ()
    return (SorClause(SorMethod.MULTILAYER, raw.range, layers, subdomain),)


_WITHOUT_ARGUMENTS = ("async", "wait", "independent", "seq")
_DATA_NAMES = ("data", "copy", "copyin", "copyout", "create", "delete", "present", "self")
#: Clause -> how it is written, for messages. `PARSERS`, `CLAUSES` of constructs.py and this have a
#: row for every clause.
FORMS = {
    **{name: f"{name}(A[0:n])" for name in _DATA_NAMES},
    "data": "data(A[0:n], mode:rw, live:inout)",
    "num_threads": "num_threads(count)",
    "num_gangs": "num_gangs[dimension](count)",
    "num_workers": "num_workers[dimension](count)",
    "target": "target(opencl, threads)",
    "device": "device(number) or device(all)",
    "async": "async(queue)",
    "wait": "wait(queue)",
    "if": "if(condition)",
    "name": "name(identifier)",
    "reduction": "reduction(+: sum)",
    "private": "private(x, y)",
    "firstprivate": "firstprivate(x, y)",
    "sor": "sor(wavefront)",
    "tile": "tile(static, 4) or tile(dynamic)",
    "unroll": "unroll(4)",
    "collapse": "collapse(2)",
    "independent": "independent",
    "seq": "seq",
}

PARSERS: dict[str, Parser] = {
    **dict.fromkeys(_DATA_NAMES, parse_data),
    **dict.fromkeys(("num_threads", "num_gangs", "num_workers"), _count),
    **dict.fromkeys(("device", "async", "wait", "if"), _expression),
    **dict.fromkeys(("private", "firstprivate"), _private),
    **dict.fromkeys(("unroll", "collapse"), _number),
    **dict.fromkeys(("independent", "seq"), _flag),
    "target": _targets,
    "name": _name,
    "reduction": _reduction,
    "sor": _sor,
    "tile": _tile,
}
