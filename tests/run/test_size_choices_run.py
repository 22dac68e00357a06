"""Tile sizes chosen at launch: results are the original's to the last bit whatever is chosen, and traces say what was."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.choosing import with_choices
from tests.support.programs import COMPILER, FLAGS, Workshop, run_command, tool_environment
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.driver.state import TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice

SOURCE = Path(__file__).parent / "size_choices.c"
#: n and steps, one pair after the other: small, one element beyond what is small, few steps, none,
#: no elements.
LAUNCHES = (("20", "9"), ("21", "9"), ("60", "3"), ("60", "0"), ("0", "4"), ("1", "1"), ("60", "9"))
#: What both kernels then take: the number of a choice, or "usual".
STENCIL = (0, 1, 2, 2, 0, 0, "usual")
PRODUCT = (0, 1, 1, 1, 0, 0, 1)


def choose(plan: KernelPlan) -> tuple[SizeChoice, ...]:
    """Three choices for the stencil, two for the product: each of the sizes differs in each."""
    arrays, own = len(plan.arrays), range(len(plan.sizes))
    small = arrays * 20 * 20 * 8
    if plan.kernel.name == "product":
        return (
            SizeChoice(small, None, tuple(3 + size for size in own)),
            SizeChoice(None, None, tuple(11 + size for size in own)),
        )
    return (
        SizeChoice(small, None, tuple(4 + size for size in own)),
        SizeChoice(small + arrays * 41 * 8, 9, tuple(9 + size for size in own)),
        SizeChoice(None, 3, tuple(2 + size for size in own)),
    )


def choose_on_processors(plan: KernelPlan) -> tuple[SizeChoice, ...]:
    """One choice for small arrays, with other sizes than hosts have."""
    return (SizeChoice(len(plan.arrays) * 20 * 20 * 8, None, tuple(5 + size for size in range(len(plan.sizes)))),)


@dataclass(frozen=True)
class Programs:
    """The original, the translated program, and its plans by the kernels' names."""

    original: Path
    translated: Path
    plans: dict[str, KernelPlan]

    def taken(self, name: str, choice: int | str, on_processors: bool = False) -> dict[str, int]:
        """The tile sizes of a choice, by name."""
        plan = self.plans[name]
        usual = tuple(size.host for size in plan.sizes)
        choices = plan.processor_choices if on_processors else plan.choices
        sizes = choices[choice].sizes if isinstance(choice, int) else usual
        return {size.object.name: value for size, value in zip(plan.sizes, sizes, strict=True)}


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> Programs:
    from tilepragma.cli.runtime_library import compile_flags, link_flags

    folder = workshop.folder / "size_choices"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(shutil.copy(SOURCE, folder))
    text, plans = with_choices(TranslateRequest(str(source), options=FLAGS), choose, choose_on_processors)
    output = folder / "translated.c"
    output.write_bytes(text)
    program = folder / "translated"
    command = (COMPILER, *FLAGS, *compile_flags(), "-o", str(program), str(output), *link_flags(), "-lm")
    run_command(command, tool_environment(workshop.cache), folder, 120)
    return Programs(workshop.build_original(source), program, {plan.kernel.name: plan for plan in plans})


ARGUMENTS = tuple(word for launch in LAUNCHES for word in launch)


def expected(workshop: Workshop, programs: Programs) -> str:
    return workshop.run(programs.original, TargetEnvironment("original", ()), *ARGUMENTS)


def traced(path: Path, name: str) -> list[dict[str, int]]:
    """The tile sizes of a kernel's launches that had something to do, those of following ones once where they are alike."""
    events = json.loads(path.read_text())["traceEvents"]
    sizes = [
        event["args"]["tile sizes"] for event in events if event["args"]["kernel"] == name and event["cat"] == "kernel"
    ]
    return [one for place, one in enumerate(sizes) if place == 0 or sizes[place - 1] != one]


def test_there_is_something_to_choose(programs: Programs) -> None:
    for plan in programs.plans.values():
        assert plan.untransformed is None
        assert plan.sizes
        assert len({choice.sizes for choice in plan.choices} | {tuple(size.host for size in plan.sizes)}) > 2


