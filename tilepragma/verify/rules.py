"""Independent checks of a finished KernelPlan: named rules that only planner bugs break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from tilepragma.arguments.constant_memory import is_constant, table_bytes, wrong_constant_uses
from tilepragma.arguments.sections import whole_section
from tilepragma.ir.accesses import Use, leaves_early, uses, written_in
from tilepragma.ir.directives import Live, TileKind
from tilepragma.ir.expressions import TABLE_BYTES, Access, DataObject, IntegerLiteral, Scope, Storage
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    Declaration,
    ExpressionStatement,
    Loop,
    PackedPanels,
    Return,
    Stage,
    Staged,
    TiledLoop,
    TileNest,
    asks_for_layers,
)
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import changed_in, children, loops_in, nests_in, says_independent, walk, workers_meet
from tilepragma.ir.types import ScalarType
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.dispatch_table import wrong_choices
from tilepragma.plan.kernel_plan import Division, HostLoop, KernelPlan, Launch, Step, forms
from tilepragma.poly.scop import Scop
from tilepragma.verify.barriers import uneven_barriers
from tilepragma.verify.certificate import Proof
from tilepragma.verify.proofs import is_automatic, proof_of

_DISTRIBUTED = (TileKind.THREAD, TileKind.GANG, TileKind.WORKER)
_MOST_TILES = 16

Rule = Callable[[KernelPlan], Iterator[str]]

#: The tile kinds of a uniform nest's loop after its rounds.
_MAPPED: tuple[list[TileKind], ...] = (
    [],
    [TileKind.GANG],
    [TileKind.GANG, TileKind.WORKER],
    [TileKind.GANG, TileKind.STATIC, TileKind.WORKER],
)


class PlanFault(Exception):  # noqa: N818  (a fault of the planner, which the cli reports as such)
    """A plan breaks a rule; the message names rule, kernel and place."""


def verify(plan: KernelPlan, proof: Proof | None = None, scop: Scop | None = None) -> Proof:
    """The plan's proof, for emission. Raises PlanFault if it breaks any rule of RULES, or the proof
    against its region fails.

    What the planner decided must be proven right; the user's decisions must not be proven wrong. A
    planner that has proven the plan passes its `proof`; the proof of another plan is ignored. It
    passes the `scop` of the region's statements, if already extracted.
    """
    verify_rules(plan)
    checked = (None if proof is None else proof.for_plan(plan)) or proof_of(plan, scop)
    for fault in checked.faults:
        if fault.certain or is_automatic(plan):
            raise PlanFault(f"plan of kernel '{plan.kernel.name}': {fault.rule}: {fault.message}")
    return checked


def verify_rules(plan: KernelPlan) -> None:
    """Raise PlanFault if `plan` breaks any rule of RULES, which need no polyhedral proof."""
    for name, rule in RULES:
        for complaint in rule(plan):
            raise PlanFault(f"plan of kernel '{plan.kernel.name}': {name}: {complaint}")


def _launches(plan: KernelPlan) -> tuple[Launch, ...]:
    return (*plan.host, *plan.device)


def _forms(plan: KernelPlan) -> tuple[Launch, ...]:
    return tuple(form for launch in _launches(plan) for form in forms(launch))


def _each_launch(rule: Callable[[KernelPlan, Launch], Iterator[str]]) -> Rule:
    return lambda plan: (complaint for launch in _launches(plan) for complaint in rule(plan, launch))


def _each_form(rule: Callable[[KernelPlan, Launch], Iterator[str]]) -> Rule:
    return lambda plan: (complaint for form in _forms(plan) for complaint in rule(plan, form))


def _each_nest(rule: Callable[[TileNest], Iterator[str]]) -> Rule:
    return _each_launch(lambda _, launch: (complaint for nest in nests_in(launch.body) for complaint in rule(nest)))


def _tiles_complete(nest: TileNest) -> Iterator[str]:
    for tiled in nest.loops:
        name = tiled.symbol
        if not 1 <= len(tiled.tiles) <= _MOST_TILES:
            yield f"loop {name} has {len(tiled.tiles)} tiles"
        if [tile.position for tile in tiled.tiles] != list(range(len(tiled.tiles))):
            yield f"the tiles of loop {name} are not numbered in declaration order"
        if any(tile.loop != tiled.loop.index for tile in tiled.tiles):
            yield f"a tile of loop {name} belongs to another loop"
        if sum(tile.kind is TileKind.DYNAMIC for tile in tiled.tiles) > 1:
            yield f"loop {name} has two dynamic tiles"


def _tiles_kinds(nest: TileNest) -> Iterator[str]:
    for tile in nest.order:
        axis = tile.axis
        if (axis is not None) != (tile.kind in _DISTRIBUTED) or (axis and axis.kind.value != tile.kind.value):
            yield f"a {tile.kind.value} tile has the axis {axis}"
        if tile.kind in (TileKind.STATIC, TileKind.SIZE) and tile.argument is None:
            yield f"a {tile.kind.value} tile lacks its argument"


def _order_is_permutation(_: KernelPlan, launch: Launch) -> Iterator[str]:
    for nest in nests_in(launch.body):
        declared = Counter(tile for tiled in nest.loops for tile in tiled.tiles)
        if Counter(nest.order) != declared or max(declared.values()) > 1:
            yield f"the order of the nest over {nest.loops[0].symbol} is no permutation of its tiles"


def _inner_bounds_known(nest: TileNest) -> Iterator[str]:
    """Tiles whose bounds depend on an iterator of the nest stand inside its point loop."""
    for place, tiled in enumerate(nest.loops):
        read = _read_in_bounds(tiled)
        for outer in nest.loops[:place]:
            if outer.loop.iterator in read and not _inside(nest, tiled, outer):
                yield f"a tile of {tiled.symbol} stands outside {outer.symbol}, on which its bounds depend"
            if outer.loop.iterator in read and tiled.launch_bounds:
                yield f"the bounds of {tiled.symbol} are not known at launch"


def _inside(nest: TileNest, inner: TiledLoop, outer: TiledLoop) -> bool:
    """Whether all undistributed tiles of `inner` come after those of `outer`."""
    ordered = [(place, tile) for place, tile in enumerate(nest.order) if tile.axis is None]
    last = max((place for place, tile in ordered if tile in outer.tiles), default=-1)
    return all(place > last for place, tile in ordered if tile in inner.tiles)


def _read_in_bounds(tiled: TiledLoop) -> set[DataObject]:
    loop = tiled.loop
    return {use.object for bound in loop.bounds for use in uses(bound)}


def _launch_bounds_hold(plan: KernelPlan) -> Iterator[str]:
    written = _written(plan)
    sizes = {size.object for size in plan.sizes}
    for launch, around in (*_with_iterators(plan.host_steps), *_with_iterators(plan.device_steps)):
        for tiled in launch.loops:
            for object_ in _read_in_bounds(tiled) - sizes - around:
                if object_.scope is Scope.LOCAL or object_.lengths or object_ in written:
                    yield f"the bounds of {tiled.symbol} read '{object_.name}', which the launch does not know"


def _values_complete(plan: KernelPlan) -> Iterator[str]:
    for launch, around in (*_with_iterators(plan.host_steps), *_with_iterators(plan.device_steps)):
        read = {use.object for form in forms(launch) for use in _body_uses(plan, form)}
        for missing in sorted(object_.name for object_ in (read & around) - set(launch.values)):
            yield f"launch {launch.name} reads '{missing}' of a loop around it, which is no value of it"
        for strange in sorted(object_.name for object_ in set(launch.values) - around):
            yield f"launch {launch.name} has the value '{strange}', but no loop around it counts with that"


def _with_iterators(
    steps: tuple[Step, ...], around: frozenset[DataObject] = frozenset()
) -> Iterator[tuple[Launch, frozenset[DataObject]]]:
    """Every launch with the iterators of the host loops around it."""
    for step in steps:
        if isinstance(step, Launch):
            yield step, around
        else:
            iterators = {step.loop.iterator} if isinstance(step, HostLoop) else set()
            yield from _with_iterators(step.steps, around | iterators)


def _loops_listed(_: KernelPlan, launch: Launch) -> Iterator[str]:
    if tuple(t for nest in nests_in(launch.body) for t in nest.loops if t.launch_bounds) != launch.loops:
        yield f"launch {launch.name} lists other loops than its body has"


def _axes_listed(_: KernelPlan, launch: Launch) -> Iterator[str]:
    used = [tile.axis for nest in nests_in(launch.body) for tile in nest.order if tile.axis is not None]
    if set(used) != set(launch.axes) or len(set(launch.axes)) != len(launch.axes):
        yield f"launch {launch.name} lists other axes than its body uses"
    if any(not 0 <= axis.dimension <= 2 for axis in used):
        yield f"launch {launch.name} uses a dimension beyond 2"


def _axes_once(_: KernelPlan, launch: Launch) -> Iterator[str]:
    def visit(node: Any, path: tuple[Axis, ...]) -> Iterator[str]:
        if isinstance(node, TileNest):
            path = (*path, *(tile.axis for tile in node.order if tile.axis is not None))
            if len(set(path)) != len(path):
                yield f"an axis is used twice on the way into the nest over {node.loops[0].symbol}"
        for child in children(node):
            yield from visit(child, path)

    return visit(launch.body, ())


def _statements_covered(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    def visit(node: Any, path: frozenset[Axis]) -> Iterator[str]:
        if isinstance(node, TileNest):
            path = path | {tile.axis for tile in node.order if tile.axis is not None}
        if isinstance(node, ExpressionStatement) and path != frozenset(launch.axes):
            for use in uses(node, plan.kernel.functions):
                if use.writes and use.object.scope is not Scope.LOCAL and use.object not in launch.privates:
                    yield f"'{use.object.name}' is written outside an axis of launch {launch.name}"
            return
        for child in children(node):
            yield from visit(child, path)

    return visit(launch.body, frozenset())


def _objects_accounted(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    iterators = {tiled.loop.iterator for nest in nests_in(launch.body) for tiled in nest.loops}
    iterators |= {loop.iterator for loop in loops_in(launch.body) if loop.declares_iterator}
    accessible = {argument.object for argument in plan.arrays} | set(plan.scalars) | set(launch.privates) | iterators
    accessible |= {name for scratchpad in launch.scratchpads for name in scratchpad.names} | set(plan.constants)
    for use in (use for use in _body_uses(plan, launch) if use.object.scope is not Scope.LOCAL):
        if use.object not in accessible:
            yield f"'{use.object.name}' is used in launch {launch.name} but is no argument of it"
        elif use.writes and use.object in plan.scalars and use.object not in launch.privates:
            yield f"'{use.object.name}' is written in launch {launch.name} but is passed by value"


def _body_uses(plan: KernelPlan, launch: Launch) -> Iterator[Use]:
    return uses(launch.body, plan.kernel.functions, launch=True)


def _written(plan: KernelPlan) -> set[DataObject]:
    return {use.object for launch in _launches(plan) for use in uses(launch.body, plan.kernel.functions) if use.writes}


def _arguments_consistent(plan: KernelPlan) -> Iterator[str]:
    written = _written(plan)
    objects = [argument.object for argument in plan.arrays]
    if len(set(objects)) != len(objects) or set(objects) & set(plan.scalars):
        yield "an object is passed twice"
    for argument in plan.arrays:
        name = argument.object.name
        is_apart = not argument.writes or says_independent(plan.kernel.directive, plan.kernel.body)
        may_lack = plan.untransformed is not None or (argument.is_gathered and is_apart)
        if len(argument.section) != argument.object.stored.rank and (argument.section or not may_lack):
            yield f"the section of '{name}' has {len(argument.section)} dimensions"
        if argument.object.scope is Scope.TEMPORARY and argument.section != whole_section(argument.object):
            yield f"'{name}' is the plan's own, but its section is not the whole of it"
        if argument.object in written and argument.object.storage is not Storage.SCALAR and not argument.writes:
            yield f"'{name}' is written but not marked so"
        if argument.copy_out and not argument.writes:
            yield f"'{name}' is copied out but never written"
        if argument.present and (argument.copy_in or argument.copy_out):
            yield f"'{name}' must be present and is copied"


def _constants_sound(plan: KernelPlan) -> Iterator[str]:
    """Constant tables are known, never change, fit constant memory and are read alike."""
    arguments = {argument.object for argument in plan.arrays}
    for table in plan.constants:
        if table in arguments or not is_constant(table):
            yield f"'{table.host}' is no table whose elements are known"
        yield from wrong_constant_uses(plan, table)
    room = sum(map(table_bytes, filter(is_constant, plan.constants)))
    if room > TABLE_BYTES or len(set(plan.constants)) != len(plan.constants):
        yield f"the tables of the program take {room} bytes"


def _results_go_back(plan: KernelPlan) -> Iterator[str]:
    """Written arrays are copied out, unless the user says no or they are dead afterwards."""
    unwanted = set(plan.kernel.dead_arrays)
    for clause in plan.kernel.directive.data:
        if clause.live in (Live.IN, Live.NOT):
            unwanted |= {"".join(section.path.split()) for section in clause.sections}
    for argument in plan.arrays:
        object_ = argument.object
        names = {object_.name, "".join(object_.host.split())}
        stays = argument.writes and not argument.copy_out and not argument.present
        if stays and object_.scope not in (Scope.REGION, Scope.TEMPORARY) and not names & unwanted:
            yield f"'{object_.name}' is written and may be read after the kernel, but is not copied out"


def _reductions_by_address(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    by_address = {argument.object for argument in plan.arrays}
    for reduction in launch.reductions:
        if reduction.object not in by_address:
            yield f"'{reduction.object.name}' is reduced but not reached by address"
        if reduction.object in launch.privates:
            yield f"'{reduction.object.name}' is both reduced and private"
    if not set(launch.first_privates) <= set(launch.privates):
        yield f"launch {launch.name} has a firstprivate object that is not private"


def _symbols_unique(plan: KernelPlan) -> Iterator[str]:
    for launches in (plan.host, plan.device):
        symbols = Counter(t.symbol for launch in launches for nest in nests_in(launch.body) for t in nest.loops)
        for symbol, count in symbols.items():
            if count > 1:
                yield f"two loops have the symbol {symbol}"
            if not symbol.isidentifier():
                yield f"the symbol {symbol!r} is no identifier"


def _no_plain_tiles(_: KernelPlan, launch: Launch) -> Iterator[str]:
    for loop in loops_in(launch.body):
        if loop.directive is not None and loop.directive.tiles:
            yield f"the tiles of a loop over '{loop.iterator.name}' were dropped"


def _targets_sound(plan: KernelPlan) -> Iterator[str]:
    if any(target.is_open for target in plan.targets):
        yield "auto is listed as a target"
    if not plan.preferred.is_open and plan.preferred not in plan.targets:
        yield f"the preferred target {plan.preferred.value} is not allowed"
    if plan.untransformed is None and not (plan.host and plan.device):
        yield "there are launches for one kind of target only"
    if plan.untransformed is not None and _launches(plan):
        yield "a region that runs as written has launches"
    for launches in (plan.host, plan.device):
        names = Counter(launch.name for launch in launches)
        if any(count > 1 for count in names.values()):
            yield "two launches have one name"


# -- stages, as far as no polyhedral proof is needed (`verify/array_tiles.py` has that)


def _stages_sound(plan: KernelPlan) -> Iterator[str]:
    """A launch must not write what it stages; all uses of a copy follow its stage, between two
    barriers; and all workers of a gang reach each stage with the same array tile.
    """
    for launch in plan.host:
        if launch.staged is not None and launch not in plan.device:
            yield f"launch {launch.name} of the host stages arrays"
    for launch in plan.device:
        yield from _wrong_stages(plan, launch)


def _wrong_stages(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    if any(isinstance(node, Stage) or (isinstance(node, TileNest) and node.uniform) for node in walk(launch.body)):
        yield f"launch {launch.name} has stages outside its staged form"
    if launch.staged is None:
        return
    parts = launch.staged.statements
    if launch.staged_scratchpads:
        yield from _wrong_staged_scratchpads(plan, launch)
        return
    if len(parts) != 1 or not isinstance(parts[0], TileNest) or not parts[0].uniform:
        yield f"the staged form of launch {launch.name} is not one uniform nest"
        return
    yield from _wrong_nest(launch, parts[0])
    yield from _wrong_places(parts[0].body, launch)
    yield from _wrong_arrays(plan, launch, parts[0])


def _wrong_staged_scratchpads(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    """A staged form in scratchpads has the launch's gang loops, and private scratchpads."""
    bodies = (body.statements for body in (launch.body, launch.staged) if body is not None)
    plain, staged = (statements[0] if len(statements) == 1 else None for statements in bodies)
    if (
        not isinstance(plain, TileNest)
        or not isinstance(staged, TileNest)
        or (plain.loops, plain.order) != (staged.loops, staged.order)
    ):
        yield f"the staged form of launch {launch.name} maps its tiles otherwise"
        return
    for tiled in (loop for nest in nests_in(staged.body) for loop in nest.loops):
        if tiled.launch_bounds and tiled not in launch.loops:
            yield f"loop {tiled.symbol} of the staged form is none of the launch"
        if any(tile.axis is not None and tile.axis not in launch.axes for tile in tiled.tiles):
            yield f"loop {tiled.symbol} of the staged form has workers that the launch has not"
    yield from _wrong_scratchpads(plan, forms(launch)[1], f"the staged form of launch {launch.name}")
    for scratchpad in launch.staged_scratchpads:
        if scratchpad.column is not None or None in scratchpad.origin:
            yield f"the scratchpad '{scratchpad.object.name}' is no array of numbers in shared memory"


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
    changed = changed_in(nest.body)
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
    written = written_in(nest, plan.kernel.functions)
    held = {argument.object for argument in plan.arrays}
    stages = list(_stages(nest.body, ()))
    objects = list(dict.fromkeys(array.object for _, _, stage, _ in stages for array in stage.arrays))
    served = [(array.object, text) for _, _, stage, _ in stages for array in stage.arrays for text in array.reads]
    for object_, text in dict.fromkeys(access for access in served if served.count(access) > 1):
        yield f"'{object_.host}{text}' is read in two array tiles of launch {launch.name}"
    uniform = {loop.loop.iterator for loop in nest.loops if all(tile.axis is None for tile in loop.tiles)}
    uniform |= set(plan.scalars) - written - set(launch.privates)
    uniform |= set(launch.values) | {size.object for size in plan.sizes}
    if not plan.assumes_disjoint:
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
    step = polynomial(loop.step).constant
    if not loop.declares_iterator or step is None or not _is_same_for_all(loop, uniform):
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
    mapped = {tiled.loop.iterator: tiled for tiled in nest.loops if tiled.is_distributed}
    loops = {loop.iterator: loop for loop in rest if isinstance(loop, Loop)}
    for side in staged.sides:
        strange = {node.object for node in walk(side.least) if isinstance(node, Access)} - uniform
        for object_ in sorted(object_.name for object_ in strange):
            yield f"the array tile of '{name}' begins at '{object_}', which is not the same for all workers"
        if side.width < 0:
            yield f"the array tile of '{name}' has a side without elements"
        for term in side.terms:
            tiled, loop = mapped.get(term.iterator), loops.get(term.iterator)
            counts = loop is not None and polynomial(loop.step).constant == 1 and _is_same_for_all(loop, uniform)
            if tiled is None and loop is not None and not counts:
                yield f"the loop over '{term.iterator.name}' behind the copy of '{name}' differs between workers"
            if tiled is None and (loop is None or not isinstance(term.extent, int)):
                yield f"'{term.iterator.name}' is no iterator of the tile of the array tile of '{name}'"
            if tiled is not None and (term.extent, term.points) != (_extent(tiled), tiled.points):
                yield f"the array tile of '{name}' has another extent along '{term.iterator.name}' than the gang's tile"


