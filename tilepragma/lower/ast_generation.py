"""AST generation: loops that visit every statement instance once, in the order of a schedule.

    { S[i] -> [t_0, ..., t_n] } for each S  ->  for (t_0 ...) ... { const int i = i(t); S }

`generate_loops` is the entry. isl's AstBuild makes the loops, over the images of the instances in
lexicographic order, and this module turns them into LoopTree. Instances with equal images run in
any order. Loops that run at most once vanish: their values become part of the expressions below.
Loops count up, except over the negative of a user's iterator, which then counts down by its name.

Each leaf is the statement's `node`, with declarations of the iterators that no loop has unchanged.
All iterators of generated code have scope LOCAL and are declared by their loops, so no name
outlives its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, Scope, access_to, integer
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, of_atom, polynomial
from tilepragma.ir.substitution import with_objects
from tilepragma.lower.loop_names import LoopName, LoopNames, ScheduledStatement, Symbols
from tilepragma.poly.isl_ast import (
    AstIf,
    AstLeaf,
    AstLoop,
    AstNode,
    AstReader,
    ast_nodes,
    increased,
    leaves_of,
    negated,
    short_expression,
)
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

SPLIT_LIMIT = 1_000_000
"""isl's limit for splitting loops: some tenths of a second, which is all that they are worth."""

MOST_COPIES = 1.5
"""Copies of a statement, on average, in split loops; two more where inner conditions vanish."""


@dataclass(frozen=True)
class GeneratedLoops:
    """Generated loops, which visit the instances; `next_index` is the first free loop index."""

    block: Block
    next_index: int


def generate_loops(
    statements: tuple[ScheduledStatement, ...],
    symbols: Symbols,
    first_index: int,
    context: isl.Set | None = None,
) -> GeneratedLoops:
    """The loops that visit the instances of `statements` in lexicographic order of their times.

    New loops have the numbers from `first_index` on, in textual order. `context`, { : facts on
    parameters }, spares the bounds that it implies. Raises OperationLimitError.
    """
    nodes = _nodes(statements, context)
    by_name = {each.statement.name: each for each in statements}
    values = {name: polynomial(value) for name, value in symbols.parameters.items()}
    writer = _Writer(by_name, LoopNames(by_name, symbols), first_index)
    block = Block(tuple(writer.statements(nodes, _Inside(values, {}))))
    return GeneratedLoops(block, writer.next_index)


def _nodes(statements: tuple[ScheduledStatement, ...], context: isl.Set | None) -> tuple[AstNode, ...]:
    """isl's loops, split where that cheaply removes inner conditions; else compact outer loops."""
    dimensions = statements[0].times.dim(isl.dim_type.out)
    for compact in range(dimensions):
        nodes = _split(statements, context, compact, None)
        if nodes is None:
            continue
        if _asks_innermost(nodes):
            apart = _split(statements, context, compact, "separate")
            return nodes if apart is None or _asks_innermost(apart) else apart
        return nodes
    return _generated(statements, context, dimensions, None, DEFAULT_LIMIT)


def _split(
    statements: tuple[ScheduledStatement, ...], context: isl.Set | None, compact: int, option: str | None
) -> tuple[AstNode, ...] | None:
    """As `_generated`; None where that takes long, copies statements too often, or isl fails."""
    most = MOST_COPIES * len(statements)
    if option is not None:
        most = max(most, len(statements) + 2)
    try:
        nodes = _generated(statements, context, compact, option, SPLIT_LIMIT, int(most))
    except OperationLimitError:
        return None
    return nodes if len(list(leaves_of(nodes))) <= most else None


def _asks_innermost(nodes: tuple[AstNode, ...]) -> bool:
    """Whether an innermost loop has conditions, which keep compilers from vectorising it."""
    for node in nodes:
        if isinstance(node, AstIf):
            if _asks_innermost((*node.then, *node.otherwise)):
                return True
        elif isinstance(node, AstLoop):
            below = tuple(_below(node.body))
            loops = any(isinstance(node_, AstLoop) and not node_.once for node_ in below)
            asks = any(isinstance(node_, AstIf) for node_ in below)
            if _asks_innermost(node.body) if loops else asks and not node.once:
                return True
    return False


def _below(nodes: tuple[AstNode, ...]) -> Iterator[AstNode]:
    for node in nodes:
        yield node
        if isinstance(node, AstLoop):
            yield from _below(node.body)
        elif isinstance(node, AstIf):
            yield from _below((*node.then, *node.otherwise))


def _generated(
    statements: tuple[ScheduledStatement, ...],
    context: isl.Set | None,
    compact: int,
    option: str | None,
    limit: int,
    most: int | None = None,
) -> tuple[AstNode, ...]:
    """isl's loops. The outermost `compact` dimensions are one loop each in each surrounding loop;
    inner ones have isl's `option`. Gives up beyond `most` copies of statements. Raises
    OperationLimitError.
    """
    isl_context = statements[0].times.get_ctx()
    with operation_limit(isl_context, limit, "generating loops"):
        executed = [each.times.intersect_domain(each.statement.domain) for each in statements]
        dimensions = executed[0].dim(isl.dim_type.out)
        union = isl.UnionMap.from_map(executed[0])
        for executed_map in executed[1:]:
            union = union.union(isl.UnionMap.from_map(executed_map))
        names = isl.IdList.alloc(isl_context, dimensions)
        for place in range(dimensions):
            names = names.add(isl.Id(_time(place), context=isl_context))
        known = context if context is not None else isl.Set.universe(isl.Space.params_alloc(isl_context, 0))
        build = isl.AstBuild.from_context(known).set_iterators(names)
        times = ", ".join(f"t{place}" for place in range(dimensions))
        options = [f"[{times}] -> atomic[x] : x < {compact}"] if compact else []
        options += [f"[{times}] -> {option}[x] : x >= {compact}"] if option is not None else []
        if options:
            build = build.set_options(isl.UnionMap(f"{{ {'; '.join(options)} }}", context=isl_context))
        if most is not None:
            build, _callback = build.set_at_each_domain(_stop_after(most, isl_context))
        try:
            with signals_held_back():
                generated = build.node_from_schedule_map(union)
            return ast_nodes(generated)
        except isl.Error as error:
            # isl says so of parts of some sets with divisions, although they are bounded.
            if "unbounded optimum" in str(error):
                raise OperationLimitError("isl found no bound for a loop.") from error
            raise


