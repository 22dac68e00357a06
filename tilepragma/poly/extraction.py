"""Scop extraction from LoopTree: domains, schedules and accesses of a region's statements.

The leaves of a Scop for transformed code are the parts of a nest that can move alone (`Movable`). A
statement that declares variables stays with all their uses. Control that is not affine stays whole,
and so does a loop that ends early or whose iterator is used after it.

Subscripts know the local integers that reach them from straight-line code (`LocalValues`):

    int x = i + k;                  x = i + k
    if (x < 0) x = 0;               x = max(i + k, 0)
    const size_t at = y * w + x;    at = y*w + x: not affine, but such a subscript can be split

A value is known from its assignment to the end of the block, unless something may write it again.
Only subscripts use these values: conditions and bounds stay as written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import Use, function_uses, leaves_early, uses, written_in
from tilepragma.ir.c_values import holds
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Conditional,
    DataObject,
    Expression,
    Increment,
    Member,
    Scope,
    Storage,
    access_to,
    integer,
    is_local_index,
)
from tilepragma.ir.function_reach import touches_one_element
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    Function,
    If,
    Loop,
    Return,
    Statement,
    TileNest,
)
from tilepragma.ir.polynomial import Polynomial, polynomial
from tilepragma.ir.traversal import children, declared_in, loops_in, walk
from tilepragma.ir.types import RecordType, ScalarType, Type, is_signed_int
from tilepragma.poly.affine import (
    Frame,
    NotAffine,
    NotAffineError,
    ReturnedValue,
    affine,
    affine_or_none,
    compare,
    condition,
    product_of,
    whole_number,
)
from tilepragma.poly.delinearise import NO_ORIGIN, Layouts, Subscript, range_in_row, split_subscript
from tilepragma.poly.isl_ast import ParameterReader
from tilepragma.poly.launch_checks import undecided
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement, meeting, step_of

#: isl takes minutes for distances of deeper nests, which its operation count does not show.
MOST_LOOPS = 8

Movable = Callable[[Statement], bool]
"""Names further statements that are one leaf each."""

#: The greatest number of pairs of references with a write: passes ask isl about each, repeatedly.
MOST_PAIRS = 400_000


def extract_scop(
    body: Iterable[Statement],
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    movable: Movable | None = None,
    *,
    context: isl.Context | None = None,
    assuming: bool = True,
    around: Iterable[Statement] = (),
) -> Scop:
    """The Scop of consecutive statements; `written` are the objects that the region changes.

    `assuming`: written arrays may be delinearised (a[i*m + j] as a[i][j]) where the Scop's
    `assumptions` make that valid. Statements that are a part of `around` share its layouts and
    repeat no assumptions. `context` is that of another Scop to compare with.

    With `movable`, for code to transform, each statement's `node` can move alone: it holds whole
    control structures that are not affine, and all uses of the variables that it declares; only
    leaves are statements. Raises OperationLimitError.
    """
    context = context if context is not None else isl.Context()
    body = _shallow(body)
    with operation_limit(context, DEFAULT_LIMIT, "reading the nest"):
        layouts = None
        if around:
            whole = _Extraction(context, functions, written, None, assuming)
            whole.walk(tuple(around))
            layouts = whole.layouts()
        return _Extraction(context, functions, written, movable, assuming).scop(body, layouts)


def scop_under(
    conditions: Container[Expression],
    body: Iterable[Statement],
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    known: Scop | None = None,
) -> Scop:
    """The Scop of statements under these conditions only; `known` is that under its assumptions, if
    already extracted. Raises OperationLimitError.
    """
    body = tuple(body)
    scop = known if known is not None else extract_scop(body, functions, written)
    if all(assumption in conditions for assumption in scop.assumptions):
        return scop
    return extract_scop(body, functions, written, assuming=False)


def array_subscripts(
    body: Iterable[Statement], functions: tuple[Function, ...], written: frozenset[DataObject]
) -> dict[DataObject, list[Subscript]]:
    """All subscripts of one-dimensional arrays in the statements. Raises OperationLimitError."""
    context, body = isl.Context(), _shallow(body)
    with operation_limit(context, DEFAULT_LIMIT, "reading the nest"):
        extraction = _Extraction(context, functions, written)
        extraction.walk(body)
        return extraction.subscripts()


def _shallow(body: Iterable[Statement]) -> tuple[Statement, ...]:
    """The statements, of not too many nested loops. Raises OperationLimitError."""
    statements = tuple(body)
    if _depth(statements) > MOST_LOOPS:
        raise OperationLimitError(f"isl was not asked about a nest of more than {MOST_LOOPS} loops.")
    return statements


def _depth(node: Any) -> int:
    """The greatest depth of nested loops."""
    below = max(map(_depth, node if isinstance(node, tuple) else children(node)), default=0)
    return below + len(node.loops) if isinstance(node, TileNest) else below + isinstance(node, Loop)


@dataclass(frozen=True)
class _Place:
    """A place of the walk: the loops around, { [i] : domain(i) }, and textual positions. `count`
    numbers the statements of the innermost loop, also in braces and conditions.
    """

    frame: Frame
    domain: isl.Set
    locals: LocalValues
    count: list[int]
    loops: tuple[Loop, ...] = ()
    position: tuple[int, ...] = ()
    exact: bool = True
    """the domain is no over-approximation"""
    conditional: bool = False

    def next(self) -> _Place:
        """The place of the next statement, with its position."""
        place = replace(self, position=(*self.position, self.count[0]))
        self.count[0] += 1
        return place

    @property
    def subscripts(self) -> Frame:
        """The frame for subscripts."""
        return self.locals.frame(self.frame)

    def subscript(self, value: Expression) -> Subscript:
        return Subscript(value, self.subscripts, self.domain, self.frame.iterators)


@dataclass(frozen=True)
class _Leaf:
    """A statement before its accesses become relations; a leaf of several ones has `parts`."""

    place: _Place
    uses: tuple[Use, ...]
    range: SourceRange
    node: Statement
    parts: tuple[_Leaf, ...] = ()


@dataclass
class _Extraction:
    context: isl.Context
    functions: tuple[Function, ...]
    written: frozenset[DataObject]
    movable: Movable | None = None
    assuming: bool = False
    exposed: frozenset[DataObject] = frozenset()
    leaves: list[_Leaf] = field(default_factory=list)
    depths: dict[DataObject, int] = field(default_factory=dict)
    reasons: dict[NotAffine, None] = field(default_factory=dict)
    once: frozenset[DataObject] = frozenset()
    in_one_row: frozenset[DataObject] = frozenset()
    """arrays of which all accesses count from the begin of the same row"""
    seen: Layouts = field(init=False)

    def __post_init__(self) -> None:
        self.seen = Layouts({}, isl.Set.universe(isl.Space.params_alloc(self.context, 0)))

    def walk(self, body: tuple[Statement, ...]) -> dict[str, Expression]:
        """Collect the accesses of these statements; returns the expressions of the parameters."""
        self.exposed = exposed_iterators(body) if self.movable is not None else frozenset()
        self.once = declared_once(body, self.functions)
        frame = Frame(self.context, (), self.written)
        known = LocalValues(tracked_locals(body), returned_values(self.functions))
        self._statements(body, _Place(frame, isl.Set.universe(frame.space), known, [0]))
        return frame.parameters

    def scop(self, body: tuple[Statement, ...], layouts: Layouts | None) -> Scop:
        parameters = self.walk(body)
        self.seen = layouts if layouts is not None else self.layouts()
        self.in_one_row = self._in_one_row()
        depth = max((len(leaf.place.loops) for leaf in self.leaves), default=0)
        statements = tuple(self._statement(f"S{place}", leaf, depth) for place, leaf in enumerate(self.leaves))
        _refuse_too_many(statements)
        statements = _with_mixed_objects(statements)
        strides, assumed = self.seen.strides, self.seen.assumed
        assumptions: tuple[Expression, ...] = ()
        if layouts is None:
            (piece,) = assumed.get_basic_sets()
            reader = ParameterReader(self.context, parameters)
            assumptions = undecided(reader.constraints(piece.remove_redundancies()))
        reasons = tuple(self.reasons)
        origins = self.seen.origins
        return Scop(self.context, statements, reasons, parameters, self.written, strides, origins, assumptions, assumed)

    # -- the walk

    def _statements(self, statements: Iterable[Statement], site: _Place) -> None:
        if self.movable is not None:
            self._movable_statements(statements, site, self.movable)
            return
        for statement in statements:
            if isinstance(statement, Block):
                self._statements(statement.statements, site)
            elif isinstance(statement, Loop):
                self._loop(statement, site)
            elif isinstance(statement, TileNest):
                self._loop(statement.loops[0].loop, site)
            elif isinstance(statement, If):
                self._if(statement, site)
            elif not isinstance(statement, Barrier):
                self._leaf(statement, site)
            known = site.locals.after(statement, site.frame, self.functions)
            if isinstance(statement, Declaration):
                site = replace(site, frame=declare(statement, site.frame, self.once))
            site = replace(site, locals=known)

    def _movable_statements(self, statements: Iterable[Statement], site: _Place, movable: Movable) -> None:
        for group in grouped(statements):
            first = group[0]
            if len(group) > 1 or isinstance(first, Declaration):
                self._whole(Block(group, getattr(first, "range", NOWHERE)), site)
            elif movable(first) or self._is_leaf(first, site.frame):
                self._whole(first, site)
            elif isinstance(first, Block):
                self._statements(first.statements, site)
            elif isinstance(first, Loop):
                self._loop(first, site)
            elif isinstance(first, If):
                self._if(first, site)

    def _is_leaf(self, statement: Statement, frame: Frame) -> bool:
        if isinstance(statement, Block):
            return False
        if isinstance(statement, Loop) and (statement.iterator in self.exposed or leaves_early(statement.body)):
            return True
        return not isinstance(statement, (If, Loop)) or not _is_affine(statement, frame)

    def _whole(self, node: Statement, site: _Place) -> None:
        """Add one leaf with all that it contains, whose accesses a separate extraction collects."""
        inside = _Extraction(self.context, self.functions, self.written, reasons=self.reasons, once=self.once)
        place = replace(site, count=[0])
        inside._statements((node,), place)
        for loop in (loop for loop in loops_in(node) if loop.iterator in self.exposed):
            left = Use(loop.iterator, (), False, True, loop is not node, (), loop.header)
            inside._add((left,), place, loop.header, node)
        self.depths |= inside.depths
        declared = declared_in(node)
        if any(use.object not in declared for part in inside.leaves for use in part.uses):
            self.leaves.append(_Leaf(site.next(), (), getattr(node, "range", NOWHERE), node, tuple(inside.leaves)))

    def _leaf(self, node: Any, site: _Place) -> None:
        """Add a node that is no affine control as one statement, which has all of its uses."""
        site = self._while_running(node, site)
        if isinstance(node, Declaration):
            for declarator in node.declarators:
                self.depths[declarator.object] = len(site.loops)
        inner = {loop.iterator for loop in loops_in(node) if loop.declares_iterator}
        inner |= set() if isinstance(node, Declaration) else declared_in(node)
        touched = [use for use in self._touched(node) if use.object not in inner]
        if any(isinstance(part, Call) and part.callee is Callee.USER for part in walk(node)):
            touched += [use for use in function_uses(self.functions) if use.object.scope is not Scope.LOCAL]
        self._add(touched, site, getattr(node, "range", NOWHERE), node)

    def _touched(self, node: Any) -> list[Use]:
        """All uses under `node`; a function with an element's address may access its neighbours."""
        addressed = {(part.target.object, part.target.range) for part in walk(node) if isinstance(part, AddressOf)}
        touched = []
        for use in uses(node, self.functions):
            if touches_one_element(use, self.functions):
                use = replace(use, conditional=True)
            elif (use.object, use.range) in addressed:
                use = replace(use, subscripts=(), path=())
            touched.append(use)
        return touched

    def _while_running(self, node: Any, site: _Place) -> _Place:
        """The place without facts on locals that `node` writes."""
        if site.locals.knows_nothing:
            return site
        written = [use.object for use in uses(node, self.functions) if use.writes]
        return replace(site, locals=site.locals.without(written)) if written else site

    def _add(self, touched: Iterable[Use], site: _Place, range_: SourceRange, node: Statement) -> None:
        data = tuple(use for use in touched if self._is_data(use, site))
        if data:
            self.leaves.append(_Leaf(site.next(), data, range_, node))

    def _is_data(self, use: Use, site: _Place) -> bool:
        """Whether the use may carry a dependence: no iterator, and no unwritten scalar."""
        if use.object in site.frame.iterators:
            return False
        return use.writes or use.object in self.written or use.object.storage is not Storage.SCALAR

    def _if(self, node: If, site: _Place) -> None:
        self._add(self._touched(node.condition), self._while_running(node.condition, site), node.range, node)
        try:
            holds = condition(node.condition, site.frame)
            inside = replace(site, domain=site.domain.intersect(holds))
            outside = replace(site, domain=site.domain.subtract(holds))
        except NotAffineError as error:
            self.reasons[error.why] = None
            inside = outside = replace(site, conditional=True)
        self._statements((node.then,), inside)
        if node.otherwise is not None:
            self._statements((node.otherwise,), outside)

    def _loop(self, loop: Loop, site: _Place) -> None:
        for bound in loop.bounds:
            self._add(self._touched(bound), self._while_running(loop, site), loop.header, loop)
        frame = site.frame.inside(loop.iterator)
        domain = site.domain.add_dims(isl.dim_type.set, 1)
        exact = site.exact
        place = frame.iterator(len(site.loops))
        start, end = self._affine(loop.lower, frame), self._affine(loop.upper, frame)
        constraints = (
            None if start is None else compare(place, "<=" if loop.decreasing else ">=", start),
            None if end is None else compare(place, loop.holds_inside, end),
            self._stride(loop, start, frame),
        )
        for constraint in constraints:
            if constraint is None:
                exact = False
            else:
                # The lesser of two bounds is two pieces until coalescing.
                domain = domain.intersect(constraint.coalesce())
        position = site.next().position
        conditional = site.conditional or leaves_early(loop.body)
        written = () if site.locals.knows_nothing else (use.object for use in uses(loop, self.functions) if use.writes)
        known = site.locals.inside(loop.iterator, written)
        inside = _Place(frame, domain, known, [0], (*site.loops, loop), position, exact, conditional)
        self._statements((loop.body,), inside)

    # -- loops

    def _stride(self, loop: Loop, start: isl.PwAff | None, frame: Frame) -> isl.Set | None:
        """{ [i] : (i_n - start) mod |step| = 0 }"""
        step = step_of(loop)
        if step is None:
            why = NotAffine(loop.header, f"the step of the loop over '{loop.iterator.host}' is no constant")
            self.reasons[why] = None
            return None
        if abs(step) == 1:
            return isl.Set.universe(frame.space)
        if start is None:
            return None
        distance = frame.iterator(len(frame.iterators) - 1).sub(start)
        return distance.mod_val(whole_number(frame.context, abs(step))).eq_set(frame.number(0))

    def _affine(self, expression: Expression, frame: Frame) -> isl.PwAff | None:
        try:
            return affine(expression, frame)
        except NotAffineError as error:
            self.reasons[error.why] = None
            return None

    # -- accesses

    def subscripts(self) -> dict[DataObject, list[Subscript]]:
        """All subscripts of one-dimensional arrays."""
        subscripts: dict[DataObject, list[Subscript]] = {}
        for use, site in self._uses():
            if use.object.rank == 1 and len(use.subscripts) == 1:
                subscripts.setdefault(use.object, []).append(site.subscript(use.subscripts[0]))
        return subscripts

    def _uses(self) -> Iterator[tuple[Use, _Place]]:
        for leaf in (part for whole in self.leaves for part in whole.parts or (whole,)):
            yield from ((use, leaf.place) for use in leaf.uses)

    def _in_one_row(self) -> frozenset[DataObject]:
        """The arrays with pointers into rows whose accesses differ in the last subscript only."""
        pointers = {use.object for use, _ in self._uses() if use.from_pointers}
        rows: dict[DataObject, set[tuple[Polynomial, ...] | None]] = {}
        for use, site in self._uses() if pointers else ():
            if use.object in pointers:
                outer = tuple(polynomial(each) for each in use.subscripts[:-1])
                fixed = all(site.frame.invariant(atom) for each in outer for atom in each.atoms)
                whole = len(use.subscripts) == use.object.rank and use.passed is None
                rows.setdefault(use.object, set()).add(outer if fixed and whole else None)
        return frozenset(object_ for object_, outer in rows.items() if len(outer) == 1 and None not in outer)

    def layouts(self) -> Layouts:
        """The strides of each one-dimensional array whose subscripts they split, and assumptions
        under which pointers into rows of written arrays stay in them.
        """
        subscripts, layouts = self.subscripts(), self.seen
        # Arrays that are only read need an extent alone, which sums of iterators give.
        worth = {
            object_: object_ in self.written or not all(each.is_sum for each in used)
            for object_, used in subscripts.items()
        }
        # Assumptions for other arrays may suffice for these.
        for object_ in sorted(subscripts, key=lambda array: not worth[array]):
            layouts = layouts.including(object_, subscripts[object_], assuming=self.assuming and worth[object_])
        if self.assuming:
            for use, site in self._uses():
                for place in use.from_pointers if use.object in self.written else ():
                    length = use.object.lengths[place]
                    if length is not None:
                        layouts = layouts.confining(site.subscript(use.subscripts[place]), length)
        return layouts

    def _statement(self, name: str, leaf: _Leaf, depth: int) -> ScopStatement:
        site = leaf.place
        domain = site.domain.set_tuple_name(name)
        for place, loop in enumerate(site.loops):
            domain = domain.set_dim_name(isl.dim_type.set, place, loop.iterator.name)
        inner = max((len(part.place.loops) for part in leaf.parts), default=0)
        parts = tuple(self._statement(f"{name}_{place}", part, inner) for place, part in enumerate(leaf.parts))
        references = self._of_leaf(name, leaf, parts) if parts else self._references(name, leaf, domain)
        schedule = _schedule(name, site, depth)
        return ScopStatement(name, site.loops, domain, schedule, references, leaf.range, leaf.node, parts)

    def _references(self, name: str, leaf: _Leaf, domain: isl.Set) -> tuple[Reference, ...]:
        site = leaf.place
        references = []
        for use in leaf.uses:
            relation, exact = self._relation(use, site)
            relation = relation.set_tuple_name(isl.dim_type.in_, name).intersect_domain(domain)
            linear = self._linear(use, site)
            if linear is not None:
                linear = linear.set_tuple_name(isl.dim_type.in_, name).intersect_domain(domain)
            exact = exact and site.exact and not site.conditional and not use.conditional
            member = _member(use)
            whole = _is_whole(use, member)
            kinds = [AccessKind.READ] if use.reads else []
            if use.writes:
                surely = exact and whole and member is None
                kinds.append(AccessKind.MUST_WRITE if surely else AccessKind.MAY_WRITE)
            references += [
                Reference(use.object, kind, relation, exact, member, use.range, linear, whole) for kind in kinds
            ]
        return tuple(references)

    def _of_leaf(self, name: str, leaf: _Leaf, parts: tuple[ScopStatement, ...]) -> tuple[Reference, ...]:
        """{ S[i] -> A[a] : exists k: P[i, k] -> A[a] } of all parts P, except the leaf's locals."""
        depth = len(leaf.place.loops)
        declared = declared_in(leaf.node)
        references = []
        for part in parts:
            for each in part.references:
                if each.object not in declared:
                    relation = _without_inner(each.relation, depth, name)
                    linear = None if each.linear is None else _without_inner(each.linear, depth, name)
                    references.append(replace(each, relation=relation, linear=linear))
        return tuple(references)

    def _linear(self, use: Use, site: _Place) -> isl.Map | None:
        """{ [i] -> A[e] } of a delinearised array, if e is affine."""
        if use.object not in self.seen.strides or not use.subscripts:
            return None
        value = affine_or_none(use.subscripts[0], site.subscripts)
        return None if value is None else isl.Map.from_pw_aff(value).set_tuple_name(isl.dim_type.out, use.object.name)

    def _relation(self, use: Use, site: _Place) -> tuple[isl.Map, bool]:
        """{ [i] -> A[a] } and whether it is exact."""
        frame = site.frame
        outer_depth = self.depths.get(use.object, 0) if use.object.scope is Scope.LOCAL else 0
        functions: list[isl.PwAff | None] = [frame.iterator(place) for place in range(outer_depth)]
        if use.object in self.seen.strides and use.subscripts:
            domain = site.domain.intersect_params(self.seen.assumed)
            by, origin = self.seen.strides[use.object], self.seen.origins.get(use.object, NO_ORIGIN)
            split = split_subscript(use.subscripts[0], by, site.subscripts, domain, origin=origin)
            functions += split.parts if split is not None else [None] * (len(self.seen.strides[use.object]) + 1)
        else:
            # Reads of unwritten arrays order nothing, so they are no reason.
            read = self._affine if use.object in self.written else affine_or_none
            functions += [read(subscript, site.subscripts) for subscript in use.subscripts]
            functions += [None] * (use.object.rank - len(use.subscripts))
        exact = all(function is not None for function in functions)
        leaving = [place for place in use.from_pointers if not self._stays_in_row(use, place, site)]
        if leaving and use.object not in self.in_one_row:
            exact, end = False, len(functions) + max(leaving) + 1
            functions[outer_depth:end] = _carried(functions[outer_depth:end], use.object.lengths)
        relation = product_of(functions, frame).set_tuple_name(isl.dim_type.out, use.object.name)
        return relation, exact

    def _stays_in_row(self, use: Use, place: int, site: _Place) -> bool:
        """Whether a subscript that counts from a pointer is provably in the pointer's row."""
        length = use.object.lengths[place]
        subscript = site.subscript(use.subscripts[place])
        within = replace(subscript, domain=site.domain.intersect_params(self.seen.assumed))
        return length is not None and range_in_row(within, length) is not None


