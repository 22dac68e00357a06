"""The versions of a kernel worth trying, in the model's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.driver import translate
from tilepragma.driver.passes import TEMPORAL_VARIABLE
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import retiling, source_text
from tilepragma.ir.directives import ALL_TARGETS
from tilepragma.ir.evaluation import Evaluation, UncountableError
from tilepragma.ir.expressions import Binary, Call, Expression
from tilepragma.ir.traversal import loops_and_tiled, mentions, walk
from tilepragma.model.execution_time import Numbers
from tilepragma.plan.balanced_chunking import divided
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, Step, TileSize, all_steps
from tilepragma.plan.summary import used_sizes
from tilepragma.sizes.ranked_layouts import predicted_as_it_is, rank_layouts
from tilepragma.tuning.measuring import Version, version_of
from tilepragma.tuning.paper_tilings import Tiling, accelerator_tilings_1d, accelerator_tilings_2d, thread_tilings

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateResult
    from tilepragma.ir.directives import Target
    from tilepragma.model.device import Device
    from tilepragma.sizes.ranked_layouts import Ranking, Sizes

#: Families of versions by name, and their meaning.
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
#: Workers along both dimensions of a gang, and unroll factors.
_WORKERS = ((32, 4), (32, 8), (64, 4), (128, 1), (256, 1), (16, 16))
_UNROLLED = (2, 4, 8)
_STEPS = ("skewed", "diamond", "overlapped")
_QUOTIENTS = ("tilek_floor_quotient", "tilek_ceiling_quotient")
#: Versions whose kinds of work differ in total by less than the first share of their time are of
#: one kind; each earlier one adds the second share to a version's time. In measurements of two
#: products at three sizes each (docs/RESULTS.md, "Section 5 of the TileK paper") the first tenth of
#: this order has a version within 2 % of the best six times, that by predicted time alone five
#: times.
SAME, AGAIN = 0.005, 0.02
#: Prefixes of the names of families' builds.
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
    """A program to try: its source, its build's environment, and its plan if the model knows it."""

    source: bytes
    environment: Mapping[str, str]
    plan: KernelPlan | None
    steps: str = ""
    """the plan's time tiles, if they are not those of the source's own plan"""
    alone: Callable[[], KernelPlan | None] = lambda: None
    """the model's plan for a build that is tried without other tile sizes; translated on demand"""
    version: str = ""
    """the text of a version (ir/kernel_versions.py) that replaces this build, or empty"""


def builds_of(
    request: TranslateRequest,
    result: TranslateResult,
    plan: KernelPlan,
    target: str,
    families: tuple[str, ...],
    threads: int,
) -> dict[str, Build]:
    """The programs of a kernel by name, the source itself first under no name; `threads`: the
    machine's. Raises RefusalError if the kernel lacks the loops of a family.
    """
    source = source_text(result)
    builds = {"": Build(source, {}, plan)}
    changes = retiling(result, plan)
    if "steps" in families:
        builds |= _with_steps(request, plan, target, source)
    for counts in _counts(target, threads) if "counts" in families else ():
        builds[counts] = _alone(request, plan, changes.recounted(counts), counts)
    for times in _UNROLLED if "unroll" in families else ():
        name = f"unroll({times})"
        builds[name] = Build(changes.unrolled(times), {}, None, version=name)
    for tiling in _tilings(target, families):
        text = changes.retiled(tiling.counts, tiling.i, tiling.j)
        outer, inner = (loop.iterator.host for loop in changes.outermost)
        version = f"{tiling.counts}; {outer}: {tiling.i}; {inner}: {tiling.j}"
        builds[tiling.name] = _alone(request, plan, text, version)
    return builds


def families_of(versions: Iterable[str]) -> tuple[str, ...]:
    """The families of versions, by their texts; tile sizes are always among them."""
    builds = {version_of(text).build for text in versions}
    families = (family for start, family in _NAMES.items() if any(build.startswith(start) for build in builds))
    return ("sizes", *families)


def _alone(request: TranslateRequest, plan: KernelPlan, text: bytes, version: str) -> Build:
    """A build of another text of the source."""

    @cache
    def plan_there() -> KernelPlan | None:
        result = translate(replace(request, text=text, use_records=False))
        return next((other for other in result.plans if other.kernel.name == plan.kernel.name), None)

    return Build(text, {}, None, alone=plan_there, version=version)


def _counts(target: str, threads: int) -> list[str]:
    """Clauses with other counts of the machine."""
    if target in _HOSTS:
        return [f"num_threads({1 << power})" for power in range(threads.bit_length() + 1) if 1 << power != threads]
    return [f"num_workers({along}, {across})" for along, across in _WORKERS]


