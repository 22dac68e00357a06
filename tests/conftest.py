"""Fixtures that all tests may use: the targets at hand, and a workshop to build and run programs in."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs import Workshop
from support.targets import NAMES, TargetEnvironment, target_environment


@pytest.fixture(scope="session")
def shared_scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this session, for what is costly to make twice."""
    return tmp_path_factory.mktemp("tilepragma")


@pytest.fixture(scope="session")
def workshop(shared_scratch: Path) -> Workshop:
    """Builds and runs programs, with a user cache of this session's own."""
    cache = shared_scratch / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    return Workshop(shared_scratch / "programs", cache)


@pytest.fixture(scope="session", params=NAMES)
def target(request: pytest.FixtureRequest, shared_scratch: Path) -> TargetEnvironment:
    """Each target in turn; one that is absent is a skip that says why."""
    found = target_environment(request.param, shared_scratch)
    if found.absent is not None:
        pytest.skip(found.absent)
    return found
