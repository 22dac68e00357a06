"""The layouts of a plan, which are its tile sizes, in the order of the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.device_prediction import predicted_on_gpu
from tilepragma.cost.host_prediction import predicted_terms
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.model.device import Device, Gpu, Processor
from tilepragma.model.execution_time import Integers
from tilepragma.model.linear_model import Terms, fit
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import used_sizes

#: The most layouts that are tried, and the largest extent of a tile.
MOST_LAYOUTS, LARGEST = 512, 2**20
#: The layouts from which the search continues; initial factors of the default's sizes, coarser for
#: more sizes.
_BEST = 6
_COARSE = (
    tuple(2.0**power for power in range(-5, 6)),
    (0.03125, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0),
    (0.0625, 0.25, 1.0, 4.0, 16.0),
    (0.25, 1.0, 4.0),
)

Sizes = tuple[int, ...]


#: How often a search continues from the best, and how much coarser its first steps are. The GPU
#: model is rough, so no fine steps are tried; some GPU tiles take long to count.
_ON_CORES, _ON_GPUS = (4, 0), (1, 1)


@dataclass(frozen=True)
class Layout:
    """Values of a plan's tile sizes in order, and the predicted `seconds`, or None."""

    sizes: Sizes
    seconds: float | None = None


@dataclass(frozen=True)
class Ranking:
    """Layouts from the best on, for tile sizes of these `names`; `default` is the plan's own.

    `terms`: the kinds of work whose estimated prices make this order, a row for each layout.
    `reason`: why the model does not order them (a clause), empty if it does. Without an order they
    are sorted by their distance from the default, and there are no terms.
    """

    names: tuple[str, ...]
    layouts: tuple[Layout, ...]
    default: Layout
    reason: str = ""
    terms: Terms | None = None

    def rank(self, sizes: Sizes) -> int | None:
        """The place of a layout in the model's order, from 1; None if the model has none for it."""
        if self.reason:
            return None
        return next((rank for rank, layout in enumerate(self.layouts, 1) if layout.sizes == sizes), None)

    def predicted(self, sizes: Sizes) -> Layout:
        """The layout of these sizes, with its seconds if the model predicts any."""
        return next((layout for layout in self.layouts if layout.sizes == sizes), Layout(sizes))

    def fitted(self, measured: Mapping[Sizes, float]) -> Ranking | None:
        """The layouts in the order of prices fitted to measured seconds of some of them; None if
        the model orders none of the measured ones. Raises ValueError for invalid seconds.
        """
        rows = [row for row, layout in enumerate(self.layouts) if layout.sizes in measured]
        if self.terms is None or not rows:
            return None
        times = np.array([measured[self.layouts[row].sizes] for row in rows])
        factors = fit(Terms(self.terms.names, self.terms.seconds[rows]), times)
        seconds = self.terms.priced(factors)
        order = np.argsort(seconds, kind="stable")
        layouts = tuple(Layout(self.layouts[row].sizes, float(seconds[row])) for row in order)
        whole = replace(self, layouts=layouts, terms=Terms(self.terms.names, self.terms.seconds[order] * factors))
        return replace(whole, default=whole.predicted(self.default.sizes))


#: Predicts the terms of layouts, given an array of values for each size. Raises UncountableError.
Predictor = Callable[[Mapping[str, Values]], Terms]


def rank_layouts(
    plan: KernelPlan,
    scalars: Mapping[str, int],
    target: Target,
    device: Device | None,
    others: Sequence[Sizes] = (),
    executed: Mapping[str, float] | None = None,
) -> Ranking:
    """The layouts of a plan for these values of its scalars by name, for a target and its device.

    The search goes from coarse steps around the default to finer ones around the best so far. The
    ranking has all tried layouts, and `others` if the model orders them, except those that do not
    fit the device. Sizes that the target does not use keep their values. `executed`: see
    `predicted_on_gpu`.
    """
    on_host = target.is_host
    names = tuple(size.object.name for size in plan.sizes)
    usual = tuple(size.host if on_host else size.device for size in plan.sizes)
    used = used_sizes(plan.host_steps if on_host else plan.device_steps, plan.sizes)
    varied = [place for place, size in enumerate(plan.sizes) if size in used]

    def unknown(reason: str, default: Sizes = usual) -> Ranking:
        def distance(sizes: Sizes) -> float:
            return sum(max(size / usual, usual / size) for size, usual in zip(sizes, default, strict=True))

        near = dict.fromkeys(_combined(default, varied[:3], tuple(2.0**power for power in range(-3, 5))))
        layouts = sorted(near, key=distance)[:MOST_LAYOUTS]
        return Ranking(names, tuple(map(Layout, layouts)), Layout(default), reason)

    if not varied:
        return unknown("its tiles have no sizes to choose")
    try:
        default = _default_sizes(plan, scalars, target, device)
    except UncountableError as reason:
        return unknown(str(reason))
    seconds_of: dict[Sizes, float] = {}
    parts: list[Terms] = []
    try:
        predict = _predictor(plan, scalars, target, device, executed)
        for wanted in _search(default, varied, others, seconds_of, *(_ON_CORES if on_host else _ON_GPUS)):
            terms = predict(_columns(names, wanted))
            seconds_of.update(zip(wanted, terms.estimate.tolist(), strict=True))
            parts.append(terms)
    except UncountableError as reason:
        if not seconds_of:  # else some of what is near the best cannot be counted
            return unknown(str(reason), default)
    layouts = [Layout(*pair) for pair in seconds_of.items()]
    order = sorted(range(len(layouts)), key=list(seconds_of.values()).__getitem__)
    order = [row for row in order if math.isfinite(seconds_of[layouts[row].sizes])]
    if not order:
        return unknown(f"none that was tried has room on {'this machine' if device is None else device.name}", default)
    terms = Terms(parts[0].names, np.concatenate([part.seconds for part in parts])[order])
    seconds = seconds_of[default] if math.isfinite(seconds_of[default]) else None
    return Ranking(names, tuple(layouts[row] for row in order), Layout(default, seconds), terms=terms)


