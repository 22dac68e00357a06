"""What explain says of the model's choice of tile sizes, by rankings made by hand, and of a model that has none."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from tests.unit.report.pictures import GOLDEN, golden
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device, Overheads
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.model_facts import ranking_facts
from tilepragma.report.size_values import parse_sizes
from tilepragma.sizes.ranked_layouts import Layout, Ranking

NAMES = ("t_size", "i_size")
USED = list(NAMES)
TIMES = {(8, 32): 12.34e-3, (16, 32): 12.5e-3, (8, 64): 13e-3, (4, 32): 13.2e-3, (16, 16): 14e-3, (1, 1): 90e-3}


def ranking(times: dict[tuple[int, ...], float], default: tuple[int, ...], names: tuple[str, ...] = NAMES) -> Ranking:
    """All of these from the best on."""
    layouts = tuple(Layout(sizes, times[sizes]) for sizes in sorted(times, key=times.__getitem__))
    return Ranking(names, layouts, Layout(default, times.get(default)))


def said(text: str, sizes: list[str], device: Device | None) -> str:
    result = translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes"))
    return explain(kernel_reports(result, parse_sizes(sizes) if sizes else None, device))


def test_the_best_the_next_three_and_the_default() -> None:
    facts, _ = ranking_facts(ranking(TIMES, (16, 16)), USED, named_device("h100"))
    assert facts["device"] == "NVIDIA H100-SXM5-80GB, not calibrated"
    assert facts["predicted"] == "12.3 ms with t_size = 8, i_size = 32"
    assert facts["runners-up"] == "12.5 ms 16, 32 · 13 ms 8, 64 · 13.2 ms 4, 32"
    assert facts["default"] == "14 ms 16, 16 (1.13 times)"
    lines = "".join(f"      {title:<10}  {words}\n" for title, words in facts.items())
    assert lines in (GOLDEN.parents[2] / "docs" / "MODEL.md").read_text()


def test_a_default_that_is_best_is_said_once() -> None:
    facts, _ = ranking_facts(ranking(TIMES, (8, 32)), USED, None)
    assert facts["predicted"] == "12.3 ms with the defaults: t_size = 8, i_size = 32"
    assert facts["runners-up"].startswith("12.5 ms 16, 32 · ")
    assert "default" not in facts


def test_of_equal_times_the_ranking_decides() -> None:
    layouts = tuple(Layout(sizes, 1e-3) for sizes in ((32, 8), (16, 16), (8, 32)))
    facts, _ = ranking_facts(Ranking(NAMES, layouts, layouts[1]), USED, None)
    assert facts["predicted"] == "1 ms with t_size = 32, i_size = 8"


def test_sizes_that_the_device_does_not_use_are_not_mentioned() -> None:
    """Layouts that differ in them alone are one."""
    times = {(8, 32): 2e-3, (8, 64): 2e-3, (16, 32): 3e-3, (16, 64): 3e-3}
    facts, _ = ranking_facts(ranking(times, (16, 64)), ["t_size"], None)
    assert (facts["predicted"], facts["runners-up"]) == ("2 ms with t_size = 8", "3 ms 16")
    assert facts["default"] == "3 ms 16 (1.50 times)"


def test_without_a_prediction_the_reason_and_what_is_taken() -> None:
    layouts = (Layout((16, 16)), Layout((8, 16)))
    facts, landscape = ranking_facts(Ranking(NAMES, layouts, layouts[0], "trip counts depend on data"), USED, None)
    assert facts["predicted"] == "not known: trip counts depend on data; sizes are the defaults"
    assert (facts.keys(), landscape) == ({"device", "predicted"}, None)


def test_layouts_that_cannot_be_have_no_place() -> None:
    facts, landscape = ranking_facts(ranking({**TIMES, (16, 16): math.inf}, (16, 16)), USED, None)
    assert facts["default"] == "not predicted: 16, 16"
    assert landscape is not None
    assert (16, 16) not in landscape.seconds
    none, _ = ranking_facts(ranking({(16, 16): math.inf}, (16, 16)), USED, None)
    assert none["predicted"] == "not known: no layout is possible there; sizes are the defaults"


def test_a_kernel_without_work() -> None:
    facts, _ = ranking_facts(ranking({(8, 32): 0.0, (16, 16): 0.0}, (16, 16)), USED, None)
    assert facts["default"] == "0 ns 16, 16 (1.00 times)"


def test_a_device_that_was_measured_is_said_to_be() -> None:
    device = replace(named_device("processor"), overheads=Overheads(1e-6, ((1, 0.0),), ((1, 1e-6),), 0.0))
    assert ranking_facts(ranking(TIMES, (16, 16)), USED, device)[0]["device"] == "a processor, calibrated"


@pytest.mark.parametrize(
    ("device", "named"),
    [("h200", "NVIDIA H200-SXM5-141GB, not calibrated"), ("", "this machine's cores, not calibrated")],
)
def test_the_device_is_named_where_sizes_are_given(device: str, named: str) -> None:
    result = said(golden("smooth"), ["I=1000", "J=200"], named_device(device) if device else None)
    assert re.search(rf"\n  tile sizes  j_size = .*\n( {{14}}.*\n)*  device      {named}\n  predicted   ", result)


def test_times_on_gpus_follow_from_their_descriptors() -> None:
    """The default of 32 x 64 has more wavefronts than are worth it for 200 sweeps over 1000 elements."""
    said_of = {}
    for name in ("h100", "c1060"):
        result = said(golden("smooth"), ["I=1000", "J=200"], named_device(name))
        said_of[name] = re.search(
            r"\n  predicted   (\d.*) with j_size = \d+, j_i_size = \d+\n  runners-up  \d.* · .*\n  default     (.* 32, 64) \(\d+\.\d+ times\)\n",
            result,
        )
    assert said_of["h100"]
    assert said_of["c1060"]
    assert said_of["h100"].groups() != said_of["c1060"].groups()


def test_a_plan_without_tiles_has_a_device_alone() -> None:
    result = said(
        "void f(int n, double a[n]) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = i;\n}", ["n=9"], None
    )
    assert "\n  device      this machine's cores, not calibrated\n" in result
    assert "predicted" not in result


def test_a_device_that_uses_no_tile_size_has_no_choice() -> None:
    """Elimination has tiles on cores alone."""
    assert "predicted" in said(golden("lu"), ["n=500"], None)
    assert "predicted" not in said(golden("lu"), ["n=500"], named_device("h100"))


def test_without_sizes_nothing_of_it_is_said() -> None:
    result = said(golden("smooth"), [], named_device("h100"))
    assert not re.search(r"^  (device|predicted|runners-up|default) ", result, re.MULTILINE)


def test_explain_asks_the_model_with_the_users_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def model(plan: KernelPlan, scalars: dict[str, int], *_: object) -> Ranking:
        asked.append(scalars)
        names = tuple(size.object.name for size in plan.sizes)
        return ranking({(8, 32): 2e-3, (64, 256): 3e-3}, (64, 256), names)

    monkeypatch.setattr("tilepragma.report.model_facts.rank_layouts", model)
    result = said(golden("smooth"), ["I=1000", "J=200"], None)
    assert asked == [{"I": 1000, "J": 200}]
    assert "\n  predicted   2 ms with j_size = 8, j_i_size = 32\n" in result
    assert "\n  runners-up  3 ms 64, 256\n  default     3 ms 64, 256 (1.50 times)\n" in result