def _carried(functions: Sequence[isl.PwAff | None], lengths: Sequence[Expression | None]) -> Sequence[isl.PwAff | None]:
    """{ [i] -> [b] } of the element that C finds at subscripts a(i) that leave their rows, with the
    array's strides s: b_0 s_0 + … + b_n s_n = a_0 s_0 + … + a_n s_n, 0 <= b_k < length_k for k > 0.
    Unknown where lengths are no numbers.
    """
    carry: isl.PwAff | None = None
    result: list[isl.PwAff | None] = []
    for place in reversed(range(len(functions))):
        function, length = functions[place], lengths[place]
        count = polynomial(length).constant if place and length is not None else None
        if function is None or (place and not count):
            return [None] * len(functions)
        total = function if carry is None else function.add(carry)
        if count:
            row = whole_number(total.get_ctx(), count)
            result.append(total.mod_val(row))
            carry = total.scale_down_val(row).floor()
        else:
            result.append(total)
    return result[::-1]


def _refuse_too_many(statements: Iterable[ScopStatement]) -> None:
    """Raises OperationLimitError where finding dependences would take minutes."""
    groups = {id(group): group for _, reference, group in meeting(statements) if reference.writes}
    pairs = 0
    for every, writing in groups.values():
        # Count an access that reads and writes, as `a[i] += …`, once.
        touched = {(statement.name, reference.range) for statement, reference in every}
        pairs += len(touched) * len(writing)
    if pairs > MOST_PAIRS:
        raise OperationLimitError(f"isl was not asked about more than {MOST_PAIRS} pairs of references.")


