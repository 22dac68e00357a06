"""Which tile sizes and versions launches take, as rules a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilepragma.plan.dispatch_table import outermost_loop
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.plan.summary import used_sizes
from tilepragma.report.size_values import byte_text


def size_rules(plan: KernelPlan, choices: Sequence[SizeChoice], on_host: bool = True) -> list[str]:
    """`32 for arrays up to 1.0 MB`, or `version 1 for …`, for each choice; sizes have their names
    where there are several, and one choice for all launches is `32`. None where no launch has tile
    sizes or versions.
    """
    found = []
    for choice in choices:
        taken = _taken(plan, choice, on_host)
        if taken:
            limits = _limits(plan, choice) or ("all others" if choice != choices[0] else "")
            found.append(f"{taken} for {limits}" if limits else taken)
    return found


def version_rows(plan: KernelPlan) -> Iterator[str]:
    """The versions by their numbers, and the rules that choose among them."""
    if not plan.versions:
        return
    yield "0: the plan above"
    yield from (f"{number}: {version.text}" for number, version in enumerate(plan.versions, 1))
    for where, choices, on_host in (("cores", plan.choices, True), ("devices", plan.device_choices, False)):
        if choices:
            usual = tuple(size.host if on_host else size.device for size in plan.sizes)
            kept = list(choices)
            while kept and kept[-1].version == 0 and kept[-1].sizes == usual:
                kept.pop()
            rest = () if kept and (kept[-1].bytes, kept[-1].trips) == (None, None) else ("version 0 for all others",)
            yield f"on {where}: {'; '.join((*size_rules(plan, kept, on_host), *rest))}"


def _taken(plan: KernelPlan, choice: SizeChoice, on_host: bool) -> str:
    """The version, where there are any, and the tile sizes that its launches have."""
    version = plan.versions[choice.version - 1].plan if choice.version else plan
    used = used_sizes(version.host_steps if on_host else version.device_steps, version.sizes)
    places = [place for place, size in enumerate(version.sizes) if size in used] if choice.sizes else []
    names = "" if len(version.sizes) == 1 and not plan.versions else "{} = "
    sizes = ", ".join(names.format(version.sizes[place].object.host) + str(choice.sizes[place]) for place in places)
    if not plan.versions:
        return sizes
    return f"version {choice.version}" + (f" with {sizes}" if sizes else "")


def _limits(plan: KernelPlan, choice: SizeChoice) -> str:
    limits = [] if choice.bytes is None else [f"arrays up to {byte_text(choice.bytes)}"]
    outermost = outermost_loop(plan)
    if choice.trips is not None and outermost is not None:
        limits.append(f"up to {choice.trips} iteration{'' if choice.trips == 1 else 's'} of {outermost.iterator.host}")
    return " and ".join(limits)