def _tilings(target: str, families: tuple[str, ...]) -> tuple[Tiling, ...]:
    """The families' tilings that the target can run."""
    if target in _HOSTS:
        return thread_tilings() if "paper8" in families else ()
    one_dimensional = accelerator_tilings_1d() if "paper16" in families else ()
    return (*one_dimensional, *(accelerator_tilings_2d() if "paper24" in families else ()))


def _with_steps(request: TranslateRequest, plan: KernelPlan, target: str, source: bytes) -> dict[str, Build]:
    """Builds with other time tiles, if these change the kernel's plan."""
    known, builds = [plan], {}
    for way in _STEPS:
        result = translate(replace(request, temporal=way, use_records=False))
        for plan_ in result.plans:
            if plan_.kernel.name == plan.kernel.name and not any(_same(plan_, seen, target) for seen in known):
                known.append(plan_)
                name = f"{TEMPORAL_VARIABLE}={way}"
                builds[name] = Build(source, {TEMPORAL_VARIABLE: way}, plan_, way, version=name)
    return builds


def _same(first: KernelPlan, second: KernelPlan, target: str) -> bool:
    """Whether both launch the same on a target; processors under OpenCL run host launches."""
    return first.host_steps == second.host_steps and (target in _HOSTS or first.device_steps == second.device_steps)


#: A version with its predicted seconds of each kind of work; no terms without a prediction.
Candidate = tuple[Version, Numbers]
#: The terms of what is not predicted.
UNKNOWN: Numbers = np.zeros(0)


def space_of(
    builds: Mapping[str, Build],
    points: Mapping[str, Mapping[str, int]],
    target: str,
    device: Device | None,
    with_sizes: bool,
) -> tuple[dict[str, Version], dict[str, list[str]]]:
    """The versions by their texts, and those of each point in the order of trials, the default
    first. `target` is the one whose launches run.
    """
    [serves] = [target_ for target_ in ALL_TARGETS if target_.value == target]
    versions: dict[str, Version] = {}
    order: dict[str, list[str]] = {}
    for text, numbers in points.items():
        default = (Version(), _terms(builds[""].plan, numbers, serves, device))
        named = ((name, build) for name, build in builds.items() if name)
        others = [(Version(name), _terms(build.alone(), numbers, serves, device)) for name, build in named]
        layouts = _layouts(builds, numbers, serves, device) if with_sizes else []
        in_order = ordered(default, others, layouts)
        versions |= {version.text: version for version in in_order}
        order[text] = [version.text for version in in_order]
    return versions, order


def _terms(plan: KernelPlan | None, numbers: Mapping[str, int], target: Target, device: Device | None) -> Numbers:
    """The prediction for a plan without other tile sizes."""
    if plan is None or plan.untransformed is not None:
        return UNKNOWN
    try:
        (seconds,) = predicted_as_it_is(plan, plan.kernel.by_name(numbers), target, device).seconds
    except UncountableError:
        return UNKNOWN
    return np.asarray(seconds) if np.isfinite(seconds).all() else UNKNOWN


def _layouts(
    builds: Mapping[str, Build], numbers: Mapping[str, int], target: Target, device: Device | None
) -> list[Candidate]:
    """Tile-size layouts of all builds, each in the model's order, without equivalent ones."""
    candidates = []
    for name, build in builds.items():
        if build.plan is None or not build.plan.sizes:
            continue
        scalars = build.plan.kernel.by_name(numbers)
        ranking = rank_layouts(build.plan, scalars, target, device)
        steps = build.plan.host_steps if target.value in _HOSTS else build.plan.device_steps
        used = {size.object.name for size in used_sizes(steps, build.plan.sizes)}
        whole = whole_sizes(steps, build.plan.sizes, scalars)
        default = ranking.default.sizes
        seen: set[tuple[float, ...]] = set()
        rows = ((layout, _row(ranking, place)) for place, layout in enumerate(ranking.layouts))
        for layout, row in sorted(rows, key=lambda pair: pair[0].sizes != default):
            launches = _launches(layout.sizes, row, whole, scalars)
            if launches not in seen:
                seen.add(launches)
                if layout.sizes != default:
                    sizes = tuple(pair for pair in zip(ranking.names, layout.sizes, strict=True) if pair[0] in used)
                    candidates.append((Version(name, sizes), row))
    return candidates


