"""Race checks: every memory-based dependence runs forward between the plan's instances.

{ S[i] -> T[j] } becomes { A[a] -> B[b] : a executes i, b executes j } for all leaves A of S and B
of T, where A's instances must run first.

An instance is earlier than another where a sequential loop or the text (launches included) puts it
first, if one worker runs both, or workers of one gang with a barrier between them. Gangs and
threads of one launch never wait for each other.

Tiles are proven for all sizes together. The tiles of a loop are the digits of the iteration's
number in a mixed radix: with tiles of 8 in tiles of 32, iteration 45 is (1, 1, 5). Of two
iterations, the first digit that differs orders them; later digits may differ in any way (as in
`poly/tile_legality`).

Pipelined wavefronts (doacross): the tile (w, c) of wavefront w runs once all earlier tiles of its
column c = (c_1, ..., c_n) are done, and those before wavefront w of each column with one coordinate
less by 1.

    { A[w, c, ...] -> B[w', c', ...] : A must run first, w < w' }    must have
    c <= c',    (c'_1 - c_1) + ... + (c'_n - c_n) <= w' - w

Then A is done before B runs. By induction over w' and c': when a tile of wavefront w' - 1 and
column c' is done, so is each column c <= c' up to wavefront w' - 1 - (c'_1 - c_1) - .... The order
within a wavefront and to the next one is proven as for all launches. Threads that take columns in
the order of their coordinates wait for earlier columns alone, so that the first unfinished column
never waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product, takewhile

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.loop_tree import Axis, TiledLoop
from tilepragma.plan.kernel_plan import Launch
from tilepragma.poly.affine import constant_value
from tilepragma.poly.dependences import Dependence, DependenceKind, carried_at, distances_between, union_of
from tilepragma.poly.scop import Reference
from tilepragma.poly.tile_legality import Violation
from tilepragma.verify.certificate import Fault
from tilepragma.verify.instances import InstanceMap, Original, Unions, declares, grouped
from tilepragma.verify.launch_tree_relation import Bounds, Element, InSequence, Leaf, Mapped, Ordered

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out

#: A loop of a nest with its dimension and its bounds.
MappedLoop = tuple[TiledLoop, int, Bounds]


def broken_dependences(original: Original, executed: tuple[InstanceMap, ...]) -> Iterator[Fault]:
    """A fault for the first dependence that does not run forward between each two leaves."""
    by_name = grouped(executed, lambda execution: execution.statement.name)
    needed = _needed_before(original, executed)
    for (source, sink), group in grouped(original.dependences, lambda dependence: dependence.ends).items():
        for first, second in product(by_name.get(source, ()), by_name.get(sink, ())):
            launch = first.leaf.launch
            # The user does not vouch for the planner's wavefronts.
            assumes_independence = (
                original.assumes_independence
                and launch is second.leaf.launch
                and (launch is None or not launch.pipelined)
            )
            if not assumes_independence:
                yield from _between(first, second, group, needed, original.unions)


def _needed_before(original: Original, executed: tuple[InstanceMap, ...]) -> dict[int, frozenset[DataObject]]:
    """By each launch's identity, scalars copied in some launch whose earlier values it reads."""
    launches = {id(execution.leaf.launch): execution.leaf.launch for execution in executed}
    copied = frozenset(object_ for launch in launches.values() if launch is not None for object_ in launch.privates)
    return {
        key: frozenset(o for o in copied if exposed_read(launch.body, o, original.functions) is not None)
        for key, launch in launches.items()
        if launch is not None
    }


def _between(
    first: InstanceMap,
    second: InstanceMap,
    group: list[Dependence],
    needed: Mapping[int, frozenset[DataObject]],
    unions: Unions,
) -> Iterator[Fault]:
    """Why dependences of the `group` do not run forward; `unions` are those that are known."""
    shared = [edge for edge in group if not _is_local(edge) and not _exempt(edge.source.object, first, second)]
    if text_orders(first.leaf, second.leaf):
        shared = []
    if shared:
        key = (*shared[0].ends, frozenset(edge.source.object for edge in shared))
        if key not in unions:
            unions[key] = union_of(shared)
        if _broken(first, second, unions[key]) is not None:
            for dependence in shared:
                broken = _broken(first, second, dependence.relation)
                if broken is not None:
                    yield _fault(dependence, broken, first, second)
                    break
    for dependence in group:
        if _is_local(dependence):
            broken = _broken_local(dependence, first, second)
        else:
            broken = _lost(dependence, first, second, needed)
        if broken is not None:
            yield _fault(dependence, broken, first, second)


