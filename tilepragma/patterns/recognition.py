"""Whether a statement of a kernel region is a relaxation in place (`SorNest`), or why it is none."""

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
    """What those statements of a region are that have loops, in their order."""
    return tuple(
        sor_nest(one, kernel.functions)
        for one in flat(kernel.body.statements)
        if any(isinstance(node, (Loop, ForLoop, While)) for node in walk(one))
    )


def sor_nest(statement: Statement, functions: tuple[Function, ...] = ()) -> SorNest | Mismatch:
    """The relaxation in place that a statement is: a nest that sweeps over a mesh, or a loop around such nests."""
    try:
        return _recognised(statement, functions)
    except NoSweepError as error:
        return Mismatch(str(error), error.range, _is_near(statement, functions))


def _recognised(statement: Statement, functions: tuple[Function, ...]) -> SorNest:
    """Raises NoSweepError."""
    around = _Round(functions, frozenset(use.object for use in uses(statement, functions) if use.writes))
    if not isinstance(statement, (Loop, ForLoop, While)):
        raise NoSweepError("this is no loop", statement_range(statement))
    loop: SweepLoop | None = None
    if isinstance(statement, Loop) and statement.iterator in _placing(statement):
        around.sweep(statement)
    else:
        for one in flat(statement.body.statements):
            around.take(one)
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
    return SorNest(
        array=first.array,
        sweep_loop=loop,
        sweeps=tuple(around.sweeps),
        accumulations=tuple(dict.fromkeys(around.accumulations)),
        varying=tuple(
            dict.fromkeys(
                _varying(
                    first, around.changing, frozenset(accumulation.object for accumulation in around.accumulations)
                )
            )
        ),
        range=statement.range,
        borders=tuple(statement_range(one) for one, _ in around.borders),
    )


def _placing(statement: Statement) -> frozenset[DataObject]:
    """The objects that decide which elements of arrays are written, through variables that they are assigned to as well."""
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
    found: set[DataObject] = set()
    while pending:
        object_ = pending.pop()
        if object_ not in found:
            found.add(object_)
            values = defined.get(object_, ())
            pending += [node.object for value in values for node in walk(value) if isinstance(node, Access)]
    return frozenset(found)


@dataclass
class _Round:
    """What is done in one round of the loop around the sweeps. `changing` is all that the whole statement writes."""

    functions: tuple[Function, ...]
    changing: frozenset[DataObject]
    sweeps: list[Sweep] = field(default_factory=list)
    accumulations: list[Accumulation] = field(default_factory=list)
    stops: list[Expression] = field(default_factory=list)
    borders: list[tuple[Statement, NoSweepError]] = field(default_factory=list)
    """statements that may set elements at the mesh's border, and why they are no sweeps"""

    def take(self, statement: Statement) -> None:
        """One statement of the round. Raises NoSweepError."""
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
        """A nest of the round: a sweep, or loops that compute a residual."""
        found = sweep_of(nest, self.functions, self.changing)
        if isinstance(found, Sweep) and self.sweeps:
            names = {
                there.iterator: here.iterator
                for there, here in zip(found.axes, self.sweeps[0].axes, strict=False)
                if there.iterator != here.iterator
            }
            renamed = sweep_of(with_objects(nest, names), self.functions, self.changing) if names else found
            found = renamed if isinstance(renamed, Sweep) else found
        if isinstance(found, Sweep):
            self.sweeps.append(found)
        self.accumulations += found.accumulations if isinstance(found, Sweep) else found

    def _beside(self, statement: Statement) -> None:
        for node in walk(statement):
            if isinstance(node, (Loop, ForLoop, While)):
                raise NoSweepError("a sweep depends on a condition", statement_range(statement))
        for use in uses(statement, self.functions):
            if use.writes and use.object.rank:
                error = NoSweepError(f"'{use.object.host}' is written between sweeps", use.range)
                self.borders.append((statement, error))

    def check_borders(self) -> None:
        """What is no sweep must go along fewer dimensions than the sweeps, and set their array alone. Raises NoSweepError."""
        array, dimensions = self.sweeps[0].array, len(self.sweeps[0].axes)
        for statement, error in self.borders:
            written = [use for use in uses(statement, self.functions) if use.writes and use.object.rank]
            if any(use.object != array or len(use.loops) >= dimensions for use in written):
                raise error

    def check_alike(self) -> None:
        """All sweeps must do the same to the same mesh. Raises NoSweepError."""
        first = self.sweeps[0]
        for other in self.sweeps[1:]:
            line = first.range.start.line
            if other.array != first.array:
                raise NoSweepError(
                    f"'{other.array.host}' is relaxed in turn with '{first.array.host}' (line {line})", other.range
                )
            if (other.first, other.last) != (first.first, first.last):
                raise NoSweepError(
                    f"this sweep goes over another part of the mesh than that of line {line}", other.range
                )
            if (other.neighbours, other.right_hand_side) != (first.neighbours, first.right_hand_side):
                raise NoSweepError(f"this sweep computes something else than that of line {line}", other.range)


def _has_array_writes(statement: Statement) -> bool:
    return any(use.writes and use.object.rank for use in uses(statement))


def _sweep_loop(statement: Loop | ForLoop | While, stops: list[Expression]) -> SweepLoop:
    if isinstance(statement, Loop) and not leaves_early(statement.body):
        return SweepLoop(Repetition.FIXED, statement, None)
    condition = stops[0] if stops else None if isinstance(statement, Loop) else statement.condition
    return SweepLoop(Repetition.CONVERGENCE, statement, condition)


def _varying(sweep: Sweep, changing: frozenset[DataObject], accumulated: frozenset[DataObject]) -> Iterator[Varying]:
    """What is no constant in the coefficients. Raises NoSweepError where that is a number which the sweep itself changes."""
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
                if node.object in changing or any(mentions(node, one) for one in changing):
                    yield Varying(node, Variation.SWEEP, node.range)
                    break


def _is_near(statement: Statement, functions: tuple[Function, ...]) -> bool:
    """Whether an element of some array of floating-point numbers is written where two others that lie opposite of it are read."""
    found = list(
        {
            (use.object, use.subscripts, tuple(loop.index for loop in use.loops), use.reads, use.writes): use
            for use in uses(statement, functions)
            if _is_floating_element(use)
        }.values()  # of thousands of uses alike one
    )
    for one in found:
        if one.writes:
            others = [
                other for other in found if other.reads and other.object == one.object and other.loops == one.loops
            ]
            distances = {distance for other in others if (distance := _distance(one, other)) is not None}
            if any(tuple(-part for part in distance) in distances for distance in distances):
                return True
    return False


def _is_floating_element(use: Use) -> bool:
    element = use.object.element
    return bool(use.object.rank and use.subscripts) and isinstance(element, ScalarType) and element.is_floating


def _distance(written: Use, read: Use) -> Subscripts | None:
    """How far the element read lies from the one written; None for the same one, and where that differs from iteration to iteration."""
    if len(written.subscripts) != len(read.subscripts):
        return None
    iterators = {loop.iterator for loop in read.loops}
    distance = tuple(
        polynomial(one) - polynomial(other) for one, other in zip(read.subscripts, written.subscripts, strict=True)
    )
    fixed = not any(mentions(atom, iterator) for part in distance for atom in part.atoms for iterator in iterators)
    return distance if fixed and any(part.terms for part in distance) else None