def _stop_after(most: int, context: isl.Context) -> Callable[[isl.AstNode, isl.AstBuild], isl.AstNode]:
    """A callback for each copy of a statement: beyond `most` it ends isl's operations."""
    left = most

    def count(node: isl.AstNode, _: isl.AstBuild) -> isl.AstNode:
        nonlocal left
        left -= 1
        if left < 0:
            context.set_max_operations(1)
        return node

    return count


def _time(place: int) -> str:
    return f"time {place}"


def _has_loop(node: AstNode) -> bool:
    """Whether the node is or contains a loop."""
    if isinstance(node, AstIf):
        return any(map(_has_loop, (*node.then, *node.otherwise)))
    return isinstance(node, AstLoop) and (not node.once or any(map(_has_loop, node.body)))


def _place(name: str) -> int | None:
    word, _, digits = name.partition(" ")
    return int(digits) if word == "time" and digits.isdigit() else None


@dataclass(frozen=True)
class _Inside:
    """A place in the new loops: `values` of isl's identifiers, and loops by isl's iterator."""

    values: Mapping[str, Polynomial]
    loops: Mapping[str, LoopName]

    def read(self) -> AstReader:
        return AstReader(self.values)


@dataclass
class _Writer:
    """Turns isl's AST into LoopTree."""

    by_name: Mapping[str, ScheduledStatement]
    names: LoopNames
    next_index: int

    def statements(self, nodes: tuple[AstNode, ...], outer: _Inside) -> Iterator[Statement]:
        for node in nodes:
            if isinstance(node, AstLoop):
                yield from self._loop(node, outer)
            elif isinstance(node, AstIf):
                then = Block(tuple(self.statements(node.then, outer)))
                otherwise = Block(tuple(self.statements(node.otherwise, outer))) if node.otherwise else None
                yield If(outer.read().condition(node.condition), then, otherwise)
            else:
                yield self._leaf(node, outer)

    def _loop(self, node: AstLoop, outer: _Inside) -> Iterator[Statement]:
        start = outer.read().value(node.start)
        if node.once:
            yield from self.statements(node.body, replace(outer, values={**outer.values, node.iterator: start}))
            return
        around = frozenset(name.object.name for name in outer.loops.values())
        place = _place(node.iterator)
        name = self.names.choose(tuple(leaves_of(node.body)), place, around)
        index = self.next_index
        self.next_index += 1
        end = outer.read().value(node.end)
        comparison = node.comparison
        # clang cannot tell that `j <= end` ends, as `end` may be the greatest long: it then
        # vectorises nothing.
        if comparison == "<=" and not any(map(_has_loop, node.body)):
            comparison, end = "<", increased(end)
        if name.negated:
            start, end, comparison = negated(start), negated(end), comparison.replace("<", ">")
        value = of_atom(access_to(name.object))
        inside = _Inside(
            {**outer.values, node.iterator: -value if name.negated else value}, {**outer.loops, node.iterator: name}
        )
        yield Loop(
            index,
            name.object,
            True,
            short_expression(start),
            comparison,
            short_expression(end),
            integer(-node.step if name.negated else node.step),
            name.negated,
            Block(tuple(self.statements(node.body, inside))),
            None,
        )

    def _leaf(self, node: AstLeaf, outer: _Inside) -> Statement:
        """The statement, with each iterator replaced by an equal loop iterator, or declared with
        its value, also where unused: the code then shows which instance runs.
        """
        statement = self.by_name[node.statement].statement
        read = outer.read()
        iterators = [loop.iterator for loop in statement.loops]
        declared: list[Statement] = []
        instead: dict[DataObject, DataObject] = {}
        for place, (iterator, argument) in enumerate(zip(iterators, node.arguments, strict=True)):
            # Where an inner loop reuses an outer one's iterator, the name means the innermost.
            if iterator in iterators[place + 1 :]:
                continue
            local = self._loop_over(node.statement, place, outer)
            if local is None:
                local = replace(iterator, scope=Scope.LOCAL, const=True)
                declared.append(Declaration((Declarator(local, short_expression(read.value(argument))),)))
            if local != iterator:
                instead[iterator] = local
        body = with_objects(statement.node, instead)
        if not declared:
            return body
        return Block((*declared, *(body.statements if isinstance(body, Block) else (body,))))

    def _loop_over(self, statement: str, place: int, outer: _Inside) -> DataObject | None:
        """The iterator of a loop with name and values of the statement's iterator at `place`."""
        user = self.by_name[statement].statement.loops[place].iterator
        for counted, name in outer.loops.items():
            sign = self.names.is_iterator(statement, _place(counted), place)
            if name.object.name == user.name and sign == (-1 if name.negated else 1):
                return name.object
        return None
