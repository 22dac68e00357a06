"""For directives at random: text and meaning are inverse, layout does not matter, and every place is exact."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.directive_text import format_directive
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.frontend.pragma.scanner import find_directives
from tilepragma.ir.directives import (
    AxisKind,
    ClauseExpression,
    Construct,
    CountClause,
    DataClause,
    DataDirective,
    Directive,
    KernelDirective,
    Live,
    LoopDirective,
    Mode,
    PrivateClause,
    ReductionClause,
    RoutineDirective,
    Section,
    SectionDimension,
    Target,
    TileClause,
    TileKind,
)

_LIVE = {"copy": Live.IN_OUT, "copyin": Live.IN, "copyout": Live.OUT, "create": Live.NOT}
_EXPRESSIONS = (
    *("n", "4", "0x10u", "n - 1", "f(a, b)", "x[i][j]", "a ? b : c", "p->n", "sizeof (T)", "(int){1, 2}[0]", "-x"),
    *('s == "a,(\\"b" ? 1 : \'c\'', "i << 2 | 1", "größe", "1.5e-3", "!a && b || c", "(a, b)"),
)

expressions = st.sampled_from(_EXPRESSIONS).map(lambda text: ClauseExpression(text, NOWHERE))
positive = st.one_of(expressions.filter(lambda e: e.literal is None or e.literal > 0))


def names(prefix: str, least: int = 1) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of few names, each once; prefixes keep the roles of variables apart."""
    return st.lists(st.integers(0, 5).map(lambda n: f"{prefix}{n}"), min_size=least, max_size=3, unique=True).map(tuple)


dimensions = st.one_of(
    st.just(SectionDimension(None, None)),
    st.builds(SectionDimension, st.one_of(st.none(), expressions), positive),
)


@st.composite
def data_clauses(draw: st.DrawFn, clause_names: tuple[str, ...]) -> tuple[DataClause, ...]:
    clauses = []
    paths = iter(draw(st.permutations(["A", "B", "grid->u", "s.v.w", "mode", "live"])))
    for name in draw(st.lists(st.sampled_from(clause_names), min_size=1, max_size=3)):
        count = draw(st.integers(1, 2))
        sections = tuple(
            Section(next(paths), tuple(draw(st.lists(dimensions, max_size=3))), NOWHERE) for _ in range(count)
        )
        mode = draw(st.one_of(st.none(), st.sampled_from(Mode))) if name == "data" else None
        live = draw(st.one_of(st.none(), st.sampled_from(Live))) if name == "data" else _LIVE.get(name)
        if (mode, live) in ((Mode.READ, Live.OUT), (Mode.WRITE, Live.IN)):
            live = None
        clauses.append(DataClause(name, sections, mode, live, name == "present", NOWHERE))
    return tuple(clauses)


@st.composite
def queues(draw: st.DrawFn) -> dict[str, Any]:
    asynchronous = draw(st.one_of(st.none(), expressions))
    waits = tuple(draw(st.lists(expressions, max_size=2)))
    return {
        "condition": draw(st.one_of(st.none(), expressions)),
        "asynchronous": asynchronous,
        "asynchronous_default": asynchronous is None and draw(st.booleans()),
        "waits": waits,
        "wait_all": not waits and draw(st.booleans()),
    }


@st.composite
def variables(draw: st.DrawFn, first_private: bool) -> dict[str, Any]:
    operator = st.sampled_from(["+", "*", "min", "max", "&", "|", "^", "&&", "||"])
    reductions = draw(
        st.one_of(st.just(()), st.builds(ReductionClause, operator, names("r"), st.just(NOWHERE)).map(lambda r: (r,)))
    )
    privates = draw(st.one_of(st.just(()), names("p").map(lambda n: (PrivateClause(n, False, NOWHERE),))))
    if first_private and draw(st.booleans()):
        privates += (PrivateClause(draw(names("f")), True, NOWHERE),)
    return {"reductions": reductions, "privates": privates}


@st.composite
def counts(draw: st.DrawFn) -> tuple[CountClause, ...]:
    axes = draw(st.sampled_from([(AxisKind.THREAD,), (AxisKind.GANG, AxisKind.WORKER)]))
    places = [(axis, d) for axis in axes for d in range(1 if axis is AxisKind.THREAD else 3)]
    chosen = draw(st.lists(st.sampled_from(places), unique=True, max_size=4))
    return tuple(CountClause(axis, dimension, draw(positive), NOWHERE) for axis, dimension in chosen)


