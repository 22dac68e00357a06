"""What directives mean: the paper's listings, and every clause of docs/LANGUAGE.md."""

from __future__ import annotations

import pytest

from tilepragma.base.diagnostics import Diagnostics, render
from tilepragma.frontend.pragma.scanner import find_directives
from tilepragma.ir.directives import (
    AxisKind,
    Construct,
    DataClause,
    DataDirective,
    Directive,
    KernelDirective,
    Live,
    LoopDirective,
    Mode,
    RoutineDirective,
    Target,
    TileClause,
    TileKind,
)

LISTING_1 = """#pragma tilek kernel data(A[0:n][0:m], \\
                               mode:rw, \\
                               live:inout)
{
#pragma tilek loop tile[0](static, 2) \\
                               tile[2](dynamic)
for (i = 0; i < n; i++)
  #pragma tilek loop tile[1](static, 3) \\
                                tile[3](dynamic)
   for (j = 0; j < m; j++)
     A[i][j] += b;
 }
"""
LISTING_2 = """#pragma tilek kernel data(...) num_threads(4)
{
  #pragma tilek loop tile(thread) \\
    tile[1](dynamic)
  for (i = 0; i < n; i++)
    #pragma tilek loop tile[2](dynamic)
      for (j = 0; j < m; j++)
        A[i][j] += b;
}
"""
LISTING_3 = """#pragma tilek kernel data(...) \\
  num_gangs[0](2) num_gangs[1](2) \\
  num_workers[0](4) num_workers[1](4)
{
  #pragma tilek loop tile(gang, 0) \\
    tile(worker, 0) \\
    tile[0](dynamic)
  for (i = 0; i < n; i++)
    #pragma tilek loop tile(gang, 1) \\
      tile(worker, 1) \\
      tile[1](dynamic)
      for (j = 0; j < m; j++)
        A[i][j] += b;
}
"""


def parse_all(text: str) -> list[Directive]:
    diagnostics = Diagnostics()
    result = find_directives("a.c", text.encode(), diagnostics)
    assert [render(item, lambda _file, _line: None) for item in diagnostics] == []
    return [item.directive for item in result]


def parse(words: str) -> Directive:
    (directive,) = parse_all(f"#pragma tilek {words}\n")
    return directive


def kernel(clauses: str) -> KernelDirective:
    directive = parse(f"kernel {clauses}")
    assert isinstance(directive, KernelDirective)
    return directive


def loop(clauses: str) -> LoopDirective:
    directive = parse(f"loop {clauses}")
    assert isinstance(directive, LoopDirective)
    return directive


def tiles(directive: Directive) -> list[tuple[str, int | None, str | None, int]]:
    assert isinstance(directive, LoopDirective)
    return [tile_parts(tile) for tile in directive.tiles]


def tile_parts(tile: TileClause) -> tuple[str, int | None, str | None, int]:
    return tile.kind.value, tile.order, None if tile.argument is None else tile.argument.text, tile.dimension


def sections(clause: DataClause) -> list[tuple[str, list[tuple[str | None, str | None]]]]:
    return [
        (
            section.path,
            [(d.lower and d.lower.text, d.length and d.length.text) for d in section.dimensions],
        )
        for section in clause.sections
    ]


def test_listing_1() -> None:
    head, outer, inner = parse_all(LISTING_1)
    assert isinstance(head, KernelDirective)
    (data,) = head.data
    assert sections(data) == [("A", [("0", "n"), ("0", "m")])]
    assert (data.name, data.mode, data.live) == ("data", Mode.READ_WRITE, Live.IN_OUT)
    assert tiles(outer) == [("static", 0, "2", 0), ("dynamic", 2, None, 0)]
    assert tiles(inner) == [("static", 1, "3", 0), ("dynamic", 3, None, 0)]


def test_listing_2() -> None:
    head, outer, inner = parse_all(LISTING_2)
    assert isinstance(head, KernelDirective)
    assert [(c.axis, c.dimension, c.count.text) for c in head.counts] == [(AxisKind.THREAD, 0, "4")]
    assert head.data == ()
    assert tiles(outer) == [("thread", None, None, 0), ("dynamic", 1, None, 0)]
    assert tiles(inner) == [("dynamic", 2, None, 0)]


def test_listing_3() -> None:
    head, outer, inner = parse_all(LISTING_3)
    assert isinstance(head, KernelDirective)
    assert [(c.axis.value, c.dimension, c.count.literal) for c in head.counts] == [
        ("gang", 0, 2),
        ("gang", 1, 2),
        ("worker", 0, 4),
        ("worker", 1, 4),
    ]
    assert tiles(outer) == [("gang", None, None, 0), ("worker", None, None, 0), ("dynamic", 0, None, 0)]
    assert tiles(inner) == [("gang", None, None, 1), ("worker", None, None, 1), ("dynamic", 1, None, 0)]


