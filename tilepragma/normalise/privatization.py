"""Objects that the iterations of a loop share in the user's text, and have each for themselves in a
plan.

    double w[4], last;                             for (i) {
    for (i) {                                          double w[4], last_;
        for (k < 4) w[k] = …;                          for (k < 4) w[k] = …;
        … w[k] …; last = …;                            … w[k] …; last_ = …;
    }                                                  if (i is the last iteration) last = last_;
                                                   }

The two compute the same where each iteration writes such an object before it reads it, and, where
somebody reads it after the loop, writes all of what any iteration writes. Here are the loops that
the user calls independent, and the arrays that `private` clauses name. Scalars, structs among them,
whose values nobody wants afterwards, need no declaration of their own (`scalars`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.directives import LoopDirective, PrivateClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Cast,
    DataObject,
    Expression,
    FloatingLiteral,
    IntegerLiteral,
    Scope,
    Storage,
    access_to,
    conjunction,
    integer,
    local_scalar,
)
from tilepragma.ir.flow import assigned_bytes, exposed_read
from tilepragma.ir.fresh_names import names_in
from tilepragma.ir.function_reach import with_reach
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Kernel,
    Loop,
    Statement,
)
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import children, loops_in, mentions, named_in_clauses, walk, with_blocks
from tilepragma.ir.types import INT, LONG
from tilepragma.ir.value_bytes import bytes_of, leaves, object_bytes, type_size
from tilepragma.normalise.invariant_accesses import SteadyAccesses
from tilepragma.user_tiles.clause_variables import said_live_out
from tilepragma.user_tiles.mapping import independent_loops

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence

_MOST_BYTES = 16384
"""Of an array that each iteration has for itself: it lies on a thread's stack, and in a worker's own memory."""

_DISTRIBUTED = frozenset({TileKind.THREAD, TileKind.GANG, TileKind.WORKER})
_NOT_INSIDE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}


def with_member_names(kernel: Kernel, diagnostics: Diagnostics) -> Kernel:
    """The kernel with the members that it uses in the place of structs that `private` clauses name: they are objects of their own."""

    def clause(one: PrivateClause) -> PrivateClause:
        return replace(
            one, names=tuple(name for each in one.names for name in _members(each, kernel, one, diagnostics))
        )

    def directive(one: LoopDirective) -> LoopDirective:
        return replace(one, privates=tuple(map(clause, one.privates)))

    def block(one: Block) -> Block:
        return replace(one, statements=tuple(map(statement, one.statements)))

    def statement(one: Statement) -> Statement:
        changed = with_blocks(one, block)
        said = changed.directive if isinstance(changed, Loop) else None
        if isinstance(changed, Loop) and said is not None and said.privates:
            return replace(changed, directive=directive(said))
        return changed

    own = replace(kernel.directive, privates=tuple(map(clause, kernel.directive.privates)))
    return replace(kernel, directive=own, body=block(kernel.body))


def _members(name: str, kernel: Kernel, clause: PrivateClause, diagnostics: Diagnostics) -> tuple[str, ...]:
    hosts = [object_.host for object_ in kernel.objects]
    if any(host.startswith(f"{name}->") for host in hosts):
        diagnostics.error(
            clause.range,
            f"'{name}' cannot be private: it is a pointer to a struct, which iterations would share",
            "declare a struct in the loop and use that",
        )
        return ()
    inside = tuple(host for host in hosts if host.startswith(f"{name}."))
    return (name,) if name in hosts or not inside else inside


def privatized(kernel: Kernel, diagnostics: Diagnostics) -> Kernel | None:
    """The kernel with such objects declared in the loops. What iterations that are called independent surely share is an error: None."""
    found = Diagnostics()
    work = _Privatization(kernel, found, itertools.count(1 + max(_indices(kernel), default=-1)))
    work.clauses()
    if not found.has_errors:
        work.vouched()
    if not found.has_errors:
        work.shared_elements()
    diagnostics.add_all(found)
    return None if found.has_errors else work.kernel


def _indices(kernel: Kernel) -> Iterator[int]:
    return (loop.index for loop in loops_in(kernel.body))


@dataclass
class _Privatization:
    """The kernel as it becomes."""

    kernel: Kernel
    diagnostics: Diagnostics
    indices: Iterator[int]
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken |= names_in(self.kernel)

    # -- arrays that clauses name

    def clauses(self) -> None:
        directive = self.kernel.directive
        privates = tuple(self._clause(private, None) for private in directive.privates)
        self.kernel = replace(self.kernel, directive=replace(directive, privates=privates))
        for loop in tuple(loops_in(self.kernel.body)):
            if loop.directive is not None and loop.directive.privates:
                privates = tuple(self._clause(private, loop) for private in loop.directive.privates)
                now = self._current(loop)
                said = replace(loop.directive, privates=privates)
                self._replace(now, replace(now, directive=said))

    def _clause(self, clause: PrivateClause, loop: Loop | None) -> PrivateClause:
        """The clause without the arrays that are declared in loops because of it."""
        arrays = {object_.host: object_ for object_ in self.kernel.objects if object_.storage is not Storage.SCALAR}
        for name in clause.names:
            if name in arrays:
                self._named(arrays[name], clause, loop)
        return replace(clause, names=tuple(name for name in clause.names if name not in arrays))

    def _named(self, array: DataObject, clause: PrivateClause, loop: Loop | None) -> None:
        name, inside = array.host, f"declare '{array.host}' inside the loop"
        if clause.first:
            why = "an array cannot be firstprivate"
            self.diagnostics.error(clause.range, f"'{name}': {why}", f"{inside}, and copy the elements there")
        elif not _has_literal_lengths(array):
            why = "its lengths are no constants"
            self.diagnostics.error(clause.range, f"'{name}' cannot be private: {why}", inside)
        elif _size(array) > _MOST_BYTES:
            why = f"{_size(array)} bytes are more than an iteration can have for itself ({_MOST_BYTES})"
            self.diagnostics.error(clause.range, f"'{name}' cannot be private: {why}", "use a smaller array")
        else:
            outermost = (loop,) if loop is not None else _outermost(self.kernel.body)
            for one in outermost:
                if mentions(one, array):
                    self._declare(self._innermost(one, array), array)

    def _innermost(self, loop: Loop, array: DataObject) -> Loop:
        """The innermost loop that has all uses of the array under `loop` in its body, and where no iteration reads what another wrote."""
        now = self._current(loop)
        inner = [statement for statement in now.body.statements if mentions(statement, array)]
        only = inner[0] if len(inner) == 1 else None
        if not isinstance(only, Loop) or _bounds_mention(only, array) or self._is_own(only.body, array) is None:
            return now
        return self._innermost(only, array)

    # -- loops that are called independent

    def vouched(self) -> None:
        for head in _outermost(self.kernel.body):
            for chain in self._chains(head):
                if all(map(_runs_in_order, chain)):
                    continue
                for place in reversed(range(len(chain))):
                    self._arrays(chain[: place + 1])
                    self._scalars(chain[: place + 1])

    def _chains(self, head: Loop) -> Iterator[tuple[Loop, ...]]:
        """The independent loops that lead the nest of `head`, and those that lead a nest further in and have a clause of their own."""
        chain = independent_loops(head, self.kernel.directive)
        yield chain
        ahead = list(_outermost((chain or (head,))[-1].body))
        while ahead:
            inner = ahead.pop(0)
            if inner.directive is not None and inner.directive.independent:
                yield from self._chains(inner)
            else:
                ahead.extend(_outermost(inner.body))

    def _arrays(self, chain: Sequence[Loop]) -> None:
        loop = self._current(chain[-1])
        found: dict[DataObject, list[Use]] = {}
        for use in with_reach(uses(loop.body, self.kernel.functions), self.kernel.functions):
            if use.object.storage is Storage.CONTIGUOUS and use.object.scope in (Scope.EXTERNAL, Scope.REGION):
                found.setdefault(use.object, []).append(use)
        named = named_in_clauses(self.kernel.directive, self.kernel.body)
        steady = SteadyAccesses(loop, self.kernel)
        for array, touched in found.items():
            if array.host in named or _runs_once(loop):
                continue
            shared = {use: steady.holds(use) for use in touched if use.writes}
            surely = [use for use, holds in shared.items() if holds]
            perhaps = [use for use, holds in shared.items() if holds is None]
            if surely or perhaps:
                self._array(chain, array, touched, surely, perhaps)

    def _array(
        self,
        chain: Sequence[Loop],
        array: DataObject,
        touched: Sequence[Use],
        shared: Sequence[Use],
        perhaps: Sequence[Use],
    ) -> None:
        loop = self._current(chain[-1])
        if _has_literal_lengths(array) and _size(array) <= _MOST_BYTES:
            whole = self._is_own(loop.body, array)
            forgotten = array.scope is Scope.REGION or array.name in self.kernel.dead_arrays
            dead = forgotten and not self._is_used_outside(loop, array)
            if whole is not None and (dead or (whole and _is_rectangular(chain))):
                self._declare(loop, array, () if dead else chain)
                return
        read = any(use.reads for use in touched)
        if not shared or (not read and all(use.conditional for use in shared)):
            self._unsure(loop, array, (*shared, *perhaps)[0])
        elif read or not _stores_one_value(loop, array):
            said = loop.directive
            if len(chain) > 1 and (said is None or said == LoopDirective(said.range)):
                # The word is the kernel's, for the loops around: instances of those go through this
                # one in order.
                self.diagnostics.note(
                    shared[0].range,
                    f"the loop over '{loop.iterator.host}' runs in order: its iterations share this write of '{array.host}', whatever is said of "
                    "the kernel",
                    f"gather in a scalar with a reduction clause at that loop if '{array.host}' holds one result of its iterations, or put "
                    "'independent' before the loops it is meant for alone",
                )
                self._replace(loop, replace(loop, directive=LoopDirective(NOWHERE, sequential=True)))
                return
            self._report(loop, array, shared[0])

    def _unsure(self, loop: Loop, object_: DataObject, shared: Use) -> None:
        """Let a loop run in order whose iterations write an object under conditions that several may meet. Tiles forbid it: that is an error."""
        if _stores_one_value(loop, object_) or not self._may_meet(loop, object_):
            return
        what = f"iterations of the loop over '{loop.iterator.host}', which is said to be independent, may all write '{object_.host}' here"
        if loop.directive is not None and loop.directive.tiles:
            self.diagnostics.error(
                shared.range,
                f"{what}, and no instance knows which value is the last",
                "remove the loop's tiles, or add a reduction clause for an order that does not matter",
            )
            return
        self.diagnostics.warning(
            shared.range,
            f"{what}: the loop runs in order, since no instance knows which value is the last",
            f"declare '{object_.host}' inside the loop if its value is not needed afterwards",
        )
        self._replace(loop, replace(loop, directive=LoopDirective(NOWHERE, sequential=True)))

    def _may_meet(self, loop: Loop, object_: DataObject) -> bool:
        """Whether more than one iteration may write the object."""
        from tilepragma.poly.tile_legality import distribution_violation

        twice = self._written_twice(loop)
        if twice is None:
            return True
        return distribution_violation([one for one in twice if one.source.object == object_], loop.index) is not None

    def _written_twice(self, nest: Loop) -> list[Dependence] | None:
        """The dependences between writes of what a nest writes; None where they are too many to find."""
        from tilepragma.poly.dependences import DependenceKind, memory_dependences
        from tilepragma.poly.extraction import extract_scop
        from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

        try:
            scop = extract_scop((nest,), self.kernel.functions, written_objects(self.kernel), assuming=False)
            with operation_limit(scop.context, DEFAULT_LIMIT, "finding elements that are written twice"):
                return list(memory_dependences(scop, (DependenceKind.OUTPUT,)))
        except OperationLimitError:
            return None

    def _report(self, loop: Loop, array: DataObject, shared: Use) -> None:
        remedies = [
            f"gather in a scalar with a reduction clause, as in reduction(+: sum), if '{array.host}' holds one result of all iterations"
        ]
        if _has_literal_lengths(array) and _size(array) <= _MOST_BYTES:
            private = f"declare '{array.host}' inside the loop, or add private({array.host}),"
            remedies.insert(
                0, f"{private} if every iteration assigns it before use and its value is not needed afterwards"
            )
        else:
            remedies.insert(
                0,
                f"remove 'independent' if every iteration assigns '{array.host}' before use: it is then kept once for each iteration, which a "
                "clause cannot ask for where its length is no constant, or great",
            )
        self.diagnostics.error(
            shared.range,
            f"iterations of the loop over '{loop.iterator.host}', which is said to be independent, all write the same element of "
            f"'{array.host}' here",
            *remedies,
        )

    def _scalars(self, chain: Sequence[Loop]) -> None:
        """Those that somebody reads after the loops: the last iteration stores its value."""
        loop = self._current(chain[-1])
        named = named_in_clauses(self.kernel.directive, self.kernel.body)
        iterators = {loop.iterator for loop in loops_in(self.kernel.body)}
        live = self.kernel.read_after | said_live_out(self.kernel)
        written = dict.fromkeys(use.object for use in uses(loop.body, self.kernel.functions) if use.writes)
        for one in written:
            scalar = one.storage is Storage.SCALAR and one.scope in (Scope.EXTERNAL, Scope.REGION)
            if not scalar or one.host in named or one in iterators:
                continue
            if one.name not in live and not self._is_used_outside(loop, one):
                continue
            body = self._current(loop).body
            may, _ = self._written_bytes(body, one)
            if exposed_read(body, one, self.kernel.functions) is not None:
                continue
            if not may & ~assigned_bytes(body, one, self.kernel.functions):
                if _is_rectangular(chain):
                    self._declare(self._current(loop), one, chain)
                continue
            found = [use for use in uses(body, self.kernel.functions) if use.object == one]
            if all(use.conditional and not use.reads for use in found):
                self._unsure(self._current(loop), one, found[0])

    def _written_bytes(self, body: Block, object_: DataObject) -> tuple[int, bool]:
        """The bytes that may be written, and whether a function writes some."""
        may, handed = 0, False
        for use in uses(body, self.kernel.functions):
            if use.object == object_ and use.writes:
                may |= bytes_of(object_, use.subscripts, use.path, {})[0]
                handed = handed or use.taker is not None
        return may, handed

    def shared_elements(self) -> None:
        """Report the writes by which iterations of loops that are called independent share elements whatever the parameters are."""
        named = named_in_clauses(self.kernel.directive, self.kernel.body)
        for head in _outermost(self.kernel.body):
            loops = [loop for chain in self._chains(head) if not all(map(_runs_in_order, chain)) for loop in chain]
            if loops:
                self._elements(head, loops, named)

    def _elements(self, nest: Loop, loops: Sequence[Loop], named: frozenset[str]) -> None:
        from tilepragma.poly.tile_legality import shares_surely

        for one in self._written_twice(nest) or ():
            array = one.source.object
            if array.storage is Storage.SCALAR or array.scope is Scope.LOCAL or array.host in named:
                continue
            sharing = (loop for loop in loops if not _stores_one_value(loop, array))
            first = next((loop for loop in sharing if shares_surely(one, loop.index)), None)
            if first is not None:
                self._report_elements(first, one)

    def _report_elements(self, loop: Loop, shared: Dependence) -> None:
        array, first, second = shared.source.object.host, shared.source.range, shared.sink.range
        what = f"iterations of the loop over '{loop.iterator.host}', which is said to be independent, write elements of '{array}'"
        self.diagnostics.error(
            first,
            f"{what} here that others write"
            if first == second
            else f"{what} here that others write on line {second.start.line}",
            "remove 'independent': what the loop may do at once is then found out",
        )

    # -- declarations

    def _is_own(self, body: Block, array: DataObject) -> bool | None:
        """Whether each run of `body` writes all of the array; None where it may read what it has not written before."""
        functions = self.kernel.functions
        if exposed_read(body, array, functions) is None:
            return not object_bytes(array) & ~assigned_bytes(body, array, functions)
        from tilepragma.poly.private_arrays import private_array

        found = private_array(body.statements, functions, written_objects(self.kernel), array)
        return None if found is None else found.whole

    def _is_used_outside(self, loop: Loop, object_: DataObject) -> bool:
        inside = sum(isinstance(node, Access) and node.object == object_ for node in walk(loop.body))
        everywhere = sum(isinstance(node, Access) and node.object == object_ for node in walk(self.kernel.body))
        return everywhere > inside

    def _declare(self, loop: Loop, object_: DataObject, chain: Sequence[Loop] = ()) -> None:
        """Give each iteration of `loop` its own; the last one of all loops of `chain`, if any, stores its values."""
        loop = self._current(loop)
        own = replace(
            object_, name=self._free(f"{object_.name}_private"), scope=Scope.LOCAL, const=False, restrict=False
        )
        declaration = Declaration((Declarator(own, None),), loop.body.range)
        inside = with_objects(loop.body.statements, {object_: own})
        stored: tuple[Statement, ...] = ()
        if chain:
            last = conjunction(map(_is_last, chain))
            uses_of = (use for use in uses(loop.body, self.kernel.functions) if use.object == object_ and use.writes)
            *_, place = (use.range for use in uses_of)
            stored = (If(last, Block(tuple(self._stores(loop.body, object_, own, place)), place), None, place),)
        body = replace(loop.body, statements=(declaration, *inside, *stored))
        self._replace(loop, replace(loop, body=body))
        if not mentions(self.kernel.body, object_):
            rest = tuple(one for one in self.kernel.objects if one != object_)
            self.kernel = replace(self.kernel, objects=rest)

    def _stores(self, body: Block, object_: DataObject, own: DataObject, range_: SourceRange) -> Iterator[Statement]:
        if object_.rank:
            yield self._copy(object_, own, (), range_)
            return
        written, handed = self._written_bytes(body, object_)
        if handed or not object_bytes(object_) & ~written:
            yield _stored(access_to(object_), access_to(own), range_)
            return
        for path, type_, bytes_ in leaves(object_.element):
            if bytes_ & written:
                yield _stored(Access(object_, (), path, type_), Access(own, (), path, type_), range_)

    def _copy(self, array: DataObject, own: DataObject, outer: tuple[Access, ...], range_: SourceRange) -> Statement:
        """for (x) array[x] = own[x];"""
        if len(outer) == array.rank:
            return _stored(Access(array, outer, (), array.element), Access(own, outer, (), array.element), range_)
        place = local_scalar(self._free(f"{array.name}_{len(outer)}"), INT)
        length = array.lengths[len(outer)]
        assert length is not None, "private arrays have lengths"
        body = Block((self._copy(array, own, (*outer, place), range_),), range_)
        return Loop(
            next(self.indices),
            place.object,
            True,
            integer(0),
            "<",
            length,
            integer(1),
            False,
            body,
            None,
            range_,
            range_,
        )

    def _free(self, wanted: str) -> str:
        name = next(
            one
            for one in itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(2)))
            if one not in self.taken
        )
        self.taken.add(name)
        return name

    def _current(self, loop: Loop) -> Loop:
        """The loop as it is now."""
        return next(one for one in loops_in(self.kernel.body) if one.index == loop.index)

    def _replace(self, old: Loop, new: Loop) -> None:
        def block(one: Block) -> Block:
            return replace(one, statements=tuple(map(statement, one.statements)))

        def statement(one: Statement) -> Statement:
            return new if one is old else with_blocks(one, block)

        self.kernel = replace(self.kernel, body=block(self.kernel.body))


def _outermost(body: Block) -> Iterator[Loop]:
    """The outermost loops, looking through all but loops."""
    for statement in body.statements:
        if isinstance(statement, Loop):
            yield statement
        else:
            for part in children(statement):
                if isinstance(part, Block):
                    yield from _outermost(part)


def _runs_in_order(loop: Loop) -> bool:
    """Whether the user's tiles give no part of the loop to others, so that its last iteration comes last."""
    tiles = loop.directive.tiles if loop.directive is not None else ()
    return bool(tiles) and all(tile.kind not in _DISTRIBUTED for tile in tiles)


