"""Kernels built by hand, compactly: `kernel(loop(i, 0, n, assign(a[i], …)))`."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass, field
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.ir.directives import (
    AxisKind,
    ClauseExpression,
    CountClause,
    DataClause,
    KernelDirective,
    Live,
    LoopDirective,
    Mode,
    PrivateClause,
    ReductionClause,
    Section,
    SectionDimension,
    TileClause,
    TileKind,
)
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    FloatingLiteral,
    Scope,
    Storage,
    integer,
)
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    Enclosing,
    ExpressionStatement,
    FloatingRules,
    If,
    Kernel,
    Loop,
    Statement,
)
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import FLOAT, INT, Type
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.planner.planner import make_plan

_LINES = itertools.count(1)


def place() -> SourceRange:
    """A new source range: one line each."""
    line = next(_LINES)
    return SourceRange(Position("t.c", line, 1, line * 10), Position("t.c", line, 2, line * 10 + 1))


@dataclass(frozen=True)
class Name:
    """An object that subscripts like C and calculates like Python."""

    object: DataObject
    subscripts: tuple[Expression, ...] = ()

    def __getitem__(self, index: Any) -> Name:
        return Name(self.object, (*self.subscripts, ex(index)))

    def __add__(self, other: Any) -> Expression:
        return op("+", self, other)

    def __sub__(self, other: Any) -> Expression:
        return op("-", self, other)

    def __mul__(self, other: Any) -> Expression:
        return op("*", self, other)


def ex(value: Any) -> Expression:
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return FloatingLiteral(value, repr(value))
    if isinstance(value, Name):
        return Access(value.object, value.subscripts, (), value.object.element, place())
    return value


def op(operator: str, left: Any, right: Any) -> Expression:
    return Binary(operator, ex(left), ex(right), ex(left).type, place())


def scalar(name: str, type_: Type = INT, scope: Scope = Scope.EXTERNAL) -> Name:
    return Name(DataObject(name, name, type_, Storage.SCALAR, scope, (), range=place()))


def array(name: str, *lengths: Any, scope: Scope = Scope.EXTERNAL) -> Name:
    sizes = tuple(None if length is None else ex(length) for length in lengths)
    return Name(DataObject(name, name, FLOAT, Storage.CONTIGUOUS, scope, sizes))


def rows(name: str, rank: int) -> Name:
    return Name(DataObject(name, name, FLOAT, Storage.ROWS, Scope.EXTERNAL, (None,) * rank))


def assign(target: Name, value: Any, operator: str = "=") -> ExpressionStatement:
    access = ex(target)
    assert isinstance(access, Access)
    return ExpressionStatement(Assignment(operator, access, ex(value), access.type, access.range), access.range)


def declare(name: Name, initializer: Any = None) -> Declaration:
    return Declaration((Declarator(name.object, None if initializer is None else ex(initializer)),), place())


def clause(text: Any) -> ClauseExpression:
    return ClauseExpression(str(text), place())


def tile(kind: str, argument: Any = None, order: int | None = None) -> TileClause:
    distributed = kind in ("gang", "worker")
    return TileClause(
        TileKind(kind),
        order,
        None if distributed or argument is None else clause(argument),
        (argument or 0) if distributed else 0,
        place(),
    )


def on(*tiles: TileClause, **fields: Any) -> LoopDirective:
    return LoopDirective(place(), tiles, **fields)


_INDEX = itertools.count()


def loop(
    iterator: Name,
    lower: Any,
    upper: Any,
    *body: Statement,
    directive: LoopDirective | None = None,
    step: int = 1,
    comparison: str = "<",
    declares: bool = False,
) -> Loop:
    return Loop(
        next(_INDEX),
        iterator.object,
        declares,
        ex(lower),
        comparison,
        ex(upper),
        ex(step),
        step < 0,
        Block(body, place()),
        directive,
        place(),
        place(),
    )


def counts(kind: str, *values: Any) -> tuple[CountClause, ...]:
    return tuple(CountClause(AxisKind(kind), k, clause(value), place()) for k, value in enumerate(values))


def data(*sections: Section, mode: str | None = None, live: str | None = None) -> DataClause:
    return DataClause(
        "data", sections, None if mode is None else Mode(mode), None if live is None else Live(live), False, place()
    )


def section(path: str, *dimensions: tuple[Any, Any]) -> Section:
    objects = tuple(
        SectionDimension(None if lo is None else clause(lo), None if n is None else clause(n)) for lo, n in dimensions
    )
    return Section(path, objects, place())


def reduction(operator: str, *names: str) -> ReductionClause:
    return ReductionClause(operator, names, place())


def private(*names: str, first: bool = False) -> PrivateClause:
    return PrivateClause(names, first, place())


def kernel(*statements: Statement, read_after: tuple[str, ...] = (), name: str = "k", **directive: Any) -> Kernel:
    body = Block(statements, place())
    objects: dict[DataObject, None] = {}
    for node in walk(body):
        iterators = [node.iterator] if isinstance(node, Loop) else []
        iterators += [node.object] if isinstance(node, (Access, Declarator)) else []
        for object_ in iterators:
            if object_.scope is not Scope.LOCAL:
                objects[object_] = None
    return Kernel(
        name,
        KernelDirective(place(), **directive),
        _renumbered(body),
        tuple(objects),
        (),
        (),
        frozenset(read_after),
        Enclosing("main", "t.c", 0),
        place(),
    )


def _renumbered(body: Block) -> Block:
    """Loops number from 0 in textual order."""
    numbers = itertools.count()

    def visit(node: Any) -> Any:
        if isinstance(node, Loop):
            index = next(numbers)
            return dataclasses.replace(node, index=index, body=visit(node.body))
        if isinstance(node, Block):
            return dataclasses.replace(node, statements=tuple(visit(s) for s in node.statements))
        if isinstance(node, If):
            return dataclasses.replace(node, then=visit(node.then))
        return node

    result = visit(body)
    assert isinstance(result, Block)
    return result


@dataclass
class Outcome:
    """A plan, or the reason against one."""

    plan: KernelPlan | None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)

    @property
    def made(self) -> KernelPlan:
        assert self.plan is not None, self.messages
        return self.plan

    @property
    def messages(self) -> list[str]:
        return [f"{item.severity.value}: {item.message}" for item in self.diagnostics]


def planned(region: Kernel, defaults: PlanOptions | None = None) -> Outcome:
    diagnostics = Diagnostics()
    made = make_plan(region, FloatingRules(False, False), diagnostics, defaults or PlanOptions())
    return Outcome(made.plan if made is not None else None, diagnostics)
