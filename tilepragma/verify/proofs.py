"""Plans proven against the polyhedral model of their region, for all values of its parameters at
given tile sizes.

    every instance once      { [plan instance] -> S[i] } of all leaves: a bijection onto S's domain
    panels hold their data   `verify/array_tiles.py`
    dependences forward      { S[i] -> T[j] } between plan instances (`verify/execution_order.py`)

Nothing here knows how plans are made. What cannot be expressed is a fault too: it is not proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import ClauseExpression, KernelDirective, LoopDirective, ReductionClause
from tilepragma.ir.expressions import AddressOf, Assignment, DataObject, Increment, Scope
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Barrier, Block, Declarator, If, Loop, Stage, Statement, TileNest
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.reductions import check_reduction, is_ordered
from tilepragma.ir.traversal import loop_directives, operators_by_clause, walk
from tilepragma.normalise.delinearisation import flattened
from tilepragma.normalise.ordered_zeros import signs_in
from tilepragma.plan.kernel_plan import (
    ArrayArgument,
    KernelPlan,
    LastValue,
    Launch,
    Reduction,
    Step,
    forms,
    launches_in,
    with_launches,
)
from tilepragma.poly.affine import Frame
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.extraction import scop_under
from tilepragma.poly.iterator_values import is_loop_end
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Scop
from tilepragma.verify.array_tiles import broken_buffers, wrong_boxes
from tilepragma.verify.barriers import uneven_barriers
from tilepragma.verify.bounds import unheld
from tilepragma.verify.certificate import Fault, NotProvenError, Proof
from tilepragma.verify.copied_reductions import copied_reduction_faults
from tilepragma.verify.execution_order import broken_dependences
from tilepragma.verify.instances import InstanceMap, Original, broken_scopes, missed_and_doubled
from tilepragma.verify.launch_tree_relation import HeldPanel, Leaf, leaves_and_panels
from tilepragma.verify.normalised_loops import unit_step_fault
from tilepragma.verify.overlapped_tiles import wrong_scratchpads
from tilepragma.verify.space_time_faults import wrong_schedules

#: Tile sizes at which plans are proven besides those in use; they differ, so that no symbol can
#: replace another unnoticed.
_ODD = ((1, 2, 3, 5, 7), (5, 3, 7, 2, 1))

#: A tile size that is clipped to what scratchpads hold.
_BEYOND = 1 << 20

#: Trees of steps with the tile sizes at which they are proven.
Runs = Iterable[tuple[tuple[Step, ...], dict[DataObject, int]]]


def proof_of(plan: KernelPlan, original: Original | Scop | None = None) -> Proof:
    """The plan with its faults."""
    return Proof(plan, prove(plan, original))


def prove(plan: KernelPlan, original: Original | Scop | None = None) -> tuple[Fault, ...]:
    """Why the plan is not proven right; a planner rejects its own plans with any fault.

    `original` is the region, or its Scop under its assumptions, where the planner knows it. A
    region that runs as written needs no proof. What the user vouches for counts as proven.
    """
    if plan.untransformed is not None:
        return ()
    faults = [*faults_of_text(plan)]
    try:
        original = original if isinstance(original, Original) else original_of(plan, original)
    except OperationLimitError as error:
        return (*faults, Fault("the proof ends", str(error), False))
    return (
        *faults,
        *_bounds(plan, original),
        *_in_steps(region_of(plan, original), (*_runs(plan), *_staged_runs(plan))),
    )


def prove_staged(plan: KernelPlan, original: Original, plain: KernelPlan) -> tuple[Fault, ...]:
    """Why the staged forms of a plan's launches are not proven right, or the launches where they
    differ from those of the `plain` plan, which is proven.
    """
    launches = with_launches(plan.device_steps, lambda launch: forms(launch)[0])
    again = () if launches == plain.device_steps else _at_sizes(plan, launches)
    staged = (form for launch in plan.device for form in forms(launch)[1:])
    in_order = _in_steps(region_of(plan, original), (*_staged_runs(plan), *again))
    return (*_faults_of_launches(plan, staged), *in_order)


def faults_of_part(
    plan: KernelPlan, nest: Statement, around: Loop | None, original: Original, trees: tuple[tuple[Step, ...], ...]
) -> Iterator[Fault]:
    """Why trees of steps are not proven to do what a nest of the region does, for any value of the
    iterator of the loop `around`.
    """
    yield from _bounds(plan, original)
    written = written_objects(plan.kernel) - (set() if around is None else {around.iterator})
    yield from _in_steps(_matched(plan, original, (nest,), written), ((tree, {}) for tree in trees))


# -- what does not depend on dependences


def faults_of_text(plan: KernelPlan) -> Iterator[Fault]:
    """The faults of a plan that do not depend on dependences."""
    yield from _faults_of_launches(plan, (form for launch in (*plan.host, *plan.device) for form in forms(launch)))
    yield from unit_step_faults(plan)
    for why in copied_reduction_faults(plan.kernel):
        yield Fault("copies get what the loop adds", why, False)
    yield from _wrong_last_values(plan)


def _faults_of_launches(plan: KernelPlan, launches: Iterable[Launch]) -> Iterator[Fault]:
    for launch in dict.fromkeys(launches):
        for message in uneven_barriers(launch, plan.kernel.functions):
            yield Fault("barriers are uniform", message, True)
        for message in _wrong_copies(plan, launch):
            yield Fault("copies have values", message, True)


def _wrong_copies(plan: KernelPlan, launch: Launch) -> Iterator[str]:
    """A sentence for every private scalar of the launch that is read unassigned, and every wrong
    reduction. The user answers for the clauses that the user writes.
    """
    directives: list[KernelDirective | LoopDirective] = [plan.kernel.directive, *loop_directives(plan.kernel.body)]
    user_privates = {name for directive in directives for clause in directive.privates for name in clause.names}
    for object_ in launch.privates:
        if object_ in launch.first_privates or object_.host in user_privates:
            continue
        place = exposed_read(launch.body, object_, plan.kernel.functions)
        if place is not None:
            yield (
                f"launch {launch.name} gives every instance its own '{object_.host}', which line {place.start.line} "
                "reads before it is assigned"
            )
    reduced = operators_by_clause(plan.kernel.directive, plan.kernel.body)
    for reduction in launch.reductions:
        if reduction.object.host not in reduced:
            yield from _wrong_reduction(plan, launch, reduction)


def _wrong_reduction(plan: KernelPlan, launch: Launch, reduction: Reduction) -> Iterator[str]:
    object_ = reduction.object
    messages = Diagnostics()
    clause = ReductionClause(reduction.operator, (object_.host,), object_.range)
    operator = check_reduction(object_, clause, launch.body, plan.floating, messages)
    if messages.has_errors or operator != reduction.operator:
        yield f"'{object_.host}' is not only reduced by {reduction.operator} in launch {launch.name}"
        return
    # The launch has only parts of the region; the values of variables show in all of it.
    if is_ordered(object_, operator, plan.kernel.body, plan.floating, signs_in(plan)):
        changes = "its rounding" if operator in ("+", "*") else "which of equal zeros, or NaNs, stays,"
        yield f"the order of '{object_.host}' is changed in launch {launch.name}, and {changes} with it"


def unit_step_faults(plan: KernelPlan) -> Iterator[Fault]:
    """Normalised loops must do what the user's loops with steps do."""
    if plan.before_normalisation is not None:
        counting = flattened((plan.source or plan.kernel).without_copies)
        why = unit_step_fault(plan.before_normalisation.body, counting.body, written_objects(plan.before_normalisation))
        if why is not None:
            yield Fault("iterations are the user's", f"counting iterations in the place of steps: {why}", False)


