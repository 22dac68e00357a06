"""Array expansion and anti-dependence renaming, where they free loops.

    for (i) { t[..] = ..; .. = t[..]; }
        ->  for (i) { t_of_i[i][..] = ..; .. = t_of_i[i][..]; } t[..] = t_of_i[last][..];
    for (i) A[i] = f(A[i + 1]);  ->  for (x) A_old[x] = A[x]; for (i) A[i] = f(A_old[i + 1]);

All statements keep their order; the strategies then find more parallelism. The new arrays have
Scope.TEMPORARY. verify/storage.py proves independently that the region computes the same.
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
    """`kernel` computes what the region does, on new arrays.

    `instead`: for each new array, the array whose values it holds. `copies` are the added
    statements; a loop `repeats` them if they are inside it. `dead` are the arrays that are not read
    after the region. `notes` say what was done and why, a clause each. `everywhere`: each element
    of the old arrays has one new place throughout. `touching`: a SCoP whose statements surely touch
    what the copies may touch, where the region's has too many statements to tell.
    """

    kernel: Kernel
    instead: Mapping[DataObject, DataObject]
    copies: tuple[Statement, ...]
    dead: frozenset[DataObject]
    repeats: bool
    notes: tuple[str, ...]
    everywhere: bool = False
    touching: Scop | None = None


def moved_kernel(
    region: Region,
    body: Block,
    instead: Mapping[DataObject, DataObject],
    before: list[Statement],
    after: list[Statement],
    notes: tuple[str, ...],
    touching: Scop | None = None,
) -> ExpandedKernel:
    """The region with a `body` on new arrays, each element in one place, and copies around it."""
    body = dataclasses.replace(body, statements=(*before, *body.statements, *after))
    kernel = dataclasses.replace(region.kernel, body=body, objects=(*region.kernel.objects, *instead))
    dead = frozenset(old for old in instead.values() if is_dead(region, old))
    return ExpandedKernel(kernel, instead, (*before, *after), dead, False, notes, True, touching)


def with_array_expansion(region: Region) -> ExpandedKernel | None:
    """The region with arrays expanded or renamed where that frees some loop; else None."""
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
    """The region with scalars expanded that tie the statements of loop bodies together; else None.

    for (j) { s = ..; for (k) s += ..; .. = s; }
        ->  for (j) { s_of_j[j] = ..; for (k) s_of_j[j] += ..; .. = s_of_j[j]; }
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


def proven_scop(region: Region, expansion: ExpandedKernel, statements: tuple[Statement, ...]) -> Scop | None:
    """The SCoP of an expanded kernel, if it is proven to compute what the region does."""
    from tilepragma.poly.extraction import extract_scop
    from tilepragma.poly.operation_limit import OperationLimitError
    from tilepragma.verify.layouts import layout_fault
    from tilepragma.verify.storage import StorageMap, Version, storage_fault

    kernel = expansion.kernel
    try:
        scop = extract_scop(statements, kernel.functions, written_objects(kernel), context=region.scop.context)
    except OperationLimitError:
        return None
    original, changed = Version(region.statements, region.scop), Version(statements, scop)
    mapping = StorageMap(expansion.instead, expansion.copies, expansion.dead)
    if expansion.everywhere:
        return scop if layout_fault(original, changed, mapping, expansion.touching) is None else None
    return scop if storage_fault(original, changed, mapping) is None else None


def _candidates(region: Region) -> tuple[DataObject, ...]:
    """Written arrays with a false dependence, but for those that functions use or clauses name."""
    false = {dependence.source.object for dependence in region.dependences if dependence.sink.writes}
    return tuple(
        object_
        for object_ in not_named(region, region.kernel.objects)
        if object_ in false
        and object_.storage is not Storage.SCALAR
        and object_.scope is not Scope.LOCAL
        and object_.rank < MOST_RANK
        and object_ not in region.scop.layouts
    )


def _most_loops(region: Region) -> int:
    """The most loops for which a new array has dimensions: the region's greatest rank."""
    layouts = region.scop.layouts
    return min(
        max(max(object_.rank, 1 + len(layouts.get(object_, ()))) for object_ in region.kernel.objects), MOST_RANK
    )


