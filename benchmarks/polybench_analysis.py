"""What the engine makes of one translated file, as JSON: seconds of each pass, and the plan of each region.

Usage: polybench_analysis.py SOURCE [compiler option…]. Modules are imported before the clock starts.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from tilepragma.driver import PASSES, State, TranslateRequest
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan
from tilepragma.plan.summary import all_steps, plan_kind

WARM = ("islpy", "clang.cindex", "tilepragma.plan.planner", "tilepragma.plan.verifier", "tilepragma.host.rewriter")


def described(plan: KernelPlan) -> dict[str, Any]:
    return {
        "kernel": plan.kernel.name,
        "plan": plan_kind(plan).value,
        "launches": len(plan.device),
        "host_loops": sum(isinstance(step, HostLoop) for step in all_steps(plan.device_steps)),
        "sizes": [size.object.host for size in plan.sizes],
        "reason": plan.as_written,
    }


def analysed(source: str, options: tuple[str, ...]) -> dict[str, Any]:
    """Seconds by pass, plans, and messages; the passes after a fault or an error are left out. Processor time: a busy machine does
    not count.
    """
    state = State(TranslateRequest(source, options=options, last="rewrite"))
    seconds: dict[str, float] = {}
    fault = None
    for step in PASSES[:5]:
        start = time.process_time()
        try:
            state = step.run(state)
        except Exception as error:
            fault = f"{step.name}: {type(error).__name__}: {error}"
        seconds[step.name] = time.process_time() - start
        if fault is not None or state.diagnostics.has_errors:
            break
    return {
        "seconds": seconds,
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
