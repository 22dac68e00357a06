"""Forward jumps between the statements of a block, as choices.

    if (c) goto L; A; L: B;                   →  if (!c) { A } B
    if (c) goto L; A; goto M; L: B; M: C;     →  if (!c) { A } else { B } C

Each label is reached by jumps of its own block alone, which stand before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node


@dataclass(frozen=True)
class Choice:
    """`if (!condition) skipped else taken`: the statements that the jump of `node` skips, and those
    that run instead.
    """

    node: Node
    condition: Node
    skipped: tuple[Part, ...]
    taken: tuple[Part, ...]


Part = Node | Choice


@dataclass(frozen=True)
class _Jump:
    """A jump to a label; with a condition, `first` stands before it in the branch."""

    label: str
    node: Node
    condition: Node | None = None
    first: tuple[Node, ...] = ()


#: Statements, labels by name, and jumps, in textual order.
_Items = Sequence[Node | str | _Jump]


class _UnstructuredError(Exception):
    """A jump leads elsewhere."""


def structured(nodes: Iterable[Node], function: Node) -> tuple[Part, ...] | None:
    """The statements of a block of the function without its labels and jumps; None where it has no
    labels, or jumps that are no choices.
    """
    items = [item for node in nodes for item in _items(node)]
    labels = [item for item in items if isinstance(item, str)]
    if not labels:
        return None
    jumps = Counter(item.label for item in items if isinstance(item, _Jump))
    everywhere = Counter(_label(node) for node in function.walk() if node.kind == CursorKind.GOTO_STMT)
    if any(jumps[label] != everywhere[label] for label in labels):
        return None
    try:
        return _sequence(items, frozenset())
    except _UnstructuredError:
        return None


def _items(node: Node) -> Iterator[Node | str | _Jump]:
    if node.kind == CursorKind.LABEL_STMT:
        yield node.spelling
        yield from _items(node.children[-1])
    elif node.kind == CursorKind.GOTO_STMT:
        yield _Jump(_label(node), node)
    elif node.kind == CursorKind.IF_STMT and len(node.children) == 2:
        branch = node.children[1]
        inside = branch.children if branch.kind == CursorKind.COMPOUND_STMT else (branch,)
        is_jump = bool(inside) and inside[-1].kind == CursorKind.GOTO_STMT
        yield _Jump(_label(inside[-1]), node, node.children[0], inside[:-1]) if is_jump else node
    else:
        yield node


def _label(node: Node) -> str:
    return node.children[0].spelling


def _sequence(items: _Items, ends: frozenset[str]) -> tuple[Part, ...]:
    """The parts of items that go on at one of the labels `ends`."""
    parts: list[Part] = []
    place = 0
    while place < len(items):
        item = items[place]
        if isinstance(item, _Jump):
            made, place = _choice(items, place, item, ends)
            parts += made
        else:
            parts += [item] if isinstance(item, Node) else []
            place += 1
    return tuple(parts)


def _choice(items: _Items, place: int, jump: _Jump, ends: frozenset[str]) -> tuple[tuple[Part, ...], int]:
    """What stands for a jump and what it skips, and where the items go on."""
    rest = items[place + 1 :]
    if jump.label in rest:
        skipped = rest[: rest.index(jump.label)]
        goes_on = place + 1 + len(skipped)
    elif jump.label in ends:
        skipped, goes_on = rest, len(items)
    else:
        raise _UnstructuredError
    if jump.condition is None:
        if skipped:
            raise _UnstructuredError
        return (), goes_on
    last = skipped[-1] if skipped else None
    if isinstance(last, _Jump) and last.condition is None and last.label != jump.label:
        behind = items[goes_on:]
        if last.label not in behind and last.label not in ends:
            raise _UnstructuredError
        length = behind.index(last.label) if last.label in behind else len(behind)
        both = frozenset({last.label})
        _refuse_declarations((*skipped, *behind[:length]))
        taken = (*jump.first, *_sequence(behind[:length], both))
        return (Choice(jump.node, jump.condition, _sequence(skipped[:-1], both), taken),), goes_on + length
    _refuse_declarations(skipped)
    within = frozenset({jump.label}) | (ends if goes_on == len(items) else frozenset())
    return (Choice(jump.node, jump.condition, _sequence(skipped, within), jump.first),), goes_on


def _refuse_declarations(items: Iterable[Node | str | _Jump]) -> None:
    """What is declared there may be used behind it too."""
    if any(isinstance(item, Node) and item.kind == CursorKind.DECL_STMT for item in items):
        raise _UnstructuredError
