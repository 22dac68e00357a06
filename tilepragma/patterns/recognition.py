"""Recognises a statement as a relaxation in place (`SorNest`), or tells why it is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.accesses import Use, leaves_early, uses
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.loop_tree import (
    Break,
    Declaration,
    ExpressionStatement,
    ForLoop,
    Function,
    If,
    Kernel,
    Loop,
    Statement,
    While,
)
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import flat, mentions, walk
from tilepragma.ir.types import ScalarType
from tilepragma.patterns.mesh_offsets import Subscripts
from tilepragma.patterns.relaxation import (
    Accumulation,
    Mismatch,
    Repetition,
    SorNest,
    Sweep,
    SweepLoop,
    Variation,
    Varying,
)
from tilepragma.patterns.sweep_nests import NoSweepError, statement_range, sweep_of
from tilepragma.patterns.sweep_values import assignments_in


@once
def relaxations(kernel: Kernel) -> tuple[SorNest | Mismatch, ...]:
    """The result for each statement of a region that has loops, in order."""
    return tuple(
        sor_nest(statement, kernel.functions)
        for statement in flat(kernel.body.statements)
        if any(isinstance(node, (Loop, ForLoop, While)) for node in walk(statement))
    )


def sor_nest(statement: Statement, functions: tuple[Function, ...] = ()) -> SorNest | Mismatch:
    """The relaxation in place that a statement is: a nest that sweeps a mesh, or a loop around."""
    try:
        return _recognised(statement, functions)
    except NoSweepError as error:
        return Mismatch(str(error), error.range, _is_near(statement, functions))


def _recognised(statement: Statement, functions: tuple[Function, ...]) -> SorNest:
    """The relaxation; raises NoSweepError."""
    around = _Round(functions, frozenset(use.object for use in uses(statement, functions) if use.writes))
    if not isinstance(statement, (Loop, ForLoop, While)):
        raise NoSweepError("this is no loop", statement_range(statement))
    loop: SweepLoop | None = None
    if isinstance(statement, Loop) and statement.iterator in _placing(statement):
        around.sweep(statement)
    else:
        for part in flat(statement.body.statements):
            around.take(part)
        loop = _sweep_loop(statement, around.stops)
    if not around.sweeps:
        raise (
            around.borders[0][1]
            if around.borders
            else NoSweepError("it sweeps over no array", statement_range(statement))
        )
    first = around.sweeps[0]
    around.check_alike()
    around.check_borders()
    accumulated = frozenset(accumulation.object for accumulation in around.accumulations)
    return SorNest(
        array=first.array,
        sweep_loop=loop,
        sweeps=tuple(around.sweeps),
        accumulations=tuple(dict.fromkeys(around.accumulations)),
        varying=tuple(dict.fromkeys(_varying(first, around.changing, accumulated))),
        range=statement.range,
        borders=tuple(statement_range(border) for border, _ in around.borders),
    )


def _placing(statement: Statement) -> frozenset[DataObject]:
    """The objects that decide, perhaps through variables, which array elements are written."""
    pending = [
        node.object
        for use in uses(statement)
        if use.writes and use.object.rank
        for subscript in use.subscripts
        for node in walk(subscript)
        if isinstance(node, Access)
    ]
    defined: dict[DataObject, list[Expression]] = {}
    for node in walk(statement):
        for target, _, value in assignments_in(node):
            defined.setdefault(target.object, []).append(value)
    deciding: set[DataObject] = set()
    while pending:
        object_ = pending.pop()
        if object_ not in deciding:
            deciding.add(object_)
            values = defined.get(object_, ())
            pending += [node.object for value in values for node in walk(value) if isinstance(node, Access)]
    return frozenset(deciding)


@dataclass
class _Round:
    """One iteration of the loop around the sweeps; the statement writes all of `changing`."""

    functions: tuple[Function, ...]
    changing: frozenset[DataObject]
    sweeps: list[Sweep] = field(default_factory=list)
    accumulations: list[Accumulation] = field(default_factory=list)
    stops: list[Expression] = field(default_factory=list)
    borders: list[tuple[Statement, NoSweepError]] = field(default_factory=list)
    """statements that may set the mesh's border, and why they are no sweeps"""

    def take(self, statement: Statement) -> None:
        """Classify one statement of the iteration. Raises NoSweepError."""
        if isinstance(statement, Loop):
            if _has_array_writes(statement) and statement.iterator not in _placing(statement):
                raise NoSweepError(
                    f"the loop over {statement.iterator.host} is a second one around sweeps", statement.header
                )
            try:
                self.sweep(statement)
            except NoSweepError as error:
                self.borders.append((statement, error))
        elif isinstance(statement, If) and any(isinstance(node, Break) for node in walk(statement)):
            self.stops.append(statement.condition)
            self._beside(statement)
        elif isinstance(statement, (Declaration, ExpressionStatement, If)):
            self._beside(statement)
        elif isinstance(statement, ForLoop):
            raise NoSweepError(
                f"this loop is not of the form that sweeps have: {statement.reason}", statement.reason_range
            )
        else:
            raise NoSweepError("this is neither a sweep nor a computation with numbers", statement_range(statement))

    def sweep(self, nest: Loop) -> None:
        """Classify a nest: a sweep, or loops that compute a residual."""
        result = sweep_of(nest, self.functions, self.changing)
        if isinstance(result, Sweep) and self.sweeps:
            names = {
                theirs.iterator: ours.iterator
                for theirs, ours in zip(result.axes, self.sweeps[0].axes, strict=False)
                if theirs.iterator != ours.iterator
            }
            renamed = sweep_of(with_objects(nest, names), self.functions, self.changing) if names else result
            result = renamed if isinstance(renamed, Sweep) else result
        if isinstance(result, Sweep):
            self.sweeps.append(result)
        self.accumulations += result.accumulations if isinstance(result, Sweep) else result

    def _beside(self, statement: Statement) -> None:
        for node in walk(statement):
            if isinstance(node, (Loop, ForLoop, While)):
                raise NoSweepError("a sweep depends on a condition", statement_range(statement))
        for use in uses(statement, self.functions):
            if use.writes and use.object.rank:
                error = NoSweepError(f"'{use.object.host}' is written between sweeps", use.range)
                self.borders.append((statement, error))

    def check_borders(self) -> None:
        """Borders must have fewer dimensions, and set only the array. Raises NoSweepError."""
        array, dimensions = self.sweeps[0].array, len(self.sweeps[0].axes)
        for statement, error in self.borders:
            written = [use for use in uses(statement, self.functions) if use.writes and use.object.rank]
            if any(use.object != array or len(use.loops) >= dimensions for use in written):
                raise error

    def check_alike(self) -> None:
        """All sweeps must do the same to the same mesh. Raises NoSweepError."""
        first = self.sweeps[0]
        for sweep in self.sweeps[1:]:
            line = first.range.start.line
            if sweep.array != first.array:
                raise NoSweepError(
                    f"'{sweep.array.host}' is relaxed in turn with '{first.array.host}' (line {line})", sweep.range
                )
            if (sweep.first, sweep.last) != (first.first, first.last):
                raise NoSweepError(
                    f"this sweep goes over another part of the mesh than that of line {line}", sweep.range
                )
            if (sweep.neighbours, sweep.right_hand_side) != (first.neighbours, first.right_hand_side):
                raise NoSweepError(f"this sweep computes something else than that of line {line}", sweep.range)


