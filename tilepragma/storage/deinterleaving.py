"""De-interleaving: the sweeps of a region on arrays split by residues, so that the elements that a
strided nest accesses are contiguous.

    for (t) { for (i) u[2*i + 1] = f(u[2*i], u[2*i + 2]); for (i) u[2*i + 2] = …; }
        ->  for (x) u_0[x] = u[2*x];  for (x) u_1[x] = u[2*x + 1];
            for (t) { for (i) u_1[i] = f(u_0[i], u_0[i + 1]); for (i) u_0[i + 1] = …; }
            for (x) u[2*x] = u_0[x];  for (x) u[2*x + 1] = u_1[x];

Strides neither vectorise on cores nor coalesce on devices. It applies around loops that reuse the
elements many times, which pays for the copies. verify/layouts.py proves independently that the
region computes the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, Assignment, DataObject, Expression, Storage, access_to
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.schedule.strategy import Region
from tilepragma.storage.array_expansion import (
    ExpandedKernel,
    UnwritableError,
    array_of_cells,
    is_dead,
    moved_kernel,
    not_named,
    shifted,
)
from tilepragma.user_tiles.chain_checks import literal_trip

#: Rounds of a loop that pay for the copies before and after it.
_LEAST_SWEEPS = 4


def with_deinterleaved_arrays(region: Region) -> ExpandedKernel | None:
    """The region with arrays de-interleaved that a loop reuses by residues; None without any."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    (loop, *rest) = region.statements or (None,)
    splits = _splits(region) if isinstance(loop, Loop) and not rest and _comes_back(loop) else {}
    if not splits:
        return None
    try:
        with operation_limit(region.scop.context, DEFAULT_LIMIT, "looking for the elements of each residue"):
            return _Splitting(region, splits).kernel()
    except (OperationLimitError, UnwritableError):
        return None


def _comes_back(loop: Loop) -> bool:
    """Whether the loop runs over the arrays many times, as far as its text tells."""
    trip = literal_trip(loop)
    return (trip is None or trip >= _LEAST_SWEEPS) and any(loops_in(loop.body))


Modulus = tuple[int, ...]


def _splits(region: Region) -> dict[DataObject, Modulus]:
    """The arrays to split, with the modulus of each dimension, 1 where it stays whole."""
    iterators = {loop.iterator for loop in loops_in(region.kernel.body)}
    body = list(walk(region.kernel.body))
    splits = {}
    for object_ in not_named(region, region.kernel.objects):
        if object_.storage is not Storage.CONTIGUOUS or object_ in region.scop.layouts:
            continue
        accesses = [node for node in body if isinstance(node, Access) and node.object == object_]
        steps = [_steps(access, iterators) for access in accesses]
        if not all(len(step) == object_.rank for step in steps):
            continue
        modulus = tuple(_modulus(column) for column in zip(*steps, strict=True))
        if any(step > 1 for step in modulus):
            splits[object_] = modulus
    return splits


def _steps(access: Access, iterators: set[DataObject]) -> tuple[int, ...]:
    """Each subscript's step an iteration, 0 if fixed; too few where one has another form."""
    steps = []
    for subscript in access.subscripts:
        varying = [(product, factor) for product, factor in polynomial(subscript).terms if product]
        if len(varying) > 1:
            break
        for product, factor in varying:
            (atom, *factors) = product
            if factors or factor < 1 or not isinstance(atom, Access) or atom.object not in iterators:
                return ()
            steps.append(factor)
        if not varying:
            steps.append(0)
    return tuple(steps)


def _modulus(steps: Sequence[int]) -> int:
    """The only step; 1 where there are several, or none."""
    different = set(steps) - {0}
    return different.pop() if len(different) == 1 else 1


