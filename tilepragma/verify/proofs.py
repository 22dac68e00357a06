"""Plans proven against the polyhedral model of their region, by `verify/plan_proof.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Block, Loop, Statement
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.traversal import loop_directives, walk
from tilepragma.normalise.delinearisation import flattened
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, LastValue, Launch, Step, forms
from tilepragma.verify.barriers import uneven_barriers
from tilepragma.verify.scalar_copies import needed_before, wrong_copies

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence
    from tilepragma.poly.scop import Scop
    from tilepragma.verify.bounds import HeldArray
    from tilepragma.verify.launch_tree_relation import ProvenStep
    from tilepragma.verify.plan_proof import StepsProof
    from tilepragma.verify.statement_matching import ProvenRegion

#: Tile sizes at which plans are proven besides those in use; they differ, so that no symbol can
#: replace another unnoticed.
_ODD = ((1, 2, 3, 5, 7), (5, 3, 7, 2, 1))

#: A tile size that is clipped to what scratchpads hold.
_BEYOND = 1 << 20


@dataclass(frozen=True)
class Original:
    """The user's region: the SCoP of its statements (without the plan's prologue) and their
    memory-based dependences. A planner that has computed them passes them on.
    """

    scop: Scop
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True)
class Fault:
    """A fault, or a failed proof, in a sentence; `certain`: the plan is wrong in some run."""

    rule: str
    message: str
    certain: bool


@dataclass(frozen=True)
class Proof:
    """The faults that `prove` found in a plan, to be found only once; `proof_of` makes it."""

    plan: KernelPlan
    faults: tuple[Fault, ...]

    def is_of(self, plan: KernelPlan) -> bool:
        """Whether it is the proof of this plan, up to notes on rejected candidates, origin and
        registers, and up to the tile sizes that a launch chooses: only the defaults are proven.
        """
        proven = self.plan
        plan = replace(plan, rejected=proven.rejected, obstacles=proven.obstacles, choices=proven.choices)
        plan = replace(plan, device_choices=proven.device_choices, versions=proven.versions)
        plan = replace(plan, processor_choices=proven.processor_choices)
        plan = replace(plan, measured=proven.measured, kept=proven.kept)
        return replace(plan, storage=proven.storage, source=proven.source, registers=proven.registers) == proven


def proof_of(plan: KernelPlan, original: Original | None = None) -> Proof:
    """The plan with its faults."""
    return Proof(plan, prove(plan, original))


def prove(plan: KernelPlan, original: Original | None = None) -> tuple[Fault, ...]:
    """Why the plan is not proven right; a planner rejects its own plans with any fault.

    A region that runs as written needs no proof. What the user vouches for counts as proven.
    """
    if plan.as_written is not None:
        return ()
    return tuple(_faults(plan, original))


def prove_staged(plan: KernelPlan, original: Original, plain: KernelPlan) -> tuple[Fault, ...]:
    """Why the staged forms of a plan's launches are not proven right, or the launches where they
    differ from those of the `plain` plan, which is proven.
    """
    launches = _without_staged_forms(plan.device_steps)
    again = () if launches == plain.device_steps else _at_sizes(plan, launches)
    return tuple(_in_steps(plan, original, (*_staged_runs(plan), *again)))


def _without_staged_forms(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(
        forms(step)[0] if isinstance(step, Launch) else replace(step, steps=_without_staged_forms(step.steps))
        for step in steps
    )


def _faults(plan: KernelPlan, original: Original | None) -> Iterator[Fault]:
    yield from faults_of_text(plan)
    yield from _against_the_region(plan, original)


def faults_of_text(plan: KernelPlan) -> Iterator[Fault]:
    """The faults of a plan that do not depend on dependences."""
    for launch in dict.fromkeys(form for written in (*plan.host, *plan.device) for form in forms(written)):
        for message in uneven_barriers(launch, plan.kernel.functions):
            yield Fault("barriers are uniform", message, True)
        for message in wrong_copies(plan, launch):
            yield Fault("copies have values", message, True)
    yield from unit_step_faults(plan)
    yield from _wrong_last_values(plan)


def unit_step_faults(plan: KernelPlan) -> Iterator[Fault]:
    """Normalised loops must do what the user's loops with steps do."""
    if plan.stepped is not None:
        from tilepragma.verify.normalised_loops import unit_step_fault

        counting = flattened(plan.source or plan.kernel)
        why = unit_step_fault(plan.stepped.body, counting.body, written_objects(plan.stepped))
        if why is not None:
            yield Fault("iterations are the user's", f"counting iterations in the place of steps: {why}", False)


