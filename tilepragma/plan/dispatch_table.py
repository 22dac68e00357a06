"""The tile-size dispatch table: the launch picks sizes by array bytes and outermost trips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilepragma.ir.expressions import Scope
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, ForLoop, Loop, While
from tilepragma.ir.traversal import mentions
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, MeasuredSizes, SizeChoice

#: The largest tile size that TILEK_SIZES takes; the limit of `tilek_choice` that means none.
MOST_SIZE = 2**31 - 1
NO_LIMIT = 2**63 - 1


def outermost_loop(plan: KernelPlan) -> Loop | None:
    """The loop that SizeChoice.trips counts: the region's first loop that only blocks enclose. None
    where the region has no such loop, or the host cannot count its iterations before the launch.
    """
    region = plan.before_normalisation or plan.source or plan.kernel
    on_host = host_evaluable(written_objects(region))
    outermost = next(_outer_loops(region.body), None)
    if not isinstance(outermost, Loop) or not all(map(on_host, outermost.bounds)):
        return None
    return outermost


def _outer_loops(body: Block) -> Iterator[Loop | ForLoop | While]:
    for statement in body.statements:
        if isinstance(statement, Block):
            yield from _outer_loops(statement)
        elif isinstance(statement, (Loop, ForLoop, While)):
            yield statement


def is_of_devices_only(plan: KernelPlan, argument: ArrayArgument) -> bool:
    """Whether the array is a temporary that only devices touch: hosts allocate no memory for it."""
    object_ = argument.object
    return object_.scope is Scope.TEMPORARY and not any(mentions(launch.body, object_) for launch in plan.host)


def sizes_on_hosts(
    plan: KernelPlan, scalars: Mapping[str, int], threads: int | None = None, by_opencl: bool = False
) -> tuple[int, ...]:
    """The tile sizes of a launch on a host with these scalars, where TILEK_SIZES is unset.
    `by_opencl`: the OpenCL device is a processor. Without `threads`, sizes that depend on them are
    the defaults.

    Raises UncountableError where the scalars do not determine the choice.
    """
    from tilepragma.plan.balanced_chunking import with_even_sizes

    taken = tuple(size.host for size in plan.sizes)
    choices = choices_on_hosts(plan, by_opencl)
    if choices:
        numbers = bytes_and_trips(plan, scalars, with_trips=by_trips(plan))
        taken = chosen_sizes(choices, numbers) or taken
    return taken if threads is None else with_even_sizes(plan, taken, scalars, threads)


def choices_on_hosts(plan: KernelPlan, by_opencl: bool) -> tuple[SizeChoice, ...]:
    """The choices that launches of hosts try in order, on cores or on OpenCL processors."""
    return (*plan.processor_choices, *plan.choices) if by_opencl else plan.choices


def chosen_sizes(choices: Sequence[SizeChoice], numbers: tuple[int, int]) -> tuple[int, ...] | None:
    """The tile sizes of the first choice that holds for a launch's bytes and trips; None where none
    holds, or the choice is one of another version.
    """
    taken = next((choice for choice in choices if _within(numbers, _limits(choice))), None)
    return None if taken is None or taken.version else taken.sizes


def bytes_and_trips(plan: KernelPlan, scalars: Mapping[str, int], with_trips: bool) -> tuple[int, int]:
    """A host launch's array bytes and outermost trips (0 where not asked for, or not countable).

    Raises UncountableError where the scalars do not determine them.
    """
    from tilepragma.ir.evaluation import Evaluation
    from tilepragma.plan.array_bytes import array_bytes

    arrays = array_bytes(plan, scalars)
    held = {array.object for array in plan.arrays if not is_of_devices_only(plan, array)}
    outermost = outermost_loop(plan) if with_trips else None
    held_bytes = sum(array.bytes for array in arrays if array.array in held)
    return held_bytes, 0 if outermost is None else int(Evaluation(scalars).trips(outermost))


def around(
    measured: MeasuredSizes, unmeasured: Sequence[SizeChoice], default: tuple[int, ...]
) -> tuple[SizeChoice, ...]:
    """The measured choices inside their range; outside of it the `unmeasured`, else `default`."""
    last = measured.choices[-1].bytes
    below: list[SizeChoice] = []
    if measured.least > 0:
        limit = measured.least - 1
        inside = [choice for choice in unmeasured if choice.bytes is not None and choice.bytes <= limit]
        beyond = [choice.bytes for choice in unmeasured if choice.bytes is None or choice.bytes > limit]
        clipped = [replace(choice, bytes=limit) for choice in unmeasured if beyond and choice.bytes == beyond[0]]
        kept = (choice for choice in inside if choice.bytes != limit or choice.trips is not None or not clipped)
        below = [*kept, *clipped]
        if not below or _limits(below[-1]) != (limit, NO_LIMIT):
            below.append(SizeChoice(limit, None, default))
    above = [choice for choice in unmeasured if last is not None and (choice.bytes is None or choice.bytes > last)]
    return (*below, *measured.choices, *above)


def by_trips(plan: KernelPlan) -> bool:
    """Whether a launch must count the iterations of the outermost loop."""
    return any(choice.trips is not None for choices in _tables(plan) for choice in choices)


def _tables(plan: KernelPlan) -> tuple[tuple[SizeChoice, ...], ...]:
    return plan.choices, plan.device_choices, plan.processor_choices


def wrong_choices(plan: KernelPlan) -> Iterator[str]:
    """The faults of a plan's choices: values out of range, wrong order, unreachable choices."""
    if by_trips(plan) and outermost_loop(plan) is None:
        yield "a choice asks for the iterations of the outermost loop, which the launch does not know"
    for choices in _tables(plan):
        if choices and not plan.sizes and not plan.versions:
            yield "there are choices of tile sizes, but no tile sizes"
        for place, choice in enumerate(choices):
            yield from _wrong_choice(plan, place, choice)
            for earlier, before in enumerate(choices[:place]):
                if _within(_limits(choice), _limits(before)):
                    yield f"choice {place} is never reached: choice {earlier} holds wherever it does"
            if place and _limits(choice) < _limits(choices[place - 1]):
                yield f"choice {place} stands behind a larger one"


def _wrong_choice(plan: KernelPlan, place: int, choice: SizeChoice) -> Iterator[str]:
    if not 0 <= choice.version <= len(plan.versions):
        yield f"choice {place} is of version {choice.version}, which does not exist"
        return
    version = plan.versions[choice.version - 1].plan if choice.version else plan
    if len(choice.sizes) != len(version.sizes) and (choice.sizes or not choice.version):
        yield f"choice {place} has {len(choice.sizes)} sizes for {len(version.sizes)}"
    if not all(1 <= size <= MOST_SIZE for size in choice.sizes):
        yield f"choice {place} has the sizes {choice.sizes}, which are not all from 1 to {MOST_SIZE}"
    for name, limit in (("bytes", choice.bytes), ("trips", choice.trips)):
        if limit is not None and not 0 <= limit < NO_LIMIT:
            yield f"choice {place} is for {limit} {name} at most"


def _limits(choice: SizeChoice) -> tuple[int, int]:
    return (NO_LIMIT if choice.bytes is None else choice.bytes, NO_LIMIT if choice.trips is None else choice.trips)


def _within(numbers: tuple[int, int], limits: tuple[int, int]) -> bool:
    return numbers[0] <= limits[0] and numbers[1] <= limits[1]
