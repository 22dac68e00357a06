"""Components of graphs against what reachability says of them, pair by pair."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tilepragma.poly.strongly_connected import strongly_connected, weakly_connected


@dataclass(frozen=True)
class Node:
    name: str


def random_graph(seed: int) -> tuple[list[Node], list[tuple[str, str]]]:
    chance = random.Random(seed)
    nodes = [Node(f"S{number}") for number in range(chance.randint(1, 9))]
    names = [node.name for node in nodes]
    return nodes, [(chance.choice(names), chance.choice(names)) for _ in range(chance.randint(0, 14))]


def reached(links: list[tuple[str, str]], start: str) -> set[str]:
    names: set[str] = set()
    while more := {target for source, target in links if source in names | {start}} - names:
        names |= more
    return names


def test_strong_components_come_in_topological_order_and_the_first_that_may_first() -> None:
    for seed in range(300):
        nodes, links = random_graph(seed)
        reach = {node.name: reached(links, node.name) for node in nodes}
        left = list(nodes)
        for component in strongly_connected(nodes, links):
            ready = [
                item
                for item in left
                if all(item.name not in reach[each.name] or each.name in reach[item.name] for each in left)
            ]
            first = ready[0]
            mutual = [
                each
                for each in left
                if each is first or (each.name in reach[first.name] and first.name in reach[each.name])
            ]
            assert list(component) == mutual, (seed, links)
            left = [each for each in left if each not in component]
        assert not left


def test_weak_components_join_what_links_join_in_either_direction() -> None:
    for seed in range(300):
        nodes, links = random_graph(seed)
        both = links + [(target, source) for source, target in links]
        expected: list[tuple[Node, ...]] = []
        for node in nodes:
            component = tuple(each for each in nodes if each is node or each.name in reached(both, node.name))
            if component not in expected:
                expected.append(component)
        assert weakly_connected(nodes, links) == expected, (seed, links)


def test_chains_of_thousands_take_no_time_by_their_square() -> None:
    nodes = [Node(f"S{number}") for number in range(20_000)]
    links = [(one.name, other.name) for one, other in zip(nodes[1:], nodes, strict=False)]
    assert strongly_connected(nodes, links) == [(node,) for node in reversed(nodes)]
    assert weakly_connected(nodes, links) == [tuple(nodes)]