def _broken(first: InstanceMap, second: InstanceMap, relation: isl.Map) -> Broken | None:
    """The part of a relation between two statements that does not run in order."""
    pairs = _instance_pairs(first, second, relation)
    return out_of_order(first.leaf, second.leaf, pairs) or out_of_columns(first.leaf, second.leaf, pairs)


def _lost(
    dependence: Dependence, first: InstanceMap, second: InstanceMap, needed: Mapping[int, frozenset[DataObject]]
) -> Broken | None:
    """What a launch leaves in its instances' private copies is lost for other launches."""
    object_, source, sink = dependence.source.object, first.leaf.launch, second.leaf.launch
    if dependence.kind is not DependenceKind.FLOW or source is None or sink is None or object_ not in _copied(source):
        return None
    pairs = _instance_pairs(first, second, dependence.relation) if object_ in needed[id(sink)] else None
    return None if pairs is None or pairs.is_empty() else Broken(pairs, "are of launches that do not hand it on")


@once
def _copied(launch: Launch) -> frozenset[DataObject]:
    """The objects of which every instance has a private copy."""
    return frozenset(launch.privates)


def _is_local(dependence: Dependence) -> bool:
    return dependence.source.object.scope is Scope.LOCAL


def _exempt(object_: DataObject, first: InstanceMap, second: InstanceMap) -> bool:
    """Whether instances have copies of the object, which `verify/proofs` checks; of what a
    launch reduces they have copies until its end.
    """
    launch, second_launch = first.leaf.launch, second.leaf.launch
    if launch is None or second_launch is None:
        return False
    if object_ in _copied(launch) or object_ in _copied(second_launch):
        return True
    return launch is second_launch and any(reduction.object == object_ for reduction in launch.reductions)


def _instance_pairs(first: InstanceMap, second: InstanceMap, relation: isl.Map) -> isl.Map:
    """{ A[a] -> B[b] : a executes i, b executes j, i -> j in the relation { S[i] -> T[j] } }"""
    return first.relation.apply_range(relation).apply_range(second.relation.reverse())


def _broken_local(dependence: Dependence, first: InstanceMap, second: InstanceMap) -> Broken | None:
    """Locals belong to one iteration and instance; a declaration serves what follows it."""
    object_ = dependence.source.object
    declaration, second_declaration = _declaration_of(object_, first), _declaration_of(object_, second)
    if declaration is second_declaration is not None and _follows_in_one_iteration(dependence, first, second):
        return None
    pairs = _instance_pairs(first, second, dependence.relation)
    if declaration is not second_declaration or declaration is None:
        harmless = declaration is first.leaf or pairs.is_empty()
        return None if harmless else Broken(pairs, "have copies of their own in the plan")
    for dimension in range(declaration.depth):
        elsewhere = pairs
        pairs = pairs.equate(isl.dim_type.in_, dimension, isl.dim_type.out, dimension)
        if not elsewhere.is_subset(pairs):
            return Broken(elsewhere, "have copies of their own in the plan")
    return out_of_order(first.leaf, second.leaf, pairs, alone=True)


def _follows_in_one_iteration(dependence: Dependence, first: InstanceMap, second: InstanceMap) -> bool:
    """Whether the dependence stays in single iterations of all loops, which the plan runs in
    textual order: the leaves stand in one sequence, and execute the same iterations there, one
    each. A quick test for the many such dependences of long bodies.
    """
    (*around, last), (*second_around, second_last) = first.leaf.path, second.leaf.path
    return (
        isinstance(last, InSequence)
        and isinstance(second_last, InSequence)
        and last.sequence == second_last.sequence
        and last.index < second_last.index
        and len(around) == len(second_around)
        and all(element is counterpart for element, counterpart in zip(around, second_around, strict=True))
        and len(dependence.loops) == len(dependence.source_statement.loops) == len(dependence.sink_statement.loops)
        and not carried_at(dependence)
        and first.iterations == second.iterations
        and first.is_injective
    )


