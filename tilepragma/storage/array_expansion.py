"""The region with storage of its own: arrays expanded, and reads of old values that go to copies,
where that frees loops.

    for (i) { t[..] = ..; .. = t[..]; }         for (i) { t_of_i[i][..] = ..; .. = t_of_i[i][..]; }     t[..] = t_of_i[last][..];
    for (i) A[i] = f(A[i + 1]);                 for (x) A_old[x] = A[x];     for (i) A[i] = f(A_old[i + 1]);

All statements keep their order; the strategies then find more that is independent. The new arrays
have Scope.TEMPORARY. That the region computes the same is proven by verify/storage.py, whatever was
meant here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import function_uses, implied_objects
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
)
from tilepragma.ir.fresh_names import names_in
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, maximum, number
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import named_in_clauses, with_blocks
from tilepragma.ir.types import LONG
from tilepragma.schedule.macro_statements import written_scalars
from tilepragma.schedule.strategy import Region

if TYPE_CHECKING:
    from tilepragma.lower.copy_loops import CellSet
    from tilepragma.poly.scop import Scop
    from tilepragma.poly.value_flow import ArrayFlow
    from tilepragma.storage.anti_dependence_renaming import Renaming
    from tilepragma.storage.expansion_maps import Expansion

MOST_RANK = 8
"""TILEK_MAX_RANK"""


@dataclass(frozen=True)
class ExpandedKernel:
    """`kernel` computes what the region's does. `instead`: for each new array the one whose values
    it holds; `copies` are the added statements, which are made again and again in loops where it
    `repeats` them. `dead` are the arrays that nobody reads after the region. `notes` say what was
    done and why, a clause each. `everywhere`: each element of these arrays is in one new place
    throughout. `touching`: the mathematics of statements that surely touch what the copies may
    touch, where the region's own are too many to tell.
    """

    kernel: Kernel
    instead: Mapping[DataObject, DataObject]
    copies: tuple[Statement, ...]
    dead: frozenset[DataObject]
    repeats: bool
    notes: tuple[str, ...]
    everywhere: bool = False
    touching: Scop | None = None


def with_array_expansion(region: Region) -> ExpandedKernel | None:
    """The region with storage of its own where that leaves nothing for some loop to carry; None where nothing does."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    try:
        candidates = _candidates(region)
        if not candidates:
            return None
        scop, dependences = region.scop, region.dependences
        with operation_limit(scop.context, DEFAULT_LIMIT, "looking for false dependences"):
            from tilepragma.poly.dependence_graph import Carried
            from tilepragma.storage.anti_dependence_renaming import old_values
            from tilepragma.storage.expansion_maps import expansions

            flows = _flows(scop, candidates)
            carried = Carried(scop, dependences)
            expanded = expansions(carried, flows.values(), _most_loops(region))
            copied = old_values(carried, flows.values(), expanded)
        return _Rewriting(region, flows).kernel(expanded, copied) if expanded or copied else None
    except OperationLimitError:
        return None


def with_expanded_scalars(region: Region) -> ExpandedKernel | None:
    """The region with an array in place of each scalar that ties the statements of bodies together,
    where that is possible.

    for (j) { s = ..; for (k) s += ..; .. = s; }      for (j) { s_of_j[j] = ..; for (k) s_of_j[j] += ..; .. = s_of_j[j]; }
    """
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
    from tilepragma.storage.expansion_maps import whole_expansions

    candidates = _tying_scalars(region)
    if not candidates:
        return None
    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the values of scalars"):
            flows = _flows(region.scop, candidates)
            expanded = whole_expansions(flows.values(), _most_loops(region))
        return _Rewriting(region, flows).kernel(expanded, ()) if expanded else None
    except OperationLimitError:
        return None


def proven_scop(region: Region, own: ExpandedKernel, statements: tuple[Statement, ...]) -> Scop | None:
    """The Scop of `statements`, those of the kernel with storage of its own, if it is proven to compute what the region does."""
    from tilepragma.poly.extraction import extract_scop
    from tilepragma.poly.operation_limit import OperationLimitError
    from tilepragma.verify.layouts import layout_fault
    from tilepragma.verify.storage import OwnStorage, Version, storage_fault

    kernel = own.kernel
    try:
        scop = extract_scop(statements, kernel.functions, written_objects(kernel), context=region.scop.context)
    except OperationLimitError:
        return None
    original, changed = Version(region.statements, region.scop), Version(statements, scop)
    kept = OwnStorage(own.instead, own.copies, own.dead)
    if own.everywhere:
        return scop if layout_fault(original, changed, kept, own.touching) is None else None
    return scop if storage_fault(original, changed, kept) is None else None


def _candidates(region: Region) -> tuple[DataObject, ...]:
    """Arrays that the region writes over which some dependence is false, but for those that a function uses or a clause names private."""
    false = {dependence.source.object for dependence in region.dependences if dependence.sink.writes}
    return tuple(
        one
        for one in not_named(region, region.kernel.objects)
        if one in false
        and one.storage is not Storage.SCALAR
        and one.scope is not Scope.LOCAL
        and one.rank < MOST_RANK
        and one not in region.scop.layouts
    )