def _launches(
    sizes: Sizes, terms: Numbers, whole: Sequence[int | None], scalars: Mapping[str, int]
) -> tuple[float, ...]:
    """What distinguishes a layout's launches: sizes at or above the `whole` they divide are
    equivalent. If that is unknown, sizes above the largest number are, if their predicted work is
    equal.
    """
    most = max(scalars.values(), default=0) if terms.size else 0
    limits = (limit or most or size for size, limit in zip(sizes, whole, strict=True))
    return (*map(min, sizes, limits), *terms.tolist())


def _row(ranking: Ranking, place: int) -> Numbers:
    if ranking.terms is not None:
        return np.asarray(ranking.terms.seconds[place])
    seconds = ranking.layouts[place].seconds
    return UNKNOWN if seconds is None else np.array([seconds])


# -- The order of trials
#
# Versions are tried by predicted time, but spreading those that the model can hardly distinguish.
# Many tile sizes matter little: dozens of layouts are predicted to take the same time within a
# share of a percent, and the model does not know the fastest of them. So each further version of a
# kind waits as if its predicted time were larger.


def ordered(default: Candidate, builds: Sequence[Candidate], layouts: Sequence[Candidate]) -> list[Version]:
    """The default, then all predicted versions, the fastest first; unpredicted `builds` follow the
    best, and unpredicted `layouts` stay in their order at the end.
    """
    known = [candidate for candidate in (*builds, *layouts) if candidate[1].size]
    unknown_builds = [version for version, terms in builds if not terms.size]
    unknown = [version for version, terms in layouts if not terms.size]
    best = [version for version, _ in _spread(default, known)] + unknown
    return list(dict.fromkeys((default[0], *best[:1], *unknown_builds, *best[1:])))


def _seconds(candidate: Candidate) -> float:
    return float(candidate[1].sum())


def _spread(default: Candidate, known: Sequence[Candidate]) -> list[Candidate]:
    """By predicted time, spreading kinds. The default came first, and is the first of its kind."""
    keys = []
    for kind in _kinds([default, *known] if default[1].size else known):
        members = enumerate(sorted(kind, key=lambda candidate: candidate is not default))
        keys += [(_seconds(candidate) * (1 + AGAIN * place), candidate) for place, candidate in members]
    return [candidate for _, candidate in sorted(keys, key=lambda key: key[0]) if candidate is not default]


def _kinds(known: Sequence[Candidate]) -> list[list[Candidate]]:
    """Groups of versions that the model can hardly tell from the fastest of their kind."""
    kinds: list[list[Candidate]] = []
    for candidate in sorted(known, key=_seconds):
        for kind in kinds:
            if _is_same(kind[0], candidate):
                kind.append(candidate)
                break
        else:
            kinds.append([candidate])
    return kinds


def _is_same(first: Candidate, second: Candidate) -> bool:
    limit = SAME * _seconds(first)
    if _seconds(second) - _seconds(first) > limit or first[1].shape != second[1].shape:
        return False
    return float(np.abs(first[1] - second[1]).sum()) <= limit


# -- Tile sizes with the same launches: all that hold the whole extent that they divide


def whole_sizes(
    steps: tuple[Step, ...], sizes: Sequence[TileSize], scalars: Mapping[str, int]
) -> tuple[int | None, ...]:
    """For each size the least one that holds everything the steps divide by it, for these values of
    the plan's scalars by name.

    Larger sizes make the same launches. None if the launch does not determine what is divided: it
    depends on iterators, on another size, or on the size itself.
    """
    known = Evaluation(scalars)
    roots = [root for step in all_steps(steps) for root in _roots(step)]
    return tuple(_whole(roots, size, known) for size in sizes)


def _roots(step: Step) -> tuple[Any, ...]:
    """What a step evaluates, without its inner steps."""
    match step:
        case Launch():
            return (step.body,)
        case HostLoop(loop=loop):
            return (loop,)
        case HostCondition():
            return (step.condition,)


def _whole(roots: Sequence[Any], size: TileSize, known: Evaluation) -> int | None:
    dividends: set[Expression] = set()
    for root in roots:
        if any(mentions(loop.step, size.object) for loop in loops_and_tiled(root)):
            return None
        for node in walk(root):
            if not _is_division(node) or not mentions(node, size.object):
                continue
            divided_by_size = divided(node, size)
            if not divided_by_size:
                return None
            dividends.update(divided_by_size)
    try:
        values = [int(known.value(dividend)) for dividend in dividends]
    except UncountableError:
        return None
    # Quotients of negative dividends are -1 then.
    return max(map(abs, values)) + 1 if values else None


def _is_division(node: Any) -> bool:
    is_call = isinstance(node, Call) and node.function in _QUOTIENTS
    return is_call or (isinstance(node, Binary) and node.operator in ("/", "%"))