def _wrong_last_values(plan: KernelPlan) -> Iterator[Fault]:
    """The final values of iterators must be what the last of their loops leaves."""
    for value in plan.final_values:
        if isinstance(value, LastValue):
            statements, written = plan.kernel.body.statements, written_objects(plan.kernel)
            try:
                right = is_loop_end(value.value, value.condition, statements, value.iterator, written)
            except OperationLimitError:
                right = False
            if not right:
                text = f"'{value.iterator.host}' is not shown to be {plain_text(value.value)} after the region"
                yield Fault("iterators keep their last values", text, False)


# -- the region of a plan


def original_of(plan: KernelPlan, known: Scop | None = None) -> Original:
    """The region as the user wrote it, with the `known` Scop. Raises OperationLimitError."""
    scop = _scop(plan, known)
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
        return Original(scop, memory_dependences(scop))


def region_without_dependences(plan: KernelPlan) -> Original:
    """The region of the plan's launches, to ask for accesses. Raises OperationLimitError."""
    return region_of(plan, Original(_scop(plan), ()))


def region_of(plan: KernelPlan, original: Original) -> Original:
    """The region, ready to be matched with the plan's launches."""
    return _matched(plan, original, _statements(plan), written_objects(plan.kernel))


def _matched(
    plan: KernelPlan, original: Original, body: tuple[Statement, ...], written: frozenset[DataObject]
) -> Original:
    known = replace(original, assumes_independence=_vouched(plan), device_arrays=tuple(_held(plan)))
    return known.with_statements(body, plan.kernel.functions, written)


