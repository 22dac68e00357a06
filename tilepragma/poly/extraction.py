"""From LoopTree to Scop: domains, schedules and accesses of every statement of a region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import field, replace
from types import NoneType
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import Use, function_uses, leaves_early, uses
from tilepragma.ir.conversions import holds
from tilepragma.ir.expressions import AddressOf, Call, Callee, DataObject, Expression, Member, Scope, Storage
from tilepragma.ir.function_reach import touches_one_element
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, Declarator, Function, If, Loop, Statement, TileNest
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import children, loops_in, walk
from tilepragma.ir.types import RecordType, ScalarType, is_signed_int
from tilepragma.poly.affine import (
    Frame,
    NotAffine,
    NotAffineError,
    affine,
    compare,
    condition,
    product_of,
    whole_number,
)
from tilepragma.poly.array_layouts import Layouts, Subscript, affine_or_none
from tilepragma.poly.delinearise import split_subscript
from tilepragma.poly.instance_sets import Movable, exposed_iterators, grouped
from tilepragma.poly.launch_checks import undecided
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.parameter_functions import ParameterReader
from tilepragma.poly.reaching_definitions import LocalValues, returned_values, tracked_locals
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement, apart

#: Distances of deeper nests take isl minutes, which its count of operations does not see.
MOST_LOOPS = 8

#: References that may meet, one of them a write: each pair is a question to isl, and passes ask
#: several times.
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
    """The Scop of statements that run one after another; `written` are the objects that the region
    changes.

    `assuming`: arrays that are written may be seen through strides (a[i*m + j] as a[i][j]) where
    that is right if the Scop's `assumptions` hold. Of statements that are a part of `around` both
    are what they are for all of it, and not repeated. `context` is that of another Scop with which
    this one is to be compared.

    With `movable`, for code that is to be transformed, each statement's `node` can be moved on its
    own: it holds all of a control structure that is not affine, all uses of the variables that it
    declares, and nothing is a statement that is not a leaf. Raises OperationLimitError.
    """
    context = context if context is not None else isl.Context()
    body = tuple(body)
    if _depth(body) > MOST_LOOPS:
        raise OperationLimitError(f"isl was not asked about a nest of more than {MOST_LOOPS} loops.")
    with operation_limit(context, DEFAULT_LIMIT, "reading the nest"):
        extraction = _Extraction(context, functions, written, movable, assuming)
        layouts = _Extraction(context, functions, written, None, assuming).layouts(tuple(around)) if around else None
        return extraction.scop(body, layouts)


def scop_under(
    conditions: Container[Expression],
    body: Iterable[Statement],
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
) -> Scop:
    """The Scop of statements where nothing but these conditions holds. Raises OperationLimitError."""
    body = tuple(body)
    scop = extract_scop(body, functions, written)
    if all(assumption in conditions for assumption in scop.assumptions):
        return scop
    return extract_scop(body, functions, written, assuming=False)


def array_subscripts(
    body: Iterable[Statement], functions: tuple[Function, ...], written: frozenset[DataObject]
) -> dict[DataObject, list[Subscript]]:
    """All subscripts of arrays of one dimension in statements that run one after another. Raises OperationLimitError."""
    context, body = isl.Context(), tuple(body)
    if _depth(body) > MOST_LOOPS:
        raise OperationLimitError(f"isl was not asked about a nest of more than {MOST_LOOPS} loops.")
    with operation_limit(context, DEFAULT_LIMIT, "reading the nest"):
        extraction = _Extraction(context, functions, written)
        extraction.walk(body)
        return extraction.subscripts()


def _depth(node: Any) -> int:
    """The greatest number of loops around each other."""
    below = max(map(_depth, node if isinstance(node, tuple) else children(node)), default=0)
    return below + len(node.loops) if isinstance(node, TileNest) else below + isinstance(node, Loop)


@dataclass(frozen=True)
class _Place:
    """Where a walk stands: under which loops, in { [i] : domain(i) }, at which textual positions."""

    frame: Frame
    domain: isl.Set
    loops: tuple[Loop, ...] = ()
    position: tuple[int, ...] = ()
    exact: bool = True
    """the domain is no over-approximation"""
    conditional: bool = False
    locals: LocalValues = LocalValues()

    @property
    def subscripts(self) -> Frame:
        """The frame in which subscripts are read here."""
        return self.locals.frame(self.frame)


@dataclass(frozen=True)
class _Found:
    """A statement before its accesses are made relations; `parts` are what a leaf of several consists of."""

    place: _Place
    uses: tuple[Use, ...]
    range: SourceRange
    node: Statement
    parts: tuple[_Found, ...] = ()


@dataclass
class _Extraction:
    context: isl.Context
    functions: tuple[Function, ...]
    written: frozenset[DataObject]
    movable: Movable | None = None
    assuming: bool = False
    exposed: frozenset[DataObject] = frozenset()
    found: list[_Found] = field(default_factory=list)
    depths: dict[DataObject, int] = field(default_factory=dict)
    reasons: dict[NotAffine, None] = field(default_factory=dict)
    once: frozenset[DataObject] = frozenset()
    seen: Layouts = field(init=False)

    def __post_init__(self) -> None:
        self.seen = Layouts({}, isl.Set.universe(isl.Space.params_alloc(self.context, 0)))

    def layouts(self, body: tuple[Statement, ...]) -> Layouts:
        """Which arrays are seen through strides where these statements run."""
        self.walk(body)
        return self._layouts()

    def walk(self, body: tuple[Statement, ...]) -> None:
        """Find all that these statements access."""
        self.once = declared_once(body, self.functions)
        frame = Frame(self.context, (), self.written)
        self._statements(body, self._start(body, frame), [0])

    def _start(self, body: tuple[Statement, ...], frame: Frame) -> _Place:
        known = LocalValues(tracked_locals(body), returned_values(self.functions))
        return _Place(frame, isl.Set.universe(frame.space), locals=known)

    def scop(self, body: tuple[Statement, ...], layouts: Layouts | None = None) -> Scop:
        frame = Frame(self.context, (), self.written)
        self.exposed = exposed_iterators(body) if self.movable is not None else frozenset()
        self.once = declared_once(body, self.functions)
        self._statements(body, self._start(body, frame), [0])
        self.seen = layouts if layouts is not None else self._layouts()
        depth = max((len(found.place.loops) for found in self.found), default=0)
        statements = tuple(self._statement(f"S{place}", found, depth) for place, found in enumerate(self.found))
        _refuse_too_many(statements)
        assumptions = self._assumptions(frame.parameters) if layouts is None else ()
        strides = self.seen.strides
        return Scop(
            self.context,
            statements,
            tuple(self.reasons),
            frame.parameters,
            self.written,
            strides,
            assumptions,
            self.seen.assumed,
        )

    # -- the walk

    def _statements(self, statements: Iterable[Statement], at: _Place, count: list[int]) -> None:
        """`count` numbers the statements of the innermost loop around, braces and conditions looked through."""
        if self.movable is not None:
            self._movable_statements(statements, at, count, self.movable)
            return
        for statement in statements:
            if isinstance(statement, Block):
                self._statements(statement.statements, at, count)
            elif isinstance(statement, Loop):
                self._loop(statement, at, count)
            elif isinstance(statement, TileNest):
                self._loop(statement.loops[0].loop, at, count)
            elif isinstance(statement, If):
                self._if(statement, at, count)
            elif not isinstance(statement, Barrier):
                self._leaf(statement, at, count)
            known = at.locals.after(statement, at.frame, self.functions)
            if isinstance(statement, Declaration):
                at = replace(at, frame=declare(statement, at.frame, self.once))
            at = replace(at, locals=known)

    def _movable_statements(
        self, statements: Iterable[Statement], at: _Place, count: list[int], movable: Movable
    ) -> None:
        for group in grouped(statements, movable.together, self.functions):
            first = group[0]
            if len(group) > 1 or isinstance(first, Declaration):
                self._whole(Block(group, getattr(first, "range", NOWHERE)), at, count)
            elif movable.is_leaf(first, at.frame, self.exposed):
                self._whole(first, at, count)
            elif isinstance(first, Block):
                self._statements(first.statements, at, count)
            elif isinstance(first, Loop):
                self._loop(first, at, count)
            elif isinstance(first, If):
                self._if(first, at, count)

    def _whole(self, node: Statement, at: _Place, count: list[int]) -> None:
        """One leaf with all that stands in it, which is looked at as a region of its own to see what it accesses."""
        inside = _Extraction(self.context, self.functions, self.written, reasons=self.reasons, once=self.once)
        count_inside = [0]
        inside._statements((node,), at, count_inside)
        for loop in (loop for loop in loops_in(node) if loop.iterator in self.exposed):
            left = Use(loop.iterator, (), False, True, loop is not node, (), loop.header)
            inside._add((left,), at, count_inside, loop.header, node)
        self.depths |= inside.depths
        own = {d.object for s in walk(node) if isinstance(s, Declaration) for d in s.declarators}
        if any(use.object not in own for part in inside.found for use in part.uses):
            place = replace(at, position=(*at.position, count[0]))
            self.found.append(_Found(place, (), getattr(node, "range", NOWHERE), node, tuple(inside.found)))
            count[0] += 1

    def _leaf(self, node: Any, at: _Place, count: list[int]) -> None:
        """Whatever is no affine control: one statement with all that it may touch, at any time while it runs."""
        at = self._while_running(node, at)
        if isinstance(node, Declaration):
            for declarator in node.declarators:
                self.depths[declarator.object] = len(at.loops)
        inner = {d.object for s in walk(node) if isinstance(s, Declaration) and s is not node for d in s.declarators}
        inner |= {loop.iterator for loop in loops_in(node) if loop.declares_iterator}
        touched = [use for use in self._touched(node) if use.object not in inner]
        if any(isinstance(part, Call) and part.callee is Callee.USER for part in walk(node)):
            touched += [use for use in function_uses(self.functions) if use.object.scope is not Scope.LOCAL]
        self._add(touched, at, count, getattr(node, "range", NOWHERE), node)

    def _touched(self, node: Any) -> list[Use]:
        """All uses under `node`; a function that gets an element's address may step to any other element, unless it is seen not to."""
        addressed = {(part.target.object, part.target.range) for part in walk(node) if isinstance(part, AddressOf)}
        touched = []
        for use in uses(node, self.functions):
            if touches_one_element(use, self.functions):
                use = replace(use, conditional=True)
            elif (use.object, use.range) in addressed:
                use = replace(use, subscripts=(), path=())
            touched.append(use)
        return touched

    def _while_running(self, node: Any, at: _Place) -> _Place:
        """The place without what is known of locals that `node` itself writes."""
        if at.locals.knows_nothing:
            return at
        written = [use.object for use in uses(node, self.functions) if use.writes]
        return replace(at, locals=at.locals.without(written)) if written else at

    def _add(self, touched: Iterable[Use], at: _Place, count: list[int], range_: SourceRange, node: Statement) -> None:
        own = tuple(use for use in touched if self._is_data(use, at))
        if own:
            self.found.append(_Found(replace(at, position=(*at.position, count[0])), own, range_, node))
            count[0] += 1

    def _is_data(self, use: Use, at: _Place) -> bool:
        """Iterators of the loops around are no data, and what nobody writes carries nothing."""
        if use.object in at.frame.iterators:
            return False
        return use.writes or use.object in self.written or use.object.storage is not Storage.SCALAR

    def _if(self, node: If, at: _Place, count: list[int]) -> None:
        evaluated = self._touched(node.condition)
        self._add(evaluated, self._while_running(node.condition, at), count, node.range, node)
        try:
            holds = condition(node.condition, at.frame)
            inside = replace(at, domain=at.domain.intersect(holds))
            outside = replace(at, domain=at.domain.subtract(holds))
        except NotAffineError as error:
            self.reasons[error.why] = None
            inside = outside = replace(at, conditional=True)
        self._statements((node.then,), inside, count)
        if node.otherwise is not None:
            self._statements((node.otherwise,), outside, count)

    def _loop(self, loop: Loop, at: _Place, count: list[int]) -> None:
        for bound in (loop.lower, loop.upper, loop.step):
            self._add(self._touched(bound), self._while_running(loop, at), count, loop.header, loop)
        frame = at.frame.inside(loop.iterator)
        domain = at.domain.add_dims(isl.dim_type.set, 1)
        exact = at.exact
        constraints = (self._lower(loop, frame), self._upper(loop, frame), self._stride(loop, frame))
        for constraint in constraints:
            if constraint is None:
                exact = False
            else:
                # The lesser of two bounds is two pieces until they are seen to be one set.
                domain = domain.intersect(constraint.coalesce())
        position = (*at.position, count[0])
        count[0] += 1
        conditional = at.conditional or leaves_early(loop.body)
        written = () if at.locals.knows_nothing else (use.object for use in uses(loop, self.functions) if use.writes)
        known = at.locals.inside(loop.iterator, written)
        inside = _Place(frame, domain, (*at.loops, loop), position, exact, conditional, known)
        self._statements((loop.body,), inside, [0])

    # -- loops

    def _lower(self, loop: Loop, frame: Frame) -> isl.Set | None:
        start = self._affine(loop.lower, frame)
        if start is None:
            return None
        return compare(frame.iterator(len(frame.iterators) - 1), "<=" if loop.decreasing else ">=", start)

    def _upper(self, loop: Loop, frame: Frame) -> isl.Set | None:
        end = self._affine(loop.upper, frame)
        if end is None:
            return None
        return compare(frame.iterator(len(frame.iterators) - 1), loop.holds_inside, end)

    def _stride(self, loop: Loop, frame: Frame) -> isl.Set | None:
        """{ [i] : (i_n - lower) mod |step| = 0 }"""
        step = step_of(loop)
        if step is None:
            self.reasons[NotAffine(loop.header, f"the step of the loop over '{loop.iterator.host}' is no constant")] = (
                None
            )
            return None
        if abs(step) == 1:
            return isl.Set.universe(frame.space)
        start = self._affine(loop.lower, frame)
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
        """All subscripts of arrays of one dimension."""
        subscripts: dict[DataObject, list[Subscript]] = {}
        for found in (part for whole in self.found for part in whole.parts or (whole,)):
            at = found.place
            for use in found.uses:
                if use.object.rank == 1 and len(use.subscripts) == 1:
                    one = Subscript(use.subscripts[0], at.subscripts, at.domain, at.frame.iterators)
                    subscripts.setdefault(use.object, []).append(one)
        return subscripts

    def _layouts(self) -> Layouts:
        """The strides of every array of one dimension whose subscripts can be taken apart by them."""
        subscripts, layouts = self.subscripts(), self.seen
        # What is read only needs no more than its extent, which sums of iterators say by
        # themselves.
        worth = {one: one in self.written or not all(each.is_sum for each in used) for one, used in subscripts.items()}
        # What is assumed for others may be enough for these.
        for object_ in sorted(subscripts, key=lambda one: not worth[one]):
            layouts = layouts.including(object_, subscripts[object_], assuming=self.assuming and worth[object_])
        return layouts

    def _assumptions(self, parameters: dict[str, Expression]) -> tuple[Expression, ...]:
        (assumed,) = self.seen.assumed.get_basic_sets()
        return undecided(ParameterReader(self.context, parameters).constraints(assumed.remove_redundancies()))

    def _statement(self, name: str, found: _Found, depth: int) -> ScopStatement:
        at = found.place
        domain = at.domain.set_tuple_name(name)
        for place, loop in enumerate(at.loops):
            domain = domain.set_dim_name(isl.dim_type.set, place, loop.iterator.name)
        inner = max((len(part.place.loops) for part in found.parts), default=0)
        parts = tuple(self._statement(f"{name}_{place}", part, inner) for place, part in enumerate(found.parts))
        references = self._of_leaf(name, found, parts) if parts else self._references(name, found, domain)
        schedule = _schedule(name, at, depth)
        return ScopStatement(name, at.loops, domain, schedule, references, found.range, found.node, parts)

    def _references(self, name: str, found: _Found, domain: isl.Set) -> tuple[Reference, ...]:
        at = found.place
        references = []
        for use in found.uses:
            relation, exact = self._relation(use, at)
            relation = relation.set_tuple_name(isl.dim_type.in_, name).intersect_domain(domain)
            linear = self._linear(use, at)
            if linear is not None:
                linear = linear.set_tuple_name(isl.dim_type.in_, name).intersect_domain(domain)
            exact = exact and at.exact and not at.conditional and not use.conditional
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

    def _of_leaf(self, name: str, found: _Found, parts: tuple[ScopStatement, ...]) -> tuple[Reference, ...]:
        """{ S[i] -> A[a] : exists k: P[i, k] -> A[a] } of every part P; what the leaf declares itself is nobody else's."""
        depth = len(found.place.loops)
        own = {d.object for s in walk(found.node) if isinstance(s, Declaration) for d in s.declarators}
        references = []
        for part in parts:
            for each in part.references:
                if each.object not in own:
                    relation = _without_inner(each.relation, depth, name)
                    linear = None if each.linear is None else _without_inner(each.linear, depth, name)
                    references.append(replace(each, relation=relation, linear=linear))
        return tuple(references)

    def _linear(self, use: Use, at: _Place) -> isl.Map | None:
        """{ [i] -> A[e] } of an array that is seen through strides, if e is affine."""
        if use.object not in self.seen.strides or not use.subscripts:
            return None
        value = affine_or_none(use.subscripts[0], at.subscripts)
        return None if value is None else isl.Map.from_pw_aff(value).set_tuple_name(isl.dim_type.out, use.object.name)

    def _relation(self, use: Use, at: _Place) -> tuple[isl.Map, bool]:
        """{ [i] -> A[a] } and whether it is exact."""
        frame = at.frame
        own = self.depths.get(use.object, 0) if use.object.scope is Scope.LOCAL else 0
        functions: list[isl.PwAff | None] = [frame.iterator(place) for place in range(own)]
        if use.object in self.seen.strides and use.subscripts:
            domain = at.domain.intersect_params(self.seen.assumed)
            split = split_subscript(use.subscripts[0], self.seen.strides[use.object], at.subscripts, domain)
            parts = len(self.seen.strides[use.object]) + 1
            functions += split.parts if split is not None else [None] * parts
        else:
            # Where an array is read that nobody writes orders nothing, so it is no reason.
            read = self._affine if use.object in self.written else affine_or_none
            functions += [read(subscript, at.subscripts) for subscript in use.subscripts]
            functions += [None] * (use.object.rank - len(use.subscripts))
        relation = product_of(functions, frame).set_tuple_name(isl.dim_type.out, use.object.name)
        return relation, all(function is not None for function in functions)