def _has_array_writes(statement: Statement) -> bool:
    return any(use.writes and use.object.rank for use in uses(statement))


def _sweep_loop(statement: Loop | ForLoop | While, stops: list[Expression]) -> SweepLoop:
    if isinstance(statement, Loop) and not leaves_early(statement.body):
        return SweepLoop(Repetition.FIXED, statement, None)
    condition = stops[0] if stops else None if isinstance(statement, Loop) else statement.condition
    return SweepLoop(Repetition.CONVERGENCE, statement, condition)


def _varying(sweep: Sweep, changing: frozenset[DataObject], accumulated: frozenset[DataObject]) -> Iterator[Varying]:
    """What varies in the coefficients. Raises NoSweepError for numbers that the sweep changes."""
    iterators = {axis.iterator for axis in sweep.axes}
    for neighbour in sweep.neighbours:
        for atom in neighbour.coefficient.atoms:
            for node in walk(atom):
                if not isinstance(node, Access):
                    continue
                if node.object in accumulated:
                    raise NoSweepError(
                        f"coefficients depend on '{node.object.host}', which the sweep changes", neighbour.range
                    )
                if any(mentions(node, iterator) for iterator in iterators):
                    yield Varying(node, Variation.SPACE, node.range)
                    break  # its subscripts are parts of it
                if node.object in changing or any(mentions(node, object_) for object_ in changing):
                    yield Varying(node, Variation.SWEEP, node.range)
                    break


def _is_near(statement: Statement, functions: tuple[Function, ...]) -> bool:
    """Whether a floating-point element is written and two elements opposite of it are read."""
    distinct = list(
        {
            (use.object, use.subscripts, tuple(loop.index for loop in use.loops), use.reads, use.writes): use
            for use in uses(statement, functions)
            if _is_floating_element(use)
        }.values()  # equal uses of thousands once
    )
    for written in distinct:
        if written.writes:
            others = [
                read
                for read in distinct
                if read.reads and read.object == written.object and read.loops == written.loops
            ]
            distances = {distance for read in others if (distance := _distance(written, read)) is not None}
            if any(tuple(-part for part in distance) in distances for distance in distances):
                return True
    return False


def _is_floating_element(use: Use) -> bool:
    element = use.object.element
    return bool(use.object.rank and use.subscripts) and isinstance(element, ScalarType) and element.is_floating


def _distance(written: Use, read: Use) -> Subscripts | None:
    """The distance from the element written to the one read; None if it is 0, or varies."""
    if len(written.subscripts) != len(read.subscripts):
        return None
    iterators = {loop.iterator for loop in read.loops}
    distance = tuple(
        polynomial(read_part) - polynomial(written_part)
        for read_part, written_part in zip(read.subscripts, written.subscripts, strict=True)
    )
    fixed = not any(mentions(atom, iterator) for part in distance for atom in part.atoms for iterator in iterators)
    return distance if fixed and any(part.terms for part in distance) else None
