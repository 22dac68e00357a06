"""Scops from C text, through the real front end."""

from __future__ import annotations

import textwrap

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir.accesses import uses
from tilepragma.ir.loop_tree import Declaration, Kernel, Statement
from tilepragma.poly.extraction import Movable, extract_scop
from tilepragma.poly.scop import Reference, Scop


def in_parts(statement: Statement) -> bool:
    """No further statement is one leaf."""
    del statement
    return False


def scop(parameters: str, body: str, before: str = "", movable: Movable | None = None) -> Scop:
    """The Scop of `body`, one kernel region in a function with these parameters."""
    kernel = kernel_of(parameters, body, before)
    statements = [statement for statement in kernel.body.statements if not isinstance(statement, Declaration)]
    written = {use.object for statement in statements for use in uses(statement, kernel.functions) if use.writes}
    return extract_scop(statements, kernel.functions, frozenset(written), movable)


def kernel_of(parameters: str, body: str, before: str = "") -> Kernel:
    """The kernel region `body` in a function with these parameters."""
    source = f"{before}\nvoid f({parameters})\n{{\n#pragma tilek kernel\n{{\n{textwrap.dedent(body)}\n}}\n}}\n"
    diagnostics = Diagnostics()
    unit = parse_translation_unit("t.c", source.encode(), CompilerFlags(), diagnostics)
    assert unit is not None and not diagnostics.has_errors, [item.message for item in diagnostics]
    (kernel,) = unit.kernels
    return kernel


def references(made: Scop, name: str) -> list[Reference]:
    """All references to the array called `name`, in order."""
    all_references = (reference for statement in made.statements for reference in statement.references)
    return [reference for reference in all_references if reference.object.name == name]