def test_whole_forms_need_no_clause() -> None:
    head = parse("kernel")
    assert isinstance(head, KernelDirective)
    assert head == KernelDirective(head.range)
    inner = parse("loop")
    assert isinstance(inner, LoopDirective)
    assert inner == LoopDirective(inner.range)
    pair = parse("kernel loop")
    assert pair == (KernelDirective(head_range(pair)), LoopDirective(head_range(pair)))
    assert isinstance(parse("routine"), RoutineDirective)


def head_range(directive: Directive):  # type: ignore[no-untyped-def]
    return directive[0].range if isinstance(directive, tuple) else directive.range


def test_counts_in_list_form_are_dimensions_in_order() -> None:
    counts = kernel("num_gangs(4, f(a, b)) num_workers[2](n)").counts
    assert [(c.axis.value, c.dimension, c.count.text) for c in counts] == [
        ("gang", 0, "4"),
        ("gang", 1, "f(a, b)"),
        ("worker", 2, "n"),
    ]


def test_clauses_of_a_kernel() -> None:
    head = kernel(
        "target(opencl, cuda) device(d + 1) if(n > 4 ? a : b) async(q) wait(1, q + 1) name(k_1) independent "
        "reduction(+: s, t) reduction(max : u) private(x, y) firstprivate(z)"
    )
    assert head.targets == (Target.OPENCL, Target.CUDA)
    assert head.device is not None and head.device.text == "d + 1"
    assert head.condition is not None and head.condition.text == "n > 4 ? a : b"
    assert head.asynchronous is not None and head.asynchronous.text == "q"
    assert (head.asynchronous_default, head.wait_all) == (False, False)
    assert [queue.text for queue in head.waits] == ["1", "q + 1"]
    assert head.name == "k_1"
    assert head.independent
    assert [(r.operator, r.names) for r in head.reductions] == [("+", ("s", "t")), ("max", ("u",))]
    assert [(p.names, p.first) for p in head.privates] == [(("x", "y"), False), (("z",), True)]


def test_reduced_arrays_have_sections() -> None:
    (clause,) = kernel("reduction(+: s, g->w[0:n][:], t[4])").reductions
    assert clause.names == ("s", "g->w", "t")
    assert [(each.path, len(each.dimensions)) for each in clause.sections] == [("g->w", 2), ("t", 1)]


def test_async_and_wait_alone() -> None:
    head = kernel("async wait")
    assert (head.asynchronous, head.asynchronous_default, head.waits, head.wait_all) == (None, True, (), True)


@pytest.mark.parametrize("operator", ["+", "*", "min", "max", "&", "|", "^", "&&", "||"])
@pytest.mark.parametrize("gap", ["", " "])
def test_every_operator_of_reductions(operator: str, gap: str) -> None:
    for directive in (kernel(f"reduction({operator}{gap}:s)"), loop(f"reduction({operator}{gap}:s)")):
        assert [(r.operator, r.names) for r in directive.reductions] == [(operator, ("s",))]


@pytest.mark.parametrize("target", list(Target))
def test_every_target(target: Target) -> None:
    assert kernel(f"target({target.value})").targets == (target,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", ("A", [])),
        ("A[n]", ("A", [(None, "n")])),
        ("A[:n]", ("A", [(None, "n")])),
        ("A[:]", ("A", [(None, None)])),
        ("A[1:n-2][0:m]", ("A", [("1", "n-2"), ("0", "m")])),
        ("grid->u[0:n*m]", ("grid->u", [("0", "n*m")])),
        ("grid -> rows . u[n]", ("grid->rows.u", [(None, "n")])),
        ("A[f(a, b):g[i, 2]]", ("A", [("f(a, b)", "g[i, 2]")])),
        ("A[c ? 0 : 1 : d ? e ? 1 : 2 : 3]", ("A", [("c ? 0 : 1", "d ? e ? 1 : 2 : 3")])),
        ("A[0 /* from */ : /* to */ sizeof (double)]", ("A", [("0", "sizeof (double)")])),
        ("mode[0:n]", ("mode", [("0", "n")])),
        ("A[(size_t){3}]", ("A", [(None, "(size_t){3}")])),
    ],
)
def test_sections(text: str, expected: tuple[str, list[tuple[str | None, str | None]]]) -> None:
    (clause,) = kernel(f"data({text})").data
    assert sections(clause) == [expected]


def test_attributes_hold_for_all_sections_of_their_clause_wherever_they_stand() -> None:
    first, second = kernel("data(mode:r, A[n], B, live : in) data(C)").data
    assert [path for path, _ in sections(first)] == ["A", "B"]
    assert (first.mode, first.live) == (Mode.READ, Live.IN)
    assert (second.mode, second.live) == (None, None)


@pytest.mark.parametrize(
    ("name", "live", "present"),
    [
        ("copy", Live.IN_OUT, False),
        ("copyin", Live.IN, False),
        ("copyout", Live.OUT, False),
        ("create", Live.NOT, False),
        ("present", None, True),
    ],
)
def test_the_sugar_of_openacc(name: str, live: Live | None, present: bool) -> None:
    (clause,) = kernel(f"{name}(A[0:n], B)").data
    assert (clause.name, clause.live, clause.mode, clause.present) == (name, live, None, present)
    assert len(clause.sections) == 2