def _declaration_of(object_: DataObject, executed: InstanceMap) -> Leaf | None:
    """The leaf that declares the copy of `object_` that this leaf uses; possibly itself."""
    return executed.leaf if declares(executed.statement, object_) else executed.leaf.scopes.get(object_)


def _fault(dependence: Dependence, broken: Broken, first: InstanceMap, second: InstanceMap) -> Fault:
    relation = first.relation.reverse().apply_range(broken.pairs).apply_range(second.relation)
    distances = distances_between(relation.intersect(dependence.relation), dependence.loops)
    distance = Violation(dependence, distances, 0).nearest
    over = f" over ({', '.join(loop.iterator.host for loop in dependence.loops)})" if dependence.loops else ""
    far = f" with distance {distance}{over}" if dependence.loops else ""
    text = (
        f"the {dependence.kind.value} dependence of '{dependence.source.object.host}' from "
        f"{_end(dependence.source)} to {_end(dependence.sink)}{far} is broken: its instances {broken.reason}"
    )
    return Fault("dependences run forward", text, dependence.exact)


def _end(reference: Reference) -> str:
    return f"line {reference.range.start.line}, column {reference.range.start.column}"


@dataclass(frozen=True)
class Broken:
    """{ A[i] -> B[j] } that do not run in order, and why: a clause."""

    pairs: isl.Map
    reason: str


def out_of_order(first: Leaf, second: Leaf, pairs: isl.Map, *, alone: bool = False) -> Broken | None:
    """The part of `pairs`, { A[i] -> B[j] : i must run before j } over the leaves' dimensions, that
    does not run in order; None without any.

    `alone`: every instance has a private copy of the object of the pairs, so that only the order in
    one instance matters.
    """
    return None if pairs.is_empty() else _Order(first, second, pairs, alone).find()


def text_orders(first: Leaf, second: Leaf) -> bool:
    """Whether A runs before B by the text alone; `out_of_order` is then None for any pairs."""
    for element, counterpart in zip(first.path, second.path, strict=False):
        if not isinstance(element, InSequence) or not isinstance(counterpart, InSequence):
            return False
        if element is not counterpart:
            return element.index < counterpart.index
    return False


def by_two_workers(first: Leaf, second: Leaf, pairs: isl.Map) -> isl.Map:
    """The `pairs` of one gang that two workers, or different rounds of mapped loops, run."""
    axes = () if first.launch is None else first.launch.axes
    apart = _Order(first, second, pairs, alone=False).apart([axis for axis in axes if axis.kind is AxisKind.WORKER])
    return pairs if apart is None else pairs.intersect(apart)


