"""The text around the statement of a region: its launches.

Text before a statement and text after it make one statement of the three.
"""

from __future__ import annotations

from tilepragma.base.c_text import quote
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import C
from tilepragma.codegen.launch_parameters import PlanNumbers, axis_index, plan_numbers
from tilepragma.codegen.manifest import kernel_symbol
from tilepragma.codegen.printer import ASSIGNMENT, UNARY, Printer
from tilepragma.codegen.statements import StatementPrinter, counts_down_to_zero
from tilepragma.codegen.step_functions import range_text
from tilepragma.codegen.templates import render
from tilepragma.codegen.writer import Writer
from tilepragma.host.user_macros import as_written
from tilepragma.ir.directives import ClauseExpression, DataDirective, KernelDirective
from tilepragma.ir.expressions import Access, Binary, Cast, DataObject, Expression, Scope, Storage, integer
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Axis, Declaration, Loop, TiledLoop
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import is_scalar
from tilepragma.ir.quotients import with_guarded_quotients
from tilepragma.ir.traversal import perfect_nest, walk
from tilepragma.ir.types import INT, ScalarType, is_signed
from tilepragma.plan.dispatch_table import by_trips, outermost_loop
from tilepragma.plan.kernel_plan import ArrayArgument, HostExpression, KernelPlan, LastValue

#: Prints objects as the user's function names them.
USER = Printer(C, host_names=True)
#: Precedence of operands of `!=` and `&&`.
_EQUALITY, _AND = 9, 5


@dataclass(frozen=True)
class SurroundingText:
    """Generated text before and after the user's statement, and constants at file scope."""

    before: str
    after: str
    constants: str = ""


def host_text(expression: HostExpression, least: int = ASSIGNMENT) -> str:
    """A launch-time expression: a clause's text as it stands, or one over host objects."""
    if isinstance(expression, ClauseExpression):
        text = expression.text.strip()
        simple = text.replace("_", "a").isalnum()
        return as_written(text if simple else f"({text})")
    return USER.expression(with_guarded_quotients(expression), least)


def queue_text(directive: KernelDirective | DataDirective) -> str:
    """The number of the queue that `async` names."""
    if directive.asynchronous is not None:
        return host_text(directive.asynchronous)
    return "TILEK_QUEUE_DEFAULT" if directive.asynchronous_default else "TILEK_QUEUE_SYNCHRONOUS"


def _extents(object_: DataObject) -> list[str]:
    """The object's lengths, as the compiler knows them; the first is -1 if unknown.

    A length that is no literal comes from sizeof, as its variables may have changed since the
    declaration. Rows may be empty.
    """
    if object_.storage is not Storage.CONTIGUOUS:
        return []
    if object_.scope is Scope.TEMPORARY:
        return [host_text(length) for length in object_.lengths if length is not None]
    first = object_.stored.lengths[0]
    result = ["-1" if first is None else host_text(first)]
    if object_.rows_in is not None:
        # Without columns there are no accesses.
        lengths = [host_text(length) for length in object_.lengths[1:] if length is not None]
        return [*result, *(text if text.isdigit() else f"tilek_maximum({text}, 1)" for text in lengths)]
    texts = ["" if length is None else host_text(length) for length in object_.lengths[1:]]
    element = f"{object_.host}[0]"
    for place, text in enumerate(texts, 1):
        inner = f"{element}[0]"
        size = f"sizeof({inner})" if all(map(str.isdigit, texts[place:])) else f"tilek_maximum(sizeof({inner}), 1)"
        result.append(text if text.isdigit() else f"sizeof({element}) / {size}")
        element = inner
    return result


def array_initializer(object_: DataObject, section: list[tuple[str, str]]) -> str:
    """`{.base = …}` of a tilek_array; `section` has each dimension's lower bound and length."""
    if object_.storage is Storage.SCALAR:
        return f"{{.base = (void *)&{object_.host}}}"
    parts = [".base = NULL" if object_.scope is Scope.TEMPORARY else f".base = (void *){object_.host}"]
    if not section:
        return "{" + parts[0] + "}"
    lists = {
        "lower": [lower for lower, _ in section],
        "length": [length for _, length in section],
        "extent": _extents(object_),
    }
    parts += [f".{member} = {{{', '.join(texts)}}}" for member, texts in lists.items() if texts]
    return "{" + ", ".join(parts) + "}"