def _most_loops(region: Region) -> int:
    """For how many loops new arrays may have a dimension: as many as the region's own have, those that are seen as more included."""
    layouts = region.scop.layouts
    return min(
        max(max(object_.rank, 1 + len(layouts.get(object_, ()))) for object_ in region.kernel.objects), MOST_RANK
    )


def _tying_scalars(region: Region) -> tuple[DataObject, ...]:
    """Scalars that the region writes, that nobody wants afterwards, no function uses and no clause names."""
    return tuple(one for one in not_named(region, written_scalars(region)) if one.name not in region.live_out)


def not_named(region: Region, objects: Iterable[DataObject]) -> Iterator[DataObject]:
    """Those that neither a function uses nor a clause names."""
    named = named_in_clauses(region.kernel.directive, region.kernel.body)
    called = {use.object for use in function_uses(region.kernel.functions)} | implied_objects(region.kernel.body)
    return (object_ for object_ in objects if object_ not in called and object_.host not in named)


def is_dead(region: Region, object_: DataObject) -> bool:
    """Whether nobody can read it after the region."""
    return (
        object_.scope is Scope.REGION or object_.storage is Storage.SCALAR or object_.name in region.kernel.dead_arrays
    )


def _flows(scop: Scop, candidates: tuple[DataObject, ...]) -> dict[DataObject, ArrayFlow]:
    from tilepragma.poly.value_flow import UnknownFlowError, array_flow

    found = {}
    for candidate in candidates:
        try:
            found[candidate] = array_flow(scop, (candidate,))
        except UnknownFlowError:
            continue
    return found


class UnwritableError(Exception):
    """Extents of a new array, or where values are in it, cannot be said in C at launch."""


@dataclass
class _Rewriting:
    region: Region
    flows: Mapping[DataObject, ArrayFlow]

    def __post_init__(self) -> None:
        self.names = set(names_in(self.region.kernel))
        self.next_index = self.region.first_index
        self.dead = frozenset(flow for flow in self.flows if is_dead(self.region, flow))

    def kernel(self, expanded: tuple[Expansion, ...], copied: tuple[Renaming, ...]) -> ExpandedKernel | None:
        """The region with all that can be written of these; None where that is nothing."""
        places: dict[tuple[DataObject, SourceRange], Callable[[Access], Access]] = {}
        instead: dict[DataObject, DataObject] = {}
        before: dict[int, list[Statement]] = {}
        after: list[Statement] = []
        notes: list[str] = []
        for one in expanded:
            try:
                own, change = self._expanded(one)
                after += self._last_values(one, change) if one.object not in self.dead else ()
            except UnwritableError:
                continue
            instead[own] = one.object
            places |= {(one.object, place): change for place in one.ranges}
            notes.append(_expansion_note(one, own))
        for copy in copied:
            try:
                own, change = self._renamed(copy.object, "old", copy.cells, len(copy.around))
                statements = self._copy(copy, change)
            except UnwritableError:
                continue
            instead[own] = copy.object
            before.setdefault(copy.loop.index, []).extend(statements)
            places |= {(copy.object, place): change for place in copy.ranges}
            notes.append(_copy_note(copy, own))
        if not instead or any(place is NOWHERE for _, place in places):
            return None
        kernel = self.region.kernel
        body = _rewritten(kernel.body, places, before)
        body = dataclasses.replace(body, statements=(*body.statements, *after))
        copies = (*(one for each in before.values() for one in each), *after)
        changed = dataclasses.replace(kernel, body=body, objects=(*kernel.objects, *instead))
        return ExpandedKernel(changed, instead, copies, self.dead, any(copy.around for copy in copied), tuple(notes))

    # -- new arrays

    def _expanded(self, one: Expansion) -> tuple[DataObject, Callable[[Access], Access]]:
        """The new array, and what becomes of an access, whose loops are known by their iterators."""
        iterators = [access_to(loop.iterator) for loop in one.loops]
        ending = "_".join(["of", *(loop.iterator.name for loop in one.loops)])
        own, bounds = self._array(one.object, ending, one.cells)

        def change(access: Access) -> Access:
            subscripts = (*iterators, *access.subscripts)
            return dataclasses.replace(access, object=own, subscripts=shifted(subscripts, bounds))

        return own, change

    def _renamed(
        self, object_: DataObject, ending: str, cells: CellSet, around: int
    ) -> tuple[DataObject, Callable[[Access], Access]]:
        """A copy of the array for one iteration of the loops around at a time."""
        own, bounds = self._array(object_, ending, cells, around)

        def change(access: Access) -> Access:
            return dataclasses.replace(access, object=own, subscripts=shifted(access.subscripts, bounds))

        return own, change

    def _array(
        self, object_: DataObject, ending: str, cells: CellSet, around: int = 0
    ) -> tuple[DataObject, tuple[Polynomial | None, ...]]:
        """As `array_of_cells`, with a name of its own. Raises UnwritableError."""
        return array_of_cells(self.region, object_, self._name(f"{object_.name}_{ending}"), cells, around)

    def _name(self, wanted: str) -> str:
        count, name = 1, wanted
        while name in self.names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(name)
        return name

    # -- copies

    def _copy(self, copy: Renaming, change: Callable[[Access], Access]) -> tuple[Statement, ...]:
        """for (x) A_old[x] = A[x];"""
        from tilepragma.lower.copy_loops import copy_loops, iterator

        own = [iterator(self._name(f"{copy.object.name}_{place}")) for place in range(copy.object.rank)]
        source = Access(copy.object, tuple(map(access_to, own)), (), copy.object.element)
        assignment = Assignment("=", change(source), source, copy.object.element)
        # Not a box around them, which would be one simple nest: what nobody touches need not be
        # there at all.
        made = copy_loops(self.region.scop, copy.cells, own, assignment, copy.around, self.next_index)
        self.next_index = made.next_index
        return made.block.statements

    def _last_values(self, one: Expansion, change: Callable[[Access], Access]) -> tuple[Statement, ...]:
        """for (x) A[x] = A_of_i[i(x)][x], i(x) being the iteration that wrote A[x] last."""
        from tilepragma.lower.copy_loops import copy_loops, iterator
        from tilepragma.storage.expansion_maps import last_cells

        cells = last_cells(one, self.flows[one.object])
        if cells is None:
            return ()
        extra = [iterator(self._name(f"{one.object.name}_{loop.iterator.name}")) for loop in one.loops]
        own = [iterator(self._name(f"{one.object.name}_{place}")) for place in range(one.object.rank)]
        target = Access(one.object, tuple(map(access_to, own)), (), one.object.element)
        instead = {loop.iterator: value for loop, value in zip(one.loops, extra, strict=True)}
        source = with_accesses(
            change(target),
            lambda access: (
                dataclasses.replace(access, object=instead[access.object], type=LONG)
                if access.object in instead
                else access
            ),
        )
        assignment = Assignment("=", target, source, one.object.element)
        made = copy_loops(self.region.scop, cells, (*extra, *own), assignment, (), self.next_index)
        self.next_index = made.next_index
        return made.block.statements


