"""A plan's steps proven against the polyhedral model of the region, for all values of its
parameters at given tile sizes.

    every instance once      { [plan instance] -> S[i] } of all leaves: a bijection onto S's domain
    panels hold their data   `verify/panels.py`
    dependences forward      { S[i] -> T[j] } between plan instances (`verify/execution_order.py`)

Nothing here knows how plans are made. What cannot be expressed is a finding too: it is not proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import AddressOf, Assignment, DataObject, Increment
from tilepragma.ir.loop_tree import Barrier, Block, Declarator, Function, If, Loop, Stage, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.poly.affine import Frame
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.extraction import declared_once
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Scop
from tilepragma.verify.bounds import HeldArray
from tilepragma.verify.instances import missed_and_doubled
from tilepragma.verify.launch_tree_relation import Held, Leaf, ProvenLaunch, ProvenStep, leaves, leaves_and_buffers
from tilepragma.verify.locals import broken_scopes
from tilepragma.verify.overlapped_tiles import has_scratchpads, wrong_scratchpads
from tilepragma.verify.panels import broken_buffers
from tilepragma.verify.races import broken_dependences
from tilepragma.verify.staged_tiles import wrong_boxes
from tilepragma.verify.statement_matching import Executed, Finding, ProvenRegion, Sources, Unmatched, executions


def proven_region(
    body: tuple[Statement, ...],
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    scop: Scop,
    dependences: tuple[Dependence, ...],
    touching: Scop | None = None,
) -> ProvenRegion:
    """The region of these statements, whose SCoP is `scop`."""
    settled = declared_once(body, functions)
    declared = frozenset(node.object for statement in body for node in walk(statement) if isinstance(node, Declarator))
    original_leaves = leaves((ProvenLaunch("", Block(body)),), Frame(scop.context, (), written), settled)
    return ProvenRegion(scop, dependences, written, Sources(scop, original_leaves), declared, settled, touching)


@dataclass(frozen=True)
class StepsProof:
    """Why steps are not proven to be the region. `asked` are the tile sizes that the proof has
    read.

    A proof reads sizes only through `Frame.value`, which notes them: with the same values of these,
    it would be the same.
    """

    findings: tuple[Finding, ...]
    asked: Mapping[DataObject, int]

    def is_at(self, sizes: Mapping[DataObject, int]) -> bool:
        """Whether it is the proof at these sizes too: at all sizes if it has read none."""
        return all(sizes.get(object_) == size for object_, size in self.asked.items())


def prove_steps(
    region: ProvenRegion,
    steps: tuple[ProvenStep, ...],
    sizes: Mapping[DataObject, int],
    *,
    vouched: bool,
    held: Iterable[HeldArray] = (),
) -> StepsProof:
    """Why the steps are not proven to be the region at these tile sizes. `vouched`: the user
    declares instances of one launch independent. `held` are the arrays of a device.
    """
    frame = _frame(region, sizes)
    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "proving the plan"):
            findings = tuple(_findings(region, steps, frame, vouched, {array.object: array for array in held}))
    except OperationLimitError as error:
        findings = (Finding("the proof ends", str(error), False),)
    return StepsProof(findings, {object_: size for object_, size in sizes.items() if object_ in frame.asked})


def _findings(
    region: ProvenRegion,
    steps: tuple[ProvenStep, ...],
    frame: Frame,
    vouched: bool,
    arrays: Mapping[DataObject, HeldArray],
) -> Iterator[Finding]:
    step_leaves, held = _leaves(region, steps, frame)
    try:
        if has_scratchpads(steps):
            yield from wrong_scratchpads(region, steps, step_leaves, arrays)
            yield from broken_buffers(held, region.scop, step_leaves)
            yield from wrong_boxes(step_leaves)
            return
        executed = tuple(execution for leaf in step_leaves for execution in _executed(leaf, region))
    except Unmatched as unmatched:
        yield Finding("every instance runs once", str(unmatched), unmatched.certain)
        return
    yield from missed_and_doubled(region.scop, executed)
    yield from broken_scopes(executed, region.sources)
    yield from wrong_boxes(step_leaves)
    yield from broken_dependences(region.dependences, executed, vouched=vouched)
    yield from broken_buffers(held, region.scop, step_leaves)


def executed_by(
    region: ProvenRegion, steps: tuple[ProvenStep, ...], sizes: Mapping[DataObject, int]
) -> tuple[Executed, ...]:
    """The statements that the leaves of the steps execute at these tile sizes. Raises Unmatched."""
    return tuple(
        execution for leaf in _leaves(region, steps, _frame(region, sizes))[0] for execution in _executed(leaf, region)
    )


def _frame(region: ProvenRegion, sizes: Mapping[DataObject, int]) -> Frame:
    """The outermost frame, { [] }, with the tile sizes as facts."""
    frame = Frame(region.scop.context, (), region.written)
    for object_, size in sizes.items():
        frame = frame.knowing(object_, frame.number(size))
    return frame


def _leaves(
    region: ProvenRegion, steps: tuple[ProvenStep, ...], frame: Frame
) -> tuple[tuple[Leaf, ...], tuple[Held, ...]]:
    return leaves_and_buffers(steps, frame, region.settled | _made(steps, region.declared))


def _executed(leaf: Leaf, region: ProvenRegion) -> Iterator[Executed]:
    source = region.sources.of(leaf)
    if source is not None:
        if not leaf.domain.is_empty():
            yield from executions(leaf, *source)
        return
    if isinstance(leaf.node, (If, Loop, Stage)):
        return  # of the plan's own
    parts = list(walk(leaf.node))
    if any(isinstance(part, (TileNest, Barrier)) for part in parts):
        raise Unmatched(
            f"what stands in the statement at line {leaf.node.range.start.line} is no affine control", certain=False
        )
    if not {part.object for part in parts if isinstance(part, Declarator)} - region.declared:
        name = leaf.launch.name if leaf.launch is not None else ""
        raise Unmatched(f"launch {name} has a statement that the region has not", certain=True)


def _made(steps: Iterable[ProvenStep], declared: frozenset[DataObject]) -> frozenset[DataObject]:
    """Scalars that only the plan declares and nothing else writes: user iterators."""
    made: set[DataObject] = set()
    changed: set[DataObject] = set()
    for step in steps:
        if not isinstance(step, ProvenLaunch):
            made |= _made(step.steps, declared)
            continue
        for node in walk(step.body):
            if isinstance(node, Declarator):
                made.add(node.object)
            elif isinstance(node, (Assignment, Increment, AddressOf)):
                changed.add(node.target.object)
            elif isinstance(node, Loop) and not node.declares_iterator:
                changed.add(node.iterator)
    return frozenset(made - changed - declared)