def _wrong_last_values(plan: KernelPlan) -> Iterator[Fault]:
    """The final values of iterators must be what the last of their loops leaves."""
    for value in plan.final_values:
        if isinstance(value, LastValue):
            from tilepragma.poly.iterator_values import is_loop_end
            from tilepragma.poly.operation_limit import OperationLimitError

            statements, written = plan.kernel.body.statements, written_objects(plan.kernel)
            try:
                right = is_loop_end(value.value, value.condition, statements, value.iterator, written)
            except OperationLimitError:
                right = False
            if not right:
                text = f"'{value.iterator.host}' is not shown to be {plain_text(value.value)} after the region"
                yield Fault("iterators keep their last values", text, False)


def original_of(plan: KernelPlan) -> Original:
    """The region of a plan, as the user wrote it. Raises OperationLimitError."""
    from tilepragma.poly.dependences import memory_dependences
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

    scop = _scop(plan)
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
        return Original(scop, memory_dependences(scop))


def region_without_dependences(plan: KernelPlan) -> ProvenRegion:
    """The region of the plan's launches, to ask for accesses. Raises OperationLimitError."""
    return region_of(plan, Original(_scop(plan), ()))


def region_of(plan: KernelPlan, known: Original) -> ProvenRegion:
    """The region of the plan's launches, with its Scop and dependences."""
    from tilepragma.verify.plan_proof import proven_region

    written = written_objects(plan.kernel)
    return proven_region(_statements(plan), plan.kernel.functions, written, known.scop, known.dependences)


def _scop(plan: KernelPlan) -> Scop:
    from tilepragma.poly.extraction import scop_under

    conditions = [condition for condition in plan.conditions if not isinstance(condition, ClauseExpression)]
    return scop_under(conditions, _statements(plan), plan.kernel.functions, written_objects(plan.kernel))


def _statements(plan: KernelPlan) -> tuple[Statement, ...]:
    """The statements of the launches: the region without the host's declarations."""
    return tuple(_without(plan.kernel.body, {id(declaration) for declaration in plan.prologue}))


def _without(body: Block, left_out: set[int]) -> Iterator[Statement]:
    for statement in body.statements:
        if isinstance(statement, Block) and any(id(node) in left_out for node in walk(statement)):
            yield from _without(statement, left_out)
        elif id(statement) not in left_out:
            yield statement


def faults_of_part(
    plan: KernelPlan,
    part: tuple[Statement, Loop | None],
    original: Original,
    trees: tuple[tuple[Step, ...], ...],
    touching: Scop | None = None,
) -> Iterator[Fault]:
    """Why trees of steps are not proven to do what a nest of the region does, for any value of the
    iterator of the loop around. `touching` has statements that touch no more than the region.
    """
    yield from _bounds(plan, original)
    yield from _in_steps(plan, original, ((steps, {}) for steps in trees), part, touching)


def _against_the_region(plan: KernelPlan, original: Original | None) -> Iterator[Fault]:
    from tilepragma.poly.operation_limit import OperationLimitError

    try:
        original = original if original is not None else original_of(plan)
    except OperationLimitError as error:
        yield Fault("the proof ends", str(error), False)
        return
    yield from _bounds(plan, original)
    yield from _in_steps(plan, original, (*_runs(plan), *_staged_runs(plan)))


