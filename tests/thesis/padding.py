"""ICS'08 Algorithm 2: the padding of staged rows that has the fewest bank conflicts, by what they cost (3)."""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.model import bank_conflicts


@dataclass(frozen=True)
class AccessCost:
    """ICS'08 (3): C(n) = start + request * n, the time of an access that `n` threads ask one bank for. Any unit."""

    start: float = 1.0
    request: float = 1.0

    def of(self, degree: int) -> float:
        """C(degree)."""
        return self.start + self.request * degree


@dataclass(frozen=True)
class Banks:
    """The banks of shared memory: `number` banks serve words of `width` bytes in turn."""

    number: int = 32
    width: int = 4


def element_conflicts(stride: int, bytes_of_element: int, banks: Banks) -> int:
    """`element_conflicts` of the product, on these banks."""
    return bank_conflicts.element_conflicts(stride, bytes_of_element, banks.number, banks.width)


@dataclass(frozen=True)
class StagedAccess:
    """An access to a staged array: from a thread to the next it goes `within` elements along a row
    and `rows` rows on. It is made `times` times for each time that the others are.
    """

    within: int
    rows: int
    times: int = 1


def stride(access: StagedAccess, pitch: int) -> int:
    """The elements between neighbours' where rows are `pitch` elements apart."""
    return access.within + access.rows * pitch


@dataclass(frozen=True)
class Padding:
    """What Algorithm 2 finds: the elements that rows are lengthened by, the cost of all references with them, and the conflicts of each."""

    elements: int
    cost: float
    conflicts: tuple[int, ...]


def best_padding(
    references: Sequence[StagedAccess],
    row: int,
    bytes_of_element: int = 4,
    banks: Banks | None = None,
    cost: AccessCost | None = None,
) -> Padding:
    """ICS'08 Algorithm 2: of the paddings 0 .. banks - 1 of rows of `row` elements the least one with the least total cost."""
    on, price = banks or Banks(), cost or AccessCost()

    def padded(elements: int) -> Padding:
        strides = (stride(access, row + elements) for access in references)
        conflicts = tuple(element_conflicts(each, bytes_of_element, on) for each in strides)
        total = sum(price.of(degree) * access.times for degree, access in zip(conflicts, references, strict=True))
        return Padding(elements, total, conflicts)

    return min(map(padded, range(on.number)), key=lambda padding: (padding.cost, padding.elements))
