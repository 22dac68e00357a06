"""The versions of a kernel that are worth a try."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.sizes.ranked_layouts import Layout, Ranking
from tilepragma.tuning import trial_versions
from tilepragma.tuning.trial_versions import Build, space_of

PRODUCT = """
void f(int r, int p, double A[r][p], double B[p][p], double C[r][p]) {
#pragma tilek kernel
  for (int i = 0; i < r; i++)
    for (int j = 0; j < p; j++)
      for (int k = 0; k < p; k++) C[i][j] += A[i][k] * B[k][j];
}"""


def test_sizes_that_make_the_same_launches_are_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16, 40 and 96 rows hold all of 10 rows, those of 8 do not; the default, of 96, is the first of its kind."""
    source = tmp_path / "product.c"
    source.write_text(PRODUCT)
    [plan] = translate(TranslateRequest(str(source), last="choose_sizes", use_records=False)).plans
    [size] = plan.sizes
    layouts = [Layout((each,)) for each in (16, 8, 40, 96, 4)]
    ranking = Ranking((size.object.name,), tuple(layouts), layouts[3])
    monkeypatch.setattr(trial_versions, "rank_layouts", lambda *_: ranking)
    points = {"small": {"r": 10, "p": 40}, "large": {"r": 30, "p": 40}}
    _, space = space_of({"": Build(b"", {}, plan)}, points, "threads", None, True)
    name = size.object.name
    assert list(space["small"]) == ["default", f"{name}=8", f"{name}=4"]
    assert list(space["large"]) == ["default", f"{name}=16", f"{name}=8", f"{name}=4"]
