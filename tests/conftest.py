"""Fixtures that all tests may use: the targets at hand, a workshop for programs. And the order of the tests: fast ones first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.disorder import disorderly_runtime
from tests.support.planning import PlanningWorkshop
from tests.support.programs import Workshop
from tests.support.targets import DEVICE_NAMES, HOST_NAMES, NAMES, TargetEnvironment, target_environment

ROOT = Path(__file__).resolve().parent
#: Folders of tests/ in the order in which they run; others stand before the last.
ORDER = ("unit", "thesis", "golden", "property", "run", "packaging")
#: Folders whose files' tests share programs.
SHARING = ("run", "runtime", "packaging")


def rank(path: Path) -> int:
    """Place of a test file in the order."""
    folder = path.relative_to(ROOT).parts[0]
    return ORDER.index(folder) if folder in ORDER else ORDER.index("packaging") - 1


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests that share what takes long to make go to one worker (`pytest --dist loadgroup`): those of a file, where they don't say."""
    folder = item.path.relative_to(ROOT).parts[0]
    if folder in SHARING and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # After pytest's own order, which goes from file to file with each target, and makes again what
    # a file's tests share.
    items.sort(key=lambda item: (rank(item.path), item.path))


@pytest.fixture(scope="session")
def shared_scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this session, for what is costly to make twice."""
    return tmp_path_factory.mktemp("tilepragma")


#: Variables of the developer's shell that would change what programs do.
FOREIGN = (
    "TARGET",
    "DEVICE",
    "NUM_THREADS",
    "VERIFY",
    "TOLERANCE",
    "PROFILE",
    "STRICT",
    "SPECIALIZE",
    "SIZES",
    "TILES",
    "OPENCL_FORM",
)


@pytest.fixture(scope="session", autouse=True)
def environment(shared_scratch: Path) -> Iterator[None]:
    """No test reads the user's settings, nor reads or writes the user's caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEK_CACHE_DIR", str(shared_scratch / "users-cache"))
        patch.setenv("TILEK_DATA_DIR", str(shared_scratch / "users-data"))
        for name in FOREIGN:
            patch.delenv(f"TILEK_{name}", raising=False)
        # What PoCL compiles is found by all that it was made from: a folder that the developer
        # names serves many sessions.
        patch.setenv("POCL_CACHE_DIR", os.environ.get("POCL_CACHE_DIR") or str(pocl_cache(shared_scratch)))
        yield


def pocl_cache(scratch: Path) -> Path:
    """A folder of this worker's for what PoCL compiles: where processes compile into one folder at once, PoCL 3 refuses a program now and then."""
    cache = scratch / "pocl"
    cache.mkdir(mode=0o700, exist_ok=True)
    return cache


@pytest.fixture(scope="session")
def workshop(shared_scratch: Path) -> Workshop:
    """Builds and runs programs, with a user cache of this session's own."""
    cache = shared_scratch / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    return Workshop(shared_scratch / "programs", cache)


@pytest.fixture(scope="session")
def planning(workshop: Workshop) -> PlanningWorkshop:
    """Builds programs whose plans can be looked at, and whose instances can be run last first."""
    folder = workshop.folder / "planning"
    return PlanningWorkshop(folder, workshop.cache, disorderly_runtime(folder / "runtime"))


@pytest.fixture(scope="session", params=NAMES)
def target(request: pytest.FixtureRequest, shared_scratch: Path) -> TargetEnvironment:
    """Each target in turn; one that is absent is a skip that says why."""
    return _present(request.param, shared_scratch)


@pytest.fixture(scope="session", params=HOST_NAMES)
def host_target(request: pytest.FixtureRequest, shared_scratch: Path) -> TargetEnvironment:
    """Each target that runs host functions, in turn."""
    return _present(request.param, shared_scratch)


@pytest.fixture(scope="session", params=DEVICE_NAMES)
def device_target(request: pytest.FixtureRequest, shared_scratch: Path) -> TargetEnvironment:
    """Each target that runs device programs, in turn; one that is absent is a skip that says why."""
    return _present(request.param, shared_scratch)


def _present(name: str, scratch: Path) -> TargetEnvironment:
    result = target_environment(name, scratch)
    if result.absent is not None:
        pytest.skip(result.absent)
    return result