@pytest.mark.parametrize(
    "more", [{}, {"TILEK_SPECIALIZE": "0"}, {"TILEK_VERIFY": "1", "TILEK_TOLERANCE": "0"}], ids=str
)
def test_matches_the_original(
    workshop: Workshop, programs: Programs, target: TargetEnvironment, more: dict[str, str]
) -> None:
    result = workshop.run(programs.translated, target, *ARGUMENTS, **more)
    lines = [line for line in result.splitlines(keepends=True) if "tilek: verify:" not in line]
    assert "".join(lines) == expected(workshop, programs)


def test_launches_take_what_fits_them(
    workshop: Workshop, programs: Programs, host_target: TargetEnvironment, tmp_path: Path
) -> None:
    for launch, stencil, product in zip(LAUNCHES, STENCIL, PRODUCT, strict=True):
        trace = tmp_path / f"{'-'.join(launch)}.json"
        workshop.run(programs.translated, host_target, *launch, TILEK_PROFILE=str(trace))
        n, steps = map(int, launch)
        runs = {"smooth": n > 2 and steps > 0, "product": n > 0}
        for name, choice in (("smooth", stencil), ("product", product)):
            result = traced(trace, name)  # without steps there may be launches of empty tiles
            assert result == [programs.taken(name, choice)] or (not result and not runs[name]), (launch, name)


def test_the_user_goes_before_choices(
    workshop: Workshop, programs: Programs, host_target: TargetEnvironment, tmp_path: Path
) -> None:
    names = {name: plan.sizes[0].object.name for name, plan in programs.plans.items()}
    given = f"smooth.{names['smooth']}=7,product.{names['product']}=6"
    trace = tmp_path / "trace.json"
    result = workshop.run(programs.translated, host_target, *LAUNCHES[0], TILEK_PROFILE=str(trace), TILEK_SIZES=given)
    assert result.splitlines() == expected(workshop, programs).splitlines()[:1]
    assert traced(trace, "smooth") == [programs.taken("smooth", 0) | {names["smooth"]: 7}]
    assert traced(trace, "product") == [programs.taken("product", 0) | {names["product"]: 6}]


def test_devices_that_run_the_hosts_launches_choose_by_their_own_rules_first(
    workshop: Workshop, programs: Programs, device_target: TargetEnvironment, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json"
    plan = programs.plans["product"]
    usual = {size.object.name: size.device for size in plan.sizes}
    for launch, own in zip(
        LAUNCHES[:2], (programs.taken("product", 0, on_processors=True), programs.taken("product", 1)), strict=True
    ):
        workshop.run(programs.translated, device_target, *launch, TILEK_PROFILE=str(trace))
        assert traced(trace, "product") == [own if device_target.name == "opencl" else usual]


#: Arrays of 64 KiB, of 256 KiB and of a little more, in a few tiles each.
LINE = """\
#include <stdio.h>

static double a[32769];

static void relax(int steps, int n)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++) a[i] = 0.3 * (a[i - 1] + a[i] + a[i + 1]);
}

int main(void)
{
    const int lengths[] = {8192, 32768, 32769};
    for (int which = 0; which < 3; which++) {
        double sum = 0;
        for (int i = 0; i < 32769; i++) a[i] = i * 7 % 101;
        relax(9, lengths[which]);
        for (int i = 0; i < 32769; i++) sum = sum / 2 + a[i];
        printf("%.17g\\n", sum);
    }
    return 0;
}
"""


def test_relaxations_have_longer_tiles_on_opencl_processors(workshop: Workshop, tmp_path: Path) -> None:
    opencl = target_environment("opencl", workshop.cache)
    if opencl.absent:
        pytest.skip(opencl.absent)
    source = tmp_path / "line.c"
    source.write_text(LINE)
    expected = workshop.run(workshop.build_original(source), TargetEnvironment("original", ()))
    program = workshop.build_translated(source, FLAGS)
    for name, taken in (("opencl", [64, 256, 4096]), ("serial", [16])):
        trace = tmp_path / f"{name}.json"
        target = opencl if name == "opencl" else target_environment(name, workshop.cache)
        assert workshop.run(program, target, TILEK_PROFILE=str(trace)) == expected
        assert [each["t_i_size"] for each in traced(trace, "relax")] == taken