def array_of_cells(
    region: Region, object_: DataObject, name: str, cells: CellSet, around: int = 0
) -> tuple[DataObject, tuple[Polynomial | None, ...]]:
    """An array that holds values of another's at { [x] : [o, x] in cells }, o being the iterators
    of `around` loops, and for each dimension what is subtracted from subscripts, if anything is.
    Raises UnwritableError.
    """
    from tilepragma.poly.footprints import bounding_box

    on_host = host_evaluable(region.written)
    box = bounding_box(region.scop, cells, around)
    if box is None or not all(on_host(expression(end)) for side in box for end in (side.least, side.greatest)):
        raise UnwritableError
    lowers = tuple(side.least if side.negative else None for side in box)
    ends = (side.greatest + number(1) - (side.least if side.negative else number(0)) for side in box)
    # An array of no element has no type in C.
    lengths = tuple(expression(maximum((end, number(1)))) for end in ends)
    own = DataObject(name, name, object_.element, Storage.CONTIGUOUS, Scope.TEMPORARY, lengths, range=object_.range)
    return own, lowers


def shifted(subscripts: tuple[Expression, ...], lowers: tuple[Polynomial | None, ...]) -> tuple[Expression, ...]:
    """The subscripts, less what `array_of_cells` says is subtracted."""
    return tuple(
        subscript if low is None else Binary("-", subscript, expression(low), LONG)
        for subscript, low in zip(subscripts, lowers, strict=True)
    )


def _rewritten(
    body: Block,
    places: Mapping[tuple[DataObject, SourceRange], Callable[[Access], Access]],
    before: Mapping[int, list[Statement]],
) -> Block:
    def change(access: Access) -> Access:
        known = places.get((access.object, access.range))
        return access if known is None else known(access)

    return _with_copies(with_accesses(body, change), before)


def _with_copies(body: Block, before: Mapping[int, list[Statement]]) -> Block:
    """The block with the statements of `before` put in before the loops with these indices."""

    def statements(block: Block) -> Iterator[Statement]:
        for statement in block.statements:
            if isinstance(statement, Loop):
                yield from before.get(statement.index, ())
            yield _deeper(statement, before)

    return dataclasses.replace(body, statements=tuple(statements(body)))


def _deeper(statement: Any, before: Mapping[int, list[Statement]]) -> Any:
    if isinstance(statement, Block):
        return _with_copies(statement, before)
    return with_blocks(statement, lambda block: _with_copies(block, before))


def _expansion_note(one: Expansion, own: DataObject) -> str:
    loops = " and ".join(loop.iterator.host for loop in one.loops)
    what = "scalar" if one.object.storage is Storage.SCALAR else "array"
    return (
        f"{what} expansion: '{one.object.host}' is kept once for each iteration of {loops}, as '{own.name}', "
        "since no value goes from one to another"
    )


def _copy_note(copy: Renaming, own: DataObject) -> str:
    return (
        f"array copying (Algorithm 4.2): old values of '{copy.object.host}' are read from '{own.name}', a copy made before the loop "
        f"over {copy.loop.iterator.host}, so that no write waits for a read"
    )
