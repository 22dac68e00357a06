"""Recognises a statement as a relaxation in place (`SorNest`), or tells why it is none.

The statement is a nest of loops that sweeps over a mesh, or a loop around such nests. A nest is a
chain of loops, each over one dimension of one array with step 1, between bounds that no sweep
changes. Its body computes variables, assigns one element, and updates residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import islice

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.accesses import Use, leaves_early, uses, written_in
from tilepragma.ir.expressions import Access, Assignment, DataObject, Expression, Increment, access_to
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.laurent import LaurentPolynomial, NotPolynomialError, TooLongError, fraction
from tilepragma.ir.loop_tree import (
    Block,
    Break,
    Continue,
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
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.stencil_unrolling import with_unrolled_loops
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import declared_in, flat, loops_in, mentions, objects_in, walk, without_expressions
from tilepragma.ir.types import is_floating
from tilepragma.patterns.relaxation import (
    Accumulation,
    MeshAxis,
    Mismatch,
    Neighbour,
    Offset,
    SorNest,
    Subscripts,
    Sweep,
    Variation,
    Varying,
    mesh_axes,
)
from tilepragma.patterns.sweep_values import Integers, SweepValues, assignments_in, offset_of

#: Larger nests are not examined: no element takes more statements, and time may be quadratic.
_MOST_STATEMENTS = 500
_MOST_DIMENSIONS = 3
_LAST = {"<": -1, "<=": 0, ">": 1, ">=": 0}


class NoSweepError(Exception):
    """A nest is no sweep; the message tells why, `range` where."""

    def __init__(self, reason: str, range_: SourceRange) -> None:
        super().__init__(reason)
        self.range = range_


@once
def relaxations(kernel: Kernel) -> tuple[SorNest | Mismatch, ...]:
    """The result for each statement of a region that has loops, in order."""
    results: list[SorNest | Mismatch] = []
    for statement in flat(kernel.body.statements):
        if any(isinstance(node, (Loop, ForLoop, While)) for node in walk(statement)):
            try:
                results.append(_recognised(statement, kernel.functions))
            except NoSweepError as error:
                results.append(Mismatch(str(error), error.range, _is_near(statement, kernel.functions)))
    return tuple(results)


def _recognised(statement: Statement, functions: tuple[Function, ...]) -> SorNest:
    """The relaxation; raises NoSweepError."""
    around = _Round(functions, written_in(statement, functions))
    if not isinstance(statement, (Loop, ForLoop, While)):
        raise NoSweepError("this is no loop", _range(statement))
    loop = None
    if isinstance(statement, Loop) and statement.iterator in _placing(statement):
        around.sweep(statement)
    else:
        for part in flat(statement.body.statements):
            around.take(part)
        loop = statement
    converges = loop is not None and not (isinstance(loop, Loop) and not leaves_early(loop.body))
    condition = None if loop is None or isinstance(loop, Loop) else loop.condition
    if not around.sweeps:
        raise (around.borders[0][1] if around.borders else NoSweepError("it sweeps over no array", _range(statement)))
    first = around.sweeps[0]
    around.check_alike()
    around.check_borders()
    accumulated = frozenset(accumulation.object for accumulation in around.accumulations)
    return SorNest(
        array=first.array,
        sweep_loop=loop,
        converges=converges,
        condition=around.stops[0] if converges and around.stops else condition,
        sweeps=tuple(around.sweeps),
        accumulations=tuple(dict.fromkeys(around.accumulations)),
        varying=tuple(dict.fromkeys(_varying(first, around.changing, accumulated))),
        range=statement.range,
        borders=tuple(_range(border) for border, _ in around.borders),
    )


def _placing(statement: Statement) -> frozenset[DataObject]:
    """The objects that decide, perhaps through variables, which array elements are written."""
    pending = [
        object_
        for use in uses(statement)
        if use.writes and use.object.rank
        for subscript in use.subscripts
        for object_ in objects_in(subscript)
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
            for value in defined.get(object_, ()):
                pending += objects_in(value)
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
            writes_array = any(use.writes and use.object.rank for use in uses(statement))
            if writes_array and statement.iterator not in _placing(statement):
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
            raise NoSweepError("this is neither a sweep nor a computation with numbers", _range(statement))

    def sweep(self, nest: Loop) -> None:
        """Classify a nest: a sweep, or loops that compute a residual."""
        result = _sweep_of(nest, self.functions, self.changing)
        if isinstance(result, Sweep) and self.sweeps:
            names = {
                theirs.iterator: ours.iterator
                for theirs, ours in zip(result.axes, self.sweeps[0].axes, strict=False)
                if theirs.iterator != ours.iterator
            }
            renamed = _sweep_of(with_objects(nest, names), self.functions, self.changing) if names else result
            result = renamed if isinstance(renamed, Sweep) else result
        if isinstance(result, Sweep):
            self.sweeps.append(result)
        self.accumulations += result.accumulations if isinstance(result, Sweep) else result

    def _beside(self, statement: Statement) -> None:
        for node in walk(statement):
            if isinstance(node, (Loop, ForLoop, While)):
                raise NoSweepError("a sweep depends on a condition", _range(statement))
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
            if use.object.rank and use.subscripts and is_floating(use.object.element)
        }.values()  # equal uses of thousands once
    )
    for written in (use for use in distinct if use.writes):
        others = [use for use in distinct if use.reads and use.object == written.object and use.loops == written.loops]
        distances = {distance for read in others if (distance := _distance(written, read)) is not None}
        if any(tuple(-part for part in distance) in distances for distance in distances):
            return True
    return False


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


# -- a nest that sweeps


@dataclass(frozen=True)
class _Nest:
    """The loops, outermost first; the statements before and in the innermost; residuals."""

    loops: tuple[Loop, ...]
    statements: tuple[Statement, ...]
    accumulations: tuple[Accumulation, ...]
    functions: tuple[Function, ...]

    @property
    def accumulated(self) -> frozenset[DataObject]:
        return frozenset(accumulation.object for accumulation in self.accumulations)


def _sweep_of(
    loop: Loop, functions: tuple[Function, ...], changing: frozenset[DataObject]
) -> Sweep | tuple[Accumulation, ...]:
    """The sweep that a nest is, or its accumulations if it writes no array. Raises NoSweepError.

    `changing` are the objects that the code around writes.
    """
    if sum(1 for _ in islice(without_expressions(loop), _MOST_STATEMENTS + 1)) > _MOST_STATEMENTS:
        raise NoSweepError(f"it has more than {_MOST_STATEMENTS} statements", loop.range)
    nest = _nest(with_unrolled_loops(loop, functions), functions)
    originals = {loop.index: loop for loop in loops_in(loop)}
    targets = [node.target for node in walk(loop.body) if isinstance(node, Assignment) and node.target.object.rank]
    if not targets:
        return nest.accumulations
    target = targets[0]
    for use in uses(loop.body, functions):
        if use.writes and use.object.rank and use.object != target.object:
            raise NoSweepError(f"it writes '{use.object.host}' besides '{target.object.host}'", use.range)
    if not is_floating(target.type) or target.path:
        raise NoSweepError(f"elements of '{target.object.host}' are no floating-point numbers", target.range)
    try:
        integers = Integers()
        _integers_before(target, nest.statements, integers)
        written = integers.subscripts(target)
        axes = _axes(target, written, nest)
        ends = {loop.iterator: _ends(loop, changing) for loop in nest.loops}
        values = SweepValues(target.object, written, axes, expression_text(target), ends)
        for statement in nest.statements:
            _run(statement, values, nest)
        coefficients, right = _linear(values, target)
    except NotPolynomialError as error:
        raise NoSweepError(str(error), error.range) from None
    except TooLongError:
        raise NoSweepError(
            f"what {expression_text(target)} is assigned is too long to multiply out", target.range
        ) from None
    _check_sides(coefficients, axes, target)
    places = {axis.iterator: place for place, axis in enumerate(axes)}
    directions = {loop.iterator: -1 if loop.decreasing else 1 for loop in nest.loops}
    centre = (0,) * len(axes)
    return Sweep(
        array=target.object,
        loops=tuple(originals[loop.index] for loop in nest.loops),
        order=tuple(places[loop.iterator] for loop in nest.loops),
        steps=tuple(axis.sign * directions[axis.iterator] for axis in axes),
        axes=axes,
        first=_corner(written, axes, {iterator: least for iterator, (least, _) in ends.items()}),
        last=_corner(written, axes, {iterator: greatest for iterator, (_, greatest) in ends.items()}),
        neighbours=tuple(
            Neighbour(offset, coefficients[offset], values.reads.get(offset, target.range))
            for offset in sorted(coefficients)
        ),
        right_hand_side=right,
        relaxation=_relaxation(coefficients, centre, right),
        accumulations=nest.accumulations,
        range=target.range,
        masks=tuple(dict.fromkeys(values.masks)),
        wraps=values.wraps,
    )


# -- the loops


def _nest(loop: Loop, functions: tuple[Function, ...]) -> _Nest:
    loops, before = [loop], list[Statement]()
    body = tuple(flat(loop.body.statements))
    while inner := [part for part in body if isinstance(part, Loop)]:
        for statement in body:
            is_before = body.index(inner[0]) > body.index(statement)
            may_stand = is_before and isinstance(statement, (Declaration, ExpressionStatement))
            if statement is not inner[0] and not may_stand:
                raise NoSweepError(
                    f"this stands beside the loop over {inner[0].iterator.host}, inside the sweep", _range(statement)
                )
        before += body[:-1]
        loops.append(inner[0])
        body = tuple(flat(inner[0].body.statements))
    return _Nest(tuple(loops), (*before, *body), _accumulations(loop, functions), functions)


def _range(statement: Statement) -> SourceRange:
    """The range of a user's statement; a loop's header."""
    if isinstance(statement, Loop):
        return statement.header
    range_ = getattr(statement, "range", None)
    assert isinstance(range_, SourceRange)  # statements of users have it
    return range_


def _accumulations(loop: Loop, functions: tuple[Function, ...]) -> tuple[Accumulation, ...]:
    """The outside numbers that the nest updates; variables set again for each element are none."""
    iterators = {loop.iterator for loop in loops_in(loop)}
    declared = declared_in(loop)
    written = [use.object for use in uses(loop.body, functions) if use.writes and not use.object.rank]
    accumulations = []
    for object_ in dict.fromkeys(written):
        if object_ in iterators or object_ in declared:
            continue
        updates = reduction_updates(object_, loop.body)
        if isinstance(updates, Updates):
            accumulations.append(Accumulation(object_, updates.clause))
            continue
        exposed = exposed_read(loop.body, object_, functions)
        if exposed is not None:
            raise NoSweepError(
                f"'{object_.host}' carries a value from one element to the next, and is no sum, minimum or maximum",
                exposed,
            )
    return tuple(accumulations)


def _integers_before(target: Access, statements: Iterable[Statement], integers: Integers) -> None:
    """Take the integer assignments on the way to the element, but none in other branches. Raises
    NotPolynomialError.
    """
    for statement in statements:
        if any(node is target for node in walk(statement)):
            if isinstance(statement, If):
                blocks = [block for block in (statement.then, statement.otherwise) if block is not None]
                branch = next(block for block in blocks if any(node is target for node in walk(block)))
                _integers_before(target, flat(branch.statements), integers)
            return
        for assignment in assignments_in(statement):
            integers.take(*assignment)
        if isinstance(statement, If):
            for use in uses(statement):
                if use.writes:
                    integers.values.pop(use.object, None)


def _axes(target: Access, written: Subscripts, nest: _Nest) -> tuple[MeshAxis, ...]:
    text = expression_text(target)
    axes = mesh_axes(written, nest.loops)
    if axes is None:
        raise NoSweepError(f"the subscripts of {text} do not follow one loop each", target.range)
    along = {axis.iterator for axis in axes}
    for loop in nest.loops:
        if loop.iterator not in along:
            raise NoSweepError(f"{text} is the same element for all {loop.iterator.host}", target.range)
        if polynomial(loop.step).constant not in (1, -1):
            raise NoSweepError(
                f"the loop over {loop.iterator.host} counts in steps of {expression_text(loop.step)}, "
                "so that it leaves elements out",
                loop.header,
            )
    if len(axes) > _MOST_DIMENSIONS:
        raise NoSweepError(f"the mesh has {len(axes)} dimensions, more than {_MOST_DIMENSIONS}", target.range)
    return axes


def _ends(loop: Loop, changing: frozenset[DataObject]) -> tuple[Polynomial, Polynomial]:
    """The least and the greatest value of the iterator."""
    for bound in (loop.lower, loop.upper):
        for object_ in objects_in(bound):
            if object_ in changing:
                raise NoSweepError(
                    f"the bounds of the loop over {loop.iterator.host} depend on '{object_.host}', "
                    "so that the mesh is no box",
                    loop.header,
                )
    last = polynomial(loop.upper) + number(_LAST[loop.holds_inside])
    first = polynomial(loop.lower)
    return (last, first) if loop.decreasing else (first, last)


def _corner(written: Subscripts, axes: tuple[MeshAxis, ...], values: dict[DataObject, Polynomial]) -> Subscripts:
    """The subscripts for these values of the iterators."""
    corner = list(written)
    for axis in axes:
        corner[axis.subscript] = corner[axis.subscript].substitute(access_to(axis.iterator), values[axis.iterator])
    return tuple(corner)


# -- the body


def _run(statement: Statement, values: SweepValues, nest: _Nest) -> None:
    """Run one statement of the body. Raises NoSweepError, NotPolynomialError, TooLongError."""
    changed = written_in(statement, nest.functions)
    if isinstance(statement, If):
        _run_condition(statement, changed <= nest.accumulated, values, nest)
        return
    if changed <= nest.accumulated and isinstance(statement, ExpressionStatement):
        return
    if isinstance(statement, ForLoop):
        raise NoSweepError(f"this loop is not of the form that sweeps have: {statement.reason}", statement.reason_range)
    if isinstance(statement, Declaration):
        targets = {declarator.object for declarator in statement.declarators}
        for declarator in statement.declarators:
            if declarator.object.rank or isinstance(declarator.initializer, tuple):
                raise NoSweepError(f"'{declarator.object.host}' is a separate array for each element", statement.range)
    elif isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assignment):
        targets = {statement.expression.target.object}
    else:
        raise NoSweepError("a sweep does not do this to an element", _range(statement))
    if changed - targets:
        name = min(object_.host for object_ in changed - targets)
        raise NoSweepError(f"this changes '{name}' within an expression", _range(statement))
    for target, operator, value in assignments_in(statement):
        inner = next((node for node in walk(value) if isinstance(node, (Assignment, Increment))), None)
        if inner is not None:
            raise NoSweepError(f"this changes '{inner.target.object.host}' within an expression", inner.range)
        if target.object != values.array:
            values.change(target, operator, value)
    if isinstance(statement, ExpressionStatement) and values.array in targets:
        node = statement.expression
        assert isinstance(node, Assignment)
        offset = values.offset(node.target)
        if offset is None or any(offset):
            raise NoSweepError(f"it writes {expression_text(node.target)} besides {values.element}", node.target.range)
        values.update(node)


def _run_condition(statement: If, counts_only: bool, values: SweepValues, nest: _Nest) -> None:
    """Run a condition, as `_run`; `counts_only`: it only changes numbers that outlive the nest."""
    if any(isinstance(node, Continue) for node in walk(statement)):
        skipped = tuple(flat(statement.then.statements))
        if statement.otherwise is not None or not (len(skipped) == 1 and isinstance(skipped[0], Continue)):
            raise NoSweepError("a sweep does not do this to an element", _range(statement))
        values.skip(statement.condition)
    elif not counts_only:

        def branch(block: Block | None) -> Callable[[SweepValues], None]:
            def run(inside: SweepValues) -> None:
                for inner in () if block is None else flat(block.statements):
                    _run(inner, inside, nest)

            return run

        values.choice(statement.condition, branch(statement.then), branch(statement.otherwise))


Coefficients = dict[Offset, LaurentPolynomial]


def _linear(values: SweepValues, target: Access) -> tuple[Coefficients, LaurentPolynomial]:
    """({ o -> c_o }, r) of the element's new value. Raises NotPolynomialError."""
    if values.updated is None:
        raise NotPolynomialError(f"{values.element} is assigned in no plain statement", target.range)
    coefficients: Coefficients = {}
    rest, denominator = values.updated.numerator, values.updated.denominator
    for element in filter(values.is_element, values.updated.atoms):
        parts = rest.split(element)
        if parts is None or any(map(values.is_element, parts[0].atoms | denominator.atoms)):
            raise NotPolynomialError(
                f"the new value of {values.element} multiplies or divides elements of '{target.object.host}'",
                target.range,
            )
        coefficients[offset_of(element)] = fraction(parts[0], denominator)
        rest = parts[1]
    return coefficients, fraction(rest, denominator)


def _check_sides(coefficients: Coefficients, axes: tuple[MeshAxis, ...], target: Access) -> None:
    """Every dimension must have a neighbour before the element and one behind it."""
    name = target.object.host
    if not any(any(offset) for offset in coefficients):
        raise NoSweepError(f"{expression_text(target)} is computed from no other element of '{name}'", target.range)
    for place, axis in enumerate(axes):
        before = any(offset[place] < 0 for offset in coefficients)
        behind = any(offset[place] > 0 for offset in coefficients)
        if not (before and behind):
            side = "no neighbour" if not before and not behind else "neighbours on one side only"
            raise NoSweepError(
                f"along {axis.iterator.host}, {expression_text(target)} is computed from {side}; "
                "a relaxation has them on both",
                target.range,
            )


def _relaxation(coefficients: Coefficients, centre: Offset, right: LaurentPolynomial) -> LaurentPolynomial | None:
    """w = 1 - c_0 if it divides the other terms, else None."""
    factor = LaurentPolynomial(number(1)) - coefficients.get(centre, LaurentPolynomial())
    others = [value for offset, value in coefficients.items() if offset != centre]
    divides = all(term.quotient(factor) is not None for term in (*others, right))
    return factor if divides else None
