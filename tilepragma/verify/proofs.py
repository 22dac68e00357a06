"""Plans proven against the mathematics of their region, whoever made them: the bridge to `verify/plan_proof`."""

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

#: Sizes of tiles at which plans are proven besides those in use: each symbol has another one, so
#: that none stands for another unnoticed.
_ODD = ((1, 2, 3, 5, 7), (5, 3, 7, 2, 1))

#: A size of tiles that is cut down to what scratchpads hold.
_BEYOND = 1 << 20


@dataclass(frozen=True)
class Original:
    """What is known of a region as the user wrote it: the Scop of its statements (without the
    plan's prologue) and their memory-based dependences. A planner that has them hands them on; else
    they are found anew.
    """

    scop: Scop
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True)
class Fault:
    """`message` says what is wrong, or could not be proven, in a sentence; `certain` where it is surely wrong for some run."""

    rule: str
    message: str
    certain: bool


@dataclass(frozen=True)
class Proof:
    """What `prove` found of a plan, so that it need not be found again; `proof_of` makes it."""

    plan: KernelPlan
    faults: tuple[Fault, ...]

    def is_of(self, plan: KernelPlan) -> bool:
        """Whether it is the proof of this very plan, whatever reports say of what was rejected
        before it, of where it comes from and of registers, and whichever of its tile sizes a launch
        chooses: none but the defaults are among those at which plans are proven.
        """
        mine = self.plan
        plan = replace(plan, rejected=mine.rejected, obstacles=mine.obstacles, choices=mine.choices)
        plan = replace(plan, device_choices=mine.device_choices, versions=mine.versions)
        plan = replace(plan, processor_choices=mine.processor_choices)
        plan = replace(plan, measured=mine.measured, kept=mine.kept)
        return replace(plan, storage=mine.storage, source=mine.source, registers=mine.registers) == mine


def proof_of(plan: KernelPlan, original: Original | None = None) -> Proof:
    """The plan with everything that keeps it from being proven right."""
    return Proof(plan, prove(plan, original))


def prove(plan: KernelPlan, original: Original | None = None) -> tuple[Fault, ...]:
    """Everything that keeps the plan from being proven right; a planner refuses what it made itself
    if there is any fault.

    A region that runs as written has nothing to prove. What the user vouches for is taken as
    proven.
    """
    if plan.as_written is not None:
        return ()
    return tuple(_faults(plan, original))


def prove_staged(plan: KernelPlan, original: Original, plain: KernelPlan) -> tuple[Fault, ...]:
    """What keeps the staged forms of a plan's launches from being proven right, and the launches
    where they are not those of the `plain` plan, which is proven.
    """
    kept = _without_staged_forms(plan.device_steps)
    again = () if kept == plain.device_steps else _at_sizes(plan, kept)
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
    """What is wrong with a plan whatever depends on what."""
    for launch in dict.fromkeys(form for one in (*plan.host, *plan.device) for form in forms(one)):
        for message in uneven_barriers(launch, plan.kernel.functions):
            yield Fault("barriers are uniform", message, True)
        for message in wrong_copies(plan, launch):
            yield Fault("copies have values", message, True)
    yield from unit_step_faults(plan)
    yield from _wrong_last_values(plan)


def unit_step_faults(plan: KernelPlan) -> Iterator[Fault]:
    """Loops that count iterations in the place of the user's steps must do what these do."""
    if plan.stepped is not None:
        from tilepragma.verify.normalised_loops import unit_step_fault

        counting = flattened(plan.source or plan.kernel)
        why = unit_step_fault(plan.stepped.body, counting.body, written_objects(plan.stepped))
        if why is not None:
            yield Fault("iterations are the user's", f"counting iterations in the place of steps: {why}", False)


def _wrong_last_values(plan: KernelPlan) -> Iterator[Fault]:
    """What iterators are given after the region must be what the last of their loops leaves."""
    for value in plan.final_values:
        if isinstance(value, LastValue):
            from tilepragma.poly.live_out_iterators import LoopEnd, is_loop_end
            from tilepragma.poly.operation_limit import OperationLimitError

            claimed = LoopEnd(value.value, value.condition)
            try:
                right = is_loop_end(claimed, plan.kernel.body.statements, value.iterator, written_objects(plan.kernel))
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
    """The region that the plan's launches execute, for those who ask what they touch, not in which order. Raises OperationLimitError."""
    from tilepragma.verify.plan_proof import proven_region

    scop, written = _scop(plan), written_objects(plan.kernel)
    return proven_region(_statements(plan), plan.kernel.functions, written, scop, ())


def _scop(plan: KernelPlan) -> Scop:
    from tilepragma.poly.extraction import scop_under

    conditions = [condition for condition in plan.conditions if not isinstance(condition, ClauseExpression)]
    return scop_under(conditions, _statements(plan), plan.kernel.functions, written_objects(plan.kernel))


def _statements(plan: KernelPlan) -> tuple[Statement, ...]:
    """What the launches execute: the region without the declarations that the host makes."""
    return tuple(_without(plan.kernel.body, {id(one) for one in plan.prologue}))


def _without(body: Block, left_out: set[int]) -> Iterator[Statement]:
    for statement in body.statements:
        if isinstance(statement, Block) and any(id(node) in left_out for node in walk(statement)):
            yield from _without(statement, left_out)
        elif id(statement) not in left_out:
            yield statement


