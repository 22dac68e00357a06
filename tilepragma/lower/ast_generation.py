"""Polyhedral code generation: loops that visit every instance of some statements once, in the order
of a schedule.

    { S[i] -> [t_0, ..., t_n] } for each statement S  ->  for (t_0 ...) ... { const int i = i(t); S }

`scan` is the entry. isl's AstBuild makes the loops, over the images of the instances in
lexicographic order; here they become LoopTree. Instances with one image run in any order. Loops
that run at most once vanish: what they set becomes part of the expressions below. Loops run from
their least to their greatest value, unless what they count is a user's iterator negated, which then
counts down under the user's name.

Each leaf is the statement's `node`, its iterators declared anew where no loop has them as they are.
In generated code all iterators have scope LOCAL and are declared by their loops, so nothing of it
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
from tilepragma.lower.loop_names import LoopName, LoopNames, ScannedStatement, Symbols
from tilepragma.poly.ast_expressions import AstReader, increased, negated, short_expression
from tilepragma.poly.ast_tree import AstIf, AstLeaf, AstLoop, AstNode, ast_nodes, leaves_of
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

SPLIT_LIMIT = 1_000_000
"""isl's operations on splitting loops; some tenths of a second, which no loops are worth"""

MOST_COPIES = 1.5
"""of a statement, on average, in split loops; a few statements may have two copies more, if no condition is left in innermost loops"""


@dataclass(frozen=True)
class Scanned:
    """`block` visits the instances; `next_index` is the first index after those of its loops."""

    block: Block
    next_index: int


def scan(
    statements: tuple[ScannedStatement, ...],
    symbols: Symbols,
    first_index: int,
    context: isl.Set | None = None,
) -> Scanned:
    """The loops that visit the instances of `statements` in the lexicographic order of their times.

    New loops are numbered from `first_index`, in textual order. `context`, { : facts on parameters
    }, is what is known to hold; bounds that it implies are left out. Raises OperationLimitError.
    """
    nodes = _nodes(statements, context)
    by_name = {each.statement.name: each for each in statements}
    values = {name: polynomial(value) for name, value in symbols.parameters.items()}
    writer = _Writer(by_name, LoopNames(by_name, symbols), first_index)
    block = Block(tuple(writer.statements(nodes, _Inside(values, {}))))
    return Scanned(block, writer.next_index)


def _nodes(statements: tuple[ScannedStatement, ...], context: isl.Set | None) -> tuple[AstNode, ...]:
    """Loops are split where that spares conditions inside them, in reason: else the outermost are compact, as few as will do."""
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
    statements: tuple[ScannedStatement, ...], context: isl.Set | None, compact: int, option: str | None
) -> tuple[AstNode, ...] | None:
    """As `_generated`; None where that takes long or makes too many copies of statements, or isl cannot do it."""
    most = MOST_COPIES * len(statements)
    if option is not None:
        most = max(most, len(statements) + 2)
    try:
        nodes = _generated(statements, context, compact, option, SPLIT_LIMIT, int(most))
    except OperationLimitError:
        return None
    return nodes if len(list(leaves_of(nodes))) <= most else None


def _asks_innermost(nodes: tuple[AstNode, ...]) -> bool:
    """Whether a loop without loops in it has conditions, which keep compilers from vectorising it."""
    for node in nodes:
        if isinstance(node, AstIf):
            if _asks_innermost((*node.then, *node.otherwise)):
                return True
        elif isinstance(node, AstLoop):
            below = tuple(_below(node.body))
            loops = any(isinstance(one, AstLoop) and not one.once for one in below)
            asks = any(isinstance(one, AstIf) for one in below)
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
    statements: tuple[ScannedStatement, ...],
    context: isl.Set | None,
    compact: int,
    option: str | None,
    limit: int,
    most: int | None = None,
) -> tuple[AstNode, ...]:
    """isl's loops; the outermost `compact` dimensions are one loop each in each loop around, those
    below have isl's `option`.

    More than `most` copies of statements are not waited for. Raises OperationLimitError.
    """
    isl_context = statements[0].times.get_ctx()
    with operation_limit(isl_context, limit, "generating loops"):
        executed = [each.times.intersect_domain(each.statement.domain) for each in statements]
        dimensions = executed[0].dim(isl.dim_type.out)
        union = isl.UnionMap.from_map(executed[0])
        for one in executed[1:]:
            union = union.union(isl.UnionMap.from_map(one))
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
            # isl says so of parts of some sets with divisions, which are bounded all the same.
            if "unbounded optimum" in str(error):
                raise OperationLimitError("isl found no bound for a loop.") from error
            raise


