"""Statements print as C; what a launch's text needs of the host and of a device is declared, and nothing else."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import (
    E,
    argument,
    array,
    assign,
    at,
    binary,
    expr,
    helper,
    launch,
    listing3,
    loop,
    nest,
    place,
    plan,
    scalar,
    tiled,
)

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.device_definitions import record_definitions
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA, OPENCL, C
from tilepragma.codegen.host_functions import host_functions
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.manifest import iterator_range
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.writer import GENERATED_LINE, WIDTH, Writer
from tilepragma.ir.expressions import Access, Call, Callee, DataObject, Increment, Scope
from tilepragma.ir.loop_tree import (
    Block,
    Break,
    Declaration,
    Declarator,
    ExpressionStatement,
    ForLoop,
    Function,
    If,
    Loop,
    Return,
    Statement,
    While,
)
from tilepragma.ir.types import DOUBLE, FLOAT, INT, LONG, Field, RecordType, ScalarKind, ScalarType

ITERATOR, COUNT = scalar("i", scope=Scope.LOCAL), scalar("n")


def text(statement: Statement) -> str:
    writer = Writer()
    StatementPrinter(writer, Printer(C)).statement(statement)
    return writer.text()


def test_control_flow() -> None:
    access = expr(ITERATOR)
    assert isinstance(access, Access)
    step = ExpressionStatement(Increment("++", False, access, INT))
    inner = While(
        binary("<", ITERATOR, COUNT).node, Block((step, If(expr(ITERATOR), Block((Break(),)), None))), test_last=True
    )
    first = Declaration((Declarator(ITERATOR, expr(0)), Declarator(replace(ITERATOR, name="k"), expr(1))))
    loop_ = ForLoop(first, binary("<", ITERATOR, COUNT).node, None, Block((inner,)), None, "")
    assert text(loop_) == (
        "for (int i = 0, k = 1; i < n;) {\n    do {\n        i++;\n        if (i) {\n            break;\n        }\n"
        "    } while (i < n);\n}\n"
    )
    both = If(expr(COUNT), Block((step,)), Block(()))
    assert text(both) == "if (n) {\n    i++;\n} else {\n}\n"
    assert text(loop(3, ITERATOR, COUNT, 0, (), step=-2, comparison=">")) == "for (int i = n; i > 0; i += -2) {\n}\n"


def test_user_lines_are_marked_and_left_again() -> None:
    writer = Writer(user_lines=True)
    writer.user("x = 1;", place(7))
    writer.line("}")
    writer.line("y = 2;")
    assert writer.lines == ['#line 7 "example.c"', "x = 1;", "}", GENERATED_LINE, "y = 2;"]


def test_written_scalars_of_one_instance_are_copied_and_stored_back() -> None:
    x, source = scalar("x"), array("a", None, type_=INT)
    made = launch("last", (nest([tiled(loop(0, ITERATOR, 0, COUNT), "dynamic")], (assign(x, at(source, ITERATOR)),)),))
    region = plan((made,), (argument(source, COUNT), argument(x, writes=True)), name="last")
    host = host_functions(region)
    assert "int x = *(const int *)call->arrays[1].base;" in host
    assert "*(int *)call->arrays[1].base = x;" in host
    program = device_program(region, OPENCL).text
    assert "x[0] = a[i];" in program


def test_only_what_is_used_is_declared() -> None:
    host = host_functions(listing3("thread dynamic", "dynamic"))
    assert "j_count" not in host
    assert "i_count0" not in host
    assert "i_stride1" not in host


def test_decreasing_unsigned_loops_count_iterations() -> None:
    unsigned = ScalarType(ScalarKind.INTEGER, 32, False, "unsigned int")
    iterator = scalar("i", unsigned, Scope.LOCAL)
    target = array("a", None)
    source = loop(0, iterator, COUNT, 0, (), step=-1, comparison=">")
    made = launch("down", (nest([tiled(source, "thread dynamic")], (assign(at(target, iterator), 1.0),)),))
    region = plan((made,), (argument(target, COUNT, writes=True),), name="down")
    host = host_functions(region)
    assert "for (int64_t i_point = i_thread; i_point < i_end; ++i_point) {" in host
    assert "const unsigned int i = i_lower - i_point;" in host
    assert iterator_range(made.loops[0]) == (-(2**63), 2**63 - 1)


def test_a_function_is_printed_for_each_kind_of_pointer_it_gets() -> None:
    row = array("row", None, scope=Scope.LOCAL)
    function = Function("first", FLOAT, (row,), Block((Return(at(row, 0).node),)))
    a, local = array("a", None), array("t", 3, scope=Scope.LOCAL)
    calls = [Call("first", Callee.USER, (Access(object_, (), (), FLOAT),), FLOAT) for object_ in (a, local)]
    body = (
        Declaration((Declarator(local, (expr(1.0),)),)),
        assign(at(a, ITERATOR), calls[0]),
        assign(at(a, ITERATOR), calls[1]),
    )
    made = launch("k", (nest([tiled(loop(0, ITERATOR, 0, COUNT), "gang0 dynamic")], body),))
    region = plan((made,), (argument(a, COUNT, writes=True),), name="k", functions=(function,))
    opencl, cuda = (device_program(region, dialect).text for dialect in (OPENCL, CUDA))
    assert "static float k_first_g(__global float *row)" in opencl
    assert "static float k_first(float *row)" in opencl
    assert cuda.count("static __device__ float k_first(float *row)") == 1


def test_records_keep_the_hosts_layout() -> None:
    fields = (Field("x", FLOAT, 0), Field("new", DOUBLE, 8))
    natural = RecordType("struct p", "p", False, fields, 16, 8)
    assert record_definitions(CUDA, [natural]) == "struct p {\n    float x;\n    double new_;\n};\n"
    packed = replace(natural, fields=(fields[0], replace(fields[1], offset=5)), size=14, alignment=1)
    assert record_definitions(OPENCL, [packed]) == (
        "struct __attribute__((packed)) p {\n    float x;\n    char padding4[1];\n    double new;\n    char padding13[1];\n};\n"
    )


def generated(iterator: DataObject, upper: object, *body: Statement) -> Loop:
    return replace(loop(0, iterator, 0, upper, body), range=NOWHERE)


def nested(*sizes: DataObject) -> E:
    bound = E(expr(sizes[0]))
    for size in sizes[1:]:
        bound = helper("minimum", bound, size)
    return bound


def test_long_heads_have_their_bounds_before_them() -> None:
    """Each has a name of its own, clear of the user's; the user's loops stay as they are, and so do short heads."""
    sizes = [scalar(f"a_rather_long_size{k}", LONG) for k in range(6)]
    inner = assign(at(array("A", 9), ITERATOR), 1)
    long_one = generated(ITERATOR, nested(*sizes), inner)
    writer = Writer()
    printer = StatementPrinter(writer, Printer(C), LaunchParameters((), {}, frozenset({"i_end"})))
    printer.block(Block((long_one, long_one, generated(ITERATOR, COUNT, inner))))
    lines = writer.text().splitlines()
    assert max(map(len, lines)) <= WIDTH
    heads = [line for line in lines if line.startswith("for")]
    assert heads == [
        "for (int i = 0; i < i_end_; ++i) {",
        "for (int i = 0; i < i_end_2; ++i) {",
        "for (int i = 0; i < n; ++i) {",
    ]
    assert [line.split(" =")[0] for line in lines if " =" in line and line.startswith("const")] == [
        "const long i_end_", "const long i_end_2",
    ]  # fmt: skip
    assert "const" not in text(replace(long_one, range=place(4)))


def test_a_body_that_is_one_block_has_one_pair_of_braces() -> None:
    declared = Declaration((Declarator(scalar("x", scope=Scope.LOCAL), expr(1)),))
    body = Block((Block((Block((declared, assign(COUNT, 1))),)),))
    assert text(If(expr(COUNT), body, None)) == "if (n) {\n    int x = 1;\n    n = 1;\n}\n"
    twice = Block((Block((Declaration((Declarator(ITERATOR, expr(1)),)), assign(COUNT, 1))),))
    assert text(replace(loop(0, ITERATOR, 0, COUNT), body=twice)).count("{") == 2  # C++ takes no other i in the first


def test_conditions_form_a_chain() -> None:
    last = If(expr(ITERATOR), Block((assign(COUNT, 2),)), Block((assign(COUNT, 3),)))
    chain = If(expr(COUNT), Block((assign(COUNT, 1),)), Block((Block((last,)),)))
    assert text(chain) == "if (n) {\n    n = 1;\n} else if (i) {\n    n = 2;\n} else {\n    n = 3;\n}\n"