def _tying_scalars(region: Region) -> tuple[DataObject, ...]:
    """Written scalars that are dead afterwards, and that no function or clause names."""
    return tuple(scalar for scalar in not_named(region, written_scalars(region)) if scalar.name not in region.live_out)


def not_named(region: Region, objects: Iterable[DataObject]) -> Iterator[DataObject]:
    """The objects that neither a function uses nor a clause names."""
    named = named_in_clauses(region.kernel.directive, region.kernel.body)
    called = {use.object for use in function_uses(region.kernel.functions)} | implied_objects(region.kernel.body)
    return (object_ for object_ in objects if object_ not in called and object_.host not in named)


def is_dead(region: Region, object_: DataObject) -> bool:
    """Whether no code can read it after the region."""
    return (
        object_.scope is Scope.REGION or object_.storage is Storage.SCALAR or object_.name in region.kernel.dead_arrays
    )


def _flows(scop: Scop, candidates: tuple[DataObject, ...]) -> dict[DataObject, ArrayFlow]:
    from tilepragma.poly.value_flow import UnknownFlowError, array_flow

    flows = {}
    for candidate in candidates:
        try:
            flows[candidate] = array_flow(scop, (candidate,))
        except UnknownFlowError:
            continue
    return flows


class UnwritableError(Exception):
    """C cannot express the extents of a new array, or the places of its values, at launch."""


@dataclass
class _Rewriting:
    region: Region
    flows: Mapping[DataObject, ArrayFlow]

    def __post_init__(self) -> None:
        self.names = set(names_in(self.region.kernel))
        self.numbers = self.region.loop_numbers()
        self.dead = frozenset(flow for flow in self.flows if is_dead(self.region, flow))

    def kernel(self, expanded: tuple[Expansion, ...], copied: tuple[Renaming, ...]) -> ExpandedKernel | None:
        """The region with all expansions and copies that C can express; None without any."""
        places: dict[tuple[DataObject, SourceRange], Callable[[Access], Access]] = {}
        instead: dict[DataObject, DataObject] = {}
        before: dict[int, list[Statement]] = {}
        after: list[Statement] = []
        notes: list[str] = []
        for expansion in expanded:
            try:
                array, change = self._expanded(expansion)
                after += self._last_values(expansion, change) if expansion.object not in self.dead else ()
            except UnwritableError:
                continue
            instead[array] = expansion.object
            places |= {(expansion.object, place): change for place in expansion.ranges}
            notes.append(_expansion_note(expansion, array))
        for copy in copied:
            try:
                array, change = self._renamed(copy.object, "old", copy.cells, len(copy.around))
                statements = self._copy(copy, change)
            except UnwritableError:
                continue
            instead[array] = copy.object
            before.setdefault(copy.loop.index, []).extend(statements)
            places |= {(copy.object, place): change for place in copy.ranges}
            notes.append(_copy_note(copy, array))
        if not instead or any(place is NOWHERE for _, place in places):
            return None
        kernel = self.region.kernel
        body = _rewritten(kernel.body, places, before)
        body = dataclasses.replace(body, statements=(*body.statements, *after))
        copies = (*(statement for statements_before in before.values() for statement in statements_before), *after)
        changed = dataclasses.replace(kernel, body=body, objects=(*kernel.objects, *instead))
        return ExpandedKernel(changed, instead, copies, self.dead, any(copy.around for copy in copied), tuple(notes))

    # -- new arrays

    def _expanded(self, expansion: Expansion) -> tuple[DataObject, Callable[[Access], Access]]:
        """The new array, and the new form of an access, which uses the iterators of the loops."""
        iterators = [access_to(loop.iterator) for loop in expansion.loops]
        ending = "_".join(["of", *(loop.iterator.name for loop in expansion.loops)])
        array, bounds = self._array(expansion.object, ending, expansion.cells)

        def change(access: Access) -> Access:
            subscripts = (*iterators, *access.subscripts)
            return dataclasses.replace(access, object=array, subscripts=shifted(subscripts, bounds))

        return array, change

    def _renamed(
        self, object_: DataObject, ending: str, cells: CellSet, around: int
    ) -> tuple[DataObject, Callable[[Access], Access]]:
        """A copy of the array for one iteration of the loops around."""
        array, bounds = self._array(object_, ending, cells, around)

        def change(access: Access) -> Access:
            return dataclasses.replace(access, object=array, subscripts=shifted(access.subscripts, bounds))

        return array, change

    def _array(
        self, object_: DataObject, ending: str, cells: CellSet, around: int = 0
    ) -> tuple[DataObject, tuple[Polynomial | None, ...]]:
        """Like `array_of_cells`, with a unique name. Raises UnwritableError."""
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

        iterators = [iterator(self._name(f"{copy.object.name}_{place}")) for place in range(copy.object.rank)]
        source = Access(copy.object, tuple(map(access_to, iterators)), (), copy.object.element)
        assignment = Assignment("=", change(source), source, copy.object.element)
        # No block around the loops: it would make one simple nest.
        loops = copy_loops(self.region.scop, copy.cells, iterators, assignment, copy.around, self.numbers)
        return loops.statements

    def _last_values(self, expansion: Expansion, change: Callable[[Access], Access]) -> tuple[Statement, ...]:
        """for (x) A[x] = A_of_i[i(x)][x], i(x) being the iteration that wrote A[x] last."""
        from tilepragma.lower.copy_loops import copy_loops, iterator
        from tilepragma.storage.expansion_maps import last_cells

        cells = last_cells(expansion, self.flows[expansion.object])
        if cells is None:
            return ()
        extra = [iterator(self._name(f"{expansion.object.name}_{loop.iterator.name}")) for loop in expansion.loops]
        iterators = [iterator(self._name(f"{expansion.object.name}_{place}")) for place in range(expansion.object.rank)]
        target = Access(expansion.object, tuple(map(access_to, iterators)), (), expansion.object.element)
        instead = {loop.iterator: value for loop, value in zip(expansion.loops, extra, strict=True)}
        source = with_accesses(
            change(target),
            lambda access: (
                dataclasses.replace(access, object=instead[access.object], type=LONG)
                if access.object in instead
                else access
            ),
        )
        assignment = Assignment("=", target, source, expansion.object.element)
        loops = copy_loops(self.region.scop, cells, (*extra, *iterators), assignment, (), self.numbers)
        return loops.statements


