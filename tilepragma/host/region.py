"""The text around a region: what the launch needs before it, and completion after it. Both together are one statement."""

from __future__ import annotations

from dataclasses import dataclass

from tilepragma.codegen.kernel_constants import kernel_symbol
from tilepragma.codegen.launches import Numbering, number
from tilepragma.codegen.manifest import axis_index
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.steps import range_text
from tilepragma.codegen.templates import render
from tilepragma.codegen.writer import Writer
from tilepragma.host.expressions import USER, array_initializer, host_text
from tilepragma.ir.directives import KernelDirective
from tilepragma.ir.looptree import Axis, Loop, TiledLoop
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, LastValue
from tilepragma.plan.size_choices import by_trips, outermost_loop

#: Precedence of operands of `!=` and `&&`.
_EQUALITY, _AND = 9, 5


@dataclass(frozen=True)
class RegionText:
    """Generated text before and after the user's statement."""

    before: str
    after: str


def region_text(plan: KernelPlan) -> RegionText:
    """The launch of a region; the user's statement between the two parts is the fallback."""
    numbering = number(plan)
    directive = plan.kernel.directive
    versions = tuple(_version(plan, place) for place in range(1, len(plan.versions) + 1))
    symbol = kernel_symbol(plan.kernel.name)
    launched = "tilek_kernels[tilek_taken], tilek_calls[tilek_taken]" if versions else f"&{symbol}, &tilek_call_"
    before = render(
        "host/before.c.j2",
        name=plan.kernel.name,
        symbol=symbol,
        launched=launched,
        versions=versions,
        as_written=plan.as_written is not None,
        prologue=_prologue(plan),
        scalars=[(_scalar(plan, index), object_.host) for index, object_ in enumerate(plan.scalars)],
        arrays=list(map(_array, plan.arrays)),
        loops=[_bounds(loop) for loop in numbering.loops],
        tile_arguments=_tile_arguments(numbering),
        waits=[host_text(queue) for queue in directive.waits],
        wait_all=directive.wait_all,
        axes=_axes(plan),
        device=_device(directive),
        queue=_queue(plan),
        row_bases=[host_text(base) for base in plan.row_bases],
        operations=_operations(plan),
        enabled=_enabled(plan),
        trips=_outermost_trips(plan),
        instead=_instead(plan),
    )
    after = render(
        "host/after.c.j2",
        launched=launched,
        versions=versions,
        final_values=[] if plan.as_written is not None else _final_values(plan, numbering),
    )
    return RegionText(before, after)


@dataclass(frozen=True)
class _Version:
    """What the call of a version has, counted from 1, as text. What is the plan's own call's too is taken from there: it is evaluated once."""

    number: int
    text: str
    symbol: str
    scalars: list[tuple[str, str]]
    addresses: list[str]
    arrays: list[str]
    loops: list[str]
    tile_arguments: list[str]
    axes: list[str]
    row_bases: list[str]
    enabled: str
    final_values: list[str]


def _version(usual: KernelPlan, place: int) -> _Version:
    version = usual.versions[place - 1]
    plan, numbering = version.plan, number(version.plan)
    scalars, addresses = [], []
    for index, object_ in enumerate(plan.scalars):
        name = f"tilek_scalar{place}_{index}"
        if object_ in usual.scalars:
            name = f"tilek_scalar{usual.scalars.index(object_)}"
        else:
            scalars.append(("const " + USER.type(object_.element, name), object_.host))
        addresses.append(f"&{name}")
    known = {(one.object, one.section): f"tilek_arrays[{index}]" for index, one in enumerate(usual.arrays)}
    tests = [host_text(one, _AND) for one in plan.conditions if one not in usual.conditions]
    axes = _axes(plan)
    for count in set(plan.counts) & set(usual.counts):
        index = axis_index(Axis(count.axis, count.dimension))
        axes[index] = f"tilek_call_.axes[{index}]"
    return _Version(
        place,
        version.text.replace("*/", "* /"),
        kernel_symbol(plan.kernel.name),
        scalars,
        addresses,
        [known.get((one.object, one.section)) or _array(one) for one in plan.arrays],
        [_bounds(loop) for loop in numbering.loops],
        _tile_arguments(numbering),
        axes,
        [host_text(base) for base in plan.row_bases],
        " && ".join(("tilek_call_.enabled", *tests)),
        _final_values(plan, numbering, f"tilek_loops_{place}"),
    )


