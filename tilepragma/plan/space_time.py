"""Space-time maps: when the host runs an instance of a statement, and which iteration of a launch.

    { S[i] -> [h_1, ..., h_k, l_1, ..., l_n, t_1, ..., t_m] }

h are the iterators of the host's loops around a launch (time), l those of the loops that it
distributes (place), t those of the loops that an iteration runs in order. Each is a sum of
hyperplanes or of tile numbers floor(phi(i) / size). Strategies say what the iterators of their
loops stand for; the user's loops keep their meaning. The verifier holds them against the instance
maps that it reads from the loops (verify/space_time_faults.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.expressions import DataObject, Expression, access_to, integer
from tilepragma.ir.loop_tree import Block, If, Loop, PackedPanels, Statement, TileNest
from tilepragma.ir.polynomial import Polynomial, number, of_atom, polynomial


@dataclass(frozen=True)
class Hyperplane:
    """phi(i) = the sum of the `factors` times a statement's iterators, plus `offset`. With a `size`
    it stands for the number p of the tile:

        p * size - before <= phi(i) < (p + 1) * size + behind

    `halo` is (before, behind), for tiles that compute what other tiles compute too; else both are 0
    and p is floor(phi(i) / size).
    """

    factors: tuple[tuple[DataObject, int], ...]
    offset: Expression = field(default=integer(0))
    size: Expression | None = None
    halo: tuple[Expression, Expression] | None = None

    @property
    def constant(self) -> int:
        """The offset, if it is a number; else 0."""
        return polynomial(self.offset).constant or 0

    def coefficients(self, iterators: Sequence[str]) -> tuple[int, ...] | None:
        """The factors of these iterators; None where phi has others."""
        factors = {iterator.host: factor for iterator, factor in self.factors}
        return None if factors.keys() - set(iterators) else tuple(factors.get(name, 0) for name in iterators)

    @property
    def phi(self) -> Polynomial:
        """The value, over the iterators."""
        terms = (number(factor) * of_atom(access_to(iterator)) for iterator, factor in self.factors)
        return sum(terms, polynomial(self.offset))


@dataclass(frozen=True)
class LoopMeaning:
    """What a loop's iterator is, as a function of a statement's iterators: a sum of hyperplanes."""

    iterator: DataObject
    hyperplanes: tuple[Hyperplane, ...]


@dataclass(frozen=True)
class SpaceTimeMap:
    """The map of some statements in a launch, whose iterators have the same names.

    `time`, `place` and `ordered` are outermost first. `place` has the loops of the outermost nest;
    workers in a nest inside a gang's tile share what is one instance here.
    """

    statements: tuple[SourceRange, ...]
    time: tuple[LoopMeaning, ...]
    place: tuple[LoopMeaning, ...]
    ordered: tuple[LoopMeaning, ...] = ()


@dataclass
class Meanings:
    """What the iterators of a strategy's loops stand for in each statement. Copies of a statement,
    which have one place in the user's text, are told apart by the names of their `iterators`.
    """

    _by_name: dict[str, dict[SourceRange, dict[tuple[str, ...], tuple[Hyperplane, ...]]]] = field(default_factory=dict)

    def add(
        self,
        iterator: DataObject,
        statements: Iterable[SourceRange],
        *hyperplanes: Hyperplane,
        iterators: tuple[str, ...] = (),
    ) -> None:
        """In these statements the iterator is the sum of the hyperplanes."""
        places = self._by_name.setdefault(iterator.name, {})
        for place in statements:
            places.setdefault(place, {})[iterators] = hyperplanes

    def of(self, made: Iterable[DataObject], place: SourceRange) -> Iterator[Mapping[str, tuple[Hyperplane, ...]]]:
        """For each copy of the statement at a place, the hyperplanes of those of the iterators that
        the strategy made, by name.
        """
        known = [(iterator.name, self._by_name[iterator.name]) for iterator in made if iterator.name in self._by_name]
        if not known:
            yield {}
            return
        copies = [(name, places.get(place, {})) for name, places in known]
        for iterators in copies[0][1]:
            if all(iterators in by_copy for _, by_copy in copies):
                yield {name: by_copy[iterators] for name, by_copy in copies}


def space_time_maps(
    body: Block, around: Iterable[DataObject], user_iterators: Set[str], meanings: Meanings
) -> tuple[SpaceTimeMap, ...]:
    """The maps of a launch's statements. `around` are the iterators of host loops, outermost first.
    Loops over `user_iterators` keep their meaning. Statements of the strategy's own have none.
    """
    groups: dict[tuple[tuple[LoopMeaning, ...], ...], dict[SourceRange, None]] = {}
    for place, path in _leaves(body, _Path(tuple(around))):
        for made in meanings.of(path.iterators, place):
            # Loops over rows of a band may have a user's name, but not a place in the user's text.
            ordered = (
                loop.iterator for loop in path.ordered if loop.iterator.name in made or loop.header is not NOWHERE
            )
            parts = tuple(
                tuple(
                    LoopMeaning(iterator, made.get(iterator.name, (Hyperplane(((iterator, 1),)),)))
                    for iterator in iterators
                    if iterator.name in made or iterator.name in user_iterators
                )
                for iterators in (path.time, path.place, ordered)
            )
            groups.setdefault(parts, {})[place] = None
    return tuple(SpaceTimeMap(tuple(places), *parts) for parts, places in groups.items())


@dataclass(frozen=True)
class _Path:
    time: tuple[DataObject, ...]
    place: tuple[DataObject, ...] = ()
    ordered: tuple[Loop, ...] = ()

    @property
    def iterators(self) -> tuple[DataObject, ...]:
        return (*self.time, *self.place, *(loop.iterator for loop in self.ordered))


def statement_ranges(node: Statement) -> Iterator[SourceRange]:
    """The places of all statements under a node, in textual order."""
    return (place for place, _ in _leaves(node, _Path(())))


def _leaves(node: Statement, path: _Path) -> Iterator[tuple[SourceRange, _Path]]:
    if isinstance(node, Block):
        for statement in node.statements:
            yield from _leaves(statement, path)
        return
    if isinstance(node, TileNest):
        place = tuple(tiled.loop.iterator for tiled in node.loops if tiled.is_distributed)
        inside = tuple(tiled.loop for tiled in node.loops if not tiled.is_distributed)
        yield from _leaves(node.body, _Path(path.time, path.place or place, (*path.ordered, *inside)))
        return
    if isinstance(node, PackedPanels):
        yield from _leaves(node.body, path)
        return
    yield getattr(node, "range", NOWHERE), path
    if isinstance(node, Loop):
        yield from _leaves(node.body, replace(path, ordered=(*path.ordered, node)))
    elif isinstance(node, If):
        for branch in (node.then, node.otherwise):
            if branch is not None:
                yield from _leaves(branch, path)
