"""Privatization: gives each iteration its own copy of an object that all share.

    double w[4], last;                             for (i) {
    for (i) {                                          double w[4], last_;
        for (k < 4) w[k] = …;                          for (k < 4) w[k] = …;
        … w[k] …; last = …;                            … w[k] …; last_ = …;
    }                                                  if (i is the last iteration) last = last_;
                                                   }

Both compute the same where each iteration writes the object before it reads it, and, if the object
is read after the loop, writes all that any iteration writes. `privatized` serves loops that the
user calls independent, and arrays that `private` clauses name. Scalars and structs that are dead
after the loops need no declaration: launches have a copy for each instance.

    int k;                                          for (i)
    for (i)                                             for (j) {
        for (j) { k = i * n + j; a[k] = b[k]; }             int k = i * n + j; a[k] = b[k];
                                                        }

`with_private_scalars` declares integers in subscripts that are dead after the kernel: the analysis
knows the subscripts of the second form (`forward_substitution`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import Use, function_uses, implied_objects, uses, written_in
from tilepragma.ir.directives import LoopDirective, PrivateClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Cast,
    DataObject,
    Expression,
    FloatingLiteral,
    Index,
    IntegerLiteral,
    Scope,
    Storage,
    access_to,
    conjunction,
    integer,
    is_local_index,
)
from tilepragma.ir.flow import assigned_bytes, exposed_read
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.function_reach import with_reach
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, ExpressionStatement, If, Kernel, Loop, Statement
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_each, with_objects
from tilepragma.ir.traversal import (
    access_count,
    children,
    loops_and_tiled,
    loops_in,
    mentions,
    named_in_clauses,
    objects_in,
    walk,
    with_blocks,
)
from tilepragma.ir.types import INT, LONG
from tilepragma.ir.value_bytes import bytes_of, leaves, object_bytes, type_size
from tilepragma.user_tiles.clause_variables import live_out_by_clause
from tilepragma.user_tiles.mapping import independent_loops

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence


_MOST_BYTES = 16384
"""The greatest private array: it lies on a thread's stack, and in a worker's private memory."""

_DISTRIBUTED = frozenset({TileKind.THREAD, TileKind.GANG, TileKind.WORKER})
_NOT_INSIDE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}


def with_member_names(kernel: Kernel, diagnostics: Diagnostics) -> Kernel:
    """The kernel whose `private` clauses name members instead of structs."""

    def clause(clause_: PrivateClause) -> PrivateClause:
        members = (_members(name, kernel, clause_, diagnostics) for name in clause_.names)
        return replace(clause_, names=tuple(itertools.chain.from_iterable(members)))

    def loop(loop_: Loop) -> Loop:
        if loop_.directive is None or not loop_.directive.privates:
            return loop_
        return replace(loop_, directive=replace(loop_.directive, privates=tuple(map(clause, loop_.directive.privates))))

    kernel_directive = replace(kernel.directive, privates=tuple(map(clause, kernel.directive.privates)))
    return replace(kernel, directive=kernel_directive, body=with_each(kernel.body, Loop, loop))


def _members(name: str, kernel: Kernel, clause: PrivateClause, diagnostics: Diagnostics) -> tuple[str, ...]:
    hosts = [object_.host for object_ in kernel.objects]
    if any(host.startswith(f"{name}->") for host in hosts):
        message = f"'{name}' cannot be private: it is a pointer to a struct, which iterations would share"
        diagnostics.error(clause.range, message, "declare a struct in the loop and use that")
        return ()
    inside = tuple(host for host in hosts if host.startswith(f"{name}."))
    return (name,) if name in hosts or not inside else inside


def privatized(kernel: Kernel, diagnostics: Diagnostics) -> Kernel | None:
    """The kernel with private objects declared in loops; None and errors where iterations share."""
    errors = Diagnostics()
    indices = itertools.count(1 + max((loop.index for loop in loops_in(kernel.body)), default=-1))
    work = _Privatization(kernel, errors, indices, Names(set(names_in(kernel))))
    work.clauses()
    if not errors.has_errors:
        work.assumed_independent()
    if not errors.has_errors:
        work.shared_elements()
    diagnostics.add_all(errors)
    return None if errors.has_errors else work.kernel


@dataclass
class _Privatization:
    """The kernel while the pass changes it."""

    kernel: Kernel
    diagnostics: Diagnostics
    indices: Iterator[int]
    names: Names

    # -- arrays that clauses name

    def clauses(self) -> None:
        directive = self.kernel.directive
        privates = tuple(self._clause(private, None) for private in directive.privates)
        self.kernel = replace(self.kernel, directive=replace(directive, privates=privates))
        for loop in tuple(loops_in(self.kernel.body)):
            if loop.directive is not None and loop.directive.privates:
                privates = tuple(self._clause(private, loop) for private in loop.directive.privates)
                now = self._current(loop)
                self._replace(now, replace(now, directive=replace(loop.directive, privates=privates)))

    def _clause(self, clause: PrivateClause, loop: Loop | None) -> PrivateClause:
        """The clause without the arrays that the pass declares in loops because of it."""
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
            for outer in (loop,) if loop is not None else _outermost(self.kernel.body):
                if mentions(outer, array):
                    self._declare(self._innermost(outer, array), array)

    def _innermost(self, loop: Loop, array: DataObject) -> Loop:
        """The innermost loop with all uses of the array, where no iteration reads another's."""
        now = self._current(loop)
        inner = [statement for statement in now.body.statements if mentions(statement, array)]
        only = inner[0] if len(inner) == 1 else None
        if not isinstance(only, Loop) or any(mentions(bound, array) for bound in only.bounds):
            return now
        if self._writes_all(only.body, array) is None:
            return now
        return self._innermost(only, array)

    # -- loops that are called independent

    def assumed_independent(self) -> None:
        for head in _outermost(self.kernel.body):
            for chain in self._chains(head):
                for length in range(len(chain), 0, -1):
                    self._arrays(chain[:length])
                    self._scalars(chain[:length])

    def _chains(self, head: Loop) -> Iterator[tuple[Loop, ...]]:
        """The leading independent loops of the nest, then those of inner nests with clauses.

        Chains that the user's tiles run in order are left out.
        """
        chain = independent_loops(head, self.kernel.directive)
        if not all(map(_runs_in_order, chain)):
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
        uses_of: dict[DataObject, list[Use]] = {}
        for use in with_reach(uses(loop.body, self.kernel.functions), self.kernel.functions):
            if use.object.storage is Storage.CONTIGUOUS and use.object.scope in (Scope.EXTERNAL, Scope.REGION):
                uses_of.setdefault(use.object, []).append(use)
        named = named_in_clauses(self.kernel.directive, self.kernel.body)
        changing = written_in(loop.body, self.kernel.functions) | {loop.iterator}
        known = set(objects_in(self.kernel.body))
        for array, touched in uses_of.items():
            if array.host in named or _runs_once(loop):
                continue
            shared = {use: _stays(use, changing, known) for use in touched if use.writes}
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
        if _fits_iteration(array):
            whole = self._writes_all(loop.body, array)
            dead_after = array.scope is Scope.REGION or array.name in self.kernel.dead_arrays
            dead = dead_after and not self._is_used_outside(loop, array)
            if whole is not None and (dead or (whole and _is_rectangular(chain))):
                self._declare(loop, array, () if dead else chain)
                return
        read = any(use.reads for use in touched)
        if not shared or (not read and all(use.conditional for use in shared)):
            self._unsure(loop, array, (*shared, *perhaps)[0])
        elif read or not _stores_one_value(loop, array):
            directive = loop.directive
            if len(chain) > 1 and (directive is None or directive == LoopDirective(directive.range)):
                # `independent` at the kernel is about the outer loops: their instances run this one
                # in order.
                self.diagnostics.note(
                    shared[0].range,
                    f"the loop over '{loop.iterator.host}' runs in order: its iterations share this write of "
                    f"'{array.host}', whatever is said of the kernel",
                    f"gather in a scalar with a reduction clause at that loop if '{array.host}' holds one result of "
                    "its iterations, or put 'independent' before the loops it is meant for alone",
                )
                self._replace(loop, replace(loop, directive=LoopDirective(NOWHERE, sequential=True)))
                return
            self._report(loop, array, shared[0])

    def _unsure(self, loop: Loop, object_: DataObject, shared: Use) -> None:
        """Run a loop in order if its iterations may write one object; tiles make that an error."""
        if _stores_one_value(loop, object_) or not self._may_meet(loop, object_):
            return
        what = (
            f"iterations of the loop over '{loop.iterator.host}', which is said to be independent, may all write "
            f"'{object_.host}' here"
        )
        if loop.directive is not None and loop.directive.tiles:
            remedy = "remove the loop's tiles, or add a reduction clause for an order that does not matter"
            self.diagnostics.error(shared.range, f"{what}, and no instance knows which value is the last", remedy)
            return
        message = f"{what}: the loop runs in order, since no instance knows which value is the last"
        remedy = f"declare '{object_.host}' inside the loop if its value is not needed afterwards"
        self.diagnostics.warning(shared.range, message, remedy)
        self._replace(loop, replace(loop, directive=LoopDirective(NOWHERE, sequential=True)))

    def _may_meet(self, loop: Loop, object_: DataObject) -> bool:
        """Whether more than one iteration may write the object."""
        from tilepragma.poly.tile_legality import distribution_violation

        twice = self._written_twice(loop)
        if twice is None:
            return True
        outputs = [output for output in twice if output.source.object == object_]
        return distribution_violation(outputs, loop.index) is not None

    def _written_twice(self, nest: Loop) -> list[Dependence] | None:
        """The output dependences of a nest; None where finding them takes too long."""
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
        if _fits_iteration(array):
            private = (
                f"declare '{array.host}' inside the loop, or add private({array.host}), if every iteration assigns it "
                "before use and its value is not needed afterwards"
            )
        else:
            private = (
                f"remove 'independent' if every iteration assigns '{array.host}' before use: it is then kept once for "
                "each iteration, which a clause cannot ask for where its length is no constant, or great"
            )
        self.diagnostics.error(
            shared.range,
            f"iterations of the loop over '{loop.iterator.host}', which is said to be independent, "
            f"all write the same element of '{array.host}' here",
            private,
            "gather in a scalar with a reduction clause, as in reduction(+: sum), "
            f"if '{array.host}' holds one result of all iterations",
        )

    def _scalars(self, chain: Sequence[Loop]) -> None:
        """Privatize scalars that are live after the loops: the last iteration stores them."""
        loop = self._current(chain[-1])
        named = named_in_clauses(self.kernel.directive, self.kernel.body)
        iterators = {loop.iterator for loop in loops_in(self.kernel.body)}
        live = self.kernel.read_after | live_out_by_clause(self.kernel)
        for object_ in dict.fromkeys(use.object for use in uses(loop.body, self.kernel.functions) if use.writes):
            scalar = object_.storage is Storage.SCALAR and object_.scope in (Scope.EXTERNAL, Scope.REGION)
            if not scalar or object_.host in named or object_ in iterators:
                continue
            if object_.name not in live and not self._is_used_outside(loop, object_):
                continue
            body = self._current(loop).body
            if exposed_read(body, object_, self.kernel.functions) is not None:
                continue
            written, _ = self._written_bytes(body, object_)
            if not written & ~assigned_bytes(body, object_, self.kernel.functions):
                if _is_rectangular(chain):
                    self._declare(self._current(loop), object_, chain)
                continue
            uses_of = [use for use in uses(body, self.kernel.functions) if use.object == object_]
            if all(use.conditional and not use.reads for use in uses_of):
                self._unsure(self._current(loop), object_, uses_of[0])

    def _written_bytes(self, body: Block, object_: DataObject) -> tuple[int, bool]:
        """The bytes that the body may write, and whether a function writes some of them."""
        written, by_function = 0, False
        for use in uses(body, self.kernel.functions):
            if use.object == object_ and use.writes:
                written |= bytes_of(object_, use.subscripts, use.path, {})[0]
                by_function = by_function or use.passed is not None
        return written, by_function

    def shared_elements(self) -> None:
        """Report writes by which iterations of independent loops always share elements."""
        named = named_in_clauses(self.kernel.directive, self.kernel.body)
        for head in _outermost(self.kernel.body):
            loops = [loop for chain in self._chains(head) for loop in chain]
            if loops:
                self._elements(head, loops, named)

    def _elements(self, nest: Loop, loops: Sequence[Loop], named: frozenset[str]) -> None:
        from tilepragma.poly.tile_legality import shares_surely

        for output in self._written_twice(nest) or ():
            array = output.source.object
            if array.storage is Storage.SCALAR or array.scope is Scope.LOCAL or array.host in named:
                continue
            sharing = (loop for loop in loops if not _stores_one_value(loop, array))
            first = next((loop for loop in sharing if shares_surely(output, loop.index)), None)
            if first is not None:
                self._report_elements(first, output)

    def _report_elements(self, loop: Loop, shared: Dependence) -> None:
        array, first, second = shared.source.object.host, shared.source.range, shared.sink.range
        what = (
            f"iterations of the loop over '{loop.iterator.host}', which is said to be independent, "
            f"write elements of '{array}'"
        )
        where = "" if first == second else f" on line {second.start.line}"
        remedy = "remove 'independent': the analysis then finds what may run in parallel"
        self.diagnostics.error(first, f"{what} here that others write{where}", remedy)

    # -- declarations

    def _writes_all(self, body: Block, array: DataObject) -> bool | None:
        """Whether each run of `body` writes the whole array; None if it may read old elements."""
        functions = self.kernel.functions
        if exposed_read(body, array, functions) is None:
            return not object_bytes(array) & ~assigned_bytes(body, array, functions)
        from tilepragma.poly.value_flow import private_array

        return private_array(body.statements, functions, written_objects(self.kernel), array)

    def _is_used_outside(self, loop: Loop, object_: DataObject) -> bool:
        return access_count(self.kernel.body, object_) > access_count(loop.body, object_)

    def _declare(self, loop: Loop, object_: DataObject, chain: Sequence[Loop] = ()) -> None:
        """Give each iteration a copy; the last iteration of `chain`, if any, stores its values."""
        loop = self._current(loop)
        name = self.names.scalar(f"{object_.name}_private").name
        private = replace(object_, name=name, scope=Scope.LOCAL, const=False, restrict=False)
        declaration = Declaration((Declarator(private, None),), loop.body.range)
        inside = with_objects(loop.body.statements, {object_: private})
        stored: tuple[Statement, ...] = ()
        if chain:
            last = conjunction(map(_is_last, chain))
            uses_of = (use for use in uses(loop.body, self.kernel.functions) if use.object == object_ and use.writes)
            *_, place = (use.range for use in uses_of)
            stored = (If(last, Block(tuple(self._stores(loop.body, object_, private, place)), place), None, place),)
        self._replace(loop, replace(loop, body=replace(loop.body, statements=(declaration, *inside, *stored))))
        if not mentions(self.kernel.body, object_):
            self.kernel = replace(
                self.kernel, objects=tuple(other for other in self.kernel.objects if other != object_)
            )

    def _stores(
        self, body: Block, object_: DataObject, private: DataObject, range_: SourceRange
    ) -> Iterator[Statement]:
        if object_.rank:
            yield self._copy(object_, private, (), range_)
            return
        written, by_function = self._written_bytes(body, object_)
        if by_function or not object_bytes(object_) & ~written:
            yield _stored(access_to(object_), access_to(private), range_)
            return
        for path, type_, bytes_ in leaves(object_.element):
            if bytes_ & written:
                yield _stored(Access(object_, (), path, type_), Access(private, (), path, type_), range_)

    def _copy(
        self, array: DataObject, private: DataObject, outer: tuple[Access, ...], range_: SourceRange
    ) -> Statement:
        """for (x) array[x] = private[x];"""
        if len(outer) == array.rank:
            return _stored(Access(array, outer, (), array.element), Access(private, outer, (), array.element), range_)
        place = access_to(self.names.scalar(f"{array.name}_{len(outer)}", INT))
        length = array.lengths[len(outer)]
        assert length is not None, "private arrays have lengths"
        body = Block((self._copy(array, private, (*outer, place), range_),), range_)
        return Loop(
            next(self.indices), place.object, True, integer(0), "<", length, integer(1), False, body, None, range_
        )

    def _current(self, loop: Loop) -> Loop:
        return next(candidate for candidate in loops_in(self.kernel.body) if candidate.index == loop.index)

    def _replace(self, old: Loop, new: Loop) -> None:
        body = with_each(self.kernel.body, Loop, lambda loop: new if loop is old else loop)
        self.kernel = replace(self.kernel, body=body)