def predicted_as_it_is(plan: KernelPlan, scalars: Mapping[str, int], target: Target, device: Device | None) -> Terms:
    """The terms of a plan's time with its default tile sizes, in one row. Raises
    UncountableError.
    """
    sizes = _default_sizes(plan, scalars, target, device)
    predict = _predictor(plan, scalars, target, device)
    return predict(_columns(tuple(size.object.name for size in plan.sizes), [sizes]))


def _default_sizes(plan: KernelPlan, scalars: Mapping[str, int], target: Target, device: Device | None) -> Sizes:
    """What launches take by themselves. Raises UncountableError where the scalars do not say it."""
    if target.is_device:
        return tuple(size.device for size in plan.sizes)
    if not isinstance(device, Processor):
        return sizes_on_hosts(plan, scalars)
    return sizes_on_hosts(plan, scalars, device.cores if target.has_threads else None, device.is_opencl)


def _predictor(
    plan: KernelPlan,
    scalars: Mapping[str, int],
    target: Target,
    device: Device | None,
    executed: Mapping[str, float] | None = None,
) -> Predictor:
    """What predicts times on the device. Raises UncountableError if nothing does."""
    if target.is_host:
        if not isinstance(device, Processor):
            raise UncountableError("this machine is not calibrated (tilepragma devices --calibrate)")
        cores = device if target.is_parallel else device.with_cores(1)
        return lambda sizes: predicted_terms(plan, scalars, sizes, cores)
    if device is None:
        raise UncountableError(
            "the device is not calibrated (tilepragma devices --calibrate), and no --device is named"
        )
    if not isinstance(device, Gpu):
        raise UncountableError(f"times of what is made for GPUs are not predicted on {device.name}, which is none")
    return lambda sizes: predicted_on_gpu(plan, scalars, sizes, device, executed)


def _columns(names: tuple[str, ...], layouts: list[Sizes]) -> dict[str, Integers]:
    return dict(zip(names, np.array(layouts, dtype=np.int64).T, strict=True))


def _search(
    default: Sizes,
    varied: Sequence[int],
    others: Sequence[Sizes],
    seconds_of: Mapping[Sizes, float],
    rounds: int,
    coarser: int,
) -> Iterator[list[Sizes]]:
    """Layouts to predict next, which vary the default at `varied`, by earlier results."""
    steps = _COARSE[min(len(varied) + coarser, len(_COARSE)) - 1]
    yield list(dict.fromkeys((default, *others, *_combined(default, varied[: len(_COARSE)], steps))))
    for _ in range(rounds):
        best = sorted(seconds_of, key=lambda sizes: seconds_of[sizes])[:_BEST]
        near = (layout for sizes in best for place in varied for layout in beside(sizes, place, (0.5, 2.0)))
        unknown = dict.fromkeys(layout for layout in near if layout not in seconds_of)
        wanted = list(unknown)[: max(0, MOST_LAYOUTS - len(seconds_of))]
        if not wanted:
            return
        yield wanted


def _combined(default: Sizes, places: Collection[int], steps: tuple[float, ...]) -> Iterator[Sizes]:
    """All combinations of the steps at these places."""
    factors = [steps if place in places else (1.0,) for place in range(len(default))]
    yield from (_scaled(default, combination) for combination in itertools.product(*factors))


def beside(sizes: Sizes, place: int, factors: Iterable[float]) -> Iterator[Sizes]:
    """The layouts with the size at `place` multiplied by each of the factors."""
    for factor in factors:
        yield _scaled(sizes, tuple(factor if index == place else 1.0 for index in range(len(sizes))))


def _scaled(sizes: Sizes, factors: Iterable[float]) -> Sizes:
    return tuple(min(max(int(size * factor), 1), LARGEST) for size, factor in zip(sizes, factors, strict=True))
