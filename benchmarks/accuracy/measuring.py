"""Measuring the layouts of a problem: each once, the fastest and the named ones again in turn."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

import numpy as np

from benchmarks.accuracy.results import Measured, Sample
from benchmarks.accuracy.subjects import CalibrationTarget, SubjectError
from tilepragma.cost.host_prediction import predicted_terms
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.device import Processor
from tilepragma.model.linear_model import Terms
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.plan.summary import used_sizes
from tilepragma.sizes.model_pick import with_model_choices
from tilepragma.sizes.ranked_layouts import Sizes as TileSizes
from tilepragma.sizes.ranked_layouts import rank_layouts

#: Random sizes are the default's times a power of 2 between -SPAN and SPAN.
SPAN = 4.0
#: Of the random layouts so many of the fastest are measured again, with the named ones, so often.
FINALISTS, ROUNDS = 8, 4
#: A layout is given up after so many times the default's seconds, and never before the second
#: number.
PATIENCE, LEAST_LIMIT = 40.0, 5.0


def random_layouts(subject: CalibrationTarget, count: int, random: Random) -> list[TileSizes]:
    """Different ones, or all there are. Sizes that hosts do not use stay."""
    used = used_sizes(subject.plan.host_steps, subject.plan.sizes)
    result: dict[TileSizes, None] = {}
    for _ in range(20 * count):
        layout = tuple(
            max(1, round(size.host * 2 ** random.uniform(-SPAN, SPAN))) if size in used else size.host
            for size in subject.plan.sizes
        )
        result.setdefault(layout)
        if len(result) == count:
            break
    return list(result)


def terms_of(subject: CalibrationTarget, layouts: Iterable[TileSizes], processor: Processor) -> Terms:
    """The work of layouts, and what it is estimated to take. Raises SubjectError where the model has no ground."""
    columns = np.array(list(layouts), dtype=np.int64).T
    sizes = dict(zip(subject.names, columns, strict=True))
    try:
        return predicted_terms(subject.plan, subject.scalars, sizes, processor)
    except UncountableError as reason:
        raise SubjectError(f"the model says nothing: {reason}") from None


def named_layouts(subject: CalibrationTarget, processor: Processor, chooser: Processor | None) -> dict[str, TileSizes]:
    """See `Measured.named`; `chooser` are the cores that the plan is made for, also where OpenCL runs it. Raises SubjectError."""
    plan, scalars = subject.plan, subject.scalars
    ranking = rank_layouts(plan, scalars, Target.THREADS, processor)
    if ranking.reason:
        raise SubjectError(f"the model says nothing: {ranking.reason}")
    choosing = plan if chooser is None else with_model_choices(plan, chooser)
    default, chosen = (
        sizes_on_hosts(each, scalars, processor.cores, processor.is_opencl)
        for each in (replace(plan, choices=()), choosing)
    )
    return {
        "default": default,
        "chosen": chosen,
        "first": ranking.layouts[0].sizes,
    }


def measure(
    subject: CalibrationTarget,
    target: str,
    processor: Processor,
    chooser: Processor | None,
    count: int,
    heard: Callable[[], None],
) -> Measured:
    """A subject on a `target` that the `processor` is, with a plan made for the `chooser`; `heard` is told of each process. Raises SubjectError."""
    layouts = random_layouts(subject, count, Random(f"{subject.problem.program} {subject.sizes}"))
    named = named_layouts(subject, processor, chooser)
    seconds: dict[TileSizes, list[float]] = {}
    hashes: dict[TileSizes, tuple[str, ...]] = {}
    limit = 600.0

    def take(layout: TileSizes) -> None:
        run = subject.run(layout, target, processor.cores, limit)
        seconds.setdefault(layout, []).append(limit if run is None else min(run.each))
        if run is not None:
            hashes.setdefault(layout, run.hashes)
        heard()

    take(named["default"])
    limit = max(LEAST_LIMIT, PATIENCE * seconds[named["default"]][0])
    for layout in layouts:
        take(layout)
    finalists = sorted(layouts, key=lambda one: min(seconds[one]))[:FINALISTS]
    for _ in range(ROUNDS):
        for layout in (*dict.fromkeys(named.values()), *finalists):
            take(layout)
    right = hashes[named["default"]]
    return Measured(
        subject.problem.program,
        subject.problem.type,
        subject.problem.held_out,
        dict(subject.sizes),
        target,
        subject.names,
        tuple(Sample(layout, min(seconds[layout])) for layout in layouts),
        {name: Sample(one, min(seconds[one])) for name, one in named.items()},
        _noise(seconds[named["default"]]),
        tuple(one for one, found in hashes.items() if found != right),
    )


def _noise(seconds: list[float]) -> float:
    middle = statistics.median(seconds)
    return float(np.percentile([abs(each / middle - 1) for each in seconds], 95))


def processes(count: int) -> int:
    """How many processes `measure` runs, at most."""
    return 1 + count + ROUNDS * (3 + FINALISTS)
