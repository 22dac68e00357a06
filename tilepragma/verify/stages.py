"""Stages are sound, as far as no polyhedral proof is needed (see `verify/staged_tiles.py` for
that).

A launch must not write what it stages; all uses of a copy follow its stage, between two barriers;
and all workers of a gang reach each stage with the same array tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, AddressOf, Assignment, DataObject, Increment, Scope, Storage
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    Loop,
    PackedPanels,
    Return,
    Stage,
    Staged,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import walk, workers_meet
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import KernelPlan, Launch

#: The tile kinds of a uniform nest's loop after its rounds.
_MAPPED: tuple[list[TileKind], ...] = (
    [],
    [TileKind.GANG],
    [TileKind.GANG, TileKind.WORKER],
    [TileKind.GANG, TileKind.STATIC, TileKind.WORKER],
)


def wrong_stages(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    """A sentence for every fault of a launch's stages."""
    if any(isinstance(node, Stage) or (isinstance(node, TileNest) and node.uniform) for node in walk(launch.body)):
        yield f"launch {launch.name} has stages outside its staged form"
    if launch.staged is None:
        return
    parts = launch.staged.statements
    if launch.staged_scratchpads:
        yield from _wrong_scratchpads(launch)
        return
    if len(parts) != 1 or not isinstance(parts[0], TileNest) or not parts[0].uniform:
        yield f"the staged form of launch {launch.name} is not one uniform nest"
        return
    yield from _wrong_nest(launch, parts[0])
    yield from _wrong_places(parts[0].body, launch)
    yield from _wrong_arrays(plan, launch, parts[0])


def _wrong_scratchpads(launch: Launch) -> Iterator[str]:
    """A staged form in scratchpads has the launch's gang loops, and private scratchpads."""
    plain, staged = (
        body.statements[0] if len(body.statements) == 1 else None
        for body in (launch.body, launch.staged)
        if body is not None
    )
    if (
        not isinstance(plain, TileNest)
        or not isinstance(staged, TileNest)
        or (plain.loops, plain.order) != (staged.loops, staged.order)
    ):
        yield f"the staged form of launch {launch.name} maps its tiles otherwise"
        return
    nests = (node for node in walk(staged.body) if isinstance(node, TileNest))
    for tiled in (loop for nest in nests for loop in nest.loops):
        if tiled.launch_bounds and tiled not in launch.loops:
            yield f"loop {tiled.symbol} of the staged form is none of the launch"
        if any(tile.axis is not None and tile.axis not in launch.axes for tile in tiled.tiles):
            yield f"loop {tiled.symbol} of the staged form has workers that the launch has not"
    objects = [name for scratchpad in launch.staged_scratchpads for name in scratchpad.names]
    accesses = (node for node in walk(launch.staged) if isinstance(node, Access))
    if len(set(objects)) != len(objects) or {
        access.object for access in accesses if access.object.scope is Scope.GANG
    } - set(objects):
        yield f"the staged form of launch {launch.name} uses shared memory that is not one scratchpad's"
    for scratchpad in launch.staged_scratchpads:
        number = isinstance(scratchpad.object.element, ScalarType) and scratchpad.object.scope is Scope.GANG
        if not number or scratchpad.column is not None or None in scratchpad.origin:
            yield f"the scratchpad '{scratchpad.object.name}' is no array of numbers in shared memory"
        if not len(scratchpad.object.lengths) == len(scratchpad.origin) == scratchpad.array.rank:
            yield f"the scratchpad '{scratchpad.object.name}' has not the dimensions of its array"


def _wrong_nest(launch: Launch, nest: TileNest) -> Iterator[str]:
    for tiled in nest.loops:
        if tiled not in launch.loops:
            yield f"loop {tiled.symbol} of the staged form is none of the launch"
        kinds = [tile.kind for tile in tiled.tiles]
        if kinds[0] is not TileKind.DYNAMIC or kinds[1:] not in _MAPPED:
            yield f"the tiles of loop {tiled.symbol} are not those of a uniform nest"
        elif kinds[1:] == _MAPPED[-1] and tiled.points < 1:
            yield f"the points that a worker has of loop {tiled.symbol} are no number"
        if polynomial(tiled.loop.step).constant != 1 or tiled.loop.decreasing or not tiled.launch_bounds:
            yield f"loop {tiled.symbol} of a uniform nest does not count up by 1 between bounds of the launch"
    if any(tiled.points > 1 for tiled in nest.loops):
        yield from _shared_scalars(launch, nest)
    nodes = list(walk(nest.body))
    if any(isinstance(node, Return) for node in nodes) or leaves_early(nest.body):
        yield f"an iteration of launch {launch.name} may end before its barriers"
    if any(isinstance(node, TileNest) for node in nodes):
        yield f"the staged form of launch {launch.name} has a nest in its nest"