def _outermost(body: Block) -> Iterator[Loop]:
    """The outermost loops, also those in blocks and conditions."""
    for statement in body.statements:
        if isinstance(statement, Loop):
            yield statement
        else:
            for part in children(statement):
                if isinstance(part, Block):
                    yield from _outermost(part)


def _runs_in_order(loop: Loop) -> bool:
    """Whether the user's tiles distribute no part of the loop: its last iteration is last."""
    tiles = loop.directive.tiles if loop.directive is not None else ()
    return bool(tiles) and all(tile.kind not in _DISTRIBUTED for tile in tiles)


def _has_literal_lengths(array: DataObject) -> bool:
    return array.storage is Storage.CONTIGUOUS and all(isinstance(length, IntegerLiteral) for length in array.lengths)


def _fits_iteration(array: DataObject) -> bool:
    return _has_literal_lengths(array) and _size(array) <= _MOST_BYTES


def _size(array: DataObject) -> int:
    return type_size(array.element) * prod(n.value for n in array.lengths if isinstance(n, IntegerLiteral))


def _runs_once(loop: Loop) -> bool:
    ends = [polynomial(bound).constant for bound in (loop.lower, loop.upper)]
    return None not in ends and abs((ends[1] or 0) - (ends[0] or 0)) + (loop.comparison in ("<=", ">=")) <= 1


