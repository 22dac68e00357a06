"""The tile sizes that hosts take at a launch: by the bytes of its arrays and the iterations of its outermost loop (`SizeChoice`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilepragma.ir.expressions import Scope
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, ForLoop, Loop, While
from tilepragma.ir.traversal import mentions
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, MeasuredSizes, SizeChoice

#: The largest tile size that TILEK_SIZES takes, and the limit of `tilek_choice` that stands for
#: none.
MOST_SIZE = 2**31 - 1
NO_LIMIT = 2**63 - 1


def outermost_loop(plan: KernelPlan) -> Loop | None:
    """The loop whose iterations a SizeChoice means by `trips`: the first one in the text of the
    user's region that is inside no other statement but blocks. None where there is none, or the
    host cannot count its iterations before the launch.
    """
    region = plan.stepped or plan.source or plan.kernel
    on_host = host_evaluable(written_objects(region))
    found = next(_outer_loops(region.body), None)
    if not isinstance(found, Loop) or not all(map(on_host, (found.lower, found.upper, found.step))):
        return None
    return found


def _outer_loops(body: Block) -> Iterator[Loop | ForLoop | While]:
    for statement in body.statements:
        if isinstance(statement, Block):
            yield from _outer_loops(statement)
        elif isinstance(statement, (Loop, ForLoop, While)):
            yield statement


def is_of_devices_only(plan: KernelPlan, argument: ArrayArgument) -> bool:
    """Whether the array is the plan's own and no launch of a host touches it: hosts have no memory for it."""
    object_ = argument.object
    return object_.scope is Scope.TEMPORARY and not any(mentions(launch.body, object_) for launch in plan.host)


def sizes_on_hosts(
    plan: KernelPlan, scalars: Mapping[str, int], threads: int | None = None, by_opencl: bool = False
) -> tuple[int, ...]:
    """The tile sizes of a launch on a host where the plan's scalars have these values, by name: the
    runtime's, where TILEK_SIZES says nothing. `by_opencl`: of the same launch on an OpenCL device
    that is a processor. Without its `threads` those that depend on them are the defaults.

    Raises UncountableError where the values do not say which choice holds.
    """
    from tilepragma.plan.balanced_chunking import with_even_sizes

    taken = tuple(size.host for size in plan.sizes)
    choices = choices_on_hosts(plan, by_opencl)
    if choices:
        found = found_by_launch(plan, scalars, with_trips=by_trips(plan))
        taken = chosen_sizes(choices, found) or taken
    return taken if threads is None else with_even_sizes(plan, taken, scalars, threads)


def choices_on_hosts(plan: KernelPlan, by_opencl: bool) -> tuple[SizeChoice, ...]:
    """What launches of hosts look through in this order, on cores or on OpenCL devices that are processors."""
    return (*plan.processor_choices, *plan.choices) if by_opencl else plan.choices


def chosen_sizes(choices: Sequence[SizeChoice], found: tuple[int, int]) -> tuple[int, ...] | None:
    """The tile sizes of the first choice that holds for the bytes and trips that a launch finds;
    None where none does, or that is one of another version.
    """
    taken = next((choice for choice in choices if _within(found, _limits(choice))), None)
    return None if taken is None or taken.version else taken.sizes


def found_by_launch(plan: KernelPlan, scalars: Mapping[str, int], with_trips: bool) -> tuple[int, int]:
    """The bytes of its arrays and the iterations of its outermost loop that a launch on a host
    finds where the plan's scalars have these values, by name; without the iterations, or where it
    cannot count them, 0 in their place.

    Raises UncountableError where the values do not say them.
    """
    from tilepragma.ir.evaluation import Evaluation, UncountableError
    from tilepragma.plan.array_bytes import array_bytes

    arrays = array_bytes(plan, scalars)
    if arrays is None:
        raise UncountableError("the length of a section is not known")
    held = {array.object for array in plan.arrays if not is_of_devices_only(plan, array)}
    outermost = outermost_loop(plan) if with_trips else None
    return (
        sum(array.bytes for array in arrays if array.array in held),
        0 if outermost is None else int(Evaluation(scalars).trips(outermost)),
    )


def around(measured: MeasuredSizes, others: Sequence[SizeChoice], default: tuple[int, ...]) -> tuple[SizeChoice, ...]:
    """What was measured where it was, and outside of that the others, `default` where none of them holds."""
    last = measured.choices[-1].bytes
    below: list[SizeChoice] = []
    if measured.least > 0:
        limit = measured.least - 1
        inside = [one for one in others if one.bytes is not None and one.bytes <= limit]
        beyond = [one.bytes for one in others if one.bytes is None or one.bytes > limit]
        clipped = [replace(one, bytes=limit) for one in others if beyond and one.bytes == beyond[0]]
        below = [one for one in inside if one.bytes != limit or one.trips is not None or not clipped] + clipped
        if not below or _limits(below[-1]) != (limit, NO_LIMIT):
            below.append(SizeChoice(limit, None, default))
    above = [one for one in others if last is not None and (one.bytes is None or one.bytes > last)]
    return (*below, *measured.choices, *above)


def by_trips(plan: KernelPlan) -> bool:
    """Whether a launch must know the iterations of the outermost loop."""
    return any(choice.trips is not None for choices in _tables(plan) for choice in choices)


def _tables(plan: KernelPlan) -> tuple[tuple[SizeChoice, ...], ...]:
    return plan.choices, plan.device_choices, plan.processor_choices


def wrong_choices(plan: KernelPlan) -> Iterator[str]:
    """What is wrong with a plan's choices: sizes and limits in range, in ascending order of bytes and then of trips, and each of use."""
    if by_trips(plan) and outermost_loop(plan) is None:
        yield "a choice asks for the iterations of the outermost loop, which the launch does not know"
    for choices in _tables(plan):
        if choices and not plan.sizes and not plan.versions:
            yield "there are choices of tile sizes, but no tile sizes"
        for place, choice in enumerate(choices):
            yield from _wrong_choice(plan, place, choice)
            for other, before in enumerate(choices[:place]):
                if _within(_limits(choice), _limits(before)):
                    yield f"choice {place} is never reached: choice {other} holds wherever it does"
            if place and _limits(choice) < _limits(choices[place - 1]):
                yield f"choice {place} stands behind a larger one"


def _wrong_choice(plan: KernelPlan, place: int, choice: SizeChoice) -> Iterator[str]:
    if not 0 <= choice.version <= len(plan.versions):
        yield f"choice {place} is of version {choice.version}, which there is none of"
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
    """Bytes and trips as numbers, for comparisons."""
    return (
        NO_LIMIT if choice.bytes is None else choice.bytes,
        NO_LIMIT if choice.trips is None else choice.trips,
    )


def _within(found: tuple[int, int], limits: tuple[int, int]) -> bool:
    return found[0] <= limits[0] and found[1] <= limits[1]