def region_text(plan: KernelPlan) -> SurroundingText:
    """The launch of a region; the user's statement between the two parts is the fallback."""
    numbering = plan_numbers(plan)
    instead = _reordered(plan)
    directive = plan.kernel.directive
    device = "-1" if directive.device is None else host_text(directive.device)
    # Choices of tile sizes may need the outermost loop's trip count.
    outermost = outermost_loop(plan) if by_trips(plan) else None
    versions = tuple(_version(plan, place) for place in range(1, len(plan.versions) + 1))
    symbol = kernel_symbol(plan.kernel.name)
    launched = ("tilek_kernels[tilek_taken]" if versions else f"&{symbol}") + ", &tilek_call_"
    before = render(
        "host/before.c.j2",
        name=plan.kernel.name,
        symbol=symbol,
        launched=launched,
        versions=versions,
        as_written=plan.untransformed is not None,
        prologue=_prologue(plan),
        elements=[object_.host for object_ in plan.kernel.objects if object_.is_element],
        place=f"{quote(directive.range.file)}, {directive.range.start.line}",
        scalars=[
            (f"const {USER.type(object_.element, f'tilek_scalar{index}')}", object_.host)
            for index, object_ in enumerate(plan.scalars)
        ],
        arrays=list(map(array_text, plan.arrays)),
        loops=[_bounds(loop) for loop in numbering.loops],
        tile_arguments=_tile_arguments(numbering),
        has_constant_tiles=_are_numbers(_tile_arguments(numbering)),
        waits=[host_text(queue) for queue in directive.waits],
        wait_all=directive.wait_all,
        axes=_axes(plan),
        device="TILEK_DEVICES_ALL" if directive.all_devices else device,
        queue=queue_text(directive),
        row_bases=[host_text(base) for base in plan.row_bases],
        operations=[
            " * ".join([f"{operation.count}.0", *(_known_trip(loop, numbering) for loop in operation.loops)])
            for operation in plan.operations
        ],
        enabled=_enabled(plan),
        said=_if_clause(plan),
        runs=_runs(plan),
        failures=[(host_text(condition, UNARY), _failure(plan, condition)) for condition in plan.conditions],
        trips=None if outermost is None else _known_trip(outermost, numbering),
        instead=instead,
    )
    after = render(
        "host/after.c.j2",
        instead=bool(instead),
        launched=launched,
        versions=versions,
        final_values=[] if plan.untransformed is not None else _final_values(plan, numbering),
    )
    return SurroundingText(before, after)


def _are_numbers(texts: list[str]) -> bool:
    """Whether all texts are numbers, so that launches need not fill them in."""
    return all(text.isdigit() for text in texts)


def _member(
    name: str, type_: str, usual: list[str], changed: list[str], place: int
) -> tuple[str, list[str], list[str]]:
    """A list of a version's call, member `name` of tilek_call: its variable, its declaration, and
    the assignments that fill it and make the call point to it. There are none where the elements
    are the plan's first ones.
    """
    variable = f"tilek_{name}"
    if changed == usual[: len(changed)]:
        return variable, [], []
    variable += f"_{place}"
    points = f"tilek_call_.{name} = {variable}"
    if _are_numbers(changed):
        return variable, [f"static const {type_}{variable}[] = {{{', '.join(changed)}}}"], [points]

    def value(text: str) -> str:
        if not text.startswith("{"):
            return text
        return f"tilek_{name}[{usual.index(text)}]" if text in usual else f"({type_.strip()}){text}"

    filled = [f"{variable}[{index}] = {value(text)}" for index, text in enumerate(changed)]
    return variable, [f"{type_}{variable}[{len(changed)}]"], [*filled, points]


