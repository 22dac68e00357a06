"""AST generation: loops that visit every statement instance once, in the order of a schedule.

    { S[i] -> [t_0, ..., t_n] } for each S  ->  for (t_0 ...) ... { const int i = i(t); S }

`generate_loops` is the entry. isl's AstBuild makes the loops, over the images of the instances in
lexicographic order, and this module turns them into LoopTree. Instances with equal images run in
any order. Loops that run at most once vanish: their values become part of the expressions below.
Loops count up, except over the negative of a user's iterator, which then counts down by its name.

Each leaf is the statement's `node`, with declarations of the iterators that no loop has unchanged.
A loop has the name of the user's iterator that it equals, else a name for its values.
All iterators of generated code have scope LOCAL and are declared by their loops, so no name
outlives its block.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, Storage, access_to, integer
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, of_atom, polynomial
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG, is_signed_int
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
from tilepragma.poly.scop import ScopStatement

SPLIT_LIMIT = 1_000_000
"""isl's limit for splitting loops: some tenths of a second, which is all that they are worth."""

MOST_COPIES = 1.5
"""Copies of a statement, on average, in split loops; two more where inner conditions vanish."""


@dataclass(frozen=True)
class ScheduledStatement:
    """{ S[i] -> [t] }: a statement with the times of its instances; those without a time do not
    run.

    All statements of one call have equally many time dimensions. `times` may restrict the
    domain and may have more parameters.
    """

    statement: ScopStatement
    times: isl.Map


@dataclass(frozen=True)
class Symbols:
    """Expressions for isl's parameters, by name, and identifiers that new iterators must not have.

    Parameters are integers: a Scop's (`Scop.parameters`), sizes and origins of tiles, iterators of
    loops around.
    """

    parameters: Mapping[str, Expression]
    taken: frozenset[str] = frozenset()


#: isl's loops, by the texts of the times and facts that they are for.
GeneratedLoops = dict[tuple[str, ...], tuple[AstNode, ...]]


def generate_loops(
    statements: tuple[ScheduledStatement, ...],
    symbols: Symbols,
    numbers: Iterator[int],
    context: isl.Set | None = None,
    known: GeneratedLoops | None = None,
) -> Block:
    """The loops that visit the instances of `statements` in lexicographic order of their times.

    New loops have the next of the `numbers`, in textual order. `context`, { : facts on
    parameters }, spares the bounds that it implies. `known` has isl's loops for statements of the
    same Scop, and gets these. Raises OperationLimitError.
    """
    key = (str(context), *(str(each.times) for each in statements))
    nodes = known.get(key) if known is not None else None
    if nodes is None:
        nodes = _nodes(statements, context)
        if known is not None:
            known[key] = nodes
    values = {name: polynomial(value) for name, value in symbols.parameters.items()}
    writer = _Writer({each.statement.name: each for each in statements}, symbols, numbers)
    return Block(tuple(writer.statements(nodes, _Inside(values, {}))))


def _nodes(statements: tuple[ScheduledStatement, ...], context: isl.Set | None) -> tuple[AstNode, ...]:
    """isl's loops, split where that cheaply removes inner conditions; else compact outer loops."""
    dimensions = statements[0].times.dim(isl.dim_type.out)
    for compact in range(dimensions):
        nodes = _split(statements, context, compact, None)
        if nodes is None:
            continue
        if _tests_innermost(nodes):
            separated = _split(statements, context, compact, "separate")
            return nodes if separated is None or _tests_innermost(separated) else separated
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


def _tests_innermost(nodes: tuple[AstNode, ...]) -> bool:
    """Whether an innermost loop has conditions, which keep compilers from vectorising it."""
    for node in nodes:
        if isinstance(node, AstIf):
            if _tests_innermost((*node.then, *node.otherwise)):
                return True
        elif isinstance(node, AstLoop):
            tests = any(isinstance(inner, AstIf) for inner in _below(node.body))
            if _tests_innermost(node.body) if _has_loops(node.body) else tests and not node.once:
                return True
    return False