def _scop(plan: KernelPlan, known: Scop | None = None) -> Scop:
    conditions = [condition for condition in plan.conditions if not isinstance(condition, ClauseExpression)]
    return scop_under(conditions, _statements(plan), plan.kernel.functions, written_objects(plan.kernel), known)


def _statements(plan: KernelPlan) -> tuple[Statement, ...]:
    """The statements of the launches: the region without the host's declarations."""
    return tuple(_without(plan.kernel.body, {id(declaration) for declaration in plan.prologue}))


def _without(body: Block, left_out: set[int]) -> Iterator[Statement]:
    for statement in body.statements:
        if isinstance(statement, Block) and any(id(node) in left_out for node in walk(statement)):
            yield from _without(statement, left_out)
        elif id(statement) not in left_out:
            yield statement


def _held(plan: KernelPlan) -> Iterator[ArrayArgument]:
    """The arrays as a device holds them; the user answers for the values of the user's sections."""
    sections = (section for clause in plan.kernel.directive.data for section in clause.sections)
    user_sections = {"".join(section.path.split()) for section in sections}
    for argument in plan.arrays:
        trusted = argument.present or "".join(argument.object.host.split()) in user_sections
        # The region's own arrays have no value before it but that of their initializers.
        trusted = trusted or argument.object.scope is not Scope.EXTERNAL
        yield replace(argument, copy_in=argument.copy_in or trusted)


def is_automatic(plan: KernelPlan) -> bool:
    """Whether the user wrote no tiles and vouched for nothing, so that all must be proven."""
    return not any(directive.tiles for directive in loop_directives(plan.kernel.body)) and not _vouched(plan)


def _vouched(plan: KernelPlan) -> bool:
    """Whether the user declares iterations independent."""
    return plan.kernel.directive.independent or any(
        directive.independent for directive in loop_directives(plan.kernel.body)
    )


def _bounds(plan: KernelPlan, original: Original) -> Iterator[Fault]:
    """Faults of array sections, and of launch checks."""
    try:
        with operation_limit(original.scop.context, DEFAULT_LIMIT, "proving the sections"):
            faults = tuple(unheld(original.scop, original.dependences, _held(plan), written_objects(plan.kernel)))
    except OperationLimitError as error:
        yield Fault("the proof ends", str(error), False)
        return
    yield from faults
    for assumption in original.scop.assumptions:
        if assumption not in plan.conditions:
            text = f"nothing tests '{plain_text(assumption)}' at launch"
            yield Fault("what is assumed is tested at launch", text, False)


# -- trees of steps, at tile sizes


def _runs(plan: KernelPlan) -> Runs:
    """Every tree of steps with its tile sizes: those in use, and odd ones."""
    host = {size.object: size.host for size in plan.sizes}
    device = {size.object: size.device for size in plan.sizes}
    same = plan.host_steps == plan.device_steps
    device_steps = plan.host_steps if same else plan.device_steps
    yield plan.host_steps, host
    if not same or device != host:
        yield device_steps, device
    if any(launch.scratchpads for launch in plan.device):
        # The least tiles, and the greatest: scratchpads clip them.
        for size in (1, _BEYOND):
            yield device_steps, {tile_size.object: size for tile_size in plan.sizes}
    for sizes in _odd_sizes(plan):
        yield plan.host_steps, sizes
        if not same:
            yield device_steps, sizes


def _odd_sizes(plan: KernelPlan) -> Iterator[dict[DataObject, int]]:
    for odd in _ODD if plan.sizes else ():
        yield {size.object: odd[place % len(odd)] for place, size in enumerate(plan.sizes)}


def _staged_runs(plan: KernelPlan) -> Runs:
    """Device steps with all staged forms, at the sizes in use and odd ones."""
    staged = with_staged_forms(plan.device_steps)
    return () if staged == plan.device_steps else _at_sizes(plan, staged)


def _at_sizes(plan: KernelPlan, steps: tuple[Step, ...]) -> Runs:
    yield steps, {size.object: size.device for size in plan.sizes}
    yield from ((steps, sizes) for sizes in _odd_sizes(plan))