class _Order:
    """One walk down the common path; earlier elements leave `pairs` simultaneous."""

    def __init__(self, first: Leaf, second: Leaf, pairs: isl.Map, alone: bool) -> None:
        self.first = first
        self.second = second
        self.pairs = pairs
        self.alone = alone
        self.workers: isl.Map | None = None
        """{ A[i] -> B[j] } that two workers of a gang may run"""

    def find(self) -> Broken | None:
        for place, (element, counterpart) in enumerate(zip(self.first.path, self.second.path, strict=False)):
            before = self.pairs
            if element is not counterpart:
                return self._in_text(element, counterpart, place)
            if isinstance(element, Ordered):
                broken = self._forward(element.dimension, element.sign, place)
                self.pairs = self.pairs.equate(_IN, element.dimension, _OUT, element.dimension)
            elif isinstance(element, Launch):
                broken = self._launch(element)
            elif isinstance(element, Mapped):
                broken = self._nest(element, place)
            else:
                continue
            # Test only changed sets for emptiness: that takes longest.
            if broken is not None or (self.pairs is not before and self.pairs.is_empty()):
                return broken
        return Broken(self.pairs, "are the same instance in the plan")

    def _in_text(self, element: Element, counterpart: Element, place: int) -> Broken | None:
        assert isinstance(element, InSequence) and isinstance(counterpart, InSequence)
        if element.index > counterpart.index:
            return Broken(self.pairs, "run in the opposite order")
        between = any(element.index < barrier < counterpart.index for barrier in element.barriers)
        return None if between else self._waits(self.pairs, place)

    def _waits(self, pairs: isl.Map, place: int) -> Broken | None:
        """The pairs that two workers may run without a wait between, parting at `place`."""
        if self._never_waits(place):
            return None
        assert self.workers is not None
        apart = pairs.intersect(self.workers)
        return None if apart.is_empty() else Broken(apart, "may be run by two workers with no barrier between")

    def _never_waits(self, place: int) -> bool:
        """Whether instances that differ at `place` need no wait, or all wait below it."""
        if self.workers is None:
            return True
        after = any(barrier > part.index for part in _passed(self.first, place) for barrier in part.barriers)
        return after or any(barrier < part.index for part in _passed(self.second, place) for barrier in part.barriers)

    def _forward(self, dimension: int, sign: int, place: int, *, leading: bool = True) -> Broken | None:
        """Pairs that a dimension, or a digit of it, splits: the first must be earlier."""
        forward = isl.Map.order_lt if sign > 0 else isl.Map.order_gt
        back = isl.Map.order_gt if sign > 0 else isl.Map.order_lt
        backward = back(self.pairs, _IN, dimension, _OUT, dimension)
        if not leading:
            backward = backward.union(forward(self.pairs, _IN, dimension, _OUT, dimension))
        if not backward.is_empty():
            return Broken(backward, "run in the opposite order")
        if self._never_waits(place):
            return None
        return self._waits(forward(self.pairs, _IN, dimension, _OUT, dimension), place)

    def _launch(self, launch: Launch) -> Broken | None:
        axes = launch.axes
        if self.alone or not axes:
            return None
        apart = self.apart([axis for axis in axes if axis.kind is not AxisKind.WORKER])
        if apart is not None:
            broken = self.pairs.intersect(apart)
            if not broken.is_empty():
                kind = "gangs" if any(axis.kind is AxisKind.GANG for axis in axes) else "threads"
                return Broken(broken, f"may be run by two {kind} of one launch, which do not wait for each other")
        self.workers = self.apart([axis for axis in axes if axis.kind is AxisKind.WORKER])
        return None

    def _nest(self, element: Mapped, place: int) -> Broken | None:
        """The unmapped tiles in order; below the nest, one worker runs all of an instance."""
        if element.to_workers:
            broken = self._waits(self.pairs, len(self.first.path))
            if broken is not None:
                return broken
            self.workers = None
        loops = {tiled.loop.index: (element.first + index, tiled) for index, tiled in enumerate(element.nest.loops)}
        waiting = {index: [tile.position for tile in tiled.tiles] for index, (_, tiled) in loops.items()}
        for tile in element.nest.order:
            dimension, tiled = loops[tile.loop]
            if tiled.is_distributed:
                # Pairs that differ there are done above; these are equal, or about different
                # copies.
                self.pairs = self.pairs.equate(_IN, dimension, _OUT, dimension) if self.alone else self.pairs
                continue
            if dimension >= min(self.first.depth, self.second.depth):
                return Broken(self.pairs, "cannot be told apart: one is a bound of a tiled loop")
            left = waiting[tile.loop]
            sign = -1 if tiled.loop.decreasing else 1
            broken = self._forward(dimension, sign, place, leading=left[0] == tile.position)
            if broken is not None:
                return broken
            left.remove(tile.position)
            if not left:
                self.pairs = self.pairs.equate(_IN, dimension, _OUT, dimension)
        return None

    def apart(self, axes: list[Axis]) -> isl.Map | None:
        """{ A[i] -> B[j] } that may differ in the index of one of the axes; None if none may."""
        apart = None
        for axis in axes:
            first, second = _mapping(self.first, axis), _mapping(self.second, axis)
            # Loops are mapped in the same way wherever their bounds are the same.
            if first is None or second is None or first[0].distribution_key != second[0].distribution_key:
                return isl.Map.universe(self.pairs.get_space())
            differ = self._differ(first, second)
            apart = differ if apart is None else apart.union(differ)
        return apart

    def _differ(self, first: MappedLoop, second: MappedLoop) -> isl.Map:
        """Different iterations of equally mapped loops, or any where their bounds differ."""
        (tiled, dimension, bounds), (_, counterpart, counterparts) = first, second
        everything = isl.Map.universe(self.pairs.get_space())
        earlier = everything.order_lt(_IN, dimension, _OUT, counterpart)
        differ = earlier.union(everything.order_gt(_IN, dimension, _OUT, counterpart))
        for bound, other in () if tiled.launch_bounds else zip(bounds, counterparts, strict=True):
            if bound is None or other is None:
                return everything
            sides = ((bound, self.first), (other, self.second))
            values = [isl.Map.from_pw_aff(value.add_dims(_IN, leaf.depth - value.dim(_IN))) for value, leaf in sides]
            differ = differ.union(everything.subtract(values[0].apply_range(values[1].reverse())))
        return differ