@st.composite
def kernels(draw: st.DrawFn) -> KernelDirective:
    return KernelDirective(
        NOWHERE,
        name=draw(st.one_of(st.none(), st.sampled_from(["k", "loop", "data_1"]))),
        data=draw(st.one_of(st.just(()), data_clauses(("data", "copy", "copyin", "copyout", "create", "present")))),
        counts=draw(counts()),
        targets=draw(st.sampled_from([(), (Target.AUTO,), (Target.CUDA, Target.THREADS, Target.OPENCL)])),
        device=draw(st.one_of(st.none(), expressions)),
        independent=draw(st.booleans()),
        **draw(queues()),
        **draw(variables(True)),
    )


@st.composite
def tiles(draw: st.DrawFn, kinds: tuple[TileKind, ...]) -> TileClause:
    kind = draw(st.sampled_from(kinds))
    argument = draw(positive) if kind in (TileKind.STATIC, TileKind.SIZE) else None
    dimension = draw(st.integers(0, 2)) if kind in (TileKind.GANG, TileKind.WORKER) else 0
    return TileClause(kind, draw(st.one_of(st.none(), st.integers(-2, 9))), argument, dimension, NOWHERE)


@st.composite
def loops(draw: st.DrawFn, paired: bool = False) -> LoopDirective:
    sequential = draw(st.booleans())
    plain = (TileKind.STATIC, TileKind.SIZE, TileKind.DYNAMIC)
    axes = draw(st.sampled_from([(TileKind.THREAD,), (TileKind.GANG, TileKind.WORKER)]))
    kinds = plain if sequential or paired else plain + axes
    own = {} if paired else draw(variables(False))
    once = lambda tile: (tile.kind, tile.dimension, tile.kind in (TileKind.STATIC, TileKind.SIZE) and id(tile))  # noqa: E731
    return LoopDirective(
        NOWHERE,
        tiles=tuple(draw(st.lists(tiles(kinds), max_size=4, unique_by=once))),
        unroll=draw(st.one_of(st.none(), st.integers(1, 64))),
        sequential=sequential,
        independent=not paired and not sequential and draw(st.booleans()),
        collapse=draw(st.integers(1, 4)),
        **own,
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[KernelDirective, LoopDirective]:
    head, inner = draw(kernels()), draw(loops(paired=True))
    return (dataclasses.replace(head, independent=False) if inner.sequential else head), inner


@st.composite
def data_directives(draw: st.DrawFn) -> DataDirective:
    construct, allowed = draw(
        st.sampled_from(
            [
                (Construct.DATA, ("copy", "copyin", "copyout", "create", "present")),
                (Construct.ENTER_DATA, ("copyin", "create")),
                (Construct.EXIT_DATA, ("copyout", "delete")),
                (Construct.UPDATE, ("self", "device")),
            ]
        )
    )
    return DataDirective(construct, draw(data_clauses(allowed)), NOWHERE, **draw(queues()))


def waiting(queues: list[ClauseExpression]) -> DataDirective:
    return DataDirective(Construct.WAIT, (), NOWHERE, waits=tuple(queues), wait_all=not queues)


directives = st.one_of(
    kernels(),
    loops(),
    pairs(),
    data_directives(),
    st.lists(expressions, max_size=3).map(waiting),
    st.just(RoutineDirective(NOWHERE)),
)

_PIECE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\w.]+(?:(?<=e)-\d+)?|->|<<|\|\||&&|==| +|.")


@st.composite
def layouts(draw: st.DrawFn, text: str) -> str:
    """`text` with other white space, comments and continuations between its tokens, and continuations inside them."""
    gaps = st.sampled_from([" ", "  ", "\t", " /* c, ) */ ", " \\\n  ", "\\\r\n \\\n", " /*\n*/ "])
    out = ["#pragma", " tilek"]
    for token in _PIECE.findall(text.removeprefix("#pragma tilek")):
        if token.isspace():
            out.append(draw(gaps))
        elif len(token) > 1 and draw(st.integers(0, 9)) == 0:
            out.append(token[:1] + "\\\n" + token[1:])
        else:
            out.append(token)
    return "".join(out)


def parsed(text: bytes) -> Directive:
    diagnostics = Diagnostics()
    (found,) = find_directives("a.c", text, diagnostics)
    assert diagnostics.items == []
    return found.directive