def _version(usual: KernelPlan, place: int) -> dict[str, object]:
    """A version, counted from 1, with the parts of its call that differ from the plan's, as text.

    These are variables, and assignments for launches that take this version. Common parts come from
    the plan's call, which is evaluated once.
    """
    version = usual.versions[place - 1]
    plan, numbering, given = version.plan, plan_numbers(version.plan), plan_numbers(usual)
    names = [_scalar_name(usual, object_) or f"tilek_scalar{place}_{k}" for k, object_ in enumerate(plan.scalars)]
    added = [(object_, name) for object_, name in zip(plan.scalars, names, strict=True) if object_ not in usual.scalars]
    usual_scalars = [f"&{_scalar_name(usual, object_)}" for object_ in usual.scalars]
    loops = _member(
        "loops", "tilek_bounds ", list(map(_bounds, given.loops)), list(map(_bounds, numbering.loops)), place
    )
    bases, usual_bases = list(map(host_text, plan.row_bases)), list(map(host_text, usual.row_bases))
    members = (
        _member("scalars", "const void *", usual_scalars, [f"&{name}" for name in names], place),
        _member(
            "arrays", "tilek_array ", list(map(array_text, usual.arrays)), list(map(array_text, plan.arrays)), place
        ),
        loops,
        _member("tile_arguments", "int64_t ", _tile_arguments(given), _tile_arguments(numbering), place),
        _member("row_bases", "int64_t ", usual_bases, bases, place),
    )
    return {
        "number": place,
        "text": version.text.replace("*/", "* /"),
        "symbol": kernel_symbol(plan.kernel.name),
        "declarations": [
            *(USER.type(object_.element, name) for object_, name in added),
            *(line for _, declarations, _ in members for line in declarations),
        ],
        "changes": [
            *(f"{name} = {object_.host}" for object_, name in added),
            *(line for _, _, changes in members for line in changes),
            *_other_axes(usual, plan),
            *_other_conditions(usual, plan),
        ],
        "final_values": _final_values(plan, numbering, loops[0]),
    }


def _scalar_name(plan: KernelPlan, object_: DataObject) -> str | None:
    """The variable that holds the object for the plan's call, or None."""
    return f"tilek_scalar{plan.scalars.index(object_)}" if object_ in plan.scalars else None


def _other_axes(usual: KernelPlan, plan: KernelPlan) -> list[str]:
    """Assignments of the counts in which a version differs from the plan."""
    shared = {axis_index(Axis(count.axis, count.dimension)) for count in set(plan.counts) & set(usual.counts)}
    pairs = enumerate(zip(_axes(plan), _axes(usual), strict=True))
    changed = ((k, axis) for k, (axis, usual_axis) in pairs if k not in shared and axis != usual_axis)
    return [f"tilek_call_.axes[{k}] = {axis}" for k, axis in changed]


def _other_conditions(usual: KernelPlan, plan: KernelPlan) -> list[str]:
    others = [condition for condition in plan.conditions if condition not in usual.conditions]
    if not others:
        return []
    runs = _runs(plan)
    asked = f"tilek_call_.enabled{f' && ({runs})' if runs else ''}"
    tests = [host_text(condition, _AND) for condition in others]
    return [
        *(f"if ({asked} && !{host_text(condition, UNARY)}) {_failure(plan, condition)}" for condition in others),
        f"tilek_call_.enabled = {' && '.join(('tilek_call_.enabled', *tests))}",
    ]


def _failure(plan: KernelPlan, condition: HostExpression) -> str:
    """The call that reports a failed check, with the values in it."""
    text = condition.text if isinstance(condition, ClauseExpression) else plain_text(condition)
    scalars = {node.object.host: node.type for node in walk(condition) if isinstance(node, Access) and is_scalar(node)}
    values = [
        f"{quote(name if is_signed(type_) else f'+{name}')}, (int64_t)({name})" for name, type_ in scalars.items()
    ]
    arguments = [f"&{kernel_symbol(plan.kernel.name)}", quote(text), str(len(values)), *values]
    return f"tilek_check_failed({', '.join(arguments)})"