def _with_mixed_objects(statements: tuple[ScopStatement, ...]) -> tuple[ScopStatement, ...]:
    """The statements, without `same_part` for references to an object that mean different parts of
    its elements.
    """
    parts: dict[str, set[tuple[str | None, bool]]] = {}
    for statement in statements:
        for each in statement.references:
            parts.setdefault(each.object.name, set()).add((each.member, each.whole))
    mixed = {
        name
        for name, meant in parts.items()
        if len({member for member, _ in meant}) > 1 or not all(whole for _, whole in meant)
    }
    if not mixed:
        return statements
    return tuple(
        replace(
            statement,
            references=tuple(replace(each, same_part=each.object.name not in mixed) for each in statement.references),
        )
        for statement in statements
    )


def _without_inner(relation: isl.Map, depth: int, name: str) -> isl.Map:
    """{ S[i] -> A[a] : exists k: P[i, k] -> A[a] }"""
    inner = relation.dim(isl.dim_type.in_) - depth
    return relation.project_out(isl.dim_type.in_, depth, inner).coalesce().set_tuple_name(isl.dim_type.in_, name)


def declared_once(body: Iterable[Statement], functions: tuple[Function, ...]) -> frozenset[DataObject]:
    """Local integers that only their declaration writes: constant in their scope."""
    declarators = [node for statement in body for node in walk(statement) if isinstance(node, Declarator)]
    candidates = {
        declarator.object
        for declarator in declarators
        # Scalars wide enough to keep results of arithmetic.
        if declarator.initializer is not None
        and is_signed_int(declarator.object.element)
        and declarator.object.storage is Storage.SCALAR
        and not declarator.object.volatile
    }
    if not candidates:
        return frozenset()
    writes = Counter(use.object for statement in body for use in uses(statement, functions) if use.writes)
    return frozenset(object_ for object_ in candidates if writes[object_] == 1)