def _is_rectangular(chain: Sequence[Loop]) -> bool:
    """Whether no loop's bounds depend on another loop's iterator."""
    iterators = {loop.iterator for loop in chain}
    bounds = (bound for loop in chain for bound in loop.bounds)
    return not any(object_ in iterators for bound in bounds for object_ in objects_in(bound))


def _is_last(loop: Loop) -> Expression:
    """i + step >= upper, in 64 bits."""
    value = Binary("+", Cast(LONG, access_to(loop.iterator)), Cast(LONG, loop.step), LONG)
    return Binary(_NOT_INSIDE[loop.holds_inside], value, Cast(LONG, loop.upper), INT)


def _stored(target: Access, value: Access, range_: SourceRange) -> Statement:
    return ExpressionStatement(Assignment("=", target, value, target.type, range_), range_)


def _stores_one_value(loop: Loop, array: DataObject) -> bool:
    """Whether the loop writes only one constant to the array, whichever iteration does so."""
    assignments = [node for node in walk(loop.body) if isinstance(node, Assignment) and node.target.object == array]
    values = {node.value for node in assignments}
    constant = all(isinstance(value, (IntegerLiteral, FloatingLiteral)) for value in values)
    plain = constant and all(node.operator == "=" for node in assignments)
    return plain and len(values) == 1 and access_count(loop.body, array) == len(assignments)