def with_staged_forms(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with staged forms in place of launches that have one."""
    return with_launches(steps, lambda launch: forms(launch)[-1])


def _in_steps(region: Original, runs: Runs) -> Iterator[Fault]:
    """Why trees of steps are not proven to be the region at their tile sizes.

    A proof reads sizes only through `Frame.value`, which notes them: with the same values of these,
    it would be the same.
    """
    done: list[tuple[tuple[Step, ...], dict[DataObject, int], tuple[Fault, ...]]] = []
    for steps, sizes in runs:
        faults = next((known for tree, asked, known in done if tree is steps and asked.items() <= sizes.items()), None)
        if faults is None:
            frame = _frame(region, sizes)
            try:
                with operation_limit(region.scop.context, DEFAULT_LIMIT, "proving the plan"):
                    faults = tuple(_faults(region, steps, frame))
            except OperationLimitError as error:
                faults = (Fault("the proof ends", str(error), False),)
            done.append((steps, {size: sizes[size] for size in sizes if size in frame.asked}, faults))
        yield from faults


def _faults(region: Original, steps: tuple[Step, ...], frame: Frame) -> Iterator[Fault]:
    leaves, panels = _leaves(region, steps, frame)
    try:
        if any(launch.scratchpads for launch in launches_in(steps)):
            yield from wrong_scratchpads(region, steps, leaves)
            yield from broken_buffers(panels, region.scop, leaves)
            yield from wrong_boxes(leaves)
            return
        executed = tuple(execution for leaf in leaves for execution in _executed(leaf, region))
    except NotProvenError as unmatched:
        yield Fault("every instance runs once", str(unmatched), unmatched.certain)
        return
    yield from missed_and_doubled(region.scop, executed)
    yield from broken_scopes(executed, region)
    yield from wrong_schedules(executed)
    yield from wrong_boxes(leaves)
    yield from broken_dependences(region, executed)
    yield from broken_buffers(panels, region.scop, leaves)


def instance_maps(
    region: Original, steps: tuple[Step, ...], sizes: Mapping[DataObject, int]
) -> tuple[InstanceMap, ...]:
    """What each place of the steps executes at these tile sizes, in textual order. Raises
    NotProvenError where a place executes nothing of the region.
    """
    leaves, _ = _leaves(region, steps, _frame(region, sizes))
    return tuple(execution for leaf in leaves for execution in _executed(leaf, region))


def _frame(region: Original, sizes: Mapping[DataObject, int]) -> Frame:
    """The outermost frame, { [] }, with the tile sizes as facts."""
    frame = Frame(region.scop.context, (), region.written)
    for object_, size in sizes.items():
        frame = frame.knowing(object_, frame.number(size))
    return frame


def _leaves(region: Original, steps: tuple[Step, ...], frame: Frame) -> tuple[tuple[Leaf, ...], tuple[HeldPanel, ...]]:
    return leaves_and_panels(steps, frame, region.settled | _made(steps, region.declared))


def _executed(leaf: Leaf, region: Original) -> Iterator[InstanceMap]:
    match = region.source_of(leaf)
    if match is not None:
        if not leaf.domain.is_empty():
            yield from region.executions(leaf, *match)
        return
    if isinstance(leaf.node, (If, Loop, Stage)):
        return  # of the plan's own
    parts = list(walk(leaf.node))
    if any(isinstance(part, (TileNest, Barrier)) for part in parts):
        raise NotProvenError(
            f"what stands in the statement at line {leaf.node.range.start.line} is no affine control", certain=False
        )
    if not {part.object for part in parts if isinstance(part, Declarator)} - region.declared:
        name = leaf.launch.name if leaf.launch is not None else ""
        raise NotProvenError(f"launch {name} has a statement that the region has not", certain=True)


def _made(steps: tuple[Step, ...], declared: frozenset[DataObject]) -> frozenset[DataObject]:
    """Scalars that only the plan declares and nothing else writes: user iterators."""
    made: set[DataObject] = set()
    changed: set[DataObject] = set()
    for launch in launches_in(steps):
        for node in walk(launch.body):
            if isinstance(node, Declarator):
                made.add(node.object)
            elif isinstance(node, (Assignment, Increment, AddressOf)):
                changed.add(node.target.object)
            elif isinstance(node, Loop) and not node.declares_iterator:
                changed.add(node.iterator)
    return frozenset(made - changed - declared)