def declare(declaration: Declaration, frame: Frame, once: Container[DataObject]) -> Frame:
    """The frame after a declaration, with affine values of `once` initialized objects."""
    for declarator in declaration.declarators:
        object_, value = declarator.object, declarator.value
        if object_ in once and value is not None and holds(object_.element, value):
            with suppress(NotAffineError):
                frame = frame.knowing(object_, affine(value, frame))
    return frame


def _schedule(name: str, site: _Place, depth: int) -> isl.Map:
    names = [f"i{place}" for place in range(len(site.loops))]
    times = [str(site.position[0])]
    for place, loop in enumerate(site.loops):
        times += [f"-{names[place]}" if loop.decreasing else names[place], str(site.position[place + 1])]
    times += ["0"] * (2 * depth + 1 - len(times))
    return isl.Map(f"{{ {name}[{', '.join(names)}] -> [{', '.join(times)}] }}", context=site.frame.context)


def _member(use: Use) -> str | None:
    """The accessed member of the element; members of unions share memory."""
    if use.path and isinstance(use.path[0], Member):
        element = use.object.element
        if isinstance(element, RecordType) and not element.is_union:
            return use.path[0].name
    return None


def _is_whole(use: Use, member: str | None) -> bool:
    """Whether the use covers the element or `member`; a large number may cover its union."""
    element = use.object.element
    if member is None and len(use.path) == 1 and isinstance(element, RecordType) and element.is_union:
        field_type = next((field.type for field in element.fields if Member(field.name) == use.path[0]), None)
        return isinstance(field_type, ScalarType) and field_type.bits == 8 * element.size
    return len(use.path) == (0 if member is None else 1)


