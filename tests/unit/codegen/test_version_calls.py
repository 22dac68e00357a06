"""What a region has for the versions of its plan: one call, of which a launch changes what the version that it takes has otherwise."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import clause, listing3, scalar, wavefronts

from tilepragma.base.resources import resource_folder
from tilepragma.host.region_text import region_text
from tilepragma.host.user_macros import without_macros
from tilepragma.plan.kernel_plan import KernelPlan, PlanVersion

LAUNCH = "if (tilek_launch(tilek_kernels[tilek_taken], &tilek_call_)) {"


def with_versions(usual: KernelPlan, *plans: KernelPlan) -> KernelPlan:
    return replace(usual, versions=tuple(PlanVersion(f"as {place}", one) for place, one in enumerate(plans, 1)))


def decided(plan: KernelPlan) -> list[str]:
    """The lines from the decision to the launch, without their indentation."""
    lines = [line.strip() for line in without_macros(region_text(plan).before, {}).splitlines()]
    return lines[
        next(place for place, line in enumerate(lines) if "tilek_version(" in line) + 1 : lines.index(LAUNCH) + 1
    ]


def other_launches() -> KernelPlan:
    """A plan of the region of `listing3`, and of others, with numbers, conditions and scalars of its own."""
    plan = listing3("thread dynamic", "size32 dynamic")
    return replace(plan, scalars=(scalar("k"), *plan.scalars), conditions=(clause("n > 3"),))


def test_nothing_is_filled_in_where_all_is_the_plans() -> None:
    usual = listing3(counts="gang0:2 gang1:2")
    assert decided(with_versions(usual, usual, usual)) == [LAUNCH]


def test_only_the_version_that_is_taken_is_filled_in() -> None:
    usual = listing3(counts="gang0:2 gang1:2")
    assert decided(with_versions(usual, usual, other_launches())) == [
        "switch (tilek_taken) { /* the members of the call that a version changes */",
        "case 2: /* as 2 */",
        "tilek_scalar2_0 = k;",
        "tilek_scalars_2[0] = &tilek_scalar2_0;",
        "tilek_scalars_2[1] = &tilek_scalar0;",
        "tilek_call_.scalars = tilek_scalars_2;",
        "tilek_call_.tile_arguments = tilek_tile_arguments_2;",
        "tilek_call_.axes[1] = 0;",
        "tilek_call_.axes[2] = 0;",
        'if (tilek_call_.enabled && !(n > 3)) tilek_check_failed(&tilek_scale_kernel, "n > 3", 0);',
        "tilek_call_.enabled = tilek_call_.enabled && (n > 3);",
        "break;",
        "default:",
        "break;",
        "}",
        LAUNCH,
    ]


def test_what_versions_have_of_their_own_gives_no_warning(tmp_path: Path) -> None:
    """Arrays and bounds too."""
    text = region_text(with_versions(wavefronts(), other_launches()))
    before = without_macros(text.before, {})
    assert "tilek_arrays_1[0] = (tilek_array){" in before
    assert "tilek_loops_1[1] = (tilek_bounds){0, m, 1, " in before
    head = (
        '#include "tilek.h"\nextern const tilek_kernel tilek_wavefronts_kernel, tilek_scale_kernel;\n'
        "void f(int n, int m, int k, float b, double A[n][n]);\nvoid f(int n, int m, int k, float b, double A[n][n])\n{\n"
    )
    (tmp_path / "t.c").write_text(f"{head}{before}{text.after}}}\n")
    include = str(resource_folder("runtime") / "include")
    command = ["gcc", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-std=c99", "-I", include, "-c", "t.c"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr == ""