def _has_literal_lengths(array: DataObject) -> bool:
    return array.storage is Storage.CONTIGUOUS and all(isinstance(length, IntegerLiteral) for length in array.lengths)


def _size(array: DataObject) -> int:
    size = type_size(array.element)
    for length in array.lengths:
        size *= length.value if isinstance(length, IntegerLiteral) else 1
    return size


def _bounds_mention(loop: Loop, object_: DataObject) -> bool:
    return any(mentions(bound, object_) for bound in (loop.lower, loop.upper, loop.step))


def _runs_once(loop: Loop) -> bool:
    ends = [polynomial(one).constant for one in (loop.lower, loop.upper)]
    return None not in ends and abs((ends[1] or 0) - (ends[0] or 0)) + (loop.comparison in ("<=", ">=")) <= 1


def _is_rectangular(chain: Sequence[Loop]) -> bool:
    """Whether no loop's bounds depend on an iterator of those around it."""
    iterators = {loop.iterator for loop in chain}
    return not any(
        isinstance(node, Access) and node.object in iterators
        for loop in chain
        for bound in (loop.lower, loop.upper, loop.step)
        for node in walk(bound)
    )


def _is_last(loop: Loop) -> Expression:
    """i + step >= upper, in 64 bits."""
    value = Binary("+", Cast(LONG, access_to(loop.iterator)), Cast(LONG, loop.step), LONG)
    return Binary(_NOT_INSIDE[loop.holds_inside], value, Cast(LONG, loop.upper), INT)


def _stored(target: Access, value: Access, range_: SourceRange) -> Statement:
    return ExpressionStatement(Assignment("=", target, value, target.type, range_), range_)


def _stores_one_value(loop: Loop, array: DataObject) -> bool:
    """Whether the loop writes nothing but one constant to the array: which iteration does so does not matter."""
    values: set[Expression] = set()
    for node in walk(loop.body):
        if isinstance(node, Assignment) and node.target.object == array:
            if node.operator != "=" or not isinstance(node.value, (IntegerLiteral, FloatingLiteral)):
                return False
            values.add(node.value)
    mentioned: Iterable[Access] = (n for n in walk(loop.body) if isinstance(n, Access) and n.object == array)
    assigned = sum(isinstance(n, Assignment) and n.target.object == array for n in walk(loop.body))
    return len(values) == 1 and sum(1 for _ in mentioned) == assigned
