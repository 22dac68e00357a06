"""The paper's listings 1-3 and 2d-conv, planned."""

from __future__ import annotations

from tests.support.built_kernels import (
    array,
    assign,
    counts,
    data,
    kernel,
    loop,
    on,
    planned,
    rows,
    scalar,
    section,
    tile,
)
from tilepragma.ir.directives import AxisKind, Target
from tilepragma.ir.loop_tree import Axis, TileNest
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.plan.kernel_plan import KernelPlan

i, j, n, m, b = scalar("i"), scalar("j"), scalar("n"), scalar("m"), scalar("b")


def order_of(plan: KernelPlan) -> list[str]:
    nest = plan.host[0].body.statements[0]
    assert isinstance(nest, TileNest)
    names = {t.loop.index: t.symbol for t in nest.loops}
    return [f"{names[t.loop]} {t.kind.value}" for t in nest.order]


def matrix_kernel(outer, inner, **directive):  # type: ignore[no-untyped-def]
    a = array("A", n, m)
    body = loop(i, 0, n, loop(j, 0, m, assign(a[i][j], b, "+="), directive=inner), directive=outer)
    clauses = data(section("A", (0, n.object.name), (0, "m")), mode="rw", live="inout")
    return kernel(body, data=(clauses,), **directive)


def test_listing_1_sorts_its_tiles_by_order() -> None:
    outcome = planned(
        matrix_kernel(
            on(tile("static", 2, 0), tile("dynamic", order=2)), on(tile("static", 3, 1), tile("dynamic", order=3))
        )
    )
    assert order_of(outcome.made) == ["i static", "j static", "i dynamic", "j dynamic"]
    assert outcome.made.preferred is Target.SERIAL
    assert outcome.made.host == outcome.made.device
    (argument,) = outcome.made.arrays
    assert (argument.reads, argument.writes, argument.copy_in, argument.copy_out) == (True, True, True, True)
    assert [s.name for s in outcome.made.scalars] == ["b"]
    assert outcome.messages == []


def test_listing_2_is_threads() -> None:
    outcome = planned(
        matrix_kernel(
            on(tile("thread"), tile("dynamic", order=1)), on(tile("dynamic", order=2)), counts=counts("thread", 4)
        )
    )
    assert order_of(outcome.made) == ["i thread", "i dynamic", "j dynamic"]
    assert outcome.made.preferred is Target.THREADS
    assert outcome.made.host[0].axes == (Axis(AxisKind.THREAD, 0),)


def test_listing_3_is_an_accelerator() -> None:
    outer = on(tile("gang", 0), tile("worker", 0), tile("dynamic", order=0))
    inner = on(tile("gang", 1), tile("worker", 1), tile("dynamic", order=1))
    outcome = planned(matrix_kernel(outer, inner, counts=counts("gang", 2, 2) + counts("worker", 4, 4)))
    assert outcome.made.preferred is Target.CUDA
    assert len(outcome.made.host[0].axes) == 4
    assert outcome.made.host[0].privates == ()


def test_convolution_infers_the_sections_of_rows() -> None:
    a, c = rows("A", 2), rows("B", 2)
    stencil = a[i - 1][j - 1] + a[i + 1][j]
    body = loop(i, 1, n - 1, loop(j, 1, m - 1, assign(c[i][j], stencil)), directive=on(tile("thread")))
    plan = planned(kernel(body)).made

    lines = {
        argument.object.name: [(expression_text(s.lower), expression_text(s.length)) for s in argument.section]
        for argument in plan.arrays
    }
    runs = "(long)m >= 3l && (long)n >= 3l"
    assert lines["A"] == [("0l", f"({runs} ? (long)n : 0l)"), ("0l", f"({runs} ? (long)m - 1l : 0l)")]
    assert lines["B"] == [("1l", f"({runs} ? (long)n - 2l : 0l)"), ("1l", f"({runs} ? (long)m - 2l : 0l)")]