def _is_same_for_all(loop: Loop, uniform: set[DataObject]) -> bool:
    read = {node.object for bound in (loop.lower, loop.upper) for node in walk(bound) if isinstance(node, Access)}
    return not loop.decreasing and loop.comparison == "<" and read <= uniform


def _extent(tiled: TiledLoop) -> object:
    """The extent of a gang's tile for each point of a worker: the worker axis, else 1."""
    return next((tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER), 1)


# -- scratchpads


def _scratchpads_sound(plan: KernelPlan) -> Iterator[str]:
    """Scratchpads are in shared memory, one for each gang, and fit it."""
    for launch in plan.host:
        if launch.scratchpads:
            yield f"launch {launch.name} of the host has scratchpads"
    for launch in plan.device:
        yield from _wrong_scratchpads(plan, launch, f"launch {launch.name}")
        yield from _columns_sound(launch)
        room = 0
        for scratchpad in launch.scratchpads:
            lengths = [length.value for length in scratchpad.object.lengths if isinstance(length, IntegerLiteral)]
            if len(lengths) != scratchpad.array.rank:
                yield f"the scratchpad '{scratchpad.object.name}' has not the dimensions of its array"
            room += prod(lengths) * element_bytes(scratchpad.object)
        if room > plan.kernel.directive.local_bytes:
            yield f"the scratchpads of launch {launch.name} take {room} bytes"


