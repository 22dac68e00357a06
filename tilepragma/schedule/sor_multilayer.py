"""MLSOR: `sor(multilayer, layers: K, subdomain: P)` (thesis chapter 6).

K sweeps run together over subdomains, forward and backward in turn. The mesh has one to three
dimensions, and points have adjacent neighbours.

Places of a dimension count from where a group of K sweeps begins, 0 … n - 1. In layer l < K of the
group, the subdomain at b = 0, P, 2P, … has the places from b + l (from 0 for b = 0) to b + P - 1 +
l, cut before b + P - 1 - l. Subdomains drift with the sweep (6.6), the plane between their tiles
drifts against it (6.9). The first tile is P - 1 places long in the lowest layer, so that it has
places in all layers for K <= P / 2.

    for (g = 0; g < sweeps; g += 2 * K) {
        for all subdomains: tile 1,1                    K11
        for all subdomains: tile 1,2; tile 2,1          K12 and K21, which do not meet
        for all subdomains: tile 2,2                    K22
        the same three, backward
    }

A tile is a loop over its layers around the user's nest. The last group has the remaining layers,
and tiles at the far end are cut at the mesh. This changes the order of the points, and so the
iterates: the clause asks for it.

A mesh of d dimensions has 2^d tiles. Tiles with the same number of second halves do not meet if
neighbours lie along the axes (3, 5, 7 points). Neighbours across corners (9 points) make them meet:
tile 1,2 ends in layer l where tile 2,1 begins. Then each tile has a loop over subdomains, in the
lexicographic order of the thesis, and a point finds its own subdomain's neighbours in the layers
that SOR asks for. Three dimensions use such loops too: three tiles a nest would take twice as long
to plan.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import SorClause, SorMethod
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Conditional,
    DataObject,
    Expression,
    access_to,
    integer,
)
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, ExpressionStatement, Kernel, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_node, with_objects
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.model.device import Device
from tilepragma.model.sor_subdomains import subdomain_side
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Neighbour, SorNest, Sweep
from tilepragma.plan.kernel_plan import Reordered
from tilepragma.schedule.sor_clauses import check_sweep, free_names, fresh_local, in_order_of, replaced_loops

_INSTEAD = "sor(redblack) computes it colour by colour, sor(wavefront) in the order of the loops"

Tile = tuple[int, ...]
"""Half 1 or 2 in each dimension, in the order of the loops."""


def kernels_of(dimensions: int, *, corners: bool) -> tuple[tuple[Tile, ...], ...]:
    """The tiles of each loop over subdomains; `corners`: neighbours lie across corners."""
    tiles = tuple(itertools.product((1, 2), repeat=dimensions))
    if corners or dimensions > 2:
        return tuple((tile,) for tile in tiles)
    return tuple(tuple(tile for tile in tiles if tile.count(2) == second) for second in range(dimensions + 1))


def layered(kernel: Kernel, diagnostics: Diagnostics, device: Device | None) -> Reordered | None:
    """The region by layers and subdomains if its clause asks for that, else None. Sizes that the
    clause omits suit the device. Reports a region that is no such relaxation.
    """
    clause = kernel.directive.sor
    if clause is None or clause.method is not SorMethod.MULTILAYER or diagnostics.has_errors:
        return None
    nests = [nest for nest in relaxations(kernel) if isinstance(nest, SorNest)]
    sweeps = _only_sweeps(kernel, nests, clause, diagnostics)
    if sweeps is None:
        return None
    around, sweep = sweeps
    check_sweep(sweep, SorMethod.MULTILAYER, diagnostics)
    loops = [around, *sweep.loops]
    finals = replaced_loops(kernel, loops, "subdomains", diagnostics)
    if diagnostics.has_errors:
        return None
    clause, chosen = _with_sizes(clause, sweep, device)
    kernel = replace(kernel, directive=replace(kernel.directive, sor=clause))
    kernels = kernels_of(len(sweep.axes), corners=any(map(_is_corner, sweep.neighbours)))
    layers = _Layers(around, sweep, clause.layers, clause.subdomain, kernels, free_names(kernel, loops))
    ordered = in_order_of(kernel, Block((layers.groups(),), kernel.body.range), loops)
    ordered = replace(ordered, original_sweeps=tuple(loops))
    groups = f"groups of {clause.layers} sweeps, forward and backward in turn"
    sides = " x ".join([str(clause.subdomain)] * len(sweep.axes))
    note = f"{sweep.array.host} in {groups}, by subdomains of {sides}{chosen}"
    return Reordered(kernel, ordered, finals, (note,))


def _with_sizes(clause: SorClause, sweep: Sweep, device: Device | None) -> tuple[SorClause, str]:
    """The clause with omitted sizes chosen (most layers; subdomains for the device), and a note."""
    if clause.layers and clause.subdomain:
        return clause, ""
    side, why = clause.subdomain, f" ({clause.subdomain // 2} sweeps chosen: the most for these)"
    if not side:
        arrays = {node.object for node in walk(sweep.loops[-1].body) if isinstance(node, Access) and node.subscripts}
        point = sum(array.element.bits // 8 for array in arrays if isinstance(array.element, ScalarType))
        side = max(subdomain_side(device, max(point, 1), len(sweep.axes)), 2 * clause.layers)
        fit = "no device is named" if device is None else f"they stay in memory near the cores of '{device.name}'"
        why = f" (chosen: {fit})"
    return replace(clause, layers=clause.layers or side // 2, subdomain=side), why


def _only_sweeps(
    kernel: Kernel, nests: list[SorNest], clause: SorClause, diagnostics: Diagnostics
) -> tuple[Loop, Sweep] | None:
    """The loop over sweeps and its sweep, if the region is that alone; else None, reported."""

    def refuse(range_: SourceRange, message: str, remedy: str = _INSTEAD) -> None:
        diagnostics.error(range_, f"sor(multilayer) is for {message}", remedy)

    nest = nests[0]
    around, sweep = nest.sweep_loop, nest.sweeps[0]
    corner = next(filter(_is_corner, sweep.neighbours), None)
    if nest.converges:
        refuse(
            nest.range,
            "a fixed number of sweeps, and these end with a condition",
            "put the kernel inside that loop, around a loop over 2K sweeps, and look at the residual after it",
        )
    elif not isinstance(around, Loop):
        refuse(
            clause.range,
            "a loop over sweeps, and there is none in the region",
            "put the pragma before the loop over sweeps",
        )
    elif kernel.body.statements != (around,):
        refuse(
            clause.range,
            "a region that is a loop over sweeps, and there are other statements",
            "make them a region of their own",
        )
    elif len(nest.sweeps) > 1:
        refuse(
            nest.sweeps[1].range,
            "one sweep a round, and this is a second one: sor(multilayer) goes forward and backward",
            "remove it",
        )
    elif sweep.radius > 1:
        far = next(neighbour for neighbour in sweep.neighbours if max(map(abs, neighbour.offset)) > 1)
        refuse(
            far.range,
            f"points whose neighbours lie next to them, and this one is {max(map(abs, far.offset))} away: "
            "subdomains drift by one place a layer",
        )
    elif nest.dimensions > 2 and corner is not None:
        message = "neighbours along the axes in three dimensions, and this one lies across a corner"
        refuse(corner.range, f"{message}: its eight kernels take minutes to prove")
    elif nest.accumulations:
        refuse(sweep.range, f"sweeps alone, and '{nest.accumulations[0].object.host}' is computed with them")
    elif not _is_plain(around) or not all(map(_is_plain, sweep.loops)):
        refuse(around.header, "loops by one with bounds of int or long")
    elif any(isinstance(node, Access) and node.object == around.iterator for node in walk(around.body)):
        refuse(sweep.range, f"sweeps that are all alike, and this one depends on '{around.iterator.host}'")
    elif any(outer.body.statements != (inner,) for outer, inner in itertools.pairwise((around, *sweep.loops))):
        refuse(sweep.range, "loops with nothing between them, and there are other statements")
    else:
        return around, sweep
    return None


def _is_corner(neighbour: Neighbour) -> bool:
    """Whether the neighbour lies off the axes through the point."""
    return sum(map(bool, neighbour.offset)) > 1


def _is_plain(loop: Loop) -> bool:
    step = polynomial(loop.step).constant
    return step in (1, -1) and loop.comparison != "!=" and loop.iterator.element in (INT, LONG)


@dataclass(frozen=True)
class Way:
    """A dimension in sweep order: the loop's iterator starts at `first` and changes by `sign`."""

    loop: Loop
    first: Polynomial
    sign: int
    count: Polynomial

    def at(self, place: Polynomial) -> Polynomial:
        """The iterator's value at a place."""
        return self.first + (place if self.sign > 0 else -place)