def _shared_scalars(launch: Launch, nest: TileNest) -> Iterator[str]:
    """A worker has one copy of what is declared outside of the nest, for all of its points."""
    changed = {node.target.object for node in walk(nest.body) if isinstance(node, (Assignment, Increment, AddressOf))}
    for object_ in changed:
        if object_.scope is not Scope.LOCAL and object_.rank == 0:
            yield f"the points of a worker of launch {launch.name} have '{object_.host}' in common"


def _wrong_places(block: Block, launch: Launch) -> Iterator[str]:
    """Barriers and stages stand only in blocks and loops, beside simple declarations."""
    meets = any(workers_meet(statement) for statement in block.statements)
    for statement in block.statements:
        if isinstance(statement, (Barrier, Stage)):
            continue
        if isinstance(statement, (Block, Loop, PackedPanels)):
            inner = statement if isinstance(statement, Block) else statement.body
            if workers_meet(inner):
                yield from _wrong_places(inner, launch)
        elif isinstance(statement, Declaration):
            simple = all(
                declarator.object.rank == 0 and not isinstance(declarator.initializer, tuple)
                for declarator in statement.declarators
            )
            if meets and not simple:
                yield f"launch {launch.name} declares an array between barriers of a uniform nest"
        elif workers_meet(statement):
            yield f"a barrier or stage of launch {launch.name} stands under a condition"


def _wrong_arrays(plan: KernelPlan, launch: Launch, nest: TileNest) -> Iterator[str]:
    functions = plan.kernel.functions
    written = {use.object for use in uses(nest, functions) if use.writes}
    held = {argument.object for argument in plan.arrays}
    stages = list(_stages(nest.body, ()))
    objects = list(dict.fromkeys(array.object for _, _, stage, _ in stages for array in stage.arrays))
    served = [(array.object, text) for _, _, stage, _ in stages for array in stage.arrays for text in array.reads]
    for object_, text in dict.fromkeys(access for access in served if served.count(access) > 1):
        yield f"'{object_.host}{text}' is read in two array tiles of launch {launch.name}"
    uniform = {loop.loop.iterator for loop in nest.loops if all(tile.axis is None for tile in loop.tiles)}
    uniform |= (
        set(plan.scalars) - written - set(launch.privates) | set(launch.values) | {size.object for size in plan.sizes}
    )
    if not plan.apart:
        yield f"launch {launch.name} stages arrays that another name may write"
    for object_ in objects:
        name = object_.host
        if object_ in written or object_ not in held or object_.volatile or object_.scope is Scope.LOCAL:
            yield f"'{name}' is staged, but launch {launch.name} does not only read it"
        if not isinstance(object_.element, ScalarType) or object_.storage is Storage.SCALAR:
            yield f"'{name}' is staged, but is no array of numbers"
    for block, place, stage, around in stages:
        for staged in stage.arrays:
            yield from _wrong_uses(nest, block, place, staged)
            yield from _wrong_sides(nest, staged, uniform | set(around), block.statements[place + 1 :])
        if stage.ahead:
            yield from _wrong_order(launch, nest, block, place, uniform | set(around[:-1]))


def _wrong_order(launch: Launch, nest: TileNest, block: Block, place: int, uniform: set[DataObject]) -> Iterator[str]:
    """A stage may copy an iteration ahead where the loop's bounds are the same for all workers, and
    its body is the stage, a barrier, work without barriers or stages, and a barrier.
    """
    name = f"launch {launch.name} copies ahead"
    loop = next((node for node in walk(nest.body) if isinstance(node, Loop) and node.body is block), None)
    if loop is None:
        yield f"{name} of something that is no loop"
        return
    read = {node.object for bound in (loop.lower, loop.upper) for node in walk(bound) if isinstance(node, Access)}
    step = polynomial(loop.step).constant
    if loop.decreasing or loop.comparison != "<" or not loop.declares_iterator or step is None or not read <= uniform:
        yield f"{name} in a loop over '{loop.iterator.name}' that workers may see otherwise"
    *initial, last = block.statements
    middle = initial[place + 2 :]
    meets = any(workers_meet(statement) for statement in middle)
    if place != 0 or len(initial) < 2 or not isinstance(initial[1], Barrier) or not isinstance(last, Barrier) or meets:
        yield f"{name} where more is done than to compute between two barriers"
    if any(use.object == loop.iterator and use.writes for statement in middle for use in uses(statement, ())):
        yield f"{name}, and the iterator '{loop.iterator.name}' changes meanwhile"