def faults_of_part(
    plan: KernelPlan,
    part: tuple[Statement, Loop | None],
    known: Original,
    trees: tuple[tuple[Step, ...], ...],
    touching: Scop | None = None,
) -> Iterator[Fault]:
    """What keeps trees of steps from being proven to do what a nest of the region does, for any
    value of the iterator of a loop around it. `touching` is of statements that touch no more than
    the region does, if not this nest.
    """
    yield from _bounds(plan, known)
    yield from _in_steps(plan, known, ((steps, {}) for steps in trees), part, touching)


def _against_the_region(plan: KernelPlan, original: Original | None) -> Iterator[Fault]:
    from tilepragma.poly.operation_limit import OperationLimitError

    try:
        known = original if original is not None else original_of(plan)
    except OperationLimitError as error:
        yield Fault("the proof ends", str(error), False)
        return
    yield from _bounds(plan, known)
    yield from _in_steps(plan, known, (*_runs(plan), *_staged_runs(plan)))


def _bounds(plan: KernelPlan, known: Original) -> Iterator[Fault]:
    """What is wrong with the sections of arrays, and with what is tested at launch."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
    from tilepragma.verify.bounds import unheld

    try:
        with operation_limit(known.scop.context, DEFAULT_LIMIT, "proving the sections"):
            findings = tuple(unheld(known.scop, known.dependences, _held(plan), written_objects(plan.kernel)))
    except OperationLimitError as error:
        yield Fault("the proof ends", str(error), False)
        return
    yield from (Fault(finding.rule, finding.message, finding.certain) for finding in findings)
    for assumption in known.scop.assumptions:
        if assumption not in plan.conditions:
            yield Fault(
                "what is assumed is tested at launch", f"nothing tests '{plain_text(assumption)}' at launch", False
            )


Runs = Iterable[tuple[tuple[Step, ...], dict[DataObject, int]]]


def _in_steps(
    plan: KernelPlan,
    known: Original,
    runs: Runs,
    part: tuple[Statement, Loop | None] | None = None,
    touching: Scop | None = None,
) -> Iterator[Fault]:
    """What is wrong with trees of steps, each at sizes of its tiles, against the region, or a nest of it and the loop around."""
    from tilepragma.verify.plan_proof import prove_steps, proven_region

    written = written_objects(plan.kernel)
    body = _statements(plan)
    if part is not None:
        nest, loop = part
        body, written = (nest,), written if loop is None else written - {loop.iterator}
    region = proven_region(body, plan.kernel.functions, written, known.scop, known.dependences, touching)
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
    """The steps of devices where every launch stages what it may, at the sizes in use and odd ones."""
    staged = with_staged_forms(plan.device_steps)
    if staged == plan.device_steps:
        return
    yield from _at_sizes(plan, staged)


def _at_sizes(plan: KernelPlan, steps: tuple[Step, ...]) -> Runs:
    """Steps of devices at the sizes in use and odd ones."""
    yield steps, {size.object: size.device for size in plan.sizes}
    for odd in _ODD if plan.sizes else ():
        yield steps, {size.object: odd[place % len(odd)] for place, size in enumerate(plan.sizes)}


def _runs(plan: KernelPlan) -> Iterator[tuple[tuple[Step, ...], dict[DataObject, int]]]:
    """Every tree of steps with the sizes of tiles at which it is proven: those in use, and odd ones."""
    host = {size.object: size.host for size in plan.sizes}
    device = {size.object: size.device for size in plan.sizes}
    same = plan.host_steps == plan.device_steps
    device_steps = plan.host_steps if same else plan.device_steps
    yield plan.host_steps, host
    if not same or device != host:
        yield device_steps, device
    if any(launch.scratchpads for launch in plan.device):
        # The least tiles, and the greatest: scratchpads have an end.
        for size in (1, _BEYOND):
            yield device_steps, {one.object: size for one in plan.sizes}
    for odd in _ODD if plan.sizes else ():
        sizes = {size.object: odd[place % len(odd)] for place, size in enumerate(plan.sizes)}
        yield plan.host_steps, sizes
        if not same:
            yield device_steps, sizes


def with_staged_forms(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps where every launch runs its staged form, if it has one."""
    return tuple(
        forms(step)[-1] if isinstance(step, Launch) else replace(step, steps=with_staged_forms(step.steps))
        for step in steps
    )


def _held(plan: KernelPlan) -> list[HeldArray]:
    """The arrays as a device holds them; what the user says of one is the user's to answer for. Of
    one that may be smaller than its section no element counts as held: nothing may be read of it
    that the region does not read.
    """
    from tilepragma.verify.bounds import HeldArray

    said = {"".join(section.path.split()) for clause in plan.kernel.directive.data for section in clause.sections}
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
        trusted = argument.present or "".join(argument.object.host.split()) in said
        # The region's own arrays have no value before it but that of their initializers.
        trusted = trusted or argument.object.scope is not Scope.EXTERNAL
        result.append(HeldArray(argument.object, section, argument.copy_in or trusted, argument.copy_out))
    return result


def is_automatic(plan: KernelPlan) -> bool:
    """Whether the user neither said tiles nor vouched for anything, so that all of the plan is ours to prove."""
    return not any(directive.tiles for directive in loop_directives(plan.kernel.body)) and not _vouched(plan)


def _vouched(plan: KernelPlan) -> bool:
    """Whether the user says that iterations are independent."""
    return plan.kernel.directive.independent or any(
        directive.independent for directive in loop_directives(plan.kernel.body)
    )


def proven_steps(plan: KernelPlan, steps: tuple[Step, ...]) -> tuple[ProvenStep, ...]:
    """The steps as the proof sees them."""
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