def ways_of(loop: Loop) -> tuple[Way, Way]:
    """The loop's dimension, forward and backward."""
    sign = -1 if loop.decreasing else 1
    first, beyond = polynomial(loop.lower), polynomial(loop.upper)
    if loop.comparison in ("<=", ">="):
        beyond = beyond + number(sign)
    distance = beyond - first
    count = distance if sign > 0 else -distance
    return Way(loop, first, sign, count), Way(loop, beyond - number(sign), -sign, count)


@dataclass(frozen=True)
class _Layers:
    """Builds the region; `around` is the user's loop over sweeps."""

    around: Loop
    sweep: Sweep
    layers: int
    subdomain: int
    kernels: tuple[tuple[Tile, ...], ...]
    names: Names

    def groups(self) -> Loop:
        """The loop over pairs of groups."""
        sweeps = ways_of(self.around)[0].count
        group = self._iterator("group")
        left = sweeps - of_atom(access_to(group))
        forward, backward = zip(*map(ways_of, self.sweep.loops), strict=True)
        statements = (*self._kernels(forward, left), *self._kernels(backward, left - number(self.layers)))
        return self._loop(group, number(0), typed_sum(sweeps, group), 2 * self.layers, statements, self.around)

    def _kernels(self, ways: tuple[Way, ...], left: Polynomial) -> Iterator[Statement]:
        """The loops over subdomains in sequence; `left` sweeps remain."""
        for tiles in self.kernels:
            bases = [self._iterator(f"{way.loop.iterator.name}_subdomain") for way in ways]
            inner: tuple[Statement, ...] = tuple(self._tile(tile, ways, bases, left) for tile in tiles)
            for way, base in reversed(list(zip(ways, bases, strict=True))):
                inner = (self._loop(base, number(0), typed_sum(way.count, base), self.subdomain, inner, way.loop),)
            yield from inner

    def _tile(self, tile: Tile, ways: tuple[Way, ...], bases: list[DataObject], left: Polynomial) -> Loop:
        """The loop over a tile's layers, around the user's nest over its places."""
        layer = self._iterator("layer")
        *rows, columns = ways
        body = with_locals_in_place(columns.loop.body)
        renamed = {row.loop.iterator: fresh_local(row.loop.iterator, self.names) for row in rows}
        declared = [node.object for node in walk(body) if isinstance(node, Declarator)]
        renamed |= {each: fresh_local(each, self.names) for each in sorted(declared, key=lambda each: each.name)}
        place = self._iterator(f"{columns.loop.iterator.name}_place")
        column = typed_sum(columns.at(of_atom(access_to(bases[-1])) + of_atom(access_to(place))), columns.loop.iterator)
        body = with_accesses(
            with_objects(body, renamed), lambda access: column if access.object == columns.loop.iterator else access
        )
        inner: Statement = self._in_columns(tile[-1], columns, bases[-1], layer, place, body)
        for half, way, base in reversed(list(zip(tile, rows, bases, strict=False))):
            inner = self._in_rows(half, way, base, layer, renamed[way.loop.iterator], Block((inner,)))
        most = _least(left, number(self.layers), left, number(self.layers), layer)
        return self._loop(layer, number(0), most, 1, (inner,), self.around)

    def _in_rows(
        self, tile: int, way: Way, base: DataObject, layer: DataObject, iterator: DataObject, body: Block
    ) -> Loop:
        """The user's loop over the rows of a tile's layer."""
        start, first, last = self._places(tile, base, layer)
        lower: Expression = typed_sum(way.at(start + first), iterator)
        if tile == 1:
            lower = Conditional(_is_first(base), typed_sum(way.at(number(0)), iterator), lower, iterator.element)
        beyond = start + last
        return replace(
            way.loop,
            iterator=iterator,
            declares_iterator=True,
            lower=lower,
            comparison="<" if way.sign > 0 else ">",
            upper=_least(beyond, way.count, way.at(beyond), way.at(way.count), iterator),
            step=integer(way.sign),
            decreasing=way.sign < 0,
            body=body,
        )

    def _in_columns(
        self, tile: int, way: Way, base: DataObject, layer: DataObject, place: DataObject, body: Block
    ) -> Loop:
        """The loop over the places of a tile's layer in a row, the same in all inner subdomains."""
        start, first, last = self._places(tile, base, layer)
        lower: Expression = typed_sum(first, place)
        if tile == 1:
            lower = Conditional(_is_first(base), integer(0), lower, place.element)
        upper = _least(start + last, way.count, last, way.count - start, place)
        made = self._loop(place, number(0), upper, 1, body.statements, way.loop)
        return replace(made, lower=lower)

    def _places(self, tile: int, base: DataObject, layer: DataObject) -> tuple[Polynomial, Polynomial, Polynomial]:
        """A subdomain's origin, and the first and end place there of a tile's drifting layer."""
        above = of_atom(access_to(layer))
        cut = number(self.subdomain - 1) - above
        bounds = (above, cut) if tile == 1 else (cut, number(self.subdomain) + above)
        return of_atom(access_to(base)), *bounds

    def _loop(
        self,
        iterator: DataObject,
        lower: Polynomial,
        upper: Expression,
        step: int,
        statements: tuple[Statement, ...],
        like: Loop,
    ) -> Loop:
        first, body = typed_sum(lower, iterator), Block(statements)
        return Loop(0, iterator, True, first, "<", upper, integer(step), False, body, None, like.range, like.header)

    def _iterator(self, name: str) -> DataObject:
        loops = (self.around, *self.sweep.loops)
        like = next((loop.iterator for loop in loops if loop.iterator.element == LONG), loops[0].iterator)
        return replace(self.names.scalar(name), element=like.element)