def without_places(node: Any) -> Any:
    """`node` with every range NOWHERE, so that directives compare by meaning."""
    if isinstance(node, SourceRange):
        return NOWHERE
    if isinstance(node, tuple):
        return tuple(without_places(item) for item in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return dataclasses.replace(
            node, **{field.name: without_places(getattr(node, field.name)) for field in dataclasses.fields(node)}
        )
    return node


def clause_expressions(node: Any) -> list[ClauseExpression]:
    if isinstance(node, ClauseExpression):
        return [node]
    if isinstance(node, tuple):
        return [each for item in node for each in clause_expressions(item)]
    if dataclasses.is_dataclass(node):
        return [each for field in dataclasses.fields(node) for each in clause_expressions(getattr(node, field.name))]
    return []


@settings(deadline=None)
@given(directives)
def test_a_directive_printed_and_parsed_is_itself(directive: Directive) -> None:
    text = format_directive(directive)
    assert "\n" not in text
    assert without_places(parsed(f"{text}\n".encode())) == directive
    assert format_directive(parsed(text.encode())) == text


@settings(deadline=None)
@given(st.data())
def test_layout_does_not_matter_and_expressions_are_where_they_say(data: st.DataObject) -> None:
    directive = data.draw(directives)
    source = f"int x;\n  {data.draw(layouts(format_directive(directive)))}\nfor (;;);\n".encode()
    result = parsed(source)
    assert without_places(result) == directive
    for expression in clause_expressions(result):
        start, end = expression.range.start, expression.range.end
        written = re.sub(rb"\\\r?\n", b"", source[start.offset : end.offset]).decode()
        written = re.sub(r"(?:\s|/\*.*?\*/)+", " ", written, flags=re.DOTALL)
        assert written == expression.text
        for place in (start, end):
            lines = source[: place.offset].decode().split("\n")
            assert (place.line, place.column) == (len(lines), len(lines[-1]) + 1)


@settings(deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"kernel ", b"loop tile(", b"kernel data(A", b"enter data"]))
def test_no_bytes_are_too_strange(junk: bytes, start: bytes) -> None:
    diagnostics = Diagnostics()
    text = b"#pragma tilek " + start + junk + b"\n"
    for each in find_directives("a.c", text, diagnostics):
        assert 0 <= each.range.start.offset < each.range.end.offset <= each.end_offset <= len(text)
    for item in diagnostics:
        assert 0 <= item.range.start.offset <= item.range.end.offset <= len(text)


_GRAMMAR_SOUP = st.lists(
    st.sampled_from(
        [
            *(
                "kernel",
                "loop",
                "data",
                "tile",
                "num_gangs",
                "reduction",
                "target",
                "mode:r",
                "live:in",
                "static",
                "auto",
            ),
            *(
                "(",
                ")",
                "[",
                "]",
                "{",
                "}",
                ",",
                ":",
                "+",
                "0",
                "4",
                "A",
                "A[0:n]",
                "->",
                "gang",
                "seq",
                "wait",
                "sor",
                '"',
            ),
        ]
    ),
    max_size=14,
)


@settings(deadline=None)
@given(_GRAMMAR_SOUP)
def test_no_order_of_words_is_too_strange(words: list[str]) -> None:
    diagnostics = Diagnostics()
    find_directives("a.c", ("#pragma tilek " + " ".join(words)).encode(), diagnostics)
    for item in diagnostics:
        assert item.notes, item


_FRAGMENTS = (
    *(
        "#pragma tilek loop\n",
        "  # pragma  tilek \\\n kernel\n",
        '_Pragma("tilek loop") ',
        "LOOP ",
        "MAKE(tilek loop)\n",
    ),
    *('#define LOOP _Pragma("tilek loop")\n', "#undef LOOP\n", "#define MAKE(x) _Pragma(#x)\n", "#undef MAKE\n"),
    *("/* #pragma tilek loop\n", "*/ ", "// \\\n", "\n", '"', '\\"', "x ", "/**/#pragma tilek wait /* \n */\n", "\r\n"),
    *("MAKE(omp simd)\n", '_Pragma("tilek kernel" /* c */ ) ', "#if 1\n", "#endif\n", "#define LOOP\n", "\\\n"),
    *("#define TWO LOOP LOOP\n", "TWO\n", "MAKE ", "(tilek wait)\n"),
)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc as the oracle")
@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=12))
def test_the_preprocessor_finds_as_many_directives(fragments: list[str]) -> None:
    text = "".join(fragments).encode()
    run = subprocess.run(["gcc", "-E", "-P", "-xc", "-"], input=text, capture_output=True, check=False)
    if run.returncode == 0 and not run.stderr:
        expected = len(re.findall(rb"^#pragma tilek ", run.stdout, re.MULTILINE))
        assert len(find_directives("a.c", text, Diagnostics())) == expected
