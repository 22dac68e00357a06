"""Loop symbols: the iterator's name, unique in the region, and no clash with derived names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tilepragma.ir.loop_tree import Block, Declarator, Kernel
from tilepragma.ir.traversal import loops_in, walk

#: What codegen appends to a loop's symbol or an object's name for its launch numbers.
_DERIVED = re.compile(
    r"_(trip|lower|upper|step|end|gang|worker|thread|origin|partials?|count\d*|stride\d*|length\d*|lower\d+|tile\d*|t\d+)$"
)


def loop_symbols(kernel: Kernel, bodies: Iterable[Block] | None = None) -> dict[int, str]:
    """For each loop's index a symbol, unique in the region: `i`, then `i_2` for a second loop over
    `i`.

    The loops are those of `bodies`, if given, else the region's.
    """
    blocks = (kernel.body,) if bodies is None else tuple(bodies)
    loops = [loop for block in blocks for loop in loops_in(block)]
    declarators = (node for block in blocks for node in walk(block) if isinstance(node, Declarator))
    objects = [*kernel.objects, *(loop.iterator for loop in loops), *(node.object for node in declarators)]
    names = {object_.name for object_ in objects} | {function.name for function in kernel.functions}
    reserved = {_DERIVED.sub("", name) for name in names if _DERIVED.search(name)}
    taken: set[str] = set()
    symbols: dict[int, str] = {}
    for loop in loops:
        base = loop.iterator.name
        candidate, count = base, 1
        while candidate in taken or candidate in reserved or (candidate in names and candidate != base):
            count += 1
            candidate = f"{base}_{count}"
        taken.add(candidate)
        symbols[loop.index] = candidate
    return symbols