def _stays(use: Use, changing: Collection[DataObject], known: Collection[DataObject]) -> bool | None:
    """Whether a use touches the same elements in all iterations of a loop.

    It does if it indexes all dimensions of its array, as `total[2]` or `w[k]` in an inner loop over
    k with constant bounds, and no index changes with the loop, which writes the objects `changing`.
    None if that is unknown, or if the use covers a range with only one invariant end. The analysis
    knows the values of objects that are `known`.
    """
    if len(use.subscripts) != use.object.rank:
        return False

    def is_invariant(object_: DataObject) -> bool | None:
        # The analysis knows nothing of a called function's locals that change.
        return False if object_ in changing else True if object_ in known else None

    def all_invariant(value: Expression) -> bool | None:
        return _all_of([None if object_ in inside else is_invariant(object_) for object_ in objects_in(value)])

    inside = {inner.iterator: inner for inner in use.loops}
    indices = [*use.subscripts, *(step.index for step in use.path if isinstance(step, Index))]
    answers: list[bool | None] = []
    for index in indices:
        for object_ in set(objects_in(index)):
            inner = inside.pop(object_, None)
            if inner is None:
                answers.append(is_invariant(object_))
            else:
                ends = [all_invariant(end) for end in (inner.lower, inner.upper)]
                answers.append(None if ends.count(True) == 1 else ends[0])
    return _all_of(answers)


