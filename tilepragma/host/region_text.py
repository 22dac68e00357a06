"""The text around a region: launch before it, completion after it; together one statement."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.base.c_text import quote
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.kernel_constants import kernel_symbol
from tilepragma.codegen.launch_order import range_text
from tilepragma.codegen.loop_heads import counts_down_to_zero
from tilepragma.codegen.manifest import axis_index
from tilepragma.codegen.numbering import Numbering, number
from tilepragma.codegen.printer import UNARY
from tilepragma.codegen.statements import StatementPrinter
from tilepragma.codegen.templates import render
from tilepragma.codegen.writer import Writer
from tilepragma.host.launch_expressions import USER, array_initializer, host_text, queue_text
from tilepragma.ir.directives import ClauseExpression, KernelDirective
from tilepragma.ir.expressions import Access, Binary, Cast, DataObject, Expression, integer
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Axis, Block, Declaration, Loop, Statement, TiledLoop
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import is_scalar
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, ScalarType, is_signed
from tilepragma.plan.dispatch_table import by_trips, outermost_loop
from tilepragma.plan.kernel_plan import ArrayArgument, HostExpression, KernelPlan, LastValue

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
    instead = _reordered(plan)
    directive = plan.kernel.directive
    versions = tuple(_version(plan, place) for place in range(1, len(plan.versions) + 1))
    symbol = kernel_symbol(plan.kernel.name)
    launched = ("tilek_kernels[tilek_taken]" if versions else f"&{symbol}") + ", &tilek_call_"
    before = render(
        "host/before.c.j2",
        name=plan.kernel.name,
        symbol=symbol,
        launched=launched,
        versions=versions,
        as_written=plan.as_written is not None,
        prologue=_prologue(plan),
        elements=[object_.host for object_ in plan.kernel.objects if object_.is_element],
        place=f"{quote(directive.range.file)}, {directive.range.start.line}",
        scalars=[(_scalar(plan, index), object_.host) for index, object_ in enumerate(plan.scalars)],
        arrays=list(map(_array, plan.arrays)),
        loops=[_bounds(loop) for loop in numbering.loops],
        tile_arguments=_tile_arguments(numbering),
        has_constant_tiles=_are_numbers(_tile_arguments(numbering)),
        waits=[host_text(queue) for queue in directive.waits],
        wait_all=directive.wait_all,
        axes=_axes(plan),
        device=_device(directive),
        queue=queue_text(plan.kernel.directive),
        row_bases=[host_text(base) for base in plan.row_bases],
        operations=_operations(plan, numbering),
        enabled=_enabled(plan),
        said=_if_clause(plan),
        runs=_runs(plan),
        failures=[(host_text(condition, UNARY), _failure(plan, condition)) for condition in plan.conditions],
        trips=_outermost_trips(plan, numbering),
        instead=instead,
    )
    after = render(
        "host/after.c.j2",
        instead=bool(instead),
        launched=launched,
        versions=versions,
        final_values=[] if plan.as_written is not None else _final_values(plan, numbering),
    )
    return RegionText(before, after)


@dataclass(frozen=True)
class _Version:
    """A version, counted from 1, with the parts of its call that differ from the plan's, as text.

    These are variables, and assignments for launches that take this version. Common parts come from
    the plan's call, which is evaluated once.
    """

    number: int
    text: str
    symbol: str
    declarations: list[str]
    changes: list[str]
    final_values: list[str]


@dataclass(frozen=True)
class _Member:
    """A list that a call points to: member in tilek_call, element type, plan's and version's."""

    name: str
    type: str
    usual: list[str]
    changed: list[str]

    @property
    def is_shared(self) -> bool:
        """Whether the version's elements are a prefix of the plan's."""
        return self.changed == self.usual[: len(self.changed)]

    def variable(self, place: int) -> str:
        """The variable of the version's elements."""
        return f"tilek_{self.name}" if self.is_shared else f"tilek_{self.name}_{place}"

    def declarations(self, place: int) -> list[str]:
        """The variable's declaration, unless it is the plan's."""
        if self.is_shared:
            return []
        if _are_numbers(self.changed):
            return [f"static const {self.type}{self.variable(place)}[] = {{{', '.join(self.changed)}}}"]
        return [f"{self.type}{self.variable(place)}[{len(self.changed)}]"]

    def changes(self, place: int) -> list[str]:
        """The assignments that fill the variable and make the call point to it."""
        if self.is_shared:
            return []
        variable = self.variable(place)
        filled = [] if _are_numbers(self.changed) else list(enumerate(self.changed))
        return [
            *(f"{variable}[{index}] = {self._value(text)}" for index, text in filled),
            f"tilek_call_.{self.name} = {variable}",
        ]

    def _value(self, text: str) -> str:
        if not text.startswith("{"):
            return text
        return f"tilek_{self.name}[{self.usual.index(text)}]" if text in self.usual else f"({self.type.strip()}){text}"


def _are_numbers(texts: list[str]) -> bool:
    """Whether all texts are numbers, so that launches need not fill them in."""
    return all(text.isdigit() for text in texts)


