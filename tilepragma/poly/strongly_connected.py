"""Components of the dependence graph (thesis section 3.2.4), in an order that its edges allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import Protocol, TypeVar

Links = Sequence[tuple[str, str]]


class Named(Protocol):
    """A node of the graph: a statement, or a part of one."""

    @property
    def name(self) -> str:
        """The node's name in links."""


N = TypeVar("N", bound=Named)


def weakly_connected(statements: Sequence[N], links: Links) -> list[tuple[N, ...]]:
    """Statements joined by links in either direction, in the given order."""
    return strongly_connected(statements, [*links, *((target, source) for source, target in links)])


def strongly_connected(statements: Sequence[N], links: Links) -> list[tuple[N, ...]]:
    """Strongly connected components in topological order; among free ones, in the given order."""
    following: dict[str, set[str]] = {each.name: set() for each in statements}
    for source, target in links:
        following[source].add(target)
    component = _components(following)
    members: dict[int, list[N]] = {}
    places: dict[int, int] = {}  # of the first of each component in the given order
    for place, each in enumerate(statements):
        members.setdefault(component[each.name], []).append(each)
        places.setdefault(component[each.name], place)
    sorter = TopologicalSorter[int](dict.fromkeys(members, ()))
    for source, targets in following.items():
        for target in targets:
            if component[source] != component[target]:
                sorter.add(component[target], component[source])
    sorter.prepare()
    free: list[tuple[int, int]] = []
    components: list[tuple[N, ...]] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heappush(free, (places[number], number))
        _, first = heappop(free)
        components.append(tuple(members[first]))
        sorter.done(first)
    return components


def _components(following: Mapping[str, set[str]]) -> dict[str, int]:
    """The strongly connected component's number of each name (Tarjan 1972, without recursion)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    component: dict[str, int] = {}
    path: list[str] = []
    for root in following:
        if root in order:
            continue
        visits: list[tuple[str, Iterator[str]]] = [(root, iter(following[root]))]
        order[root] = lowest[root] = len(order)
        path.append(root)
        while visits:
            name, targets = visits[-1]
            target = next((each for each in targets if each not in component), None)
            if target is None:
                visits.pop()
                if visits:
                    lowest[visits[-1][0]] = min(lowest[visits[-1][0]], lowest[name])
                if lowest[name] == order[name]:
                    number = len(component)
                    while name not in component:
                        component[path.pop()] = number
            elif target in order:
                lowest[name] = min(lowest[name], order[target])
            else:
                order[target] = lowest[target] = len(order)
                path.append(target)
                visits.append((target, iter(following[target])))
    return component
