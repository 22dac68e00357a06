"""Programs translated in this process, for tests of their plans, and settings to run them under."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.disorder import LAST_FIRST
from tests.support.programs import BUILD_SECONDS, COMPILER, Failure, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.cli.runtime_library import compile_flags
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan

SUPPORT = Path(__file__).resolve().parent
Variables = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class PlanningWorkshop(Workshop):
    """Translates in this process; `plans` are by kernel name. Programs link with `runtime`."""

    runtime: tuple[str, ...] = ()
    plans: dict[str, KernelPlan] = field(default_factory=dict)

    def build_translated(self, source: Path, flags: tuple[str, ...] = (), *options: str) -> Path:
        include = f"-I{SUPPORT}"
        try:
            result = translate(TranslateRequest(str(source), options=(*flags, include)))
        except Exception as fault:  # whatever it is, it is a failure of this program, and not of the test
            raise Failure(("translate", str(source)), 3, traceback.format_exc()) from fault
        if result.output is None:
            raise Failure(("translate", str(source)), 1, "\n".join(item.message for item in result.diagnostics))
        self.plans.update({plan.kernel.name: plan for plan in result.plans})
        translated = source.with_suffix(".tk.c")
        translated.write_bytes(result.output)
        program = source.with_suffix(".translated")
        files = ("-o", str(program), str(translated), *self.runtime)
        command = (COMPILER, *flags, include, *compile_flags(), *files)
        run_command(command, tool_environment(self.cache), source.parent, BUILD_SECONDS)
        return program


@dataclass(frozen=True)
class Setting:
    """A target and further variables under which nests run."""

    target: TargetEnvironment
    label: str


def settings(scratch: Path, accelerators: tuple[str, ...], plans: Iterable[KernelPlan]) -> list[Setting]:
    """Serial first; threads and CUDA also in reverse; OpenCL; odd tile sizes where plans have
    sizes.
    """
    names = sorted({size.object.host for plan in plans for size in plan.sizes})
    odd = ",".join(f"{name}={3 + 2 * (place % 3)}" for place, name in enumerate(names))
    variants: list[tuple[str, str, Variables]] = [("serial", "", ()), ("threads", "", ())]
    variants += [("threads", "last first", LAST_FIRST)]
    variants += [(name, "", (("TILEK_SPECIALIZE", "0"), *LAST_FIRST)) for name in accelerators]
    if odd:
        variants += [(name, f"{label} odd", (*variables, ("TILEK_SIZES", odd))) for name, label, variables in variants]
    targets = {name: target_environment(name, scratch) for name in ("serial", "threads", *accelerators)}
    return [
        Setting(varied(targets[name], label, more), f"{name} {label}".strip())
        for name, label, more in variants
        if targets[name].absent is None
    ]


def varied(target: TargetEnvironment, label: str, variables: Variables) -> TargetEnvironment:
    """A target with further variables, under a name that a file may have."""
    name = re.sub(r"\W+", "-", f"{target.name} {label}".strip())
    return TargetEnvironment(name, (*target.variables, *variables))