def _version(usual: KernelPlan, place: int) -> _Version:
    version = usual.versions[place - 1]
    plan, numbering, given = version.plan, number(version.plan), number(usual)
    names = [_scalar_name(usual, object_) or f"tilek_scalar{place}_{k}" for k, object_ in enumerate(plan.scalars)]
    added = [(object_, name) for object_, name in zip(plan.scalars, names, strict=True) if object_ not in usual.scalars]
    loops = _Member("loops", "tilek_bounds ", list(map(_bounds, given.loops)), list(map(_bounds, numbering.loops)))
    members = (
        _Member(
            "scalars",
            "const void *",
            [f"&{_scalar_name(usual, object_)}" for object_ in usual.scalars],
            [f"&{name}" for name in names],
        ),
        _Member("arrays", "tilek_array ", list(map(_array, usual.arrays)), list(map(_array, plan.arrays))),
        loops,
        _Member("tile_arguments", "int64_t ", _tile_arguments(given), _tile_arguments(numbering)),
        _Member("row_bases", "int64_t ", list(map(host_text, usual.row_bases)), list(map(host_text, plan.row_bases))),
    )
    return _Version(
        place,
        version.text.replace("*/", "* /"),
        kernel_symbol(plan.kernel.name),
        [
            *(USER.type(object_.element, name) for object_, name in added),
            *(line for member in members for line in member.declarations(place)),
        ],
        [
            *(f"{name} = {object_.host}" for object_, name in added),
            *(line for member in members for line in member.changes(place)),
            *_other_axes(usual, plan),
            *_other_conditions(usual, plan),
        ],
        _final_values(plan, numbering, loops.variable(place)),
    )


def _scalar_name(plan: KernelPlan, object_: DataObject) -> str | None:
    """The variable that holds the object for the plan's call, or None."""
    return f"tilek_scalar{plan.scalars.index(object_)}" if object_ in plan.scalars else None


def _other_axes(usual: KernelPlan, plan: KernelPlan) -> list[str]:
    """Assignments of the counts in which a version differs from the plan."""
    shared = {axis_index(Axis(count.axis, count.dimension)) for count in set(plan.counts) & set(usual.counts)}
    pairs = enumerate(zip(_axes(plan), _axes(usual), strict=True))
    return [
        f"tilek_call_.axes[{k}] = {axis}" for k, (axis, usual_axis) in pairs if k not in shared and axis != usual_axis
    ]


def _other_conditions(usual: KernelPlan, plan: KernelPlan) -> list[str]:
    """Tests of the conditions that only a version has."""
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
        f"{_quoted(name if is_signed(type_) else f'+{name}')}, (int64_t)({name})" for name, type_ in scalars.items()
    ]
    arguments = [f"&{kernel_symbol(plan.kernel.name)}", _quoted(text), str(len(values)), *values]
    return f"tilek_check_failed({', '.join(arguments)})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _runs(plan: KernelPlan) -> str:
    """A C test that the region has an iteration, or "": without one no check matters."""
    can_evaluate = host_evaluable(written_objects(plan.kernel))
    chains = []
    for statement in plan.kernel.body.statements:
        if isinstance(statement, Declaration):
            continue
        trips = [
            host_text(_begins(loop), _AND)
            for loop in _perfect_nest(statement)
            if can_evaluate(loop.lower) and can_evaluate(loop.upper)
        ]
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


def _perfect_nest(statement: Statement) -> Iterator[Loop]:
    """The perfectly nested loops from a statement inwards."""
    while True:
        if isinstance(statement, Block) and len(statement.statements) == 1:
            statement = statement.statements[0]
        elif isinstance(statement, Loop):
            yield statement
            statement = statement.body
        else:
            return


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


def _known_trip(loop: Loop, numbering: Numbering) -> str:
    """The trip count, from the entry of tilek_loops with equal bounds if any: no division."""
    entries = list(map(_bounds, numbering.loops))
    return f"tilek_loops[{entries.index(_bounds(loop))}].trip" if _bounds(loop) in entries else _trip(loop)


def _operations(plan: KernelPlan, numbering: Numbering) -> list[str]:
    """The summands of the number of floating-point operations."""
    return [
        " * ".join([f"{operation.count}.0", *(_known_trip(loop, numbering) for loop in operation.loops)])
        for operation in plan.operations
    ]


def _outermost_trips(plan: KernelPlan, numbering: Numbering) -> str | None:
    """The outermost loop's trip count; None if no choice of tile sizes needs it."""
    loop = outermost_loop(plan) if by_trips(plan) else None
    return None if loop is None else _known_trip(loop, numbering)


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
    clause = _if_clause(plan)
    tests = [host_text(condition, _AND) for condition in plan.conditions]
    if clause is not None:
        tests.insert(0, "tilek_said" if plan.conditions else clause)
    return " && ".join(tests) or "1"


def _if_clause(plan: KernelPlan) -> str | None:
    """The `if` clause; if it is 0, the original loop runs and no failed check is reported."""
    condition = plan.kernel.directive.condition
    return None if condition is None else f"{host_text(condition, _EQUALITY)} != 0"


def _device(directive: KernelDirective) -> str:
    if directive.all_devices:
        return "TILEK_DEVICES_ALL"
    return "-1" if directive.device is None else host_text(directive.device)


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
