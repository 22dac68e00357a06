"""GPGPU-Sim beside this project: finding it, its driver library, its configurations, its counts.

The simulator is no part of this project. What is needed of it, and of CUDA 11.8, is found by
environment variables; `find_simulator` says which are missing.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.measure import BenchmarkError, checked_output, environment
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu

HERE = Path(__file__).resolve().parent
#: The configuration of the simulator's that ours are changes of.
TESTED = "configs/tested-cfgs/SM7_QV100"
RUN_SECONDS = 3600
MULTIPROCESSORS = 20


@dataclass(frozen=True)
class Configuration:
    """A device: changes of the simulator's configuration of a V100; its L2 has so many bytes. Caches
    are cold.
    """

    name: str
    title: str
    options: tuple[tuple[str, str], ...]
    l2: int = 3 << 19

    @property
    def gpu(self) -> Gpu:
        """What the model knows of it."""
        whole = named_device("v100")
        assert isinstance(whole, Gpu)
        nearest, l2, memory = whole.memories
        part = MULTIPROCESSORS / whole.multiprocessors
        l2 = replace(l2, size=self.l2, sharers=MULTIPROCESSORS)
        rates = {"float_rate": whole.float_rate * part, "double_rate": whole.double_rate * part}
        memories = (nearest, l2, replace(memory, sharers=MULTIPROCESSORS))
        slower = tuple(replace(each, bandwidth=each.bandwidth * part if each.bandwidth else None) for each in memories)
        return replace(whole, name=self.title, multiprocessors=MULTIPROCESSORS, memories=slower, **rates)


_QUARTER = (("gpgpu_n_clusters", str(MULTIPROCESSORS)), ("gpgpu_n_mem", "8"), ("gpgpu_perf_sim_memcpy", "0"))
CONFIGURATIONS = (
    Configuration("quarter-v100", "a quarter of a V100: 20 multiprocessors, 8 channels, L2 of 1.5 MiB", _QUARTER),
    Configuration(
        "small-l2",
        "a quarter of a V100 with an L2 of 128 KiB, which problems of feasible size leave",
        (*_QUARTER, ("gpgpu_cache:dl2", "S:8:128:8,L:B:m:L:L,A:192:4,32:0,32")),
        128 << 10,
    ),
)


@dataclass(frozen=True)
class Simulator:
    """What a run needs: GPGPU-Sim's tree is `root`; `driver` is the library over it, `nvrtc` and
    `ptxas` are those of CUDA 11.8.
    """

    root: Path
    driver: Path
    nvrtc: Path
    ptxas: Path

    @property
    def folder(self) -> Path:
        """Holds the driver and the configuration."""
        return self.driver.parent

    def variables(self, *, functional: bool) -> dict[str, str]:
        """The environment of a program that runs on it."""
        return {
            "TILEK_CUDA_LIBRARY": str(self.driver),
            "TILEK_NVRTC_LIBRARY": str(self.nvrtc),
            "TILEK_SIMULATED_PTXAS": str(self.ptxas),
            "TILEK_SIMULATED_CONFIGURATION": str(self.folder),
            "PTX_SIM_MODE_FUNC": str(int(functional)),
        }

    def configure(self, configuration: Configuration) -> None:
        """Write what the simulator reads when it starts. Raises BenchmarkError."""
        source = self.root / TESTED / "gpgpusim.config"
        if not source.is_file():
            raise BenchmarkError(f"{source} is missing: is this GPGPU-Sim 4.2?")
        text = source.read_text()
        for option, value in configuration.options:
            text, changed = re.subn(rf"^-{option}\s.*$", f"-{option} {value}", text, flags=re.MULTILINE)
            if changed == 0:
                text += f"-{option} {value}\n"
        (self.folder / "gpgpusim.config").write_text(text)
        for network in source.parent.glob("*.icnt"):
            shutil.copy(network, self.folder)


def find_simulator(folder: Path) -> Simulator:
    """The simulator of the environment's variables, with the driver library built in `folder`.

    Raises BenchmarkError with a line for each thing that is missing.
    """
    missing = []
    root, toolkit = (Path(os.environ.get(name, "")) for name in ("GPGPUSIM_ROOT", "CUDA_INSTALL_PATH"))
    library = _newest(f"{root}/lib/*/*/*/libcudart.so")
    generated = _newest(f"{root}/build/*/*/*/cuda-sim")
    nvrtc = _newest(f"{toolkit}/lib64/libnvrtc.so.11*")
    if "GPGPUSIM_ROOT" not in os.environ:
        missing.append("GPGPUSIM_ROOT is not set: it names the tree of GPGPU-Sim 4.2, built with CUDA 11.8's headers")
    elif library is None or generated is None:
        missing.append(f"GPGPUSIM_ROOT={root} has no built libcudart.so: build the simulator there (make)")
    if "CUDA_INSTALL_PATH" not in os.environ:
        missing.append("CUDA_INSTALL_PATH is not set: it names CUDA 11.8 (bin/ptxas, include/, lib64/libnvrtc.so.11.2)")
    else:
        if nvrtc is None:
            missing.append(f"CUDA_INSTALL_PATH={toolkit} has no lib64/libnvrtc.so.11.2")
        missing += [
            f"{toolkit / path} is missing" for path in ("bin/ptxas", "include") if not (toolkit / path).exists()
        ]
    if missing or library is None or generated is None or nvrtc is None:
        raise BenchmarkError("\n".join(missing))
    driver = folder / "libcuda.so.1"
    includes = [root / "libcuda", toolkit / "include", root / "src", generated]
    command = [
        *shlex.split(os.environ.get("CXX", "g++")),
        *("-O1", "-fPIC", "-shared", "-std=c++11", "-w", "-DCUDART_VERSION=11080"),
        *(f"-I{path}" for path in includes),
        *("-o", str(driver), str(HERE / "driver.cc")),
        *(f"-L{library.parent}", "-lcudart", f"-Wl,-rpath,{library.parent}", "-Wl,-Bsymbolic"),
    ]
    checked_output(command, os.environ)
    return Simulator(root, driver, nvrtc, toolkit / "bin" / "ptxas")


def _newest(pattern: str) -> Path | None:
    paths = sorted(glob.glob(pattern), key=os.path.getmtime)
    return Path(paths[-1]) if paths else None


def run_counted(command: Sequence[str], simulator: Simulator, folder: Path, *, functional: bool) -> tuple[str, Counts]:
    """What a program on the simulator prints, and its counts; `folder` keeps what it compiles.

    Raises BenchmarkError.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        launches, log = Path(place) / "launches.json", Path(place) / "log.txt"
        variables = {
            **simulator.variables(functional=functional),
            "TILEK_SIMULATED_LAUNCHES": str(launches),
            "TILEK_SIMULATED_LOG": str(log),
            "TILEK_CACHE_DIR": str(folder / "cache"),
            "TILEK_TARGET": "cuda",
            "TILEK_STRICT": "1",
        }
        said = checked_output(command, environment(**variables), Path(place), RUN_SECONDS, with_warnings=True)
        return said, read_counts(launches, log)


