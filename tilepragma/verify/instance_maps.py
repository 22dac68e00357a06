"""What the loops of a plan execute, for those who hold something else against it than a proof:

    { [h_1, …, h_k, i_1, …, i_n] -> S[j] }

h are the iterators of the host's loops around a launch, i those of the launch's own loops, S[j] the
instance of a statement of the region that this instance of the launch is. The relations are those
that a plan is proven with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Loop, TileNest
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step
from tilepragma.verify.proofs import proven_steps, region_without_dependences

if TYPE_CHECKING:
    import islpy as isl

    from tilepragma.poly.scop import ScopStatement
    from tilepragma.verify.statement_matching import Executed, ProvenRegion


@dataclass(frozen=True, eq=False)
class InstanceMap:
    """`relation`, { [h_1, …, h_k, i_1, …, i_n] -> S[j] }, of one place of `launch` that executes
    `statement`.

    `iterators` are those of all k + n loops around it, outermost first; `around` are the host's
    loops and the conditions between them, outermost first: k of these are loops. `nests` are the
    tile nests around it, each with the number of the dimension of its first loop.
    """

    statement: ScopStatement
    relation: isl.Map
    launch: str
    around: tuple[Loop | Expression, ...]
    iterators: tuple[DataObject, ...]
    nests: tuple[tuple[int, TileNest], ...]

    @property
    def host_loops(self) -> tuple[Loop, ...]:
        """The loops of h_1, …, h_k."""
        return tuple(each for each in self.around if isinstance(each, Loop))


def instance_maps(
    plan: KernelPlan, steps: tuple[Step, ...], sizes: Mapping[DataObject, int], region: ProvenRegion | None = None
) -> tuple[InstanceMap, ...]:
    """What each place of the steps executes with tiles of these sizes, in textual order; `region`
    is the plan's where it is at hand.

    Raises Unmatched where a place executes nothing of the region, and OperationLimitError.
    """
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
    from tilepragma.verify.plan_proof import executed_by

    known = region_without_dependences(plan) if region is None else region
    around = dict(_around(steps, ()))
    with operation_limit(known.scop.context, DEFAULT_LIMIT, "finding what a plan executes"):
        executed = executed_by(known, proven_steps(plan, steps), sizes)
    return tuple(_instance_map(each, around) for each in executed)


def _around(
    steps: tuple[Step, ...], outside: tuple[Loop | Expression, ...]
) -> Iterator[tuple[str, tuple[Loop | Expression, ...]]]:
    """Each launch, by its name, with the host's loops and conditions around it."""
    for step in steps:
        if isinstance(step, Launch):
            yield step.name, outside
        elif isinstance(step, HostLoop):
            yield from _around(step.steps, (*outside, step.loop))
        elif isinstance(step, HostCondition):
            yield from _around(step.steps, (*outside, step.condition))


def _instance_map(executed: Executed, around: Mapping[str, tuple[Loop | Expression, ...]]) -> InstanceMap:
    from tilepragma.verify.launch_tree_relation import Mapped

    leaf = executed.leaf
    launch = "" if leaf.launch is None else leaf.launch.name
    nests = tuple((element.first, element.nest) for element in leaf.path if isinstance(element, Mapped))
    return InstanceMap(
        executed.statement, executed.relation, launch, around.get(launch, ()), leaf.frame.iterators, nests
    )
