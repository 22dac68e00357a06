"""The OpenCL and CUDA back ends, called as the runtime's core calls them. CUDA runs on the stand-in where there is no GPU."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.runtime_programs import SANITIZE, build_runtime_test
from tests.support.targets import TargetEnvironment, target_environment
from tilepragma.base.wheels import wheel_macros

CASES = ("describe", "add", "sum", "contract", "refusals", "memory", "threads", "record")
ABSENT = 77


class Devices:
    """The test program, with the environment of one API."""

    def __init__(self, program: Path, target: TargetEnvironment, folder: Path) -> None:
        if target.absent is not None:
            pytest.skip(target.absent)
        self.program = program
        self.target = target
        self.folder = folder

    def run(self, case: str, **more: str) -> subprocess.CompletedProcess[str]:
        foreign = ("TILEK_", "PYOPENCL_")  # pyopencl sets its own when it is imported
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        environment = kept | dict(self.target.variables) | {"TILEK_CACHE_DIR": str(self.folder / "cache")} | more
        return subprocess.run(
            [str(self.program), self.target.name, case], env=environment, capture_output=True, text=True, check=False
        )

    def passes(self, case: str, **more: str) -> str:
        done = self.run(case, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def plain_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_runtime_test("devices.c", tmp_path_factory.mktemp("devices"))


@pytest.fixture(scope="module")
def checked_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_runtime_test("devices.c", tmp_path_factory.mktemp("devices-checked"), SANITIZE)


@pytest.fixture
def opencl(plain_program: Path, shared_scratch: Path, tmp_path: Path) -> Devices:
    """Without sanitizers: OpenCL drivers keep memory of their own to the end."""
    return Devices(plain_program, target_environment("opencl", shared_scratch), tmp_path)


@pytest.fixture
def cuda(checked_program: Path, plain_program: Path, shared_scratch: Path, tmp_path: Path) -> Devices:
    target = target_environment("cuda", shared_scratch)
    standin = any(name == "TILEK_CUDA_LIBRARY" for name, _ in target.variables)
    return Devices(checked_program if standin else plain_program, target, tmp_path)


@pytest.fixture
def standin(cuda: Devices) -> Devices:
    """For what can only be asked of the stand-in."""
    if not any(name == "TILEK_CUDA_LIBRARY" for name, _ in cuda.target.variables):
        pytest.skip("this machine has a GPU, so its driver is used")
    return cuda


@pytest.mark.parametrize("case", CASES)
def test_opencl(opencl: Devices, case: str) -> None:
    opencl.passes(case)


@pytest.mark.parametrize("case", CASES)
def test_cuda(cuda: Devices, case: str) -> None:
    cuda.passes(case)


def test_opencl_with_times(opencl: Devices) -> None:
    opencl.passes("add", TILEK_PROFILE="1")


def test_opencl_sets_changed_arguments_alone_and_asks_once_more_after_a_silent_refusal(
    opencl: Devices, tmp_path: Path
) -> None:
    opencl.program = build_runtime_test("opencl_arguments.c", tmp_path)
    opencl.passes("")


@pytest.mark.parametrize("api", ["opencl", "cuda"])
def test_binaries_are_kept(api: str, request: pytest.FixtureRequest) -> None:
    devices: Devices = request.getfixturevalue(api)
    more = {"POCL_KERNEL_CACHE": "0"}
    assert "from_cache=0" in devices.passes("add", **more)
    assert "from_cache=1" in devices.passes("add", **more)
    for entry in (devices.folder / "cache").iterdir():
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 1
        entry.write_bytes(content)
    assert "from_cache=0" in devices.passes("add", **more)
    assert "from_cache=1" in devices.passes("add", **more)


def test_pocl_keeps_its_programs_itself(opencl: Devices) -> None:
    if "PoCL" not in opencl.passes("describe"):
        pytest.skip("another OpenCL is here")
    own = opencl.folder / "pocl"
    own.mkdir()
    for _ in range(2):
        assert "from_cache=0" in opencl.passes("add", POCL_CACHE_DIR=str(own))
        assert not (opencl.folder / "cache").exists()
    kept = {path.parent.name for path in own.rglob("*.so")}
    assert kept
    assert "0-0-0" not in kept  # nothing for groups of any size


@pytest.mark.parametrize("api", ["opencl", "cuda"])
def test_library_that_is_none(api: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    devices: Devices = request.getfixturevalue(api)
    variable = f"TILEK_{api.upper()}_LIBRARY"
    done = devices.run("add", **{variable: str(tmp_path / "nothing.so")})
    assert done.returncode == ABSENT
    assert f"{variable} names {tmp_path}/nothing.so" in done.stdout


def test_library_of_a_wheel_by_name(opencl: Devices) -> None:
    """The wheel's loader needs variables and libraries that nobody set: the back end sees to them."""
    loader = next((word.split('"')[1] for word in wheel_macros() if "TILEK_WHEEL_OPENCL" in word), None)
    if loader is None:
        pytest.skip("no wheel of pyopencl here: install the extra [opencl]")
    assert "Portable Computing" in opencl.passes("describe", TILEK_OPENCL_LIBRARY=loader)


def test_real_compiler(standin: Devices, plain_program: Path) -> None:
    """NVRTC takes our texts and options and gives machine code, which only a GPU's driver would
    load.

    Without sanitizers: they stand between NVRTC and the path on which it looks for its own
    libraries.
    """
    standin.program = plain_program
    compiler = next((word.split('"')[1] for word in wheel_macros() if "TILEK_WHEEL_NVRTC" in word), None)
    if compiler is None:
        pytest.skip("no wheel of NVRTC here: install the extra [nvrtc]")
    done = standin.run("add", TILEK_NVRTC_LIBRARY=compiler)
    assert done.returncode == 1
    assert "the CUDA driver does not load kernel test: device kernel image is invalid" in done.stderr


def test_compiler_that_is_none(standin: Devices, tmp_path: Path) -> None:
    done = standin.run("add", TILEK_NVRTC_LIBRARY=str(tmp_path / "nothing.so"))
    assert done.returncode == 1
    assert "TILEK_NVRTC_LIBRARY names" in done.stderr


@pytest.mark.parametrize(
    ("failure", "status", "says"),
    [
        ("nodevice", ABSENT, "does not start: no CUDA-capable device"),
        ("alloc", 1, "CUDA failed when memory was allocated: out of memory"),
        ("alloc:2", 1, "out of memory"),
        ("compile", 1, "NVRTC refuses kernel test (NVRTC_ERROR_COMPILATION): the stand-in was told to fail"),
        ("launch", 1, "unspecified launch failure"),
        ("launch:2", 1, "unspecified launch failure"),
        ("launch:9", 0, ""),
    ],
)
def test_failures(standin: Devices, failure: str, status: int, says: str) -> None:
    done = standin.run("add", TILEK_STANDIN_FAIL=failure, ASAN_OPTIONS="detect_leaks=0")
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stdout + done.stderr


def test_barrier_that_not_all_threads_reach(standin: Devices) -> None:
    standin.passes("divergent")


def test_access_outside_of_an_array(standin: Devices) -> None:
    standin.passes("stray", ASAN_OPTIONS="handle_segv=0:allow_user_segv_handler=1")


def test_calls_that_spoil_a_recording(standin: Devices) -> None:
    standin.passes("spoiled")


@pytest.mark.parametrize("case", ["add", "record"])
def test_nothing_is_left_behind(standin: Devices, case: str) -> None:
    done = standin.run(case)
    assert done.returncode == 0
    assert "left behind" not in done.stderr and "unloaded" not in done.stderr
