"""What the engine makes of one translated file, as JSON: seconds of each pass, and the plan of each
region.

Usage: polybench_analysis.py SOURCE [compiler option…]. Modules are imported before the clock
starts. The seconds of "proof" are those of all proofs, which planning (to choose between plans) and
verification ask for; no pass's seconds contain them.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.support.plan_kinds import plan_kind
from tilepragma.driver import PASSES
from tilepragma.driver.state import State, TranslateRequest
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan
from tilepragma.plan.summary import all_steps
from tilepragma.verify import proofs

WARM = ("islpy", "clang.cindex", "tilepragma.planner.planner", "tilepragma.verify.rules", "tilepragma.host.rewriter")


def described(plan: KernelPlan) -> dict[str, Any]:
    return {
        "kernel": plan.kernel.name,
        "plan": plan_kind(plan).value,
        "launches": len(plan.device),
        "host_loops": sum(isinstance(step, HostLoop) for step in all_steps(plan.device_steps)),
        "sizes": [size.object.host for size in plan.sizes],
        "reason": plan.untransformed,
    }


class Stopwatch:
    """A function whose calls are timed together, in processor seconds."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.seconds = 0.0

    def __call__(self, *arguments: Any) -> Any:
        start = time.process_time()
        try:
            return self.function(*arguments)
        finally:
            self.seconds += time.process_time() - start


def analysed(source: str, options: tuple[str, ...]) -> dict[str, Any]:
    """Seconds of each pass, plans and messages. A fault or an error ends the passes. The seconds are
    processor time, which a busy machine does not change.
    """
    state = State(TranslateRequest(source, options=options, last="rewrite"))
    stopwatch = Stopwatch(proofs.prove)
    proofs.prove = stopwatch
    seconds: dict[str, float] = {}
    fault = None
    for step in PASSES[:-1]:
        start, proven = time.process_time(), stopwatch.seconds
        try:
            state = step.run(state)
        except Exception as error:
            fault = f"{step.name}: {type(error).__name__}: {error}"
        seconds[step.name] = time.process_time() - start - (stopwatch.seconds - proven)
        if fault is not None or state.diagnostics.has_errors:
            break
    return {
        "seconds": seconds | {"proof": stopwatch.seconds},
        "plans": [described(plan) for plan in state.plans],
        "errors": [item.message for item in state.diagnostics if item.severity.value == "error"],
        "fault": fault,
    }


def main() -> None:
    for name in WARM:
        importlib.import_module(name)
    print(json.dumps(analysed(sys.argv[1], tuple(sys.argv[2:]))))


if __name__ == "__main__":
    main()