def grouped(statements: Iterable[Statement]) -> tuple[tuple[Statement, ...], ...]:
    """The statements in order, from a declaration to the last use of its variables as one."""
    ordered = tuple(statements)
    joined: set[int] = set()  # each with the one after it
    for start, statement in enumerate(ordered):
        if isinstance(statement, Declaration):
            declared = declared_in(statement)
            users = (place for place, user in enumerate(ordered) if any(use.object in declared for use in uses(user)))
            joined |= set(range(start, max(users, default=start)))
    result: list[list[Statement]] = []
    for place, statement in enumerate(ordered):
        if place - 1 in joined:
            result[-1].append(statement)
        else:
            result.append([statement])
    return tuple(tuple(group) for group in result)


def exposed_iterators(body: Iterable[Statement]) -> frozenset[DataObject]:
    """Iterators of loops that are also used outside their loops."""
    used_outside: set[DataObject] = set()
    loops: set[DataObject] = set()
    for statement in body:
        loops |= {loop.iterator for loop in loops_in(statement)}
        for use in uses(statement):
            if use.reads and all(loop.iterator != use.object for loop in use.loops):
                used_outside.add(use.object)
    return frozenset(used_outside & loops)


def _is_affine(control: If | Loop, frame: Frame) -> bool:
    if isinstance(control, Loop) and step_of(control) is None:
        return False
    try:
        if isinstance(control, If):
            condition(control.condition, frame)
        else:
            affine(control.lower, frame)
            affine(control.upper, frame)
    except NotAffineError:
        return False
    return True