def _wrong_scratchpads(plan: KernelPlan, launch: Launch, who: str) -> Iterator[str]:
    objects = [name for scratchpad in launch.scratchpads for name in scratchpad.names]
    used = {use.object for use in _body_uses(plan, launch) if use.object.scope is Scope.GANG}
    if len(set(objects)) != len(objects) or used - set(objects):
        yield f"{who} uses shared memory that is not one scratchpad's"
    for scratchpad in launch.scratchpads:
        name, object_ = scratchpad.object.name, scratchpad.object
        if object_.scope is not Scope.GANG or not isinstance(object_.element, ScalarType):
            yield f"the scratchpad '{name}' is no array of numbers in shared memory"
        if not len(object_.lengths) == len(scratchpad.origin) == scratchpad.array.rank:
            yield f"the scratchpad '{name}' has not the dimensions of its array"


def _columns_sound(launch: Launch) -> Iterator[str]:
    """A register queue moves on by one plane with each round of one loop."""
    for scratchpad in launch.scratchpads:
        column = scratchpad.column
        if column is None:
            continue
        loops = [loop for loop in loops_in(launch.body) if loop.iterator == column.position]
        counts = [loop for loop in loops if polynomial(loop.step).constant == 1 and not loop.decreasing]
        if len(loops) != 1 or len(counts) != 1 or scratchpad.origin[0] is not None:
            yield f"'{column.position.name}' is no position in the planes of '{scratchpad.object.name}'"