def _stop_after(most: int, context: isl.Context) -> Callable[[isl.AstNode, isl.AstBuild], isl.AstNode]:
    """What isl calls with each copy of a statement: beyond `most` of them nothing is left of its operations."""
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
    """Whether a loop stands here."""
    if isinstance(node, AstIf):
        return any(map(_has_loop, (*node.then, *node.otherwise)))
    return isinstance(node, AstLoop) and (not node.once or any(map(_has_loop, node.body)))


def _place(name: str) -> int | None:
    word, _, digits = name.partition(" ")
    return int(digits) if word == "time" and digits.isdigit() else None


@dataclass(frozen=True)
class _Inside:
    """What holds at a place in the new loops: `values` of isl's identifiers, and the loops around, by isl's iterator."""

    values: Mapping[str, Polynomial]
    loops: Mapping[str, LoopName]

    def read(self) -> AstReader:
        return AstReader(self.values)


@dataclass
class _Writer:
    """Turns isl's tree to LoopTree."""

    by_name: Mapping[str, ScannedStatement]
    names: LoopNames
    next_index: int

    def statements(self, nodes: tuple[AstNode, ...], at: _Inside) -> Iterator[Statement]:
        for node in nodes:
            if isinstance(node, AstLoop):
                yield from self._loop(node, at)
            elif isinstance(node, AstIf):
                then = Block(tuple(self.statements(node.then, at)))
                otherwise = Block(tuple(self.statements(node.otherwise, at))) if node.otherwise else None
                yield If(at.read().condition(node.condition), then, otherwise)
            else:
                yield self._leaf(node, at)

    def _loop(self, node: AstLoop, at: _Inside) -> Iterator[Statement]:
        start = at.read().value(node.start)
        if node.once:
            yield from self.statements(node.body, replace(at, values={**at.values, node.iterator: start}))
            return
        around = frozenset(name.object.name for name in at.loops.values())
        place = _place(node.iterator)
        name = self.names.choose(tuple(leaves_of(node.body)), place, around)
        index = self.next_index
        self.next_index += 1
        end = at.read().value(node.end)
        comparison = node.comparison
        # Of `j <= end` clang does not know that it ends, `end` being perhaps the greatest long: it
        # takes no vectors.
        if comparison == "<=" and not any(map(_has_loop, node.body)):
            comparison, end = "<", increased(end)
        if name.negated:
            start, end, comparison = negated(start), negated(end), comparison.replace("<", ">")
        value = of_atom(access_to(name.object))
        inside = _Inside(
            {**at.values, node.iterator: -value if name.negated else value}, {**at.loops, node.iterator: name}
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

    def _leaf(self, node: AstLeaf, at: _Inside) -> Statement:
        """The statement, each of its iterators replaced by the loop's that is it, or declared with
        its value.

        Those that it does not mention too: which instance this is can then be read from the code.
        """
        statement = self.by_name[node.statement].statement
        read = at.read()
        iterators = [loop.iterator for loop in statement.loops]
        declared: list[Statement] = []
        instead: dict[DataObject, DataObject] = {}
        for place, (iterator, argument) in enumerate(zip(iterators, node.arguments, strict=True)):
            # An inner loop may reuse an outer one's iterator: the innermost is meant.
            if iterator in iterators[place + 1 :]:
                continue
            own = self._loop_over(node.statement, place, at)
            if own is None:
                own = replace(iterator, scope=Scope.LOCAL, const=True)
                declared.append(Declaration((Declarator(own, short_expression(read.value(argument))),)))
            if own != iterator:
                instead[iterator] = own
        body = with_objects(statement.node, instead)
        if not declared:
            return body
        return Block((*declared, *(body.statements if isinstance(body, Block) else (body,))))

    def _loop_over(self, statement: str, place: int, at: _Inside) -> DataObject | None:
        """The iterator of the loop around that has the name and the values of the statement's iterator at `place`."""
        user = self.by_name[statement].statement.loops[place].iterator
        for counted, name in at.loops.items():
            sign = self.names.is_iterator(statement, _place(counted), place)
            if name.object.name == user.name and sign == (-1 if name.negated else 1):
                return name.object
        return None
