"""The tables: one a suite and form, and what is wrong below."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.real.measuring import Measured, Outcome

GOAL = 0.9


def head(targets: Sequence[str]) -> list[str]:
    """The columns. Ratios are OpenMP's time over ours: over 1 we are faster; with a star where the
    runtime has something to say, as that a kernel cannot run on a device.
    """
    ratios = [f"{target}{what}" for what in ("", " (printed)") for target in targets]
    return ["program", "kernels", "parallel", "stay", "translation s", "OpenMP s", *ratios]


def row(measured: Measured, targets: Sequence[str]) -> list[str]:
    peer, loops = measured.peer, measured.loops
    if peer.fault or measured.failure:
        return [measured.program, "OpenMP fails" if peer.fault else "not built", *[""] * (len(head(targets)) - 2)]
    counts = [str(count) for count in (loops.kernels, loops.parallel, loops.stay)]
    outcomes = [measured.outcomes[target] for target in targets]
    cells = [_cell(outcome, peer.seconds, outcome.seconds) for outcome in outcomes]
    printed = [_cell(outcome, peer.printed, outcome.printed) if peer.printed else "" for outcome in outcomes]
    return [
        measured.program,
        *counts,
        f"{measured.translation:.1f}",
        f"{peer.seconds:.2f}" if peer.seconds else "",
        *cells,
        *printed,
    ]


def _cell(outcome: Outcome, theirs: float, ours: float) -> str:
    if outcome.fault:
        return "differs" if outcome.differs else "fails"
    return f"{theirs / ours:.2f}{'*' if outcome.remarks else ''}" if ours else ""


def remarks(results: Sequence[Measured], targets: Sequence[str]) -> list[str]:
    """Means, and every fault with its message."""
    lines = []
    for target in targets:
        ratios = [
            measured.peer.seconds / outcome.seconds
            for measured in results
            if (outcome := measured.outcomes.get(target)) is not None and outcome.seconds
        ]
        if ratios:
            lines.append(f"{target}: {summary(ratios)}")
    lines.append(
        f"{sum(not measured.failure and not measured.peer.fault for measured in results)} of {len(results)} built; "
        + ", ".join(
            f"{sum(target in each.outcomes and not each.outcomes[target].fault for each in results)} agree on {target}"
            for target in targets
        )
    )
    for measured in results:
        if measured.peer.fault:
            lines.append(f"{measured.program}, OpenMP: {measured.peer.fault}")
        elif measured.failure:
            lines.append(f"{measured.program}: {measured.failure}")
        for target, outcome in measured.outcomes.items():
            said = ("differs: " if outcome.differs else "") + outcome.fault or "; ".join(outcome.remarks.splitlines())
            lines += [f"{measured.program} on {target}: {said}"] if said else []
    return lines


def summary(ratios: Sequence[float]) -> str:
    """The geometric mean, the least, and how many are under the goal."""
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    under = sum(ratio < GOAL for ratio in ratios)
    return f"geometric mean {mean:.2f} of {len(ratios)}, least {min(ratios):.2f}, {under} under {GOAL}"


def wrong(results: Sequence[Measured]) -> bool:
    """Whether a result of ours differs from the peer's, or a program of ours fails when it runs."""
    return any(outcome.fault for measured in results for outcome in measured.outcomes.values())