def _has_loops(nodes: tuple[AstNode, ...]) -> bool:
    return any(isinstance(node, AstLoop) and not node.once for node in _below(nodes))


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


@dataclass(frozen=True)
class _LoopName:
    """A loop's iterator; `negated` where it is the negative of isl's and counts down."""

    object: DataObject
    negated: bool


@dataclass(frozen=True)
class _Row:
    """A time dimension, sum of factor * iterator + constant; `terms`: (factor, place)."""

    terms: tuple[tuple[int, int], ...]
    plain: bool
    """without constants and parameters"""


@dataclass(frozen=True)
class _Inside:
    """A place in the new loops: `values` of isl's identifiers, and loops by isl's iterator."""

    values: Mapping[str, Polynomial]
    loops: Mapping[str, _LoopName]

    def read(self) -> AstReader:
        return AstReader(self.values)


class _Writer:
    """Turns isl's AST into LoopTree, and chooses the iterators."""

    def __init__(self, statements: Mapping[str, ScheduledStatement], symbols: Symbols, numbers: Iterator[int]) -> None:
        self.by_name = statements
        self.numbers = numbers
        self._rows = {name: _rows(each.times) for name, each in statements.items()}
        self._mentioned = {name: _mentioned(each.statement.node) for name, each in statements.items()}
        self._of_parameters = {name for value in symbols.parameters.values() for name in _mentioned(value)}
        self._taken = symbols.taken.union(
            self._of_parameters,
            *self._mentioned.values(),
            *({loop.iterator.name for loop in each.statement.loops} for each in statements.values()),
        )

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
        name = self._name(tuple(leaves_of(node.body)), _dimension(node.iterator), around)
        index = next(self.numbers)
        end = outer.read().value(node.end)
        comparison = node.comparison
        # clang cannot tell that `j <= end` ends, as `end` may be the greatest long: it then
        # vectorises nothing.
        if comparison == "<=" and not _has_loops(node.body):
            comparison, end = "<", increased(end)
        if name.negated:
            start, end, comparison = negated(start), negated(end), comparison.replace("<", ">")
        value = of_atom(access_to(name.object))
        values = {**outer.values, node.iterator: -value if name.negated else value}
        inside = _Inside(values, {**outer.loops, node.iterator: name})
        first, last = short_expression(start), short_expression(end)
        step = integer(-node.step if name.negated else node.step)
        body = Block(tuple(self.statements(node.body, inside)))
        yield Loop(index, name.object, True, first, comparison, last, step, name.negated, body, None)

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
            sign = self._is_iterator(statement, _dimension(counted), place)
            if name.object.name == user.name and sign == (-1 if name.negated else 1):
                return name.object
        return None

    # -- names

    def _name(self, leaves: tuple[AstLeaf, ...], dimension: int | None, around: frozenset[str]) -> _LoopName:
        """The iterator of a loop over a time dimension; `around`: names of outer iterators."""
        for name in dict.fromkeys(self._candidates(leaves, dimension)):
            if name.object.name not in around and self._fits(name, leaves, dimension):
                return name
        base = self._row_name(leaves[0].statement, dimension)
        free = (base if count == 1 else f"{base}_{count}" for count in itertools.count(1))
        chosen = next(name for name in free if name not in self._taken and name not in around)
        return _LoopName(DataObject(chosen, chosen, LONG, Storage.SCALAR, Scope.LOCAL), False)

    def _is_iterator(self, statement: str, dimension: int | None, place: int) -> int:
        """1 where that time dimension is the iterator at `place`, -1 for its negative, else 0."""
        row = self._row(statement, dimension)
        if row is None or not row.plain or len(row.terms) != 1:
            return 0
        factor, iterator = row.terms[0]
        return factor if iterator == place and abs(factor) == 1 else 0

    def _row(self, statement: str, dimension: int | None) -> _Row | None:
        rows = self._rows[statement]
        return None if dimension is None or rows is None else rows[dimension]

    def _candidates(self, leaves: tuple[AstLeaf, ...], dimension: int | None) -> Iterator[_LoopName]:
        """The user's iterators that equal the loop's value, or its negative, in some leaf."""
        for leaf in leaves:
            for place, user in enumerate(self._iterators(leaf)):
                sign = self._is_iterator(leaf.statement, dimension, place)
                # The value one step after a loop's end must fit.
                if sign and is_signed_int(user.element):
                    yield _LoopName(replace(user, scope=Scope.LOCAL, const=False), sign < 0)

    def _fits(self, name: _LoopName, leaves: tuple[AstLeaf, ...], dimension: int | None) -> bool:
        """Whether the name, where a leaf uses it, means the loop's value in all leaves."""
        if name.object.name in self._of_parameters:
            return False
        for leaf in leaves:
            same = [(place, user) for place, user in enumerate(self._iterators(leaf)) if user.name == name.object.name]
            if not same and name.object.name in self._mentioned[leaf.statement]:
                return False
            if any(
                iterator.element != name.object.element
                or self._is_iterator(leaf.statement, dimension, place) != (-1 if name.negated else 1)
                for place, iterator in same
            ):
                return False
        return True

    def _iterators(self, leaf: AstLeaf) -> tuple[DataObject, ...]:
        return tuple(loop.iterator for loop in self.by_name[leaf.statement].statement.loops)

    def _row_name(self, statement: str, dimension: int | None) -> str:
        """`t_plus_i` for a loop over t + i."""
        if dimension is None:
            return "instance"
        row = self._row(statement, dimension)
        if row is None or not row.terms:
            return f"time{dimension}"
        text = ""
        for factor, place in sorted(row.terms, key=lambda term: term[0] < 0):
            name = self.by_name[statement].statement.loops[place].iterator.name
            name = name if abs(factor) == 1 else f"{name}{abs(factor)}"
            sign = "minus" if factor < 0 else "plus"
            text = f"{text}_{sign}_{name}" if text else name if factor > 0 else f"minus_{name}"
        return f"{text}_time" if len(row.terms) == 1 and abs(row.terms[0][0]) == 1 else text