def array_of_cells(
    region: Region, object_: DataObject, name: str, cells: CellSet, around: int = 0
) -> tuple[DataObject, tuple[Polynomial | None, ...]]:
    """A new array for another's values at { [x] : [o, x] in cells }, o being the iterators of
    `around` loops, and for each dimension the offset to subtract from subscripts (None: 0). Raises
    UnwritableError.
    """
    from tilepragma.poly.footprints import bounding_box

    on_host = host_evaluable(region.written)
    box = bounding_box(region.scop, cells, around)
    if box is None or not all(on_host(expression(end)) for side in box for end in (side.least, side.greatest)):
        raise UnwritableError
    lowers = tuple(side.least if side.negative else None for side in box)
    ends = (side.greatest + number(1) - (side.least if side.negative else number(0)) for side in box)
    # C has no arrays of length 0.
    lengths = tuple(expression(maximum((end, number(1)))) for end in ends)
    array = DataObject(name, name, object_.element, Storage.CONTIGUOUS, Scope.TEMPORARY, lengths, range=object_.range)
    return array, lowers


def shifted(subscripts: tuple[Expression, ...], lowers: tuple[Polynomial | None, ...]) -> tuple[Expression, ...]:
    """The subscripts less the offsets of `array_of_cells`."""
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
        redirect = places.get((access.object, access.range))
        return access if redirect is None else redirect(access)

    return _with_copies(with_accesses(body, change), before)


def _with_copies(body: Block, before: Mapping[int, list[Statement]]) -> Block:
    """The block with the statements of `before` inserted before the loops with these indices."""

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


def _expansion_note(expansion: Expansion, array: DataObject) -> str:
    loops = " and ".join(loop.iterator.host for loop in expansion.loops)
    what = "scalar" if expansion.object.storage is Storage.SCALAR else "array"
    return (
        f"{what} expansion: '{expansion.object.host}' is kept once for each iteration of {loops}, as '{array.name}', "
        "since no value goes from one to another"
    )


def _copy_note(copy: Renaming, array: DataObject) -> str:
    return (
        f"array copying (Algorithm 4.2): old values of '{copy.object.host}' are read from '{array.name}', a copy "
        f"made before the loop over {copy.loop.iterator.host}, so that no write waits for a read"
    )
