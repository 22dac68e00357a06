"""What choices of tile sizes add to the emitted text: a table, and the iterations of the outermost loop where one asks for them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import loop, scalar, wavefronts

from tilepragma.codegen.manifest import describe, kernel_constants
from tilepragma.host.region_text import region_text
from tilepragma.ir.directives import Target
from tilepragma.ir.loop_tree import Block
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice

CHOICES = (SizeChoice(1 << 20, None, (16,)), SizeChoice(None, 2, (64,)))


def with_region(plan: KernelPlan) -> KernelPlan:
    """The plan with a loop in its region, which plans built by hand have not."""
    outermost = loop(0, scalar("t"), 1, plan.scalars[0], comparison="<=")
    return replace(plan, kernel=replace(plan.kernel, body=Block((outermost,))))


def added(plain: str, text: str) -> list[str]:
    """The lines that `text` has beyond `plain`, all of whose lines it has in their order."""
    rest = iter(plain.splitlines())
    expected = next(rest, None)
    results = []
    for line in text.splitlines():
        if line == expected:
            expected = next(rest, None)
        else:
            results.append(line)
    assert expected is None
    return results


def test_the_table_can_be_read() -> None:
    plain, text = (
        kernel_constants(describe(replace(wavefronts(), choices=choices), list(Target))) for choices in ((), CHOICES)
    )
    assert added(plain, text) == [
        "/* {bytes, iterations, {t_size}, version}: a launch on hosts takes the first line with at least the bytes of",
        " * its arrays and at least the iterations of its outermost loop. */",
        "static const tilek_choice tilek_wavefronts_choices[] = {",
        "    {1048576, INT64_MAX, (const int64_t[]){16}, 0},",
        "    {INT64_MAX, 2, (const int64_t[]){64}, 0},",
        "};",
        "    .choice_count = 2,",
        "    .choices = tilek_wavefronts_choices,",
    ]


def test_opencl_processors_have_a_table_of_their_own() -> None:
    plain, text, without = (
        kernel_constants(describe(replace(wavefronts(), processor_choices=choices), targets))
        for choices, targets in (((), list(Target)), (CHOICES[:1], list(Target)), (CHOICES[:1], [Target.THREADS]))
    )
    assert [line for line in added(plain, text) if not line.startswith((" *", "/*"))] == [
        "static const tilek_choice tilek_wavefronts_processor_choices[] = {",
        "    {1048576, INT64_MAX, (const int64_t[]){16}, 0},",
        "};",
        "    .processor_choice_count = 1,",
        "    .processor_choices = tilek_wavefronts_processor_choices,",
    ]
    assert "a launch on OpenCL processors takes the first line with at least" in text
    assert "processor_choices" not in without


def test_iterations_are_counted_where_a_choice_asks_for_them() -> None:
    plain = with_region(wavefronts())
    without, by_bytes, by_trips = (
        region_text(replace(plain, choices=choices)).before for choices in ((), CHOICES[:1], CHOICES)
    )
    assert by_bytes == without
    assert added(without, by_trips) == ["        .trips = tilek_trip(1, n, 1, 'l'),"]