def _all_of(answers: list[bool | None]) -> bool | None:
    return False if False in answers else None if None in answers else True


def with_private_scalars(kernel: Kernel) -> Kernel:
    """The kernel with such integers declared, once a nest, in the innermost block with all uses."""
    movable = tuple(_movable(kernel))
    if not movable:
        return kernel
    move = _Move(itertools.count(2), set(names_in(kernel)))
    body = kernel.body
    moved = []
    for scalar in movable:
        inner = move.into(body, scalar, False)
        if inner is not None:
            body = inner
            moved.append(scalar)
    return replace(kernel, body=body, objects=tuple(object_ for object_ in kernel.objects if object_ not in moved))


def _movable(kernel: Kernel) -> Iterator[DataObject]:
    """Outer integers in subscripts that are dead after the kernel, in order of first use."""
    first_privates = tuple(clause for clause in kernel.directive.privates if clause.first)
    named = named_in_clauses(replace(kernel.directive, privates=first_privates), kernel.body)
    written = written_in(kernel.body, kernel.functions)
    movable = (written & in_subscripts(kernel.body)) - used_elsewhere(kernel)
    for object_ in kernel.objects:
        outside = object_.scope is Scope.EXTERNAL and object_ in movable
        dead = object_.name not in kernel.read_after and object_.host not in named
        if outside and dead and is_local_index(replace(object_, scope=Scope.LOCAL)):
            yield object_