def _bounds(plan: KernelPlan, original: Original) -> Iterator[Fault]:
    """Faults of array sections, and of launch checks."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
    from tilepragma.verify.bounds import unheld

    try:
        with operation_limit(original.scop.context, DEFAULT_LIMIT, "proving the sections"):
            findings = tuple(unheld(original.scop, original.dependences, _held(plan), written_objects(plan.kernel)))
    except OperationLimitError as error:
        yield Fault("the proof ends", str(error), False)
        return
    yield from (Fault(finding.rule, finding.message, finding.certain) for finding in findings)
    for assumption in original.scop.assumptions:
        if assumption not in plan.conditions:
            yield Fault(
                "what is assumed is tested at launch", f"nothing tests '{plain_text(assumption)}' at launch", False
            )


Runs = Iterable[tuple[tuple[Step, ...], dict[DataObject, int]]]


def _in_steps(
    plan: KernelPlan,
    original: Original,
    runs: Runs,
    part: tuple[Statement, Loop | None] | None = None,
    touching: Scop | None = None,
) -> Iterator[Fault]:
    """Faults of trees of steps at tile sizes, against the region or one of its nests."""
    from tilepragma.verify.plan_proof import prove_steps, proven_region

    written = written_objects(plan.kernel)
    body = _statements(plan)
    if part is not None:
        nest, loop = part
        body, written = (nest,), written if loop is None else written - {loop.iterator}
    region = proven_region(body, plan.kernel.functions, written, original.scop, original.dependences, touching)
    vouched = _vouched(plan)
    held = _held(plan)
    done: list[tuple[tuple[Step, ...], StepsProof]] = []
    for steps, sizes in runs:
        proof = next((proof for these, proof in done if these is steps and proof.is_at(sizes)), None)
        if proof is None:
            proof = prove_steps(region, proven_steps(plan, steps), sizes, vouched=vouched, held=held)
            done.append((steps, proof))
        yield from (Fault(finding.rule, finding.message, finding.certain) for finding in proof.findings)


def _staged_runs(plan: KernelPlan) -> Runs:
    """Device steps with all staged forms, at the sizes in use and odd ones."""
    staged = with_staged_forms(plan.device_steps)
    if staged == plan.device_steps:
        return
    yield from _at_sizes(plan, staged)


def _at_sizes(plan: KernelPlan, steps: tuple[Step, ...]) -> Runs:
    """Device steps at the sizes in use and odd ones."""
    yield steps, {size.object: size.device for size in plan.sizes}
    for odd in _ODD if plan.sizes else ():
        yield steps, {size.object: odd[place % len(odd)] for place, size in enumerate(plan.sizes)}


def _runs(plan: KernelPlan) -> Iterator[tuple[tuple[Step, ...], dict[DataObject, int]]]:
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
    for odd in _ODD if plan.sizes else ():
        sizes = {size.object: odd[place % len(odd)] for place, size in enumerate(plan.sizes)}
        yield plan.host_steps, sizes
        if not same:
            yield device_steps, sizes


def with_staged_forms(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with staged forms in place of launches that have one."""
    return tuple(
        forms(step)[-1] if isinstance(step, Launch) else replace(step, steps=with_staged_forms(step.steps))
        for step in steps
    )


def _held(plan: KernelPlan) -> list[HeldArray]:
    """The arrays as a device holds them; the user answers for the user's sections. An array with
    assumed extents holds no element for certain: launches may read only what the region reads.
    """
    from tilepragma.verify.bounds import HeldArray

    user_sections = {
        "".join(section.path.split()) for clause in plan.kernel.directive.data for section in clause.sections
    }
    result = []
    for argument in plan.arrays:
        section = tuple(
            None
            if argument.doubt is not None
            or isinstance(bound.lower, ClauseExpression)
            or isinstance(bound.length, ClauseExpression)
            else (bound.lower, bound.length)
            for bound in argument.section
        )
        trusted = argument.present or "".join(argument.object.host.split()) in user_sections
        # The region's own arrays have no value before it but that of their initializers.
        trusted = trusted or argument.object.scope is not Scope.EXTERNAL
        result.append(HeldArray(argument.object, section, argument.copy_in or trusted, argument.copy_out))
    return result


def is_automatic(plan: KernelPlan) -> bool:
    """Whether the user wrote no tiles and vouched for nothing, so that all must be proven."""
    return not any(directive.tiles for directive in loop_directives(plan.kernel.body)) and not _vouched(plan)


def _vouched(plan: KernelPlan) -> bool:
    """Whether the user declares iterations independent."""
    return plan.kernel.directive.independent or any(
        directive.independent for directive in loop_directives(plan.kernel.body)
    )


def proven_steps(plan: KernelPlan, steps: tuple[Step, ...]) -> tuple[ProvenStep, ...]:
    """The steps in the proof's form."""
    from tilepragma.verify.launch_tree_relation import ProvenCondition, ProvenLaunch, ProvenLoop

    result: list[ProvenStep] = []
    for step in steps:
        if isinstance(step, HostLoop):
            result.append(ProvenLoop(step.loop, proven_steps(plan, step.steps)))
        elif isinstance(step, HostCondition):
            result.append(ProvenCondition(step.condition, proven_steps(plan, step.steps)))
        else:
            owned, needed = frozenset(step.privates), needed_before(plan, step)
            reduced = frozenset(reduction.object for reduction in step.reductions)
            result.append(
                ProvenLaunch(
                    step.name, step.body, step.axes, owned, reduced, needed, step.scratchpads, pipelined=step.pipelined
                )
            )
    return tuple(result)