@dataclass(frozen=True)
class Counts:
    """What a run's launches did together. `instructions` are PTX instructions of threads; L1 and L2
    accesses are of 32-byte sectors, DRAM's are sectors read and written, `conflicts` of banks of
    shared memory. `occupancy` and `registers` are the last launch's. All but these, `launches` and
    `instructions` are 0 in functional runs.
    """

    launches: int
    instructions: int
    cycles: int
    l1: int
    l2: int
    dram: int
    conflicts: int
    occupancy: float
    registers: int


#: Sums over all launches so far, in what the simulator prints after each.
_SUMS = {
    "l1": ("L1D_total_cache_accesses",),
    "l2": ("L2_total_cache_accesses",),
    "dram": ("total dram reads", "total dram writes"),
    "conflicts": ("gpgpu_n_shmem_bkconflict",),
}


def read_counts(launches: Path, log: Path) -> Counts:
    """Raises BenchmarkError where nothing was launched."""
    lines = [json.loads(line) for line in launches.read_text().splitlines()] if launches.is_file() else []
    if not lines:
        raise BenchmarkError("nothing was launched on the simulator")
    text = log.read_text(errors="replace") if log.is_file() else ""
    sums = {}
    for field, names in _SUMS.items():
        values = (re.findall(rf"^\s*{re.escape(name)}\s*=\s*(\d+)", text, re.MULTILINE) for name in names)
        sums[field] = sum(int(numbers[-1]) for numbers in values if numbers)
    return Counts(
        launches=len(lines),
        instructions=sum(line["instructions"] for line in lines),
        cycles=sum(line["cycles"] for line in lines),
        occupancy=lines[-1]["occupancy"],
        registers=lines[-1]["registers"],
        **sums,
    )
