"""The model's choice of tile sizes on cores at a few lengths of arrays and of the outermost loop.

Each length represents all up to a limit. The default stays unless another layout is predicted to be
much faster: the model is right on average only, and the defaults were measured. How much faster
depends on the kind of nest, since the model's quality does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.host_prediction import predicted_terms
from tilepragma.cost.statement_counts import SourceCounts
from tilepragma.ir.evaluation import Evaluation, UncountableError
from tilepragma.ir.types import is_integer
from tilepragma.model.device import Processor
from tilepragma.model.execution_time import Integers
from tilepragma.plan.array_bytes import array_bytes
from tilepragma.plan.balanced_chunking import with_even_sizes
from tilepragma.plan.dispatch_table import around, outermost_loop
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.plan.summary import are_wavefronts, has_shapes, used_sizes
from tilepragma.sizes.ranked_layouts import Sizes, beside

#: Bytes of all arrays and iterations of the outermost loop: a choice's limit, and the value that
#: represents all below it.
_BYTES: tuple[tuple[int | None, int], ...] = ((2**18, 2**17), (2**22, 2**20), (None, 2**26))
_TRIPS: tuple[tuple[int | None, int], ...] = ((8, 6), (32, 20), (None, 200))
#: A layout is chosen if its predicted share of the default's time is below this: for wavefronts of
#: tiles on the host, and for other nests. Of 34 problems on two cores (docs/RESULTS.md, "The model
#: of times") layouts with such predictions were faster in the mean; diamonds predicted to take 0.6
#: to 0.9 of the time took 0.97 to 1.12 of it, relaxations predicted to take less than 0.8 took 0.97
#: to 1.55.
WORTH_OF_WAVEFRONTS, WORTH = 0.6, 0.85
#: Factors of each default size that are tried, fewer if more than _MANY sizes vary; then factors of
#: the best layout's sizes, which are expected to gain at most a fifth.
_FACTORS, _COARSE, _MANY, _FINER, _GAIN = (0.25, 0.5, 2.0, 4.0), (0.25, 4.0), 4, (0.5, 2.0), 0.8
#: The longest array or loop that is tried to find one of so many bytes.
_LONGEST = 2**24

Scalars = dict[str, int]


@dataclass(frozen=True)
class _Occasion:
    """Launches of at most `bytes` and `trips` (None: of any), and scalars that represent them."""

    bytes: int | None
    trips: int | None
    scalars: Scalars


def model_choices(plan: KernelPlan, processor: Processor) -> tuple[SizeChoice, ...]:
    """The model's choices for a plan on these cores; none if it keeps the defaults."""
    varied = [place for place, size in enumerate(plan.sizes) if size in used_sizes(plan.host_steps, plan.sizes)]
    if plan.untransformed is not None or not varied:
        return ()
    default = tuple(size.host for size in plan.sizes)
    try:
        occasions = tuple(_occasions(plan))
        source = SourceCounts.of(plan, _columns(occasions))
    except UncountableError:
        return ()
    worth = worth_of(plan)
    seconds: dict[tuple[int, Sizes], float] = {}
    factors = _FACTORS if len(varied) <= _MANY else _COARSE
    wanted = [(place, sizes) for place in range(len(occasions)) for sizes in _around(default, varied, factors)]
    for _ in range(2):
        if not _predict(plan, processor, occasions, source, wanted, seconds):
            return ()
        best = {place: _best(seconds, place) for place in range(len(occasions))}
        hopeful = [place for place in best if _GAIN * _share(seconds, place, best[place], default) < worth]
        near = [(place, sizes) for place in hopeful for sizes in _around(best[place], varied, _FINER)]
        wanted = [pair for pair in near if pair not in seconds]
    chosen = []
    for place, occasion in enumerate(occasions):
        best_sizes = _best(seconds, place)
        is_worth_it = _share(seconds, place, best_sizes, default) < worth
        chosen.append(SizeChoice(occasion.bytes, occasion.trips, best_sizes if is_worth_it else default))
    return _shortened(chosen, default)


def worth_of(plan: KernelPlan) -> float:
    """The predicted share of the default's time below which a layout of the plan is chosen."""
    return WORTH_OF_WAVEFRONTS if has_shapes(plan) or are_wavefronts(plan.host_steps, plan.sizes) else WORTH


def _share(seconds: dict[tuple[int, Sizes], float], place: int, sizes: Sizes, default: Sizes) -> float:
    """The share of the default's time; infinite if that is not known."""
    usual = seconds[place, default]
    return seconds[place, sizes] / usual if 0 < usual < math.inf else math.inf


def _around(sizes: Sizes, varied: list[int], factors: tuple[float, ...]) -> Iterator[Sizes]:
    yield from dict.fromkeys((sizes, *(near for place in varied for near in beside(sizes, place, factors))))


