"""Components of the data dependence graph (thesis section 3.2.4), in an order that its edges allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

Links = Sequence[tuple[str, str]]


class Named(Protocol):
    """What links join: a statement, or part of one."""

    @property
    def name(self) -> str:
        """What links call it."""


N = TypeVar("N", bound=Named)


def weakly_connected(statements: Sequence[N], links: Links) -> list[tuple[N, ...]]:
    """Statements joined by links in either direction, in the given order of the statements."""
    group = {each.name: index for index, each in enumerate(statements)}
    for source, target in links:
        old, new = sorted((group[source], group[target]), reverse=True)
        group = {name: new if index == old else index for name, index in group.items()}
    return [
        tuple(each for each in statements if group[each.name] == number)
        for number in dict.fromkeys(group[each.name] for each in statements)
    ]


def strongly_connected(statements: Sequence[N], links: Links) -> list[tuple[N, ...]]:
    """Strongly connected components in topological order; of those free to come next, the first in the given order."""
    reach = _reachable([each.name for each in statements], links)
    left = list(statements)
    components: list[tuple[N, ...]] = []
    while left:
        for first in left:
            together = tuple(
                each
                for each in left
                if each is first or (each.name in reach[first.name] and first.name in reach[each.name])
            )
            names = {each.name for each in together}
            waits = any(first.name in reach[each.name] for each in left if each.name not in names)
            if not waits:
                components.append(together)
                left = [each for each in left if each.name not in names]
                break
    return components


def _reachable(names: list[str], links: Links) -> dict[str, set[str]]:
    """What each name leads to over one link or more."""
    following: dict[str, set[str]] = {name: set() for name in names}
    for source, target in links:
        following[source].add(target)
    reach: dict[str, set[str]] = {}
    for name in names:
        seen: set[str] = set()
        stack = list(following[name])
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(following[current])
        reach[name] = seen
    return reach
