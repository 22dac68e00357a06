"""Parses the clauses of a directive to the types of `ir/directives.py`.

The brackets of a `RawClause` match already. A clause with a mistake yields nothing; the mistake
goes to the diagnostics, with its place. `grammar.py` says where a new clause is registered.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostics, SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import RESERVED, words
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.constructs import listed, nearest, unknown_word
from tilepragma.frontend.pragma.spliced_source import Token, range_of, text_of
from tilepragma.frontend.pragma.syntax import RawClause, closing, expression, split_at_commas
from tilepragma.ir.directives import (
    AxisKind,
    ClauseExpression,
    Construct,
    CountClause,
    DataClause,
    Live,
    Mode,
    OtherClause,
    PrivateClause,
    ReductionClause,
    Section,
    SectionDimension,
    SorClause,
    SorMethod,
    Target,
    TileClause,
    TileKind,
)

_Attribute = TypeVar("_Attribute", bound=Enum)

REDUCTION_OPERATORS = ("+", "*", "min", "max", "&", "|", "^", "&&", "||")
_KEYWORDS = words(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
)


@dataclass(frozen=True)
class PlainClause:
    """A clause that only sets a field of a directive: `if(e)`, `unroll(4)`, `name(id)`, `seq`.

    `values` are the arguments; none for a clause without parentheses. `tile(auto)` has that name.
    """

    name: str
    values: tuple[ClauseExpression, ...]
    range: SourceRange


#: The meaning of a clause.
Clause = DataClause | CountClause | ReductionClause | PrivateClause | SorClause | TileClause | OtherClause | PlainClause
Parser = Callable[[RawClause, Diagnostics], tuple[Clause, ...]]
"""The meaning of a clause; the list form of a count yields several. Nothing after errors, which are
reported, or raised as a SourceError.
"""


def parse_clause(raw: RawClause, construct: Construct, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    """The meaning of `raw`, a clause of `construct`; empty after errors, which are reported."""
    parser, form = PARSERS[raw.name], FORMS[raw.name]
    if construct is Construct.UPDATE and raw.name == "device":
        parser, form = parse_data, "device(A[0:n])"
    with diagnostics.reporting():
        _check_brackets(raw, form)
        return parser(raw, diagnostics)
    return ()


def _check_brackets(raw: RawClause, form: str) -> None:
    if raw.index is not None and raw.name not in ("tile", "num_gangs", "num_workers"):
        message = f"clause '{raw.name}' takes no number in brackets"
        raise source_error(range_of(raw.index), message, "remove the brackets")
    if raw.arguments is None and raw.name not in _WITHOUT_ARGUMENTS:
        raise source_error(raw.range, f"clause '{raw.name}' needs arguments", f"write {form}")
    if raw.arguments is not None and not raw.arguments:
        remedy = "remove the parentheses" if raw.name in _WITHOUT_ARGUMENTS else f"write {form}"
        raise source_error(raw.range, f"clause '{raw.name}' has empty parentheses", remedy)


def _flag(raw: RawClause, _: Diagnostics) -> tuple[Clause, ...]:
    if raw.arguments is not None:
        raise source_error(range_of(raw.arguments), f"clause '{raw.name}' takes no arguments", "remove the parentheses")
    return (PlainClause(raw.name, (), raw.range),)


def _expression(raw: RawClause, _: Diagnostics) -> tuple[Clause, ...]:
    values = () if raw.arguments is None else tuple(map(expression, _arguments(raw)))
    if len(values) > 1 and raw.name != "wait":
        raise source_error(values[1].range, f"clause '{raw.name}' takes one expression", f"write {FORMS[raw.name]}")
    if raw.name == "device" and (values[0].literal or 0) < 0:
        raise source_error(values[0].range, "a device number cannot be negative", "devices are counted from 0")
    return (PlainClause(raw.name, values, raw.range),)


def _arguments(raw: RawClause) -> list[tuple[Token, ...]]:
    """The arguments between the commas. Raises SourceError if one is empty."""
    parts = split_at_commas(raw.arguments or ())
    if not all(parts):
        raise _empty_argument(raw)
    return parts


def _empty_argument(raw: RawClause) -> SourceError:
    return source_error(raw.range, f"clause '{raw.name}' has an empty argument", "remove the comma that stands alone")


def _count(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    first = _dimension(raw.index, f"of '{raw.name}'", diagnostics) if raw.index is not None else 0
    values = tuple(map(expression, _arguments(raw)))
    if first is None:
        return ()
    axis = AxisKind(raw.name[len("num_") : -1])
    most = 1 if axis is AxisKind.THREAD or raw.index is not None else 3
    if len(values) > most:
        many = "gangs and workers have three dimensions" if most == 3 else f"write {FORMS[raw.name]}"
        raise source_error(values[most].range, f"clause '{raw.name}' has too many counts", many)
    positive = [_is_positive(value, f"the count of '{raw.name}'", diagnostics) for value in values]
    counts = tuple(CountClause(axis, first + index, value, raw.range) for index, value in enumerate(values))
    return counts if all(positive) else ()


def _is_positive(value: ClauseExpression, what: str, diagnostics: Diagnostics) -> bool:
    if value.literal is None or value.literal > 0:
        return True
    diagnostics.error(value.range, f"{what} must be at least 1", "write a positive count")
    return False


def _dimension(tokens: Sequence[Token], what: str, diagnostics: Diagnostics) -> int | None:
    value = expression(tokens).literal
    if value is not None and 0 <= value <= 2:
        return value
    remedy = "gangs and workers have three dimensions"
    if len(tokens) == 1 and tokens[0].text in {tile.value for tile in TileKind}:
        remedy = f"write a tile clause for each kind: ... tile({tokens[0].text})"
    diagnostics.error(range_of(tokens), f"the dimension {what} must be 0, 1 or 2", remedy)
    return None


def _number(raw: RawClause, _: Diagnostics) -> tuple[Clause, ...]:
    value = expression(raw.arguments or ())
    if value.literal is None or value.literal < 1:
        message = f"clause '{raw.name}' needs a positive integer literal"
        raise source_error(value.range, message, f"write {FORMS[raw.name]}")
    return (PlainClause(raw.name, (value,), raw.range),)


def _name(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    names = _identifiers(raw, diagnostics)
    if names is None:
        return ()
    name = expression(raw.arguments or ())
    if len(names) > 1:
        raise source_error(name.range, "a kernel has one name", "write name(identifier)")
    if name.text in RESERVED or name.text == "main":
        message = f"'{name.text}' cannot name a kernel: OpenCL C, CUDA C++ or C has taken the word"
        raise source_error(name.range, message, f"choose another name, {name.text}_kernel for example")
    return (PlainClause("name", (name,), raw.range),)


#: `s.x`, `s->x.y`: a member of a struct.
_MEMBER = re.compile(r"[A-Za-z_]\w*((\.|->)[A-Za-z_]\w*)+")


def _identifiers(raw: RawClause, diagnostics: Diagnostics) -> tuple[str, ...] | None:
    """The names in a list of variables or struct members, each once; None after an error."""
    return _names(_arguments(raw), raw, diagnostics)


def _names(parts: Sequence[Sequence[Token]], raw: RawClause, diagnostics: Diagnostics) -> tuple[str, ...] | None:
    """The names that these parts of a clause are, each once; None after an error."""
    names: list[str] = []
    for part in parts:
        is_plain = len(part) == 1 and part[0].is_identifier
        name = "".join(token.text for token in part)
        if not (is_plain or (raw.name != "name" and _MEMBER.fullmatch(name))) or part[0].text in _KEYWORDS:
            what = "a variable" if raw.name != "name" else "a name"
            diagnostics.error(range_of(part), f"'{text_of(part)}' is not {what}", f"write {FORMS[raw.name]}")
        elif name in names:
            diagnostics.error(range_of(part), f"'{name}' is named twice in clause '{raw.name}'", "name it once")
        else:
            names.append(name)
    return tuple(names) if len(names) == len(parts) else None


def _private(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    names = _identifiers(raw, diagnostics)
    return () if names is None else (PrivateClause(names, raw.name == "firstprivate", raw.range),)


def _reduction(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    tokens = raw.arguments or ()
    colon = next((index for index, token in enumerate(tokens) if token.text == ":"), None)
    if not colon or colon + 1 == len(tokens):
        message = "clause 'reduction' needs an operator, a colon and variables"
        raise source_error(raw.range, message, f"write {FORMS['reduction']}")
    operator = text_of(tokens[:colon])
    is_known = operator in REDUCTION_OPERATORS
    if not is_known:
        fault = f"'{operator}' is not an operator of reductions"
        every = f"the operators are {listed(REDUCTION_OPERATORS)}"
        place = range_of(tokens[:colon])
        diagnostics.add(unknown_word(operator, REDUCTION_OPERATORS, place, fault, every, _FOREIGN_OPERATORS).diagnostic)
    parts = _arguments(replace(raw, arguments=tokens[colon + 1 :]))
    sections = tuple(_section(part) for part in parts if any(token.text == "[" for token in part))
    bare = [tuple(itertools.takewhile(lambda token: token.text != "[", part)) for part in parts]
    names = _names(bare, raw, diagnostics)
    return (ReductionClause(operator, names, raw.range, sections),) if is_known and names is not None else ()


_FOREIGN_OPERATORS = {
    **dict.fromkeys(("-", "+=", "-=", "add", "sum", "plus"), "+"),
    **dict.fromkeys(("*=", "times", "mul"), "*"),
    **{f"{operator}=": operator for operator in ("&", "|", "^")},
    "and": "&&",
    "or": "||",
    "fmin": "min",
    "fmax": "max",
}


def _targets(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    parts = _arguments(raw)
    known = [target.value for target in Target]
    values: list[ClauseExpression] = []
    for target in map(expression, parts):
        if target.text not in known:
            fault, every = f"there is no target '{target.text}'", f"the targets are {listed(known)}"
            refusal = unknown_word(target.text, known, target.range, fault, every, _FOREIGN_TARGETS)
            diagnostics.add(refusal.diagnostic)
        elif any(target.text == value.text for value in values):
            diagnostics.error(target.range, f"target '{target.text}' is named twice", "name it once")
        else:
            values.append(target)
    return (PlainClause("target", tuple(values), raw.range),) if len(values) == len(parts) else ()


_FOREIGN_TARGETS = {"nvidia": "cuda", "openmp": "threads", "cpu": "threads", "host": "serial"}


def _tile(raw: RawClause, diagnostics: Diagnostics) -> tuple[Clause, ...]:
    order = None if raw.index is None else expression(raw.index).literal
    if raw.index is not None and order is None:
        remedy = "write tile[0](static, 4) for example"
        diagnostics.error(range_of(raw.index), "the order of a tile must be an integer literal", remedy)
    first, *rest = _arguments(raw)
    word = text_of(first)
    if word == "auto":
        if order is not None or rest:
            message = "tile(auto) leaves all of the loop's tiles open, their order too"
            raise source_error(raw.range, message, "write tile(auto)")
        return (PlainClause("tile(auto)", (), raw.range),)
    kinds = {kind.value: kind for kind in TileKind}
    if word not in kinds:
        fault, every = f"there is no kind of tile '{word}'", f"the kinds are {listed(kinds)}"
        raise unknown_word(word, kinds, range_of(first), fault, every, {"vector": "worker"})
    kind = kinds[word]
    fewest, most, form = _TILES[kind]
    if len(rest) > most:
        raise source_error(range_of(rest[most]), f"a {word} tile has too many arguments here", f"write {form}")
    if len(rest) < fewest:
        missing = "count" if kind is TileKind.STATIC else "extent"
        raise source_error(raw.range, f"a {word} tile has no {missing} here", f"write {form}")
    if kind in (TileKind.STATIC, TileKind.SIZE):
        argument = expression(rest[0])
        what = "the count of a static tile" if kind is TileKind.STATIC else "the extent of a size tile"
        is_positive = _is_positive(argument, what, diagnostics)
        return (TileClause(kind, order, argument, 0, raw.range),) if is_positive else ()
    dimension = _dimension(rest[0], f"of a {word} tile", diagnostics) if rest else 0
    return () if dimension is None else (TileClause(kind, order, None, dimension, raw.range),)


#: The fewest and the most arguments of each kind of tile, and how it is written.
_TILES = {
    TileKind.STATIC: (1, 1, "tile(static, count)"),
    TileKind.SIZE: (1, 1, "tile(size, extent)"),
    TileKind.DYNAMIC: (0, 0, "tile(dynamic)"),
    TileKind.THREAD: (0, 0, "tile(thread)"),
    TileKind.GANG: (0, 1, "tile(gang, dimension)"),
    TileKind.WORKER: (0, 1, "tile(worker, dimension)"),
}


def _sor(raw: RawClause, _: Diagnostics) -> tuple[Clause, ...]:
    first, *rest = _arguments(raw)
    known = {method.value: method for method in SorMethod}
    word = text_of(first)
    if word not in known:
        fault, every = f"there is no method '{word}' of relaxation", f"the methods are {listed(known)}"
        raise unknown_word(word, known, range_of(first), fault, every)
    if known[word] is SorMethod.MULTILAYER:
        return (_multilayer(raw, rest),)
    if rest:
        raise source_error(range_of(rest[0]), f"sor({word}) has no further arguments", f"write sor({word})")
    return (SorClause(known[word], raw.range),)


def _multilayer(raw: RawClause, parts: Sequence[tuple[Token, ...]]) -> SorClause:
    """`sor(multilayer, layers: K, subdomain: P)`, 1 <= K <= P/2; absent numbers are 0."""
    numbers: dict[str, int] = {}
    form = "write sor(multilayer, layers: 16, subdomain: 32)"
    for part in parts:
        key = part[0].text
        if key in numbers:
            raise source_error(range_of(part), f"clause '{raw.name}' gives '{key}' twice", form)
        if key not in ("layers", "subdomain") or len(part) < 3 or part[1].text != ":":
            raise source_error(range_of(part), "sor(multilayer) takes layers: K and subdomain: P", form)
        value, least = expression(part[2:]), 2 if key == "subdomain" else 1
        if value.literal is None or value.literal < least:
            raise source_error(value.range, f"'{key}' is an integer literal of at least {least}", form)
        numbers[key] = value.literal
    subdomain, layers = numbers.get("subdomain", 0), numbers.get("layers", 0)
    if subdomain and layers > subdomain // 2:
        raise source_error(
            raw.range,
            f"subdomains of {subdomain} x {subdomain} have at most {subdomain // 2} layers: "
            "each takes two places off a tile",
            f"write layers: {subdomain // 2}, or subdomain: {2 * layers}",
        )
    return SorClause(SorMethod.MULTILAYER, raw.range, layers, subdomain)


# -- data


def parse_data(raw: RawClause, diagnostics: Diagnostics) -> tuple[DataClause, ...]:
    """`data(…)` or one of OpenACC's data clauses; empty if no item of it is correct.

    The paper's literal `data(...)` adds nothing: it leaves all data to the compiler. Directives
    become calls in `host/data_directives.py`; `arguments/array_arguments.py` takes the clauses of a
    kernel.
    """
    if raw.name == "data" and text_of(raw.arguments or ()) == "...":
        return ()
    sections: list[Section] = []
    attributes: list[tuple[Mode | Live, SourceRange]] = []
    for part in split_at_commas(raw.arguments or ()):
        with diagnostics.reporting():
            if not part:
                raise _empty_argument(raw)
            if len(part) > 1 and part[0].is_identifier and part[1].text == ":":
                attributes.append((_attribute(raw, part), range_of(part)))
            else:
                sections.append(_section(part))
    mode = _single("mode", [(value, place) for value, place in attributes if isinstance(value, Mode)], diagnostics)
    live = _single("live", [(value, place) for value, place in attributes if isinstance(value, Live)], diagnostics)
    if not sections:
        if attributes:
            message = f"clause '{raw.name}' has attributes but no section for them"
            diagnostics.error(raw.range, message, "write data(A[0:n], mode:rw)")
        return ()
    live = live or _SUGAR_LIVE.get(raw.name)
    if mode is Mode.READ and live is Live.OUT:
        message = "'mode:r' contradicts 'live:out': data that is only read brings no values out"
        diagnostics.error(raw.range, message, "write live:in, or mode:w")
    if mode is Mode.WRITE and live is Live.IN:
        message = "'mode:w' contradicts 'live:in': written values would be lost, and entering values are not read"
        diagnostics.error(raw.range, message, "write live:out, or mode:r")
    return (DataClause(raw.name, tuple(sections), mode, live, raw.name == "present", raw.range),)


_SUGAR_LIVE = {"copy": Live.IN_OUT, "copyin": Live.IN, "copyout": Live.OUT, "create": Live.NOT}
_ATTRIBUTES: dict[str, type[Mode] | type[Live]] = {"mode": Mode, "live": Live}
_BOTH = {"mode": "rw", "live": "inout"}


def _attribute(raw: RawClause, part: Sequence[Token]) -> Mode | Live:
    """The value of `mode:…` or `live:…`. Raises SourceError."""
    key, word = part[0].text, text_of(part[2:])
    if key not in _ATTRIBUTES:
        near = nearest(key, _ATTRIBUTES)
        remedy = f"did you mean '{near}'?" if near else "the attributes are mode:r|w|rw and live:in|out|inout|not"
        raise source_error(part[0].range, f"'{key}' is not an attribute of data", remedy)
    if raw.name != "data":
        message = f"clause '{raw.name}' takes no attributes: its name says what moves"
        raise source_error(range_of(part), message, f"write data(…, {text_of(part)})")
    known = {value.value: value for value in _ATTRIBUTES[key]}
    if word in known:
        return known[word]
    fault = f"'{word}' is not a value of '{key}'" if word else f"'{key}' has no value"
    raise unknown_word(word, known, range_of(part), fault, f"write {key}: with one of {listed(known, 'or')}")


def _single(key: str, given: Sequence[tuple[_Attribute, SourceRange]], diagnostics: Diagnostics) -> _Attribute | None:
    """The first value of an attribute; reports others."""
    first = given[0][0] if given else None
    for value, place in given[1:]:
        if value is first:
            diagnostics.error(place, f"'{key}' is given twice in one clause", "give it once")
        else:
            diagnostics.error(
                place,
                f"'{key}:{value.value}' contradicts '{key}:{given[0][0].value}' in the same clause",
                f"write {key}:{_BOTH[key]}, or a clause of its own for each array: "
                "attributes hold for the whole clause",
            )
    return first


def _section(tokens: Sequence[Token]) -> Section:
    """`path[…][…]`. Raises SourceError."""
    end = next((index for index, token in enumerate(tokens) if token.text == "["), len(tokens))
    path = tokens[:end]
    names, joints = path[::2], path[1::2]
    is_path = len(names) > len(joints) and all(token.is_identifier for token in names)
    if not is_path or any(token.text not in (".", "->") for token in joints):
        remedy = "write a variable or a member path with its bounds: A[0:n][0:m], grid->u[0:n]"
        raise source_error(range_of(tokens), f"'{text_of(tokens)}' is not a section of an array", remedy)
    dimensions: list[SectionDimension] = []
    while end < len(tokens):
        if tokens[end].text != "[":
            message = f"'{text_of(tokens[end:])}' follows the section '{text_of(tokens[:end])}'"
            remedy = "a section ends with its bounds; put a comma before the next one"
            raise source_error(range_of(tokens[end:]), message, remedy)
        close = closing(tokens, end)
        dimensions.append(_bounds(tokens[end : close + 1]))
        end = close + 1
    return Section("".join(token.text for token in path), tuple(dimensions), range_of(tokens))


def _bounds(tokens: Sequence[Token]) -> SectionDimension:
    """`[length]`, `[lower:length]`, `[:length]` or `[:]`, with brackets. Raises SourceError."""
    inner = tokens[1:-1]
    colons = _colons(inner)
    if not inner:
        raise source_error(range_of(tokens), "this dimension has no bounds", "write [lower:length] or [length]")
    if len(colons) > 1:
        message = "a section has no stride: it is a lower bound and a length"
        raise source_error(inner[colons[1]].range, message, "write [lower:length]")
    lower, length = (inner[: colons[0]], inner[colons[0] + 1 :]) if colons else ((), inner)
    if lower and not length:
        message = "this section has no length"
        raise source_error(range_of(tokens), message, "write [lower:length]; the length counts elements")
    count = expression(length) if length else None
    if count is not None and count.literal is not None and count.literal < 1:
        raise source_error(count.range, "the length of a section must be at least 1", "write [lower:length]")
    return SectionDimension(expression(lower) if lower else None, count)


def _colons(tokens: Sequence[Token]) -> list[int]:
    """The indices of the colons outside all brackets that belong to no `?`."""
    colons: list[int] = []
    questions = index = 0
    while index < len(tokens):
        text = tokens[index].text
        if text in ("(", "[", "{"):
            index = closing(tokens, index)
        elif text == "?":
            questions += 1
        elif text == ":" and questions:
            questions -= 1
        elif text == ":":
            colons.append(index)
        index += 1
    return colons


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