def _array(item: ArrayArgument) -> str:
    return array_initializer(item.object, [(host_text(b.lower), host_text(b.length)) for b in item.section])


def _scalar(plan: KernelPlan, index: int) -> str:
    return "const " + USER.type(plan.scalars[index].element, f"tilek_scalar{index}")


def _prologue(plan: KernelPlan) -> list[str]:
    writer = Writer()
    printer = StatementPrinter(writer, USER)
    for declaration in plan.prologue:
        printer.statement(declaration)
        for declarator in declaration.declarators:
            writer.line(f"(void){declarator.object.host};")
    return writer.lines


def _instead(plan: KernelPlan) -> list[str]:
    """What runs instead of the user's statement where no launch does; nothing where it is that statement."""
    if plan.reordered is None:
        return []
    writer = Writer(user_lines=True, depth=2)
    StatementPrinter(writer, USER).block(plan.reordered.kernel.body)
    for value in plan.reordered.final_values:
        condition = " && ".join(f"{_trip(one.loop)} > 0" for one in value.enclosing)
        loop = value.loop.loop
        last = f"{host_text(loop.lower)} + {host_text(loop.step)} * {_trip(loop)}"
        writer.line(f"{f'if ({condition}) ' if condition else ''}{value.iterator.host} = {last};")
    return writer.text().splitlines()


def _bounds(loop: Loop) -> str:
    return f"{{{host_text(loop.lower)}, {host_text(loop.upper)}, {host_text(loop.step)}, {_trip(loop)}}}"


def _trip(loop: Loop) -> str:
    return f"tilek_trip({range_text(loop, host_text)})"


def _operations(plan: KernelPlan) -> list[str]:
    """The summands of the number of floating-point operations."""
    return [" * ".join([f"{one.count}.0", *map(_trip, one.loops)]) for one in plan.operations]


def _outermost_trips(plan: KernelPlan) -> str | None:
    """None where no choice of tile sizes asks for them."""
    loop = outermost_loop(plan) if by_trips(plan) else None
    return None if loop is None else _trip(loop)


def _tile_arguments(numbering: Numbering) -> list[str]:
    return [
        "0" if tile.argument is None or tile.axis is not None else host_text(tile.argument)
        for loop in numbering.tiled
        for tile in loop.tiles
    ]


def _axes(plan: KernelPlan) -> list[str]:
    axes = ["0"] * 7
    for count in plan.counts:
        axes[axis_index(Axis(count.axis, count.dimension))] = host_text(count.count)
    return axes


def _enabled(plan: KernelPlan) -> str:
    said = plan.kernel.directive.condition
    tests = [host_text(condition, _AND) for condition in plan.conditions]
    if said is not None:
        tests.insert(0, f"{host_text(said, _EQUALITY)} != 0")
    return " && ".join(tests) or "1"


def _device(directive: KernelDirective) -> str:
    if directive.all_devices:
        return "TILEK_DEVICES_ALL"
    return "-1" if directive.device is None else host_text(directive.device)


def _queue(plan: KernelPlan) -> str:
    directive = plan.kernel.directive
    if directive.asynchronous is not None:
        return host_text(directive.asynchronous)
    return "TILEK_QUEUE_DEFAULT" if directive.asynchronous_default else "TILEK_QUEUE_SYNCHRONOUS"


def _final_values(plan: KernelPlan, numbering: Numbering, loops: str = "tilek_loops") -> list[str]:
    lines = []
    for value in plan.final_values:
        if isinstance(value, LastValue):
            guard = "" if value.condition is None else f"if ({host_text(value.condition)}) "
            lines.append(f"{guard}{value.iterator.host} = {host_text(value.value)};")
            continue
        bounds = _entry(numbering, value.loop, loops)
        condition = " && ".join(f"{_entry(numbering, loop, loops)}.trip > 0" for loop in value.enclosing)
        guard = f"if ({condition}) " if condition else ""
        lines.append(f"{guard}{value.iterator.host} = {bounds}.lower + {bounds}.step * {bounds}.trip;")
    return lines


def _entry(numbering: Numbering, loop: TiledLoop, loops: str) -> str:
    return f"{loops}[{numbering.loop_number(loop)}]"