#: Values of more cases count as unknown.
_MOST_CASES = 8


@dataclass(frozen=True)
class LocalValues:
    """`functions`: { [i] -> [value(i)] } of affine locals; `sums`: polynomials of iterators and
    invariant values.

    `tracked`: locals with plain assignments only; `returned`: the values of functions, by name.
    """

    tracked: frozenset[DataObject] = frozenset()
    returned: Mapping[str, ReturnedValue] = field(default_factory=dict)
    functions: Mapping[DataObject, isl.PwAff] = field(default_factory=dict)
    sums: Mapping[DataObject, Polynomial] = field(default_factory=dict)

    def frame(self, frame: Frame) -> Frame:
        """The frame of a subscript."""
        return replace(frame, known={**frame.known, **self.functions}, sums=self.sums, returned=self.returned)

    @property
    def knows_nothing(self) -> bool:
        """Whether no local has a known value."""
        return not self.functions and not self.sums

    def inside(self, iterator: DataObject, written: Iterable[DataObject]) -> LocalValues:
        """The values in the body of a loop that writes these objects."""
        kept = self.without((*written, iterator))
        functions = {object_: value.add_dims(isl.dim_type.in_, 1) for object_, value in kept.functions.items()}
        return replace(kept, functions=functions)

    def without(self, written: Iterable[DataObject]) -> LocalValues:
        """The values without these objects and all that depends on them."""
        gone = frozenset(written)
        sums = {each: value for each, value in self.sums.items() if each not in gone and not _mentions(value, gone)}
        functions = {each: value for each, value in self.functions.items() if each not in gone}
        return replace(self, functions=functions, sums=sums)

    def after(self, statement: Statement, frame: Frame, functions: tuple[Function, ...]) -> LocalValues:
        """The values after a statement of the same block."""
        if not self.tracked:
            return self
        written = written_in(statement, functions) & self.tracked
        if not written:
            return self
        kept = self.without(written)
        if isinstance(statement, Declaration):
            for declarator in statement.declarators:
                value = declarator.initializer
                if declarator.object in written and value is not None and not isinstance(value, tuple):
                    kept = kept._with(declarator.object, value, kept.frame(frame))
            return kept
        assigned = _assignment(statement)
        if assigned is not None and written == {assigned[0]}:
            return kept._with(*assigned, self.frame(frame))
        return kept

    def _with(self, object_: DataObject, value: Expression, frame: Frame) -> LocalValues:
        """The values where `object_` holds the value, in terms of `frame`."""
        if not holds(object_.element, value):
            return self
        if isinstance(object_.element, ScalarType) and object_.element.signed:
            try:
                function = affine(value, frame).coalesce()
            except NotAffineError:
                pass
            else:
                is_short = function.n_piece() <= _MOST_CASES
                return replace(self, functions={**self.functions, object_: function}) if is_short else self
        collected = frame.written_out(polynomial(value))
        known = (atom for atom in collected.atoms if not frame.invariant(atom))
        # Choices stay as written: one with the local's earlier value no longer tells anything about
        # it.
        if all(_has_value(atom, frame) for atom in known) and not _mentions(collected, frozenset({object_})):
            return replace(self, sums={**self.sums, object_: collected})
        return self