def _passed(leaf: Leaf, place: int) -> list[InSequence]:
    """The sequence parts below `place` on the way to the leaf, up to where workers part."""
    way = takewhile(lambda element: not (isinstance(element, Mapped) and element.to_workers), leaf.path[place + 1 :])
    return [element for element in way if isinstance(element, InSequence)]


def _mapping(leaf: Leaf, axis: Axis) -> MappedLoop | None:
    """The loop that is mapped to the axis on the way to the leaf."""
    for element in leaf.path:
        if isinstance(element, Mapped):
            for place, tiled in enumerate(element.nest.loops):
                dimension = element.first + place
                if dimension < leaf.depth and any(tile.axis == axis for tile in tiled.tiles):
                    return tiled, dimension, element.bounds[place]
    return None


def out_of_columns(first: Leaf, second: Leaf, pairs: isl.Map) -> Broken | None:
    """The `pairs`, { A[i] -> B[j] : i must run before j }, that pipelining does not order."""
    launch = first.launch
    if launch is None or launch is not second.launch or not launch.pipelined:
        return None
    dimensions = _wavefront_and_columns(launch, first), _wavefront_and_columns(launch, second)
    if dimensions[0] is None or dimensions[0] != dimensions[1]:
        return Broken(pairs, "are not of tiled loops that count up by 1 in a loop of the host")
    wavefront, columns = dimensions[0]
    for outer in range(wavefront):
        pairs = pairs.equate(_IN, outer, _OUT, outer)
    pairs = pairs.order_lt(_IN, wavefront, _OUT, wavefront)
    context = pairs.get_ctx()
    # 0 <= (c'_1 - c_1) + ... + (c'_n - c_n) - (w' - w) - 1
    local = isl.LocalSpace.from_space(pairs.get_space())
    beyond = isl.Constraint.alloc_inequality(local).set_constant_val(isl.Val.int_from_si(context, -1))
    for dimension, sign in ((wavefront, -1), *((column, 1) for column in columns)):
        beyond = beyond.set_coefficient_val(_IN, dimension, isl.Val.int_from_si(context, -sign))
        beyond = beyond.set_coefficient_val(_OUT, dimension, isl.Val.int_from_si(context, sign))
    broken = pairs.add_constraint(beyond)
    for column in columns:
        broken = broken.union(pairs.order_gt(_IN, column, _OUT, column))
    reason = "may run before what they need of an earlier wavefront is done"
    return None if broken.is_empty() else Broken(broken, reason)


def _wavefront_and_columns(launch: Launch, leaf: Leaf) -> tuple[int, tuple[int, ...]] | None:
    """The dimensions of the loop around the launch, and of its first nest's loop for each axis."""
    place = [element is launch for element in leaf.path].index(True)
    around = [element for element in leaf.path[:place] if not isinstance(element, InSequence)]
    mapped = [element for element in leaf.path[place:] if isinstance(element, Mapped)]
    if not around or not mapped:
        return None
    last, nest = around[-1], mapped[0]
    axes = [axis for axis in launch.axes if axis.kind is not AxisKind.WORKER]
    loop_axes = [[tile.axis for tile in loop.tiles if tile.axis in axes] for loop in nest.nest.loops]
    if not isinstance(last, Ordered) or last.sign < 0 or nest.first + len(loop_axes) > leaf.depth:
        return None
    if any(len(mapped_axes) != 1 for mapped_axes in loop_axes) or len(loop_axes) != len(set(axes)):
        return None
    if any(tile.axis in axes for later in mapped[1:] for loop in later.nest.loops for tile in loop.tiles):
        return None
    if any(constant_value(loop.loop.step, leaf.frame) != 1 for loop in nest.nest.loops):
        return None
    return last.dimension, tuple(range(nest.first, nest.first + len(loop_axes)))