def _refuse_too_many(statements: Iterable[ScopStatement]) -> None:
    """Raises OperationLimitError where dependences would be sought for minutes."""
    by_object: dict[str, list[tuple[str, Reference]]] = {}
    for statement in statements:
        for reference in statement.references:
            by_object.setdefault(reference.object.name, []).append((statement.name, reference))
    touched: Counter[object] = Counter()
    written: Counter[object] = Counter()
    for name, references in by_object.items():
        if any(one.writes for _, one in references):
            keys = [(name, key) for key in apart([one for _, one in references])]
            written.update(key for key, (_, one) in zip(keys, references, strict=True) if one.writes)
            # What is read and written, as in `a[i] += …`, is looked at once.
            uses_there = {(key, at, one.range) for key, (at, one) in zip(keys, references, strict=True)}
            touched.update(key for key, _, _ in uses_there)
    if sum(number * touched[key] for key, number in written.items()) > MOST_PAIRS:
        raise OperationLimitError(f"isl was not asked about more than {MOST_PAIRS} pairs of references.")


def _without_inner(relation: isl.Map, depth: int, name: str) -> isl.Map:
    """{ S[i] -> A[a] : exists k: P[i, k] -> A[a] }"""
    inner = relation.dim(isl.dim_type.in_) - depth
    return relation.project_out(isl.dim_type.in_, depth, inner).coalesce().set_tuple_name(isl.dim_type.in_, name)


