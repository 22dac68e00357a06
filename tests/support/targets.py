"""The targets that this machine can run, and the environment that a program needs for each."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu.simulated.simulator import CONFIGURATIONS, find_simulator
from tests.cuda_standin.build import build_standin

HOST_NAMES = ("serial", "threads")
#: OpenCL's devices here are processors: `opencl` runs the processors' program, `opencl-gpu` runs
#: the GPUs' program on them.
DEVICE_NAMES = ("opencl", "opencl-gpu", "cuda")
NAMES = HOST_NAMES + DEVICE_NAMES
#: PoCL's optimisations do not change the results of a GPU's program, but double the time of a run.
#: The processors' program, which users of PoCL run, is compiled as users compile it.
UNOPTIMISED = (("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable"),)


@dataclass(frozen=True)
class TargetEnvironment:
    """A target and the variables that select it; `absent` says why it can't run or is None."""

    name: str
    variables: tuple[tuple[str, str], ...]
    absent: str | None = None

    @property
    def runtime(self) -> str:
        """The runtime's name of the target."""
        return dict(self.variables).get("TILEK_TARGET", self.name)


def target_environment(name: str, scratch: Path) -> TargetEnvironment:
    """The environment for target `name`; `scratch` keeps its builds (the CUDA stand-in)."""
    selected = (("TILEK_TARGET", name), ("TILEK_STRICT", "1"))
    if name == "threads":
        return TargetEnvironment(name, (*selected, ("TILEK_NUM_THREADS", "3")))
    if name.startswith("opencl"):
        absent = None if opencl_present() else "no OpenCL here: install the extra [opencl]"
        form = "gpu" if name == "opencl-gpu" else "cpu"
        chosen = (("TILEK_TARGET", "opencl"), ("TILEK_STRICT", "1"), ("TILEK_OPENCL_FORM", form))
        return TargetEnvironment(name, chosen + (UNOPTIMISED if form == "gpu" else ()), absent)
    if name == "cuda":
        return _cuda(selected, scratch)
    return TargetEnvironment(name, selected)


def _cuda(selected: tuple[tuple[str, str], ...], scratch: Path) -> TargetEnvironment:
    if cuda_device_present():
        return TargetEnvironment("cuda", selected)
    if "GPGPUSIM_ROOT" in os.environ:
        variables = _simulator(scratch / "simulator")
    else:
        variables = build_standin(scratch / "cuda_standin")
    return TargetEnvironment("cuda", (*selected, *sorted(variables.items())))


def _simulator(folder: Path) -> dict[str, str]:
    """GPGPU-Sim, executing without timing, in the place of the stand-in (benchmarks/gpu/simulated)."""
    folder.mkdir(parents=True, exist_ok=True)
    simulator = find_simulator(folder)
    simulator.configure(CONFIGURATIONS[0])
    return simulator.variables(functional=True)


@functools.cache
def cuda_device_present() -> bool:
    """Whether the real driver finds a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


@functools.cache
def system_opencl_present() -> bool:
    """Whether the system's OpenCL library has a platform."""
    try:
        platforms = ctypes.c_uint(0)
        system = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return False
    return system.clGetPlatformIDs(0, None, ctypes.byref(platforms)) == 0 and platforms.value > 0


@functools.cache
def opencl_present() -> bool:
    """Whether the system's OpenCL, or PoCL's wheel through pyopencl's loader, finds a platform."""
    if system_opencl_present():
        return True
    try:
        import pyopencl
    except ImportError:
        return False
    try:
        return len(pyopencl.get_platforms()) > 0
    except pyopencl.Error:
        return False


def program_environment(target: TargetEnvironment, cache: Path, **variables: str) -> dict[str, str]:
    """A program's whole environment: this process's without TILEK_ variables, and the target's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TILEK_")}
    return inherited | {"TILEK_CACHE_DIR": str(cache)} | dict(target.variables) | variables