def _runs(plan: KernelPlan) -> str:
    """A C test that the region has an iteration, or "": without one no check matters."""
    can_evaluate = host_evaluable(written_objects(plan.kernel))
    chains = []
    for statement in plan.kernel.body.statements:
        if isinstance(statement, Declaration):
            continue
        loops = (loop for loop in perfect_nest(statement) if can_evaluate(loop.lower) and can_evaluate(loop.upper))
        trips = [host_text(_begins(loop), _AND) for loop in loops]
        if not trips:
            return ""
        chains.append(" && ".join(trips))
    return chains[0] if len(chains) == 1 else " || ".join(f"({chain})" for chain in chains)


def _begins(loop: Loop) -> Expression:
    """The first test of the loop, in the types in which C compares."""
    if counts_down_to_zero(loop):
        return Binary("!=", loop.lower, integer(-1), INT)
    assert isinstance(loop.iterator.element, ScalarType)
    return Binary(loop.comparison, Cast(loop.iterator.element, loop.lower), loop.upper, INT)


def array_text(item: ArrayArgument) -> str:
    """The initialiser of an array's argument: the object and its section."""
    return array_initializer(item.object, [(host_text(b.lower), host_text(b.length)) for b in item.section])


def _prologue(plan: KernelPlan) -> list[str]:
    writer = Writer()
    printer = StatementPrinter(writer, USER)
    for declaration in plan.prologue:
        printer.statement(declaration)
        for declarator in declaration.declarators:
            writer.line(f"(void){declarator.object.host};")
    return writer.lines


def _reordered(plan: KernelPlan) -> list[str]:
    """The lines that run if no launch does, unless these are the user's statement."""
    if plan.reordered is None:
        return []
    writer = Writer(user_lines=True, depth=2)
    StatementPrinter(writer, USER).block(plan.reordered.kernel.body)
    for value in plan.reordered.final_values:
        condition = " && ".join(f"{_trip(around.loop)} > 0" for around in value.enclosing)
        loop = value.loop.loop
        last = f"{host_text(loop.lower)} + {host_text(loop.step)} * {_trip(loop)}"
        writer.line(f"{f'if ({condition}) ' if condition else ''}{value.iterator.host} = {last};")
    return writer.text().splitlines()


def _bounds(loop: Loop) -> str:
    return f"{{{host_text(loop.lower)}, {host_text(loop.upper)}, {host_text(loop.step)}, {_trip(loop)}}}"


def _trip(loop: Loop) -> str:
    return f"tilek_trip({range_text(loop, host_text)})"


def _known_trip(loop: Loop, numbering: PlanNumbers) -> str:
    """The trip count, from the entry of tilek_loops with equal bounds if any: no division."""
    entries = list(map(_bounds, numbering.loops))
    return f"tilek_loops[{entries.index(_bounds(loop))}].trip" if _bounds(loop) in entries else _trip(loop)


def _tile_arguments(numbering: PlanNumbers) -> list[str]:
    tiles = (tile for loop in numbering.first_arguments for tile in loop.tiles)
    arguments = (None if tile.axis is not None else tile.argument for tile in tiles)
    return ["0" if argument is None else host_text(argument) for argument in arguments]


def _axes(plan: KernelPlan) -> list[str]:
    axes = ["0"] * 7
    for count in plan.counts:
        axes[axis_index(Axis(count.axis, count.dimension))] = host_text(count.count)
    return axes


def _enabled(plan: KernelPlan) -> str:
    clause = _if_clause(plan)
    tests = [host_text(condition, _AND) for condition in plan.conditions]
    if clause is not None:
        tests.insert(0, "tilek_said" if plan.conditions else clause)
    return " && ".join(tests) or "1"


def _if_clause(plan: KernelPlan) -> str | None:
    """The `if` clause, and whether launches are worthwhile; if it is 0, the original loop runs and
    no failed check is reported.
    """
    condition, reductions = plan.kernel.directive.condition, plan.kernel.reductions
    said = None if condition is None else f"{host_text(condition, _EQUALITY)} != 0"
    tests = (said, None if reductions is None else host_text(reductions.worthwhile, _AND))
    return " && ".join(test for test in tests if test is not None) or None


def _final_values(plan: KernelPlan, numbering: PlanNumbers, loops: str = "tilek_loops") -> list[str]:
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


def _entry(numbering: PlanNumbers, loop: TiledLoop, loops: str) -> str:
    return f"{loops}[{numbering.loop_number(loop)}]"