def _stages(block: Block, around: tuple[DataObject, ...]) -> Iterator[tuple[Block, int, Stage, tuple[DataObject, ...]]]:
    """Every stage with its block, its place there and the iterators of the loops around it."""
    for place, statement in enumerate(block.statements):
        if isinstance(statement, Stage):
            yield block, place, statement, around
        elif isinstance(statement, (Block, PackedPanels)):
            yield from _stages(statement if isinstance(statement, Block) else statement.body, around)
        elif isinstance(statement, Loop):
            yield from _stages(statement.body, (*around, statement.iterator))


def _wrong_uses(nest: TileNest, block: Block, place: int, staged: Staged) -> Iterator[str]:
    """The accesses to an array tile follow its stage in the block, between two barriers."""
    name, object_ = staged.object.host, staged.object
    using = [index for index, statement in enumerate(block.statements) if _accesses(statement, staged)]
    barriers = [index for index, statement in enumerate(block.statements) if isinstance(statement, Barrier)]
    inside = sum(len(_accesses(statement, staged)) for statement in block.statements)
    if inside != len(_accesses(nest.body, staged)) or any(index < place for index in using):
        yield f"'{name}' is read before it is staged, or elsewhere"
        return
    if any(len(access.subscripts) != object_.rank for access in _accesses(nest.body, staged)):
        yield f"'{name}' is staged, and handed on as a whole"
    if not using:
        yield f"'{name}' is staged and never read"
        return
    if not any(place < index < using[0] for index in barriers):
        yield f"no barrier stands between the copy of '{name}' and its first use"
    if not any(index > using[-1] for index in barriers):
        yield f"no barrier stands between the last use of '{name}' and its next copy"


def _accesses(node: Any, staged: Staged) -> list[Access]:
    """The accesses to the array tile."""
    accesses = (node for node in walk(node) if isinstance(node, Access) and node.object == staged.object)
    return [access for access in accesses if subscripts_text(access.subscripts) in staged.reads]


def _wrong_sides(nest: TileNest, staged: Staged, uniform: set[DataObject], rest: tuple[Any, ...]) -> Iterator[str]:
    """Array tiles begin at the same place for all workers, and fit their iterators' ranges."""
    name = staged.object.host
    for left_out in (staged.before, staged.after):
        if left_out and (staged.object.rows_in is None or len(left_out) != len(staged.sides) or min(left_out) < 0):
            yield f"the array tile of '{name}' leaves elements out of which it has none"
    if len(staged.sides) != staged.object.rank:
        yield f"the array tile of '{name}' has {len(staged.sides)} sides"
    mapped = {tiled.loop.iterator: tiled for tiled in nest.loops if any(tile.axis is not None for tile in tiled.tiles)}
    loops = {loop.iterator: loop for loop in rest if isinstance(loop, Loop)}
    for side in staged.sides:
        strange = {node.object for node in walk(side.least) if isinstance(node, Access)} - uniform
        for object_ in sorted(object_.name for object_ in strange):
            yield f"the array tile of '{name}' begins at '{object_}', which is not the same for all workers"
        if side.width < 0:
            yield f"the array tile of '{name}' has a side without elements"
        for term in side.terms:
            tiled, loop = mapped.get(term.iterator), loops.get(term.iterator)
            if tiled is None and loop is not None and not _is_same_for_all(loop, uniform):
                yield f"the loop over '{term.iterator.name}' behind the copy of '{name}' differs between workers"
            if tiled is None and (loop is None or not isinstance(term.extent, int)):
                yield f"'{term.iterator.name}' is no iterator of the tile of the array tile of '{name}'"
            if tiled is not None and (term.extent, term.points) != (_extent(tiled), tiled.points):
                yield f"the array tile of '{name}' has another extent along '{term.iterator.name}' than the gang's tile"


def _is_same_for_all(loop: Loop, uniform: set[DataObject]) -> bool:
    read = {node.object for bound in (loop.lower, loop.upper) for node in walk(bound) if isinstance(node, Access)}
    counts_up = polynomial(loop.step).constant == 1 and not loop.decreasing and loop.comparison == "<"
    return counts_up and read <= uniform


def _extent(tiled: TiledLoop) -> object:
    """The extent of a gang's tile for each point of a worker: the worker axis, else 1."""
    return next((tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER), 1)
