"""Kernels whose strategies store arrays in another way, beside the region as written, and their proofs."""

from __future__ import annotations

from collections.abc import Callable

from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Statement
from tilepragma.poly.extraction import extract_scop
from tilepragma.schedule.candidate import Region
from tilepragma.storage.new_arrays import ExpandedKernel
from tilepragma.verify.storage import StorageMap, Version


def region_of(kernel: Kernel) -> Region:
    """The region of a kernel as written."""
    statements = kernel.body.statements
    return Region(kernel, statements, written_objects(kernel), frozenset(), frozenset(), None)  # type: ignore[arg-type]


def fault_of(
    check: Callable[[Version, Version, StorageMap], str | None],
    original: Region,
    expanded: ExpandedKernel,
    statements: tuple[Statement, ...],
) -> str | None:
    """What `check` says of `statements` with the storage of `expanded` in place of `original`."""
    scop = extract_scop(statements, (), written_objects(expanded.kernel), context=original.scop.context)
    present = {id(statement) for statement in statements}
    copies = tuple(copy for copy in expanded.copies if id(copy) in present)
    return check(
        Version(original.statements, original.scop),
        Version(statements, scop),
        StorageMap(expanded.instead, copies, expanded.dead),
    )