def _has_value(atom: Expression, frame: Frame) -> bool:
    """Whether the frame knows the atom at each iteration: a known scalar, or an affine choice."""
    if isinstance(atom, Conditional):
        try:
            return affine(atom, frame).n_piece() <= _MOST_CASES
        except NotAffineError:
            return False
    return isinstance(atom, Access) and frame.value(atom.object) is not None


def _mentions(value: Polynomial, objects: frozenset[DataObject]) -> bool:
    return any(isinstance(node, Access) and node.object in objects for atom in value.atoms for node in walk(atom))


def _assignment(statement: Statement) -> tuple[DataObject, Expression] | None:
    """(x, e) for `x = e;`, `x += e;`, `x++;` and `if (c) x = e; else x = f;`."""
    if isinstance(statement, Block) and len(statement.statements) == 1:
        return _assignment(statement.statements[0])
    if isinstance(statement, If):
        return _chosen(statement)
    if not isinstance(statement, ExpressionStatement):
        return None
    done = statement.expression
    if not isinstance(done, (Assignment, Increment)) or done.target.subscripts or done.target.path:
        return None
    target = done.target
    if isinstance(done, Increment):
        return target.object, Binary(done.operator[0], target, integer(1), target.type)
    if done.operator == "=":
        return target.object, done.value
    if done.operator in ("+=", "-="):
        return target.object, Binary(done.operator[0], target, done.value, target.type)
    return None