# -- partitions over several devices


def wrong_divisions(plan: KernelPlan) -> Iterator[str]:
    """A sentence for every fault of `plan.divisions`."""
    if plan.divisions and len(plan.divisions) != len(plan.device):
        yield f"there are {len(plan.divisions)} divisions of {len(plan.device)} launches"
        return
    for launch, division in zip(plan.device, plan.divisions, strict=bool(plan.divisions)):
        yield from _wrong_division(plan, launch, division)


def _wrong_division(plan: KernelPlan, launch: Launch, division: Division) -> Iterator[str]:
    if division.loop is not None and division.loop not in launch.loops:
        yield f"launch {launch.name} is divided along a loop that is not its own"
    if launch.reductions or (launch.scratchpads and not asks_for_layers(plan.kernel)):
        yield f"launch {launch.name} is divided, and its parts cannot be put together"
    arrays = {argument.object for argument in plan.arrays}
    for use in uses(launch.body, plan.kernel.functions, launch=True):
        row_uses = [row_use for row_use in division.uses if row_use.object == use.object]
        reads, writes = any(row_use.reads for row_use in row_uses), any(row_use.writes for row_use in row_uses)
        if use.object in arrays and not (reads >= use.reads and writes >= use.writes):
            yield f"the division of launch {launch.name} leaves out what it does to '{use.object.host}'"
    for written in (use for use in division.uses if use.writes):
        name = written.object.host
        if written.object.storage is Storage.ROWS or written.least is None or written.greatest is None:
            yield f"launch {launch.name} may write any row of '{name}' on several devices"
        elif division.loop is not None:
            apart = abs(written.scale * (polynomial(division.loop.loop.step).constant or 0))
            if written.greatest - written.least >= apart:
                yield f"two iterations of launch {launch.name} may write one row of '{name}'"


