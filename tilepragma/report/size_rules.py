"""Which tile sizes and versions launches take, as rules for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilepragma.plan.dispatch_table import outermost_loop
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.plan.summary import used_sizes
from tilepragma.report.size_values import byte_text


def size_rules(plan: KernelPlan, choices: Sequence[SizeChoice], on_host: bool = True) -> list[str]:
    """`32 for arrays up to 1.0 MB`, or `version 1 for …`, for each choice. Several sizes have their
    names; a single choice is just `32`. None where no launch has tile sizes or versions.
    """
    rules = []
    for choice in choices:
        taken = _taken(plan, choice, on_host)
        if taken:
            limits = _limits(plan, choice) or ("all others" if choice != choices[0] else "")
            rules.append(f"{taken} for {limits}" if limits else taken)
    return rules


def version_rows(plan: KernelPlan) -> Iterator[str]:
    """The versions by number, and the rules that choose among them."""
    if not plan.versions:
        return
    yield "0: the plan above"
    yield from (f"{number}: {version.text}" for number, version in enumerate(plan.versions, 1))
    for where, choices, on_host in (("cores", plan.choices, True), ("devices", plan.device_choices, False)):
        if choices:
            usual = tuple(size.host if on_host else size.device for size in plan.sizes)
            listed = list(choices)
            while listed and listed[-1].version == 0 and listed[-1].sizes == usual:
                listed.pop()
            rest = (
                () if listed and (listed[-1].bytes, listed[-1].trips) == (None, None) else ("version 0 for all others",)
            )
            yield f"on {where}: {'; '.join((*size_rules(plan, listed, on_host), *rest))}"


def _taken(plan: KernelPlan, choice: SizeChoice, on_host: bool) -> str:
    """The version, if any, and its launches' tile sizes."""
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