def with_locals_in_place(body: Block) -> Block:
    """The body as one statement, each local's value in place of its single read behind. Values keep
    the types of their locals, so that the result is the same.
    """
    statements = list(body.statements)
    while len(statements) > 1 and isinstance(declaration := statements[-2], Declaration):
        if len(declaration.declarators) != 1:
            break
        (declarator,) = declaration.declarators
        read = [node for node in walk(statements[-1]) if isinstance(node, Access) and node.object == declarator.object]
        value = declarator.initializer
        if len(read) != 1 or value is None or isinstance(value, tuple) or not _reads(statements[-1], read[0]):
            break
        if value.type != declarator.object.element or any(isinstance(node, (Call, Assignment)) for node in walk(value)):
            break
        statements[-2:] = [with_node(statements[-1], read[0], value)]
    return replace(body, statements=tuple(statements))


def _reads(statement: Statement, access: Access) -> bool:
    """Whether the statement is an assignment whose value contains the scalar access."""
    expression = statement.expression if isinstance(statement, ExpressionStatement) else None
    if not isinstance(expression, Assignment) or access.subscripts:
        return False
    return any(node is access for node in walk(expression.value))


def _is_first(base: DataObject) -> Expression:
    return Binary("==", access_to(base), integer(0), INT)


def _least(
    first: Polynomial, second: Polynomial, if_first: Polynomial, if_second: Polynomial, like: DataObject
) -> Expression:
    """`first < second ? if_first : if_second`"""
    less = Binary("<", typed_sum(first, like), typed_sum(second, like), INT)
    return Conditional(less, typed_sum(if_first, like), typed_sum(if_second, like), like.element)