def declared_once(body: Iterable[Statement], functions: tuple[Function, ...]) -> frozenset[DataObject]:
    """Local integers that nothing but their declaration writes: they hold its value throughout their scope."""
    declarators = [node for statement in body for node in walk(statement) if isinstance(node, Declarator)]
    candidates = {
        declarator.object
        for declarator in declarators
        if declarator.initializer is not None and _holds_integers(declarator.object)
    }
    if not candidates:
        return frozenset()
    writes = Counter(use.object for statement in body for use in uses(statement, functions) if use.writes)
    return frozenset(object_ for object_ in candidates if writes[object_] == 1)


def _holds_integers(object_: DataObject) -> bool:
    """Whether it is a scalar wide enough that C's conversion to it keeps what arithmetic gives."""
    return is_signed_int(object_.element) and object_.storage is Storage.SCALAR and not object_.volatile


def declare(declaration: Declaration, frame: Frame, once: Container[DataObject]) -> Frame:
    """The frame behind a declaration: what its initializers are is known of those of `once` that are affine."""
    for declarator in declaration.declarators:
        value = declarator.initializer
        if (
            declarator.object in once
            and not isinstance(value, (tuple, NoneType))
            and holds(declarator.object.element, value)
        ):
            try:
                frame = frame.knowing(declarator.object, affine(value, frame))
            except NotAffineError:
                continue
    return frame