@dataclass
class _Splitting:
    region: Region
    splits: dict[DataObject, Modulus]
    names: Names = field(init=False)
    numbers: Iterator[int] = field(init=False)
    places: dict[tuple[DataObject, Modulus], tuple[DataObject, tuple[Polynomial | None, ...]]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self.names = Names(set(names_in(self.region.kernel)))
        self.numbers = self.region.loop_numbers()

    def kernel(self) -> ExpandedKernel:
        """The region with copies before and after. Raises UnwritableError."""
        before: list[Statement] = []
        after: list[Statement] = []
        for object_, modulus in self.splits.items():
            written = object_ in self.region.written and not is_dead(self.region, object_)
            for residues in itertools.product(*map(range, modulus)):
                before += self._copies(object_, modulus, residues, written=False)
                after += self._copies(object_, modulus, residues, written=True) if written else ()
        body = with_accesses(self.region.kernel.body, self._changed)
        split_arrays = {new: object_ for (object_, _), (new, _) in self.places.items()}
        return moved_kernel(self.region, body, split_arrays, before, after, tuple(self._notes()))

    def _copies(
        self, object_: DataObject, modulus: Modulus, residues: Modulus, *, written: bool
    ) -> tuple[Statement, ...]:
        """for (k) A_p[k] = A[m k + p], or the converse for what the region has `written`."""
        from tilepragma.lower.copy_loops import copy_loops, iterator
        from tilepragma.storage.deinterleaving_maps import residue_cells

        boxed = not written and object_.rows_in is None
        cells = residue_cells(self.region.scop, object_, modulus, residues, written=written, boxed=boxed)
        if cells is None:
            return ()
        if (object_, residues) not in self.places:
            name = self.names.scalar("_".join([object_.name, *map(str, residues)])).name
            self.places[object_, residues] = array_of_cells(self.region, object_, name, cells)
        array, lowers = self.places[object_, residues]
        iterators = [iterator(self.names.scalar(f"{object_.name}_{place}").name) for place in range(object_.rank)]
        values = [of_atom(access_to(iterator)) for iterator in iterators]
        held = Access(array, shifted(tuple(map(access_to, iterators)), lowers), (), object_.element)
        scaled = (
            value * number(step) + number(residue)
            for value, step, residue in zip(values, modulus, residues, strict=True)
        )
        users = Access(object_, tuple(map(expression, scaled)), (), object_.element)
        target, source = (users, held) if written else (held, users)
        assignment = Assignment("=", target, source, object_.element)
        loops = copy_loops(self.region.scop, cells, iterators, assignment, (), self.numbers)
        return loops.statements

    def _changed(self, access: Access) -> Expression:
        """The access to the split array: element m k + p is its element k."""
        modulus = self.splits.get(access.object)
        if modulus is None:
            return access
        values = [polynomial(subscript) for subscript in access.subscripts]
        residues = tuple(_constant(value) % step for value, step in zip(values, modulus, strict=True))
        place = self.places.get((access.object, residues))
        if place is None:
            raise UnwritableError
        array, lowers = place
        subscripts = tuple(_quotient(value, step) for value, step in zip(values, modulus, strict=True))
        return replace(access, object=array, subscripts=shifted(subscripts, lowers))

    def _notes(self) -> Iterator[str]:
        for object_, modulus in self.splits.items():
            names = [f"'{new.name}'" for (split, _), (new, _) in self.places.items() if split == object_]
            steps = " and ".join(dict.fromkeys(str(step) for step in modulus if step > 1))
            yield (
                f"array splitting: '{object_.host}' is kept as {', '.join(names)} while the loops run, "
                f"so that those in steps of {steps} go through memory one by one"
            )


def _constant(value: Polynomial) -> int:
    return next((factor for product, factor in value.terms if not product), 0)


def _quotient(value: Polynomial, step: int) -> Expression:
    """floor(value / step) of a value whose factors are multiples of the step."""
    if step == 1:
        return expression(value)
    parts = (number(factor // step) * _product(product) for product, factor in value.terms)
    total = number(0)
    for part in parts:
        total = total + part
    iterator = next((product[0] for product, _ in value.terms if product), None)
    return typed_sum(total, iterator.object) if isinstance(iterator, Access) else expression(total)


def _product(product: tuple[Expression, ...]) -> Polynomial:
    result = number(1)
    for atom in product:
        result = result * of_atom(atom)
    return result
