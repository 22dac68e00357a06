"""Which tile sizes launches on cores take, as a rule a person can read."""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.plan.size_choices import outermost_loop
from tilepragma.plan.summary import used_sizes
from tilepragma.report.sizes import byte_text


def size_rules(plan: KernelPlan, choices: Sequence[SizeChoice]) -> list[str]:
    """`32 for arrays up to 1.0 MB`, for each choice; sizes have their names where there are several. None where no launch on cores has tile sizes."""
    used = used_sizes(plan.host_steps, plan.sizes)
    places = [place for place, size in enumerate(plan.sizes) if size in used]
    return [_rule(plan, choice, places) for choice in choices if places]


def _rule(plan: KernelPlan, choice: SizeChoice, places: list[int]) -> str:
    names = "" if len(plan.sizes) == 1 else "{} = "
    sizes = ", ".join(names.format(plan.sizes[place].object.host) + str(choice.sizes[place]) for place in places)
    limits = [] if choice.bytes is None else [f"arrays up to {byte_text(choice.bytes)}"]
    outermost = outermost_loop(plan)
    if choice.trips is not None and outermost is not None:
        limits.append(f"up to {choice.trips} iteration{'' if choice.trips == 1 else 's'} of {outermost.iterator.host}")
    return f"{sizes} for {' and '.join(limits) or 'all others'}"
