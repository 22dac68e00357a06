"""Readable text of a KernelPlan, for `explain`, debugging and tests."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.ir.loop_tree_text import plain_text, statement_text
from tilepragma.ir.polynomial import expression
from tilepragma.plan.kernel_plan import (
    ArrayArgument,
    FinalValue,
    HostCondition,
    HostLoop,
    KernelPlan,
    Launch,
    SizeChoice,
    Step,
)
from tilepragma.plan.space_time import Hyperplane, LoopMeaning, SpaceTimeMap
from tilepragma.user_tiles.tile_nests import axis_text


def plan_text(plan: KernelPlan) -> str:
    """The whole plan, a fact a line. Equal host and device launches appear once."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: KernelPlan) -> Iterator[str]:
    targets = ", ".join(target.value for target in plan.targets)
    yield f"kernel {plan.kernel.name}: targets {targets or 'none'}; prefers {plan.preferred.value}"
    if plan.untransformed is not None:
        yield f"  runs as written: {plan.untransformed}"
    for declaration in plan.prologue:
        yield f"  first {statement_text(declaration).strip()}"
    for storage in plan.storage:
        yield f"  {storage}"
    for argument in plan.arrays:
        yield f"  {_argument(argument)}"
    for table in plan.constants:
        yield f"  table {table.host}, by its values"
    if plan.scalars:
        yield f"  by value {', '.join(object_.host for object_ in plan.scalars)}"
    if plan.conditions:
        yield f"  only where {' and '.join(map(plain_text, plan.conditions))}"
    for count in plan.counts:
        yield f"  {count.axis.value} {count.dimension} count {count.count.text}"
    for final in plan.final_values:
        if isinstance(final, FinalValue):
            yield f"  after it {final.iterator.host} has the last value of loop {final.loop.symbol}"
        else:
            where = "" if final.condition is None else f" where {plain_text(final.condition)}"
            yield f"  after it {final.iterator.host} is {plain_text(final.value)}{where}"
    for size in plan.sizes:
        yield f"  tile size {size.object.name}: {size.host} on the host, {size.device} on devices"
    yield from _choices("the host", plan.choices)
    yield from _choices("OpenCL processors", plan.processor_choices)
    if plan.host_steps == plan.device_steps:
        yield from _steps("", plan.host_steps, "  ")
    else:
        yield from _steps("host ", plan.host_steps, "  ")
        yield from _steps("device ", plan.device_steps, "  ")


def _choices(where: str, choices: tuple[SizeChoice, ...]) -> Iterator[str]:
    for choice in choices:
        most = (("bytes", choice.bytes), ("trips", choice.trips))
        limits = [f"{limit} {name}" for name, limit in most if limit is not None]
        reach = f" up to {' and '.join(limits)}" if limits else ""
        yield f"  tile sizes on {where}{reach}: {', '.join(map(str, choice.sizes))}"


def _argument(argument: ArrayArgument) -> str:
    section = "".join(f"[{plain_text(bound.lower)} : {plain_text(bound.length)}]" for bound in argument.section)
    if argument.object.rank and not argument.section:
        section = "[?]"
    mode = "".join(letter for letter, holds in (("r", argument.reads), ("w", argument.writes)) if holds)
    moves = [word for word, holds in (("in", argument.copy_in), ("out", argument.copy_out)) if holds]
    movement = "must be present" if argument.present else f"copied {' and '.join(moves) or 'not'}"
    return f"{argument.object.storage.value} {argument.object.host}{section} {mode}, {movement}"


def _steps(kind: str, steps: tuple[Step, ...], indentation: str) -> Iterator[str]:
    for step in steps:
        match step:
            case HostLoop(loop, inner):
                declared = "" if loop.declares_iterator else ", declared outside"
                bounds = f"from {plain_text(loop.lower)} while {loop.comparison} {plain_text(loop.upper)}"
                stride = plain_text(loop.step)
                by = "" if stride == "1" else f" by {stride}"
                yield f"{indentation}{kind}steps over {loop.iterator.name} {bounds}{by}{declared}"
                yield from _steps(kind, inner, indentation + "  ")
            case HostCondition(condition, inner):
                yield f"{indentation}{kind}steps if {plain_text(condition)}"
                yield from _steps(kind, inner, indentation + "  ")
            case Launch():
                yield from (indentation + line for line in _launch(kind, step))


def _schedule(schedule: SpaceTimeMap) -> str:
    """`line 7 at time t, place i, in order j`"""
    lines = sorted({place.start.line for place in schedule.statements})
    parts = (("time", schedule.time), ("place", schedule.place), ("in order", schedule.ordered))
    told = (f"{word} {', '.join(map(_meaning, meanings))}" for word, meanings in parts if meanings)
    return f"line {', '.join(map(str, lines))} at {', '.join(told) or 'once'}"


def _meaning(meaning: LoopMeaning) -> str:
    """`wavefront = floor(t / t_size) + floor((t + i) / i_size)`"""
    value = " + ".join(map(_hyperplane, meaning.hyperplanes))
    return value if value == meaning.iterator.name else f"{meaning.iterator.name} = {value}"


def _hyperplane(plane: Hyperplane) -> str:
    phi = plain_text(expression(plane.phi))
    if plane.size is None:
        return phi
    quotient = " / ".join(
        text if text.isalnum() or text.isidentifier() else f"({text})" for text in (phi, plain_text(plane.size))
    )
    return f"floor({quotient}){'' if plane.halo is None else ' with halos'}"


def _launch(kind: str, launch: Launch) -> Iterator[str]:
    axes = ", ".join(axis_text(axis) for axis in launch.axes)
    values = f"; takes {', '.join(object_.name for object_ in launch.values)}" if launch.values else ""
    yield f"{kind}launch {launch.name}: {axes or 'one instance'}{values}"
    for reduction in launch.reductions:
        yield f"  reduces {reduction.object.host} with {reduction.operator}"
    first = set(launch.first_privates)
    for object_ in launch.privates:
        yield f"  {'firstprivate' if object_ in first else 'private'} {object_.host}"
    for schedule in launch.schedule:
        yield f"  {_schedule(schedule)}"
    for line in statement_text(launch.body).splitlines():
        yield f"  {line}"
    if launch.staged is not None:
        yield "  staged where the array tiles fit"
        for line in statement_text(launch.staged).splitlines():
            yield f"    {line}"
