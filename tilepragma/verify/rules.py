"""Independent checks of a finished KernelPlan: named rules that only planner bugs break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import InitVar
from math import prod
from typing import Any

from tilepragma.arguments.constant_memory import is_constant, table_bytes, wrong_constant_uses
from tilepragma.arguments.sections import whole_section
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.directives import Live, TileKind
from tilepragma.ir.expressions import TABLE_BYTES, DataObject, IntegerLiteral, Scope, Storage
from tilepragma.ir.loop_tree import Axis, ExpressionStatement, TiledLoop, TileNest
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import children, loops_in, walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.dispatch_table import wrong_choices
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step, forms
from tilepragma.verify.barriers import uneven_barriers
from tilepragma.verify.partitions import wrong_divisions
from tilepragma.verify.proofs import Proof, is_automatic, proof_of
from tilepragma.verify.stages import wrong_stages

_DISTRIBUTED = (TileKind.THREAD, TileKind.GANG, TileKind.WORKER)
_MOST_TILES = 16


class PlanFault(Exception):  # noqa: N818  (a fault of the planner, which the cli reports as such)
    """A plan breaks a rule; the message names rule, kernel and place."""


_SEAL = object()


@dataclass(frozen=True)
class Proven:
    """A plan that `verify` accepted, which alone creates these: what may be emitted."""

    plan: KernelPlan
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("a plan is proven by the verifier")


def verify(plan: KernelPlan, proof: Proof | None = None) -> Proven:
    """The plan, for emission. Raises PlanFault if it breaks any rule of RULES, or the proof against
    its region fails.

    What the planner decided must be proven right; the user's decisions must not be proven wrong. A
    planner that has proven the plan passes its `proof`; the proof of another plan is ignored.
    """
    verify_rules(plan)
    checked = proof if proof is not None and proof.is_of(plan) else proof_of(plan)
    for fault in checked.faults:
        if fault.certain or is_automatic(plan):
            raise PlanFault(f"plan of kernel '{plan.kernel.name}': {fault.rule}: {fault.message}")
    return Proven(plan, _SEAL)


def verify_rules(plan: KernelPlan) -> None:
    """Raise PlanFault if `plan` breaks any rule of RULES, which need no polyhedral proof."""
    for name, rule in RULES:
        for complaint in rule(plan):
            raise PlanFault(f"plan of kernel '{plan.kernel.name}': {name}: {complaint}")


def _launches(plan: KernelPlan) -> tuple[Launch, ...]:
    return (*plan.host, *plan.device)


def _forms(plan: KernelPlan) -> tuple[Launch, ...]:
    return tuple(form for launch in _launches(plan) for form in forms(launch))


@once
def _nests(launch: Launch) -> tuple[TileNest, ...]:
    return tuple(node for node in walk(launch.body) if isinstance(node, TileNest))


def _tiles_complete(plan: KernelPlan) -> Iterator[str]:
    for launch in _launches(plan):
        for nest in _nests(launch):
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


def _tiles_kinds(plan: KernelPlan) -> Iterator[str]:
    for launch in _launches(plan):
        for nest in _nests(launch):
            for tile in nest.order:
                if (tile.axis is not None) != (tile.kind in _DISTRIBUTED):
                    yield f"a {tile.kind.value} tile has the axis {tile.axis}"
                if tile.axis is not None and tile.axis.kind.value != tile.kind.value:
                    yield f"a {tile.kind.value} tile has the axis {tile.axis}"
                if tile.kind in (TileKind.STATIC, TileKind.SIZE) and tile.argument is None:
                    yield f"a {tile.kind.value} tile lacks its argument"


def _order_is_permutation(plan: KernelPlan) -> Iterator[str]:
    for launch in _forms(plan):
        for nest in _nests(launch):
            declared = Counter(tile for tiled in nest.loops for tile in tiled.tiles)
            if Counter(nest.order) != declared or max(declared.values()) > 1:
                yield f"the order of the nest over {nest.loops[0].symbol} is no permutation of its tiles"


def _inner_bounds_known(plan: KernelPlan) -> Iterator[str]:
    """Tiles whose bounds depend on an iterator of the nest stand inside its point loop."""
    for launch in _launches(plan):
        for nest in _nests(launch):
            for place, tiled in enumerate(nest.loops):
                read = _read_in_bounds(tiled)
                for outer in nest.loops[:place]:
                    if outer.loop.iterator in read and not _inside(nest, tiled, outer):
                        yield f"a tile of {tiled.symbol} stands outside {outer.symbol}, on which its bounds depend"
                    if outer.loop.iterator in read and tiled.launch_bounds:
                        yield f"the bounds of {tiled.symbol} are not known at launch"


def _inside(nest: TileNest, inner: TiledLoop, outer: TiledLoop) -> bool:
    last = max((k for k, t in enumerate(nest.order) if t in outer.tiles and t.axis is None), default=-1)
    return all(k > last for k, t in enumerate(nest.order) if t in inner.tiles and t.axis is None)


def _read_in_bounds(tiled: TiledLoop) -> set[DataObject]:
    loop = tiled.loop
    return {use.object for bound in (loop.lower, loop.upper, loop.step) for use in uses(bound)}


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
            yield from _with_iterators(
                step.steps, around | ({step.loop.iterator} if isinstance(step, HostLoop) else set())
            )


def _loops_listed(plan: KernelPlan) -> Iterator[str]:
    for launch in _launches(plan):
        listed = tuple(t for nest in _nests(launch) for t in nest.loops if t.launch_bounds)
        if listed != launch.loops:
            yield f"launch {launch.name} lists other loops than its body has"


def _axes_listed(plan: KernelPlan) -> Iterator[str]:
    for launch in _launches(plan):
        used = [tile.axis for nest in _nests(launch) for tile in nest.order if tile.axis is not None]
        if set(used) != set(launch.axes) or len(set(launch.axes)) != len(launch.axes):
            yield f"launch {launch.name} lists other axes than its body uses"
        if any(not 0 <= axis.dimension <= 2 for axis in used):
            yield f"launch {launch.name} uses a dimension beyond 2"


def _axes_once(plan: KernelPlan) -> Iterator[str]:
    def visit(node: Any, path: tuple[Axis, ...]) -> Iterator[str]:
        if isinstance(node, TileNest):
            path = (*path, *(tile.axis for tile in node.order if tile.axis is not None))
            if len(set(path)) != len(path):
                yield f"an axis is used twice on the way into the nest over {node.loops[0].symbol}"
        for child in children(node):
            yield from visit(child, path)

    for launch in _launches(plan):
        yield from visit(launch.body, ())


def _statements_covered(plan: KernelPlan) -> Iterator[str]:
    def visit(node: Any, path: frozenset[Axis], launch: Launch) -> Iterator[str]:
        if isinstance(node, TileNest):
            path = path | {tile.axis for tile in node.order if tile.axis is not None}
        if isinstance(node, ExpressionStatement) and path != frozenset(launch.axes):
            for use in uses(node, plan.kernel.functions):
                if use.writes and use.object.scope is not Scope.LOCAL and use.object not in launch.privates:
                    yield f"'{use.object.name}' is written outside an axis of launch {launch.name}"
            return
        for child in children(node):
            yield from visit(child, path, launch)

    for launch in _forms(plan):
        yield from visit(launch.body, frozenset(), launch)


def _objects_accounted(plan: KernelPlan) -> Iterator[str]:
    by_address = {argument.object for argument in plan.arrays}
    for launch in _forms(plan):
        iterators = {tiled.loop.iterator for nest in _nests(launch) for tiled in nest.loops}
        iterators |= {loop.iterator for loop in loops_in(launch.body) if loop.declares_iterator}
        accessible = by_address | set(plan.scalars) | set(launch.privates) | iterators
        accessible |= {name for scratchpad in launch.scratchpads for name in scratchpad.names} | set(plan.constants)
        for use in _body_uses(plan, launch):
            if use.object.scope is Scope.LOCAL:
                continue
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
        may_lack = plan.as_written is not None or (argument.is_gathered and not argument.writes)
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
        if not argument.writes or argument.copy_out or argument.present:
            continue
        if object_.scope in (Scope.REGION, Scope.TEMPORARY):
            continue
        if not names & unwanted:
            yield f"'{object_.name}' is written and may be read after the kernel, but is not copied out"


def _reductions_by_address(plan: KernelPlan) -> Iterator[str]:
    by_address = {argument.object for argument in plan.arrays}
    for launch in _launches(plan):
        for reduction in launch.reductions:
            if reduction.object not in by_address:
                yield f"'{reduction.object.name}' is reduced but not reached by address"
            if reduction.object in launch.privates:
                yield f"'{reduction.object.name}' is both reduced and private"
        if not set(launch.first_privates) <= set(launch.privates):
            yield f"launch {launch.name} has a firstprivate object that is not private"


def _barriers_uniform(plan: KernelPlan) -> Iterator[str]:
    for launch in _forms(plan):
        yield from uneven_barriers(launch, plan.kernel.functions)


def _stages_sound(plan: KernelPlan) -> Iterator[str]:
    for launch in plan.host:
        if launch.staged is not None and launch not in plan.device:
            yield f"launch {launch.name} of the host stages arrays"
    for launch in plan.device:
        yield from wrong_stages(plan, launch)


def _scratchpads_sound(plan: KernelPlan) -> Iterator[str]:
    """Scratchpads are in shared memory, one for each gang, and fit it."""
    for launch in plan.host:
        if launch.scratchpads:
            yield f"launch {launch.name} of the host has scratchpads"
    for launch in plan.device:
        objects = [name for scratchpad in launch.scratchpads for name in scratchpad.names]
        used = {use.object for use in _body_uses(plan, launch) if use.object.scope is Scope.GANG}
        if len(set(objects)) != len(objects) or used - set(objects):
            yield f"launch {launch.name} uses shared memory that is not one scratchpad's"
        yield from _columns_sound(launch)
        room = 0
        for scratchpad in launch.scratchpads:
            name, object_ = scratchpad.object.name, scratchpad.object
            lengths = [length.value for length in object_.lengths if isinstance(length, IntegerLiteral)]
            if object_.scope is not Scope.GANG or not isinstance(object_.element, ScalarType):
                yield f"the scratchpad '{name}' is no array of numbers in shared memory"
            elif len(lengths) != scratchpad.array.rank or len(scratchpad.origin) != scratchpad.array.rank:
                yield f"the scratchpad '{name}' has not the dimensions of its array"
            else:
                room += prod(lengths) * object_.element.bits // 8
        if room > plan.kernel.directive.local_bytes:
            yield f"the scratchpads of launch {launch.name} take {room} bytes"


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


def _symbols_unique(plan: KernelPlan) -> Iterator[str]:
    for launches in (plan.host, plan.device):
        symbols = Counter(t.symbol for launch in launches for nest in _nests(launch) for t in nest.loops)
        for symbol, count in symbols.items():
            if count > 1:
                yield f"two loops have the symbol {symbol}"
            if not symbol.isidentifier():
                yield f"the symbol {symbol!r} is no identifier"


def _no_plain_tiles(plan: KernelPlan) -> Iterator[str]:
    for launch in _launches(plan):
        for loop in loops_in(launch.body):
            if loop.directive is not None and loop.directive.tiles:
                yield f"the tiles of a loop over '{loop.iterator.name}' were dropped"


def _targets_sound(plan: KernelPlan) -> Iterator[str]:
    if any(target.is_open for target in plan.targets):
        yield "auto is listed as a target"
    if not plan.preferred.is_open and plan.preferred not in plan.targets:
        yield f"the preferred target {plan.preferred.value} is not allowed"
    if plan.as_written is None and not (plan.host and plan.device):
        yield "there are launches for one kind of target only"
    if plan.as_written is not None and _launches(plan):
        yield "a region that runs as written has launches"
    for launches in (plan.host, plan.device):
        names = Counter(launch.name for launch in launches)
        if any(count > 1 for count in names.values()):
            yield "two launches have one name"


RULES: tuple[tuple[str, Callable[[KernelPlan], Iterator[str]]], ...] = (
    ("tiles are complete and unique", _tiles_complete),
    ("devices share launches row by row", wrong_divisions),
    ("kinds, axes and arguments agree", _tiles_kinds),
    ("the order is a permutation", _order_is_permutation),
    ("bounds are known where tiles stand", _inner_bounds_known),
    ("launch bounds are known at launch", _launch_bounds_hold),
    ("launches have the values of loops around them", _values_complete),
    ("launches list their loops", _loops_listed),
    ("launches list their axes", _axes_listed),
    ("an axis is used once", _axes_once),
    ("statements lie under every axis", _statements_covered),
    ("every object is accounted for", _objects_accounted),
    ("arguments are consistent", _arguments_consistent),
    ("constants are sound", _constants_sound),
    ("results go back", _results_go_back),
    ("reductions are reached by address", _reductions_by_address),
    ("barriers are uniform", _barriers_uniform),
    ("stages are sound", _stages_sound),
    ("scratchpads are sound", _scratchpads_sound),
    ("symbols are unique", _symbols_unique),
    ("no tile is dropped", _no_plain_tiles),
    ("targets and launches are sound", _targets_sound),
    ("choices of tile sizes are sound", wrong_choices),
)