def _chosen(statement: If) -> tuple[DataObject, Expression] | None:
    then = _assignment(statement.then)
    if then is None:
        return None
    object_, value = then
    otherwise: Expression = access_to(object_)
    if statement.otherwise is not None:
        otherwise_assigned = _assignment(statement.otherwise)
        if otherwise_assigned is None or otherwise_assigned[0] != object_:
            return None
        otherwise = otherwise_assigned[1]
    return object_, Conditional(statement.condition, value, otherwise, object_.element)


def tracked_locals(body: Iterable[Statement]) -> frozenset[DataObject]:
    """A region's local integers that keep results of arithmetic and whose address is not taken."""
    nodes = [node for statement in body for node in walk(statement)]
    declared = {node.object for node in nodes if isinstance(node, Declarator)}
    taken = {node.target.object for node in nodes if isinstance(node, AddressOf)}
    return frozenset(object_ for object_ in declared - taken if is_local_index(object_))


def returned_values(functions: Iterable[Function]) -> dict[str, ReturnedValue]:
    """The values of functions of signed integers without other effects, by name."""
    values = {}
    for function in functions:
        signed = all(is_local_index(each) and is_signed_int(each.element) for each in function.parameters)
        if signed and is_signed_int(function.result):
            value = _returned(function.body.statements, function.result)
            if value is not None:
                values[function.name] = function.parameters, value
    return values


def _returned(statements: tuple[Statement, ...], result: Type) -> Expression | None:
    """The value of `return e;` or `if (c) return e; …`, where the result type holds it."""
    if not statements:
        return None
    first, rest = statements[0], statements[1:]
    if isinstance(first, Return):
        return first.value if first.value is not None and holds(result, first.value) else None
    if isinstance(first, Block):
        return _returned((*first.statements, *rest), result)
    if not isinstance(first, If):
        return None
    then = _returned(first.then.statements, result)
    otherwise = _returned((*(first.otherwise.statements if first.otherwise is not None else ()), *rest), result)
    return None if then is None or otherwise is None else Conditional(first.condition, then, otherwise, then.type)
