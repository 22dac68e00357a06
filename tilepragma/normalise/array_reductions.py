"""Array reductions: iterations that only add to elements which data choose add to copies.

    for (i = low; i < high; i++)        for (c = 0; c < COPIES; c++) {
        count[key[i]] += e;                 for (x) copies[c][x] = 0;
                                            for (k = low + c * RUN; k < high; k += COPIES * RUN)
                                                for (i = k; i < high && i < k + RUN; i++)
                                                    copies[c][key[i]] += e;
                                        }
                                        for (x) count[x] += copies[0][x] + copies[1][x] + …;

Both compute the same where updates may come in any order (ir/reductions.py). Loops over c and x are
parallel. This is array expansion, in which the copies take turns with runs of iterations, so that
each reads memory in order. The number of copies is fixed: results do not depend on the number of
threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from math import prod

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, function_uses, uses
from tilepragma.ir.directives import LoopDirective
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Cast,
    Conditional,
    DataObject,
    Expression,
    FloatingLiteral,
    Scope,
    Storage,
    Unary,
    access_to,
    conjunction,
    integer,
)
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import (
    ArrayReductions,
    Block,
    Break,
    ExpressionStatement,
    FloatingRules,
    If,
    Kernel,
    Loop,
    Return,
    Statement,
)
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.ir.reductions import Updates, check_updates, reduction_updates
from tilepragma.ir.substitution import with_each, without_names_in_clauses
from tilepragma.ir.traversal import loops_in, mentions, operators_by_clause, reduction_clauses, walk
from tilepragma.ir.types import DOUBLE, INT, LONG, ScalarType, unsigned, usual_type
from tilepragma.normalise.value_ranges import UnboundedError, ValueRanges, is_read_outside_loops
from tilepragma.poly.extents import Bounds, around
from tilepragma.user_tiles.chain_checks import literal_trip

COPIES = 16
"""Copies of an array, which are as many cores as can update it."""
LEAST_UPDATES = 4
"""Iterations for each element of all copies, with which initialising and combining these pays."""
RUN, RUN_OF_NESTS = 4096, 16
"""Iterations in a row for the same copy: of an innermost loop, and of a loop around others. Copies
that jump over memory often find neither its pages nor what processors fetch ahead: 10^7 updates of
256 elements take 17 ms with runs of 256, 9.6 with 1024, 6.6 with 4096, 7.4 with one run a copy.
"""

ZERO = integer(0)
_IDENTITIES = {"+": 0, "|": 0, "^": 0, "*": 1, "&": -1}


@dataclass(frozen=True)
class Expanded:
    """The `kernel` in which a `loop` of the region updates copies, whose numbers `copy` iterates
    over.
    """

    kernel: Kernel
    loop: Loop
    copy: DataObject


def array_reductions(kernel: Kernel, floating: FloatingRules) -> Iterator[Expanded]:
    """The kernel with a loop's array reductions in copies: for each loop that could be it,
    outermost first. Only where it is known which elements may be updated, and in any order.
    """
    for loop in loops_in(kernel.body):
        reduced = tuple(_reduced(kernel, loop, floating)) if _is_countable(kernel, loop) else ()
        if reduced:
            yield _Expansion(kernel, loop, reduced).expanded()


def _is_countable(kernel: Kernel, loop: Loop) -> bool:
    """Whether the loop may be cut in runs: it counts by 1, and its iterations may be apart."""
    counts = loop.comparison != "!=" and polynomial(loop.step).constant == (-1 if loop.decreasing else 1)
    return counts and _may_be_cut(kernel, loop)


def _may_be_cut(kernel: Kernel, loop: Loop) -> bool:
    """Whether the loop has enough iterations, and nothing leaves it or reads its iterator
    afterwards.
    """
    trip = literal_trip(loop)
    directive = loop.directive
    if directive is not None and directive != LoopDirective(
        directive.range, privates=directive.privates, reductions=directive.reductions
    ):
        return False
    if trip is not None and trip < COPIES * RUN_OF_NESTS:
        return False
    if any(isinstance(node, (Break, Return)) for node in walk(loop.body)):
        return False
    read_later = loop.iterator.name in kernel.read_after or is_read_outside_loops(loop.iterator, kernel.body)
    return loop.declares_iterator or not read_later


@dataclass(frozen=True)
class _Reduced:
    """An array, and the operator of its updates. The copies have elements for the subscripts from
    `lows` on, `lengths` many. `guarded`: the array may have fewer.
    """

    array: DataObject
    operator: str
    lows: tuple[Polynomial, ...]
    lengths: tuple[Expression, ...]
    guarded: bool


def _reduced(kernel: Kernel, loop: Loop, floating: FloatingRules) -> Iterator[_Reduced]:
    """The arrays whose elements are known and that the loop only updates, in any order."""
    on_host = host_evaluable(written_objects(kernel))
    ranges = ValueRanges(kernel.body, on_host)
    for array, places, updates in _updated(kernel, loop, floating):
        if updates.ordered:
            continue
        with suppress(UnboundedError):
            sides = [_range_in_dimension(array, dimension, places, ranges) for dimension in range(array.rank)]
            lengths = tuple(expression(side.high - side.low + number(1)) for side in sides)
            guarded = None in array.lengths
            if all(map(on_host, lengths)) and not (guarded and updates.operator == "&"):
                yield _Reduced(array, updates.operator, tuple(side.low for side in sides), lengths, guarded)


def _updated(
    kernel: Kernel, loop: Loop, floating: FloatingRules
) -> Iterator[tuple[DataObject, list[tuple[Expression, ...]], Updates]]:
    """The arrays that the loop only updates, at places that data choose or for a clause; with the
    subscripts. A clause allows any order.
    """
    called = {use.object for use in function_uses(kernel.functions)}
    written, operators = written_objects(kernel), operators_by_clause(kernel.directive, kernel.body)
    iterators = {each.iterator for each in loops_in(kernel.body)}
    in_loop = list(uses(loop.body, kernel.functions))
    for array in dict.fromkeys(use.object for use in in_loop if use.writes):
        if array.storage is not Storage.CONTIGUOUS or array.scope not in (Scope.EXTERNAL, Scope.REGION):
            continue
        if array.volatile or array in called or array.rows_in is not None:
            continue
        places = [use.subscripts for use in in_loop if use.object == array]
        atoms = (node for place in places for each in place for node in walk(each) if isinstance(node, Access))
        operator = operators.get(array.host)
        if operator is None and not any(node.subscripts or node.object in written - iterators for node in atoms):
            continue
        updates = reduction_updates(array, loop.body, floating)
        if not isinstance(updates, Updates) or updates.operator not in _IDENTITIES:
            continue
        if operator in (None, updates.operator):
            yield array, places, updates if operator is None else replace(updates, ordered="")


def clause_remedies(kernel: Kernel, floating: FloatingRules) -> Iterator[Diagnostic]:
    """A note for each array that a `reduction` clause would let a loop update in copies."""
    told: set[DataObject] = set()
    for loop in loops_in(kernel.body) if kernel.reductions is None else ():
        known = {reduced.array for reduced in _reduced(kernel, loop, floating)}
        for array, _, updates in _updated(kernel, loop, floating) if _may_be_cut(kernel, loop) else ():
            if array in known or array in told:
                continue
            told.add(array)
            whole = None not in array.lengths
            section = "" if whole else "[0:N]" + "[:]" * (array.rank - 1)
            where = "" if whole else f", with the first length of '{array.host}' for N"
            order = ", in any order" if updates.ordered else ""
            text = (
                f"write reduction({updates.operator}: {array.host}{section}) at the kernel{where}: iterations of the "
                f"loop over '{loop.iterator.host}' then update copies of '{array.host}'{order}"
            )
            yield Diagnostic(Severity.NOTE, loop.header, text)


def with_proven_reductions(kernel: Kernel, *, has_tiles: bool, diagnostics: Diagnostics) -> Kernel | None:
    """The kernel without `independent` clauses if a `reduction` clause names an array: iterations
    then share its elements. None, and an error, if loops have tiles of the user's.
    """
    arrays = {object_.host for object_ in kernel.objects if object_.rank}
    clauses = reduction_clauses(kernel.directive, kernel.body)
    first = next((clause for clause in clauses if arrays.intersection(clause.names)), None)
    if first is None:
        return kernel
    if has_tiles:
        name = next(name for name in first.names if name in arrays)
        message = f"the array '{name}' cannot be reduced in loops with tiles of your own"
        diagnostics.error(first.range, message, "remove the tiles: the loop over the copies is the parallel one")
        return None

    def proven(loop: Loop) -> Loop:
        return loop if loop.directive is None else replace(loop, directive=replace(loop.directive, independent=False))

    directive = replace(kernel.directive, independent=False)
    return replace(kernel, directive=directive, body=with_each(kernel.body, Loop, proven))


def check_array_clauses(kernel: Kernel, floating: FloatingRules, diagnostics: Diagnostics) -> None:
    """Report arrays in `reduction` clauses that no loop only updates with the operator."""
    arrays = {object_.host: object_ for object_ in kernel.objects if object_.rank}
    for clause in reduction_clauses(kernel.directive, kernel.body):
        for array in (arrays[name] for name in clause.names if name in arrays):
            writing = [loop for loop in loops_in(kernel.body) if any(_writes(use, array) for use in uses(loop.body))]
            checks = []
            for loop in writing if isinstance(array.element, ScalarType) else ():
                checks.append(Diagnostics())
                check_updates(array, clause, loop.body, floating, checks[-1])
            if checks and all(check.has_errors for check in checks):
                diagnostics.add_all(checks[-1])


def _writes(use: Use, array: DataObject) -> bool:
    return use.writes and use.object == array


def _range_in_dimension(
    array: DataObject, dimension: int, places: Sequence[tuple[Expression, ...]], ranges: ValueRanges
) -> Bounds:
    """The subscripts in a dimension: all, or those that the subscripts' values can be. Raises
    UnboundedError.
    """
    length = array.lengths[dimension]
    if length is not None:
        return Bounds(number(0), polynomial(length) - number(1))
    return around([ranges.of(place[dimension]) for place in places])


class _Expansion:
    """The expansion of reduced arrays in one loop."""

    def __init__(self, kernel: Kernel, loop: Loop, reduced: tuple[_Reduced, ...]) -> None:
        self.kernel, self.loop, self.reduced = kernel, loop, reduced
        self.names = Names(set(names_in(kernel)))
        self.numbers = itertools.count(1 + max(each.index for each in loops_in(kernel.body)))
        self.copy = self.names.scalar("copy")
        self.copies = {each.array: self._copies(each) for each in reduced}

    def _copies(self, reduced: _Reduced) -> DataObject:
        array, name = reduced.array, self.names.unique(f"{reduced.array.name}_copies")
        lengths = (integer(COPIES), *reduced.lengths)
        shape = Storage.CONTIGUOUS, Scope.TEMPORARY, lengths
        return DataObject(name, name, array.element, *shape, range=array.range)

    def expanded(self) -> Expanded:
        summed = self._loop(self.copy, integer(COPIES), (*map(self._initialised, self.reduced), self._runs()))
        summed = replace(summed, directive=self.loop.directive)
        statements = (summed, *map(self._combined, self.reduced))

        def block(node: Block) -> Block:
            parts = (statements if self._is_expanded_loop(each) else (each,) for each in node.statements)
            return replace(node, statements=tuple(itertools.chain.from_iterable(parts)))

        kernel = replace(
            self.kernel,
            body=with_each(self.kernel.body, Block, block),
            objects=tuple(dict.fromkeys((*self.kernel.objects, *self._in_lengths(), *self.copies.values()))),
            reductions=self._reductions(),
        )
        arrays = {each.array.host for each in self.reduced}
        return Expanded(without_names_in_clauses(kernel, arrays), self.loop, self.copy)

    def _reductions(self) -> ArrayReductions:
        arrays = tuple((each.array, each.operator) for each in self.reduced)
        loops, worthwhile = ((self.loop, arrays),), self._worthwhile()
        before = self.kernel.reductions
        if before is None:
            return ArrayReductions(loops, self.kernel.body, self.kernel.objects, worthwhile)
        return replace(before, loops=(*before.loops, *loops), worthwhile=conjunction((before.worthwhile, worthwhile)))

    def _runs(self) -> Loop:
        """The loop in runs for the copy: for (k = low + copy * RUN; …) for (i = k; …)."""
        loop, sign, comparison = self.loop, -1 if self.loop.decreasing else 1, "<>"[self.loop.decreasing]
        run = RUN_OF_NESTS if any(loops_in(loop.body)) else RUN
        first = self.names.scalar(f"{loop.iterator.name}_first")
        offset = polynomial(access_to(self.copy)) * number(sign * run)
        past = _wide(expression(_past(loop)))
        after = expression(polynomial(access_to(first)) + number(sign * run))
        end = Conditional(Binary(comparison, past, after, INT), past, after, LONG)
        inner = replace(
            loop,
            lower=access_to(first),
            comparison=comparison,
            upper=end,
            body=with_each(loop.body, Access, self._in_copy),
            directive=None,
        )
        runs = self._loop(first, past, (inner,), expression(polynomial(loop.lower) + offset), sign * COPIES * run)
        return replace(runs, comparison=comparison, decreasing=loop.decreasing)

    def _in_copy(self, access: Access) -> Access:
        reduced = next((each for each in self.reduced if each.array == access.object), None)
        if reduced is None:
            return access
        shifted = zip(access.subscripts, reduced.lows, strict=True)
        places = (
            subscript if low == number(0) else expression(polynomial(subscript) - low) for subscript, low in shifted
        )
        return replace(access, object=self.copies[access.object], subscripts=(access_to(self.copy), *places))

    def _initialised(self, reduced: _Reduced) -> Loop:
        """for (x) copies[copy][x] = identity;"""

        def value(places: tuple[Expression, ...]) -> Statement:
            target = self._element(reduced, access_to(self.copy), places)
            return self._set("=", target, _identity(reduced))

        return self._over(reduced, value)

    def _combined(self, reduced: _Reduced) -> Loop:
        """for (x) array[x] += copies[0][x] + copies[1][x] + …; where the array may be smaller, only
        if that changes an element.
        """
        operator, type_ = reduced.operator, reduced.array.element
        assert isinstance(type_, ScalarType), "reduced arrays are of numbers"
        # In another order than the user's, signed integers may overflow.
        common = type_ if type_.is_floating else unsigned(usual_type(type_, type_))

        def value(places: tuple[Expression, ...]) -> Statement:
            first, *others = (self._element(reduced, integer(copy), places) for copy in range(COPIES))
            begin: Expression = first if type_.is_floating else Cast(common, first)
            total = reduce(lambda left, right: Binary(operator, left, right, common), others, begin)
            shifted = zip(places, reduced.lows, strict=True)
            subscripts = tuple(
                place if low == number(0) else expression(polynomial(place) + low) for place, low in shifted
            )
            update = self._set(f"{operator}=", Access(reduced.array, subscripts, (), type_), total)
            if not reduced.guarded:
                return update
            changes = Binary("!=", total, _identity(reduced), INT)
            return If(changes, Block((update,)), None)

        return self._over(reduced, value)

    def _in_lengths(self) -> Iterator[DataObject]:
        lengths = (length for each in self.reduced for length in each.lengths)
        return (node.object for length in lengths for node in walk(length) if isinstance(node, Access))

    def _is_expanded_loop(self, node: Statement) -> bool:
        return isinstance(node, Loop) and node.index == self.loop.index

    def _worthwhile(self) -> Expression:
        """Whether the iterations outnumber what the copies cost."""
        trips = number(1)
        for loop in self._around_updates(self.loop):
            distance = _past(loop) - polynomial(loop.lower)
            trips = trips * (-distance if loop.decreasing else distance)
        elements = [prod(map(polynomial, each.lengths), start=number(1)) for each in self.reduced]
        least = sum(elements, number(0)) * number(COPIES * LEAST_UPDATES)
        return Binary(">=", _wide(expression(trips)), _wide(expression(least)), INT)

    def _around_updates(self, loop: Loop) -> Iterator[Loop]:
        """The loop, and those inside around an array's updates, with the same count each time."""
        yield loop
        known = {*written_objects(self.kernel), loop.iterator}
        for inner in loop.body.statements:
            if isinstance(inner, Loop) and any(mentions(inner, each.array) for each in self.reduced):
                atoms = (node for bound in inner.bounds for node in walk(bound) if isinstance(node, Access))
                if (
                    polynomial(inner.step).constant in (1, -1)
                    and inner.comparison != "!="
                    and not any(node.object in known for node in atoms)
                ):
                    yield from self._around_updates(inner)
                return

    def _over(self, reduced: _Reduced, value: Callable[[tuple[Expression, ...]], Statement]) -> Loop:
        """The statement that `value` makes of subscripts, in loops over all elements."""
        places = [self.names.scalar(f"{reduced.array.name}_{place}") for place in range(reduced.array.rank)]
        statement = value(tuple(map(access_to, places)))
        for place, length in zip(reversed(places), reversed(reduced.lengths), strict=True):
            statement = self._loop(place, length, (statement,))
        assert isinstance(statement, Loop), "reduced arrays have dimensions"
        return statement

    def _loop(
        self,
        iterator: DataObject,
        upper: Expression,
        statements: tuple[Statement, ...],
        lower: Expression = ZERO,
        step: int = 1,
    ) -> Loop:
        return Loop(
            next(self.numbers), iterator, True, lower, "<", upper, integer(step), False, Block(statements), None
        )

    def _element(self, reduced: _Reduced, copy: Expression, places: tuple[Expression, ...]) -> Access:
        return Access(self.copies[reduced.array], (copy, *places), (), reduced.array.element)

    def _set(self, operator: str, target: Access, value: Expression) -> Statement:
        return ExpressionStatement(Assignment(operator, target, value, target.type))


def _past(loop: Loop) -> Polynomial:
    """The first value beyond the end of a loop that counts by 1."""
    beyond = -1 if loop.decreasing else 1
    return polynomial(loop.upper) + number(beyond if loop.comparison in ("<=", ">=") else 0)


def _identity(reduced: _Reduced) -> Expression:
    """The value that changes no other: -0.0 for floating-point sums, since 0.0 changes -0.0."""
    value, type_ = _IDENTITIES[reduced.operator], reduced.array.element
    if value or not isinstance(type_, ScalarType) or not type_.is_floating:
        return integer(value)
    return Unary("-", FloatingLiteral(0.0, "0.0"), DOUBLE)


def _wide(value: Expression) -> Expression:
    return value if value.type == LONG else Cast(LONG, value)