def _best(seconds: dict[tuple[int, Sizes], float], place: int) -> Sizes:
    return min((time, sizes) for (place_, sizes), time in seconds.items() if place_ == place)[1]


def _predict(
    plan: KernelPlan,
    processor: Processor,
    occasions: tuple[_Occasion, ...],
    source: SourceCounts,
    wanted: list[tuple[int, Sizes]],
    seconds: dict[tuple[int, Sizes], float],
) -> bool:
    """Add predictions to `seconds`; False if there are none. `source`: counts of the occasions."""
    if not wanted:
        return True
    places = np.array([place for place, _ in wanted])
    scalars = {name: column[places] for name, column in _columns(occasions).items()}
    try:
        taken = [with_even_sizes(plan, layout, occasions[place].scalars, processor.cores) for place, layout in wanted]
        columns = np.array(taken, dtype=np.int64).T
        sizes = {size.object.name: column for size, column in zip(plan.sizes, columns, strict=True)}
        terms = predicted_terms(plan, scalars, sizes, processor, source.at(places))
    except UncountableError:
        return False
    seconds.update(zip(wanted, terms.estimate.tolist(), strict=True))
    return True


def _columns(occasions: tuple[_Occasion, ...]) -> dict[str, Integers]:
    return {name: np.array([each.scalars[name] for each in occasions]) for name in occasions[0].scalars}


def _occasions(plan: KernelPlan) -> Iterator[_Occasion]:
    """Occasions in the order of limits. Raises UncountableError if lengths are undetermined."""
    types = ((scalar.name, scalar.element) for scalar in plan.scalars)
    names = [name for name, type_ in types if is_integer(type_)]
    usual = dict.fromkeys(names, 64)
    least = 1.3 * _bytes_of_arrays(plan, usual)
    extents = [name for name in names if _bytes_of_arrays(plan, usual | {name: 128}) > least]
    others = [name for name in names if name not in extents]
    by_trips = _TRIPS if others and _has_trips_of(plan, usual, others) else _TRIPS[-1:]
    for limit, bytes_ in _BYTES if extents else _BYTES[-1:]:
        for most, trips in by_trips:
            scalars = usual | dict.fromkeys(others, trips)
            lengths = dict.fromkeys(extents, _length(plan, scalars, extents, bytes_))
            yield _Occasion(limit, most, scalars | lengths)


def _bytes_of_arrays(plan: KernelPlan, scalars: Scalars) -> int:
    arrays = array_bytes(plan, scalars)
    return sum(array.bytes for array in arrays)


def _has_trips_of(plan: KernelPlan, usual: Scalars, others: list[str]) -> bool:
    """Whether the trip count of the outermost loop depends on the `others`."""
    loop = outermost_loop(plan)
    if loop is None:
        return False
    few, many = (Evaluation(usual | dict.fromkeys(others, value)).trips(loop) for value in (8, 64))
    return bool(many != few)


def _length(plan: KernelPlan, scalars: Scalars, extents: list[str], most: int) -> int:
    """The greatest 2^k or 3 * 2^k at which arrays of these extents have at most `most` bytes."""
    length, least = 4, 4
    while length < _LONGEST and _bytes_of_arrays(plan, scalars | dict.fromkeys(extents, length)) <= most:
        least, length = length, length * 3 // 2 if length & (length - 1) == 0 else length * 4 // 3
    return least


def _shortened(choices: list[SizeChoice], default: Sizes) -> tuple[SizeChoice, ...]:
    """The choices without those that repeat the next one or the default."""
    groups: list[tuple[SizeChoice, ...]] = []
    for _, group in itertools.groupby(choices, key=lambda rule: rule.bytes):
        rules = tuple(group)
        same = [before.sizes == after.sizes for before, after in itertools.pairwise(rules)]
        rest = tuple(rule for rule, again in zip(rules, (*same, False), strict=True) if not again)
        if groups and [(rule.trips, rule.sizes) for rule in groups[-1]] == [(rule.trips, rule.sizes) for rule in rest]:
            groups.pop()
        groups.append(rest)
    result = [rule for group in groups for rule in group]
    while result and result[-1].sizes == default:
        result.pop()
    return tuple(result)


def with_model_choices(plan: KernelPlan, processor: Processor) -> KernelPlan:
    """The plan with the model's choices, unless sizes were given or measured."""
    if plan.measured is not None:
        default = tuple(size.host for size in plan.sizes)
        return replace(plan, choices=around(plan.measured, model_choices(plan, processor), default))
    return plan if plan.choices or plan.recorded_sizes else replace(plan, choices=model_choices(plan, processor))