def used_elsewhere(kernel: Kernel) -> set[DataObject]:
    """The objects that functions, pointers or headers of loops may write or use."""
    elsewhere = {use.object for use in function_uses(kernel.functions)} | implied_objects(kernel.body)
    elsewhere |= {node.target.object for node in walk(kernel.body) if isinstance(node, AddressOf)}
    elsewhere |= {loop.iterator for loop in loops_and_tiled(kernel.body)}
    return elsewhere


def in_subscripts(body: Block) -> frozenset[DataObject]:
    """The scalars that subscripts read, directly or through assignments."""
    subscripts = (subscript for node in walk(body) if isinstance(node, Access) for subscript in node.subscripts)
    needed = {inner for subscript in subscripts for inner in objects_in(subscript)}
    assigned = [node for node in walk(body) if isinstance(node, Assignment) and node.target.object.rank == 0]
    size = 0
    while size != len(needed):
        size = len(needed)
        needed |= {inner for node in assigned if node.target.object in needed for inner in objects_in(node.value)}
    return frozenset(needed)


@dataclass(frozen=True)
class _Move:
    """Moves declarations of scalars inward; `taken` are the names in use."""

    numbers: Iterator[int]
    taken: set[str]

    def into(self, block: Block, object_: DataObject, in_loop: bool) -> Block | None:
        """The block with the scalar declared in it or inside; None if old values may be read."""
        places = [place for place, statement in enumerate(block.statements) if mentions(statement, object_)]
        if all(_is_closed(block.statements[place], object_) for place in places):
            inner = self._into_each(block, places, object_)
            if inner is not None:
                return inner
        rest = block.statements[places[0] :]
        if not in_loop or exposed_read(Block(rest, block.range), object_) is not None:
            return None
        return replace(block, statements=(*block.statements[: places[0]], *self._declared(rest, object_)))

    def _into_each(self, block: Block, places: list[int], object_: DataObject) -> Block | None:
        """The block with a copy of the scalar in each of these statements."""
        statements = list(block.statements)
        for place in places:
            changed = self._inside(statements[place], object_)
            if changed is None:
                return None
            statements[place] = changed
        return replace(block, statements=tuple(statements))

    def _inside(self, statement: Statement, object_: DataObject) -> Statement | None:
        in_loop = isinstance(statement, Loop)
        refused = False

        def change(block: Block) -> Block:
            nonlocal refused
            if not mentions(block, object_):
                return block
            inner = self.into(block, object_, in_loop)
            refused = refused or inner is None
            return inner or block

        changed = with_blocks(statement, change)
        return None if refused else changed

    def _declared(self, statements: Iterable[Statement], object_: DataObject) -> tuple[Statement, ...]:
        """The statements, which write the scalar before they read it, with a copy of it."""
        private = replace(object_, name=self._free(object_.name), scope=Scope.LOCAL)
        first, *rest = with_objects(tuple(statements), {object_: private})
        place = getattr(first, "range", NOWHERE)
        match first:
            case ExpressionStatement(Assignment("=", target, value)) if target == access_to(private):
                if not mentions(value, private):
                    return (Declaration((Declarator(private, value),), place), *rest)
        return (Declaration((Declarator(private, None),), place), first, *rest)

    def _free(self, name: str) -> str:
        """A free name like this; the name itself for the first copy."""
        if name in self.taken:
            self.taken.discard(name)
            return name
        return next(free for free in (f"{name}_{number}" for number in self.numbers) if free not in self.taken)


def _is_closed(statement: Statement, object_: DataObject) -> bool:
    """Whether only inner blocks of the statement use the scalar, and read only what they wrote."""
    if isinstance(statement, Loop):
        headers: tuple[Expression, ...] = statement.bounds
    elif isinstance(statement, If):
        headers = (statement.condition,)
    elif isinstance(statement, Block):
        headers = ()
    else:
        return False
    return not any(mentions(header, object_) for header in headers) and exposed_read(statement, object_) is None