@pytest.mark.parametrize("mode", list(Mode))
def test_every_mode(mode: Mode) -> None:
    assert kernel(f"data(A, mode:{mode.value})").data[0].mode is mode


@pytest.mark.parametrize("live", list(Live))
def test_every_liveness(live: Live) -> None:
    assert kernel(f"data(A, live:{live.value})").data[0].live is live


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tile(static, 4)", ("static", None, "4", 0)),
        ("tile[2](static, f(a, b) + 1)", ("static", 2, "f(a, b) + 1", 0)),
        ("tile[-1](size, n)", ("size", -1, "n", 0)),
        ("tile(dynamic)", ("dynamic", None, None, 0)),
        ("tile(thread)", ("thread", None, None, 0)),
        ("tile(gang)", ("gang", None, None, 0)),
        ("tile(gang, 1)", ("gang", None, None, 1)),
        ("tile[0](worker, 2)", ("worker", 0, None, 2)),
    ],
)
def test_tiles(text: str, expected: tuple[str, int | None, str | None, int]) -> None:
    assert tiles(loop(text)) == [expected]


def test_clauses_of_a_loop() -> None:
    directive = loop("unroll(4) seq reduction(*: p) private(t) collapse(2) tile(size, 8)")
    assert (directive.unroll, directive.sequential, directive.independent, directive.collapse) == (4, True, False, 2)
    assert directive.reductions[0].operator == "*"
    assert directive.privates[0].names == ("t",)
    assert [tile.kind for tile in directive.tiles] == [TileKind.SIZE]
    assert loop("independent").independent


def test_a_kernel_loop_splits_its_clauses_and_shared_ones_are_the_kernels() -> None:
    directive = parse("kernel loop tile(gang) copyin(A) reduction(+: s) num_gangs(4) private(t) independent unroll(2)")
    assert isinstance(directive, tuple)
    head, inner = directive
    assert (len(head.data), len(head.counts), len(head.reductions), len(head.privates)) == (1, 1, 1, 1)
    assert head.independent
    assert (len(inner.tiles), inner.unroll) == (1, 2)
    assert (inner.reductions, inner.privates, inner.independent) == ((), (), False)
    assert head.range == inner.range


@pytest.mark.parametrize(
    ("words", "construct", "names"),
    [
        ("data copy(A[0:n]) present(B)", Construct.DATA, ["copy", "present"]),
        ("enter data copyin(A) create(B)", Construct.ENTER_DATA, ["copyin", "create"]),
        ("exit data copyout(A), delete(B)", Construct.EXIT_DATA, ["copyout", "delete"]),
        ("update self(A) device(B[1:2])", Construct.UPDATE, ["self", "device"]),
    ],
)
def test_data_directives(words: str, construct: Construct, names: list[str]) -> None:
    directive = parse(f"{words} if(x) async(1) wait(2, 3)")
    assert isinstance(directive, DataDirective)
    assert directive.construct is construct
    assert [clause.name for clause in directive.clauses] == names
    assert directive.condition is not None and directive.condition.text == "x"
    assert directive.asynchronous is not None and directive.asynchronous.text == "1"
    assert [queue.text for queue in directive.waits] == ["2", "3"]
    assert not directive.wait_all


def test_several_pieces_of_an_array_may_be_updated_in_one_direction() -> None:
    directive = parse("update self(A[0:1], A[n:1]) self(A[m:1])")
    assert isinstance(directive, DataDirective)
    assert len(directive.clauses) == 2


def test_wait() -> None:
    alone, queues = parse("wait"), parse("wait(1, q)")
    assert isinstance(alone, DataDirective) and alone.wait_all and alone.waits == ()
    assert isinstance(queues, DataDirective) and [queue.text for queue in queues.waits] == ["1", "q"]


def test_commas_between_clauses_are_optional() -> None:
    assert len(loop(", ".join(["tile(gang)", "tile(worker)", "tile(dynamic)"])).tiles) == 3
    assert parse_all("#pragma tilek kernel, name(k)\n")


@pytest.mark.parametrize(
    "words",
    [
        "kernel target(serial, opencl) num_gangs(4)",
        "kernel target(threads) num_gangs(4) num_workers(8)",
        "kernel target(threads, cuda) num_threads(4)",
        "kernel target(auto) num_threads(4)",
        "kernel loop target(serial) tile(static, 2) tile(dynamic)",
        "loop seq tile(static, 2) tile(dynamic) unroll(4)",
        "loop tile(gang, 0) tile(gang, 1) tile(worker, 0) tile(static, 2)",
    ],
)
def test_what_does_not_contradict_itself_is_accepted(words: str) -> None:
    assert parse(words)