def _schedule(name: str, at: _Place, depth: int) -> isl.Map:
    names = [f"i{place}" for place in range(len(at.loops))]
    times = [str(at.position[0])]
    for place, loop in enumerate(at.loops):
        times += [f"-{names[place]}" if loop.decreasing else names[place], str(at.position[place + 1])]
    times += ["0"] * (2 * depth + 1 - len(times))
    return isl.Map(f"{{ {name}[{', '.join(names)}] -> [{', '.join(times)}] }}", context=at.frame.context)


def _member(use: Use) -> str | None:
    """The member of the element that is meant; members of unions share their memory."""
    if use.path and isinstance(use.path[0], Member):
        element = use.object.element
        if isinstance(element, RecordType) and not element.is_union:
            return use.path[0].name
    return None


def _is_whole(use: Use, member: str | None) -> bool:
    """Whether all of the element is meant, or all of the `member`; a number as large as the union that it is in is all of that."""
    element = use.object.element
    if member is None and len(use.path) == 1 and isinstance(element, RecordType) and element.is_union:
        meant = next((field.type for field in element.fields if Member(field.name) == use.path[0]), None)
        return isinstance(meant, ScalarType) and meant.bits == 8 * element.size
    return len(use.path) == (0 if member is None else 1)


def step_of(loop: Loop) -> int | None:
    """The loop's step where it is a constant other than 0."""
    return polynomial(loop.step).constant or None