def _dimension(name: str) -> int | None:
    """The time dimension of isl's iterator, which `_time` names."""
    word, _, digits = name.partition(" ")
    return int(digits) if word == "time" and digits.isdigit() else None


def _mentioned(node: Statement | Expression) -> frozenset[str]:
    """The names of all objects in `node`."""
    names = set()
    for part in walk(node):
        if isinstance(part, (Access, Declarator)):
            names.add(part.object.name)
            names |= {inner for length in part.object.lengths if length is not None for inner in _mentioned(length)}
        elif isinstance(part, Loop):
            names.add(part.iterator.name)
    return frozenset(names)


def _rows(times: isl.Map) -> tuple[_Row, ...] | None:
    """The time dimensions, if all are affine."""
    if not times.is_single_valued():
        return None
    # Else isl would use constraints of the domain, such as a tile's, to write the function.
    function = isl.PwMultiAff.from_map(times.gist_domain(times.domain()))
    pieces: list[isl.MultiAff] = []
    with signals_held_back():
        function.foreach_piece(lambda _, piece: pieces.append(piece))
    if len(pieces) != 1:
        return None
    return tuple(_row(pieces[0].get_aff(place)) for place in range(pieces[0].dim(isl.dim_type.out)))


def _row(aff: isl.Aff) -> _Row:
    terms = []
    for place in range(aff.dim(isl.dim_type.in_)):
        factor = aff.get_coefficient_val(isl.dim_type.in_, place)
        if not factor.is_zero():
            terms.append((int(factor.to_python()) if factor.is_int() else 0, place))
    parameters = (aff.get_coefficient_val(isl.dim_type.param, place) for place in range(aff.dim(isl.dim_type.param)))
    plain = aff.get_constant_val().is_zero() and all(parameter.is_zero() for parameter in parameters)
    return _Row(tuple(terms), plain and aff.dim(isl.dim_type.div) == 0)
