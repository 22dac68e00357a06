"""`tilepragma devices --calibrate`: all that is here measured in seconds, kept as descriptors that make sense, or left as it was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.nvrtc import ARCHITECTURES, compile_error, nvrtc_library, ptx
from tests.support.programs import COMPILER, ROOT
from tests.support.targets import cuda_device_present, opencl_present, program_environment, target_environment
from tilepragma.model.descriptor_files import read_descriptor
from tilepragma.model.device import Device, Gpu, Overheads

CALIBRATE = (sys.executable, "-m", "tilepragma.cli.tilepragma", "devices", "--calibrate")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Threads, OpenCL where it is, and CUDA's stand-in (or a GPU)."""
    folder = tmp_path_factory.mktemp("calibration")
    target = target_environment("cuda", folder)
    more = {"TILEK_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(ROOT), "TILEK_PROFILE": "1", "COLUMNS": "120"}
    return program_environment(target, folder / "cache", **more)


@pytest.fixture(scope="module")
def quick(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*CALIBRATE, "--quick"], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


def descriptor(environment: dict[str, str], name: str) -> Path:
    return Path(environment["TILEK_DATA_DIR"]) / "devices" / f"{name}.json"


def present() -> list[str]:
    return ["threads", "cuda-0", *(["opencl-0"] if opencl_present() else [])]


def overheads_of(device: Device) -> Overheads:
    assert device.overheads is not None
    return device.overheads


def test_each_device_has_a_table_and_a_descriptor(
    quick: subprocess.CompletedProcess[str], environment: dict[str, str]
) -> None:
    for name in present():
        path = descriptor(environment, name)
        assert f"kept in {path}" in quick.stdout
        assert f"{name}  {read_descriptor(path).name}" in quick.stdout
    assert "warning" not in quick.stderr


@pytest.mark.parametrize("name", ["threads", "opencl-0", "cuda-0"])
def test_what_is_kept_makes_sense(
    quick: subprocess.CompletedProcess[str], environment: dict[str, str], name: str
) -> None:
    if name not in present():
        pytest.skip("no OpenCL here")
    device = read_descriptor(descriptor(environment, name))
    costs = overheads_of(device)
    assert 0 < costs.kernel < 1
    for table in (costs.barrier, costs.wavefront):
        assert all(before[0] < after[0] and before[1] <= after[1] for before, after in pairwise(table))
        assert all(0 <= cost < 1 for _, cost in table)
    assert costs.wavefront[-1][1] > 0
    assert device.float_rate > 1e8 and device.double_rate > 1e8
    assert all(memory.bandwidth is None or memory.bandwidth > 1e6 for memory in device.memories)
    if isinstance(device, Gpu):
        assert costs.barrier[-1][1] > 0
    else:
        assert costs.barrier == ((1, 0.0),)
        assert 1e8 < device.clock < 1e10
    assert (costs.copy == 0) == (name == "threads")


def test_memory_is_slower_than_the_first_cache(
    quick: subprocess.CompletedProcess[str], environment: dict[str, str]
) -> None:
    device = read_descriptor(descriptor(environment, "threads"))
    assert not isinstance(device, Gpu)
    first, last = device.memories[0], device.memories[-1]
    assert (first.name, last.name) == ("L1", "DRAM")
    assert first.bandwidth is not None and last.bandwidth is not None
    assert first.bandwidth > last.bandwidth


def test_the_list_says_what_is_calibrated(quick: subprocess.CompletedProcess[str], environment: dict[str, str]) -> None:
    done = subprocess.run(CALIBRATE[:-1], env=environment, capture_output=True, text=True, check=True, timeout=120)
    here, _, descriptors = done.stdout.partition("\n\n")
    lines = {line.split()[0]: line for line in here.splitlines()}
    for name in present():
        assert "calibrated 20" in lines[name.partition("-")[0]]
        assert re.search(rf"^  {name} .*; your own$", descriptors, re.M)
    assert "calibrated" not in lines["serial"]


def test_a_device_that_fails_is_left_out(environment: dict[str, str], tmp_path: Path) -> None:
    if cuda_device_present():
        pytest.skip("a GPU cannot be told to fail")
    own = environment | {
        "TILEK_DATA_DIR": str(tmp_path),
        "TILEK_STANDIN_FAIL": "compile",
        "TILEK_CACHE_DIR": str(tmp_path),
    }
    own |= {"TILEK_OPENCL_LIBRARY": "/nowhere/libOpenCL.so"}
    done = subprocess.run([*CALIBRATE, "--quick"], env=own, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0
    assert "warning: cuda-0 (tilepragma stand-in) is left out: " in done.stderr
    assert [path.name for path in (tmp_path / "devices").iterdir()] == ["threads.json"]


def test_an_interrupt_leaves_what_was_kept(
    quick: subprocess.CompletedProcess[str], environment: dict[str, str]
) -> None:
    paths = [descriptor(environment, name) for name in present()]
    before = [path.read_bytes() for path in paths]
    # A shell that starts the tests in the background has them ignore the signal, and children with
    # them.
    process = subprocess.Popen(
        CALIBRATE,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert [path.read_bytes() for path in paths] == before
    assert sorted(os.listdir(paths[0].parent)) == sorted(path.name for path in paths)


def test_a_folder_that_cannot_be_written_is_said(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    own = environment | {"TILEK_DATA_DIR": str(tmp_path / "file"), "TILEK_OPENCL_LIBRARY": "/nowhere/libOpenCL.so"}
    own |= {"TILEK_CUDA_LIBRARY": "/nowhere/libcuda.so"}
    done = subprocess.run([*CALIBRATE, "--quick"], env=own, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert "what was measured cannot be kept" in done.stderr
    assert "TILEK_DATA_DIR" in done.stderr


def test_quick_goes_with_calibrate(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*CALIBRATE[:-1], "--quick"], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "--quick goes with --calibrate" in done.stderr


def test_the_program_compiles_without_a_warning(tmp_path: Path) -> None:
    for source in sorted((ROOT / "runtime" / "tools").glob("*.c")):
        command = [
            COMPILER,
            "-std=c99",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-pthread",
            f"-I{ROOT / 'runtime'}",
            f"-I{ROOT / 'runtime' / 'include'}",
        ]
        done = subprocess.run(
            [*command, "-c", str(source), "-o", str(tmp_path / "out.o")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


TEXTS = r"""
#include "tools/calibrate_device.c"
void tilek_say(tilek_message *why, const char *format, ...) {}
void tilek_as_rates(tilek_samples *samples, double amount) {}
tilek_status tilek_take_samples(const tilek_subject *subject, tilek_batch batch, void *context, tilek_samples *samples, tilek_message *why)
{
    return TILEK_OK;
}
int main(void)
{
    const char *const texts[] = {stream_text, cached_text, shared_text, barrier_text, rate_text};
    for (int number = 0; number < 10; ++number)
        (void)printf("%s#define NUMBER %s\n%s\f", cuda_words, number < 5 ? "float" : "double", texts[number % 5]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The CUDA programs that devices are measured with: streams, caches, shared memory, barriers, rates, of floats, then of doubles."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "texts.c").write_text(TEXTS)
    runtime = ROOT / "runtime"
    command = [
        COMPILER,
        "-std=c99",
        "-w",
        f"-I{runtime}",
        f"-I{runtime / 'include'}",
    ]
    subprocess.run([*command, str(folder / "texts.c"), "-o", str(folder / "texts")], check=True)
    return subprocess.run([folder / "texts"], check=True, capture_output=True, text=True).stdout.split("\f")[:-1]


@pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")
def test_what_is_measured_survives_the_compiler(texts: list[str]) -> None:
    """A program whose work is optimised away would measure nothing."""
    for architecture in ARCHITECTURES:
        assert [compile_error(text, architecture) for text in texts] == [None] * 10
    code = [ptx(text, "compute_80") for text in texts]
    floats = dict(zip(("stream", "cached", "shared", "barrier", "rate"), code, strict=False))
    assert floats["stream"].count("ld.global") >= 2 and "st.global" in floats["stream"]
    assert floats["cached"].count("ld.global") >= 4
    assert floats["shared"].count("ld.shared") >= 8
    assert loops(floats["barrier"], "bar.sync")
    assert len(re.findall(r"mul\.(rn\.)?f32", floats["rate"])) >= 32
    assert len(re.findall(r"mul\.(rn\.)?f64", code[9])) >= 32


def loops(code: str, instruction: str) -> bool:
    """Whether `instruction` stands between a label and a jump back to it."""
    return re.search(r"(\$L\w+):.*" + re.escape(instruction) + r".*bra(\.uni)?\s+\1;", code, re.S) is not None
