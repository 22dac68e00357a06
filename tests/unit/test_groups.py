"""Tests that share what takes long to make run in one worker: of a suite where that fails nothing else tells, but it takes twice the time."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("together")
def test_groups_reach_the_scheduler(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not under --dist loadgroup")
    assert request.node.nodeid.endswith("@together"), "this pytest-xdist does not go with this pytest"