RULES: tuple[tuple[str, Rule], ...] = (
    ("tiles are complete and unique", _each_nest(_tiles_complete)),
    ("devices share launches row by row", wrong_divisions),
    ("kinds, axes and arguments agree", _each_nest(_tiles_kinds)),
    ("the order is a permutation", _each_form(_order_is_permutation)),
    ("bounds are known where tiles stand", _each_nest(_inner_bounds_known)),
    ("launch bounds are known at launch", _launch_bounds_hold),
    ("launches have the values of loops around them", _values_complete),
    ("launches list their loops", _each_launch(_loops_listed)),
    ("launches list their axes", _each_launch(_axes_listed)),
    ("an axis is used once", _each_launch(_axes_once)),
    ("statements lie under every axis", _each_form(_statements_covered)),
    ("every object is accounted for", _each_form(_objects_accounted)),
    ("arguments are consistent", _arguments_consistent),
    ("constants are sound", _constants_sound),
    ("results go back", _results_go_back),
    ("reductions are reached by address", _each_launch(_reductions_by_address)),
    ("barriers are uniform", _each_form(lambda plan, form: uneven_barriers(form, plan.kernel.functions))),
    ("stages are sound", _stages_sound),
    ("scratchpads are sound", _scratchpads_sound),
    ("symbols are unique", _symbols_unique),
    ("no tile is dropped", _each_launch(_no_plain_tiles)),
    ("targets and launches are sound", _targets_sound),
    ("choices of tile sizes are sound", wrong_choices),
)
