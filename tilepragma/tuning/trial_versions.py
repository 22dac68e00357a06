"""The versions of a kernel that are worth a try, in the order of the model: tile sizes, tiles of time steps, the tilings of the TileK paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from tilepragma.cost.launch_work import Uncounted
from tilepragma.driver import translate
from tilepragma.driver.passes import TEMPORAL_VARIABLE
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import outermost_iterators, recounted, retiled, source_text, unrolled
from tilepragma.ir.directives import ALL_TARGETS
from tilepragma.plan.summary import used_sizes
from tilepragma.sizes.equivalent_sizes import whole_sizes
from tilepragma.sizes.search import predicted_as_it_is, rank_layouts
from tilepragma.tuning.exploration import Space
from tilepragma.tuning.measuring import Version, version_of
from tilepragma.tuning.paper_tilings import Tiling, accelerator_tilings_1d, accelerator_tilings_2d, thread_tilings
from tilepragma.tuning.version_order import UNKNOWN, Candidate, ordered

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateResult
    from tilepragma.ir.directives import Target
    from tilepragma.model.device import Device
    from tilepragma.model.execution_time import Numbers
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.sizes.search import Ranking, Sizes

#: Families of versions by name, and what they are.
FAMILIES = {
    "sizes": "tile sizes for launches",
    "steps": f"tiles of time steps, as {TEMPORAL_VARIABLE} has them",
    "counts": "threads, or workers of gangs",
    "unroll": "innermost loops unrolled",
    "paper8": "the TileK paper's versions of two parallel loops for threads (its Table 2)",
    "paper16": "those for accelerators with one dimension (its Table 3)",
    "paper24": "those for accelerators with two dimensions",
}
_HOSTS = ("serial", "threads")
#: Workers along both dimensions of a gang, and how often loops are unrolled.
_WORKERS = ((32, 4), (32, 8), (64, 4), (128, 1), (256, 1), (16, 16))
_UNROLLED = (2, 4, 8)
_STEPS = ("skewed", "diamond", "overlapped")


#: How the builds of families are named.
_NAMES = {
    f"{TEMPORAL_VARIABLE}=": "steps",
    "num_": "counts",
    "unroll(": "unroll",
    "thread": "paper8",
    "accelerator1d": "paper16",
    "accelerator2d": "paper24",
}


@dataclass(frozen=True)
class Build:
    """A program to try: its source, what its build has in the environment, and its plan where the model knows of it."""

    source: bytes
    environment: Mapping[str, str]
    plan: KernelPlan | None
    steps: str = ""
    """the tiles of time steps of the plan, where they are not those of the source as it stands"""
    alone: Callable[[], KernelPlan | None] = lambda: None
    """what the model predicts a build by that is tried as it is, without other tile sizes; translated when it is first asked for"""
    version: str = ""
    """what the source as it stands may have for a version of the kernel (ir/kernel_versions.py) in the place of this build; empty where it may not"""


def builds_of(
    request: TranslateRequest,
    result: TranslateResult,
    plan: KernelPlan,
    target: str,
    families: tuple[str, ...],
    threads: int,
) -> dict[str, Build]:
    """The programs of a kernel by their names, the source as it stands first, under no name;
    `threads` are those that the machine has. Raises RefusalError where the kernel has not the loops
    that a family is for.
    """
    source = source_text(result)
    builds = {"": Build(source, {}, plan)}
    if "steps" in families:
        builds |= _with_steps(request, plan, target, source)
    for counts in _counts(target, threads) if "counts" in families else ():
        builds[counts] = replace(_alone(request, plan, recounted(result, plan, counts)), version=counts)
    for times in _UNROLLED if "unroll" in families else ():
        name = f"unroll({times})"
        builds[name] = Build(unrolled(result, plan, times), {}, None, version=name)
    for tiling in _tilings(target, families):
        text = retiled(result, plan, tiling.counts, " ".join(tiling.i), " ".join(tiling.j))
        outer, inner = outermost_iterators(result, plan)
        version = f"{tiling.counts}; {outer}: {' '.join(tiling.i)}; {inner}: {' '.join(tiling.j)}"
        builds[tiling.name] = replace(_alone(request, plan, text), version=version)
    return builds


def families_of(versions: Iterable[str]) -> tuple[str, ...]:
    """The families that versions are of, by their texts; that of tile sizes always is among them."""
    builds = {version_of(text).build for text in versions}
    found = (family for start, family in _NAMES.items() if any(build.startswith(start) for build in builds))
    return ("sizes", *found)


def _alone(request: TranslateRequest, plan: KernelPlan, text: bytes) -> Build:
    """A build of another text of the source."""
    return Build(text, {}, None, alone=cache(partial(_plan_in, request, plan.kernel.name, text)))


def _plan_in(request: TranslateRequest, kernel: str, text: bytes) -> KernelPlan | None:
    """The plan of a kernel in another text of the source, where it has one."""
    result = translate(replace(request, text=text, use_records=False))
    return next((plan for plan in result.plans if plan.kernel.name == kernel), None)


def _counts(target: str, threads: int) -> list[str]:
    """Clauses with other counts of the machine."""
    if target in _HOSTS:
        return [f"num_threads({1 << power})" for power in range(threads.bit_length() + 1) if 1 << power != threads]
    return [f"num_workers({along}, {across})" for along, across in _WORKERS]


def _tilings(target: str, families: tuple[str, ...]) -> tuple[Tiling, ...]:
    """Those of the families that the target can run."""
    if target in _HOSTS:
        return thread_tilings() if "paper8" in families else ()
    one = accelerator_tilings_1d() if "paper16" in families else ()
    return (*one, *(accelerator_tilings_2d() if "paper24" in families else ()))


def _with_steps(request: TranslateRequest, plan: KernelPlan, target: str, source: bytes) -> dict[str, Build]:
    """What other tiles of time steps make of the kernel, where that is something else."""
    known, found = [plan], {}
    for way in _STEPS:
        result = translate(replace(request, temporal=way, use_records=False))
        for one in result.plans:
            if one.kernel.name == plan.kernel.name and not any(_same(one, other, target) for other in known):
                known.append(one)
                name = f"{TEMPORAL_VARIABLE}={way}"
                found[name] = Build(source, {TEMPORAL_VARIABLE: way}, one, way, version=name)
    return found


def _same(one: KernelPlan, other: KernelPlan, target: str) -> bool:
    """Whether both launch the same on a target; processors under OpenCL run the launches of hosts."""
    if one.host_steps != other.host_steps:
        return False
    return target in _HOSTS or one.device_steps == other.device_steps


def space_of(
    builds: Mapping[str, Build],
    points: Mapping[str, Mapping[str, int]],
    target: str,
    device: Device | None,
    with_sizes: bool,
) -> tuple[dict[str, Version], Space]:
    """The versions by their texts, and those of each point in the order in which to try them
    (version_order.py), what is taken where nobody tunes first. `target` is the one whose launches
    run.
    """
    [serves] = [one for one in ALL_TARGETS if one.value == target]
    versions: dict[str, Version] = {}
    order = {}
    for text, numbers in points.items():
        default = Candidate(Version(), _terms(builds[""].plan, numbers, serves, device))
        others = [
            Candidate(Version(name), _terms(one.alone(), numbers, serves, device))
            for name, one in builds.items()
            if name
        ]
        layouts = _layouts(builds, numbers, serves, device) if with_sizes else []
        mine = ordered(default, others, layouts)
        versions |= {one.text: one for one in mine}
        order[text] = [one.text for one in mine]
    return versions, Space(order)


def _terms(plan: KernelPlan | None, numbers: Mapping[str, int], target: Target, device: Device | None) -> Numbers:
    """What is predicted of a plan as it is."""
    if plan is None or plan.as_written is not None:
        return UNKNOWN
    found = predicted_as_it_is(plan, plan.kernel.by_name(numbers), target, device)
    return UNKNOWN if isinstance(found, Uncounted) or not np.isfinite(found.seconds).all() else found.seconds[0]


def _layouts(
    builds: Mapping[str, Build], numbers: Mapping[str, int], target: Target, device: Device | None
) -> list[Candidate]:
    """Layouts of tile sizes of all builds, in the model's order of each; of those that make the same launches the first."""
    found = []
    for name, build in builds.items():
        if build.plan is None or not build.plan.sizes:
            continue
        scalars = build.plan.kernel.by_name(numbers)
        ranking = rank_layouts(build.plan, scalars, target, device)
        steps = build.plan.host_steps if target.value in _HOSTS else build.plan.device_steps
        used = {size.object.name for size in used_sizes(steps, build.plan.sizes)}
        whole = whole_sizes(steps, build.plan.sizes, scalars)
        rows = [_row(ranking, place) for place in range(len(ranking.layouts))]
        others = [one for one in zip(ranking.layouts, rows, strict=True) if one[0].sizes != ranking.default.sizes]
        seen = {
            _launches(one.sizes, row, whole, scalars)
            for one, row in zip(ranking.layouts, rows, strict=True)
            if one.sizes == ranking.default.sizes
        }
        for layout, row in others:
            launches = _launches(layout.sizes, row, whole, scalars)
            if launches not in seen:
                seen.add(launches)
                sizes = tuple(one for one in zip(ranking.names, layout.sizes, strict=True) if one[0] in used)
                found.append(Candidate(Version(name, sizes), row))
    return found


def _launches(
    sizes: Sizes, terms: Numbers, whole: Sequence[int | None], scalars: Mapping[str, int]
) -> tuple[float, ...]:
    """What tells a layout's launches from those of others: sizes from that on which holds the
    `whole` of what they divide make the same ones. Where that is not known, sizes as large as the
    largest of the kernel's numbers do where the same work is predicted of them.
    """
    most = max(scalars.values(), default=0) if terms.size else 0
    limits = (limit or most or size for size, limit in zip(sizes, whole, strict=True))
    return (*map(min, sizes, limits), *terms.tolist())


def _row(ranking: Ranking, place: int) -> Numbers:
    """What is predicted of a layout."""
    if ranking.terms is not None:
        return np.asarray(ranking.terms.seconds[place])
    seconds = ranking.layouts[place].seconds
    return UNKNOWN if seconds is None else np.array([seconds])
