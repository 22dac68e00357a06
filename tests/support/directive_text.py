"""Directives as canonical text on one line, which parses to the same directive."""

from __future__ import annotations

from tilepragma.ir.directives import (
    ClauseExpression,
    Construct,
    CountClause,
    DataClause,
    DataDirective,
    Directive,
    KernelDirective,
    LoopDirective,
    PrivateClause,
    ReductionClause,
    RoutineDirective,
    Section,
    SectionDimension,
    TileClause,
    TileKind,
)


def format_directive(directive: Directive) -> str:
    """`#pragma tilek …` for `directive`, with clauses in a fixed order, in the user's spelling."""
    if isinstance(directive, tuple):
        kernel, loop = directive
        words = ["kernel loop", *_kernel(kernel), *_loop(loop)]
    elif isinstance(directive, KernelDirective):
        words = ["kernel", *_kernel(directive)]
    elif isinstance(directive, LoopDirective):
        words = ["loop", *_loop(directive)]
    elif isinstance(directive, DataDirective) and directive.construct is Construct.WAIT:
        words = ["wait" + _list(directive.waits)]
    elif isinstance(directive, DataDirective):
        words = [directive.construct.value, *map(_data, directive.clauses), *_queues(directive)]
    else:
        words = [_routine(directive)]
    return " ".join(["#pragma tilek", *words])


def _routine(_directive: RoutineDirective) -> str:
    return "routine"


def _kernel(kernel: KernelDirective) -> list[str]:
    words = [] if kernel.name is None else [f"name({kernel.name})"]
    words += [_data(clause) for clause in kernel.data]
    words += [_count(clause) for clause in kernel.counts]
    if kernel.targets:
        words.append(f"target({', '.join(target.value for target in kernel.targets)})")
    if kernel.device is not None:
        words.append(f"device({kernel.device.text})")
    if kernel.all_devices:
        words.append("device(all)")
    words += _queues(kernel)
    words += _variables(kernel.reductions, kernel.privates)
    return [*words, "independent"] if kernel.independent else words


def _loop(loop: LoopDirective) -> list[str]:
    words = [_tile(tile) for tile in loop.tiles]
    words += [] if loop.unroll is None else [f"unroll({loop.unroll})"]
    words += ["seq"] if loop.sequential else []
    words += ["independent"] if loop.independent else []
    words += _variables(loop.reductions, loop.privates)
    return words if loop.collapse == 1 else [*words, f"collapse({loop.collapse})"]


def _queues(directive: KernelDirective | DataDirective) -> list[str]:
    words = [] if directive.condition is None else [f"if({directive.condition.text})"]
    if directive.asynchronous is not None:
        words.append(f"async({directive.asynchronous.text})")
    elif directive.asynchronous_default:
        words.append("async")
    if directive.waits or directive.wait_all:
        words.append("wait" + _list(directive.waits))
    return words


def _list(expressions: tuple[ClauseExpression, ...]) -> str:
    return f"({', '.join(expression.text for expression in expressions)})" if expressions else ""


def _data(clause: DataClause) -> str:
    items = [_section(section) for section in clause.sections]
    if clause.name == "data":
        items += [] if clause.mode is None else [f"mode:{clause.mode.value}"]
        items += [] if clause.live is None else [f"live:{clause.live.value}"]
    return f"{clause.name}({', '.join(items)})"


def _section(section: Section) -> str:
    return section.path + "".join(_bounds(dimension) for dimension in section.dimensions)


def _bounds(dimension: SectionDimension) -> str:
    if dimension.length is None:
        return "[:]"
    return (
        f"[{dimension.length.text}]" if dimension.lower is None else f"[{dimension.lower.text}:{dimension.length.text}]"
    )


def _count(clause: CountClause) -> str:
    dimension = "" if clause.axis.value == "thread" else f"[{clause.dimension}]"
    return f"num_{clause.axis.value}s{dimension}({clause.count.text})"


def _tile(tile: TileClause) -> str:
    order = "" if tile.order is None else f"[{tile.order}]"
    argument = ""
    if tile.argument is not None:
        argument = f", {tile.argument.text}"
    elif tile.kind in (TileKind.GANG, TileKind.WORKER):
        argument = f", {tile.dimension}"
    return f"tile{order}({tile.kind.value}{argument})"


def _variables(reductions: tuple[ReductionClause, ...], privates: tuple[PrivateClause, ...]) -> list[str]:
    words = [f"reduction({clause.operator}: {', '.join(clause.names)})" for clause in reductions]
    return words + [f"{'first' if clause.first else ''}private({', '.join(clause.names)})" for clause in privates]
