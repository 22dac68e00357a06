"""CUDA programs of others, over the CUDA runtime, in the simulator.

A peer is a folder with the CUDA that another compiler made of kernels of `../programs`, or that
somebody wrote: a folder for each kernel, with the name of the kernel, or KERNEL-N where it is for
one size. All .cu files there, but those that another includes, are one program; a function of the
kernel's name, with its arguments, takes the place of the plain one. Host code is C++: CXX names a
compiler that takes what it has, clang++ where arrays of C99 with variable lengths are parameters.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu.kernel_cases import KernelCase
from benchmarks.gpu.kernel_runs import cuda_units, kernel_settings, peer_folder, sources_of
from benchmarks.gpu.simulated.cuda_text import CudaTextError, expanded, parted
from benchmarks.gpu.simulated.simulator import Simulator
from benchmarks.measure import COMPILER, EXACT, BenchmarkError, checked_output, environment

HERE = Path(__file__).resolve().parent
_FLAGS = ("-std=gnu++17", "-O2", "-ffp-contract=off", "-w")


@dataclass(frozen=True)
class Peer:
    """`folder` holds a folder of sources for each kernel."""

    folder: Path

    def __str__(self) -> str:
        return self.folder.resolve().name

    def sources_of(self, case: KernelCase) -> Path | None:
        """The folder for a case, or None."""
        return peer_folder(self.folder, case.kernel, case.n)


def peers_of(case: KernelCase, peers: Sequence[Peer]) -> list[Peer]:
    """Those that have the case."""
    return [peer for peer in peers if peer.sources_of(case) is not None]


def build_cuda(sources: Path, program: Path, simulator: Simulator, *others: Path, linkage: str = "") -> None:
    """The program of the .cu files in `sources`, linked with `others`, objects that it is used by or
    uses. `linkage` is that of its functions: "C" or C++'s.

    Raises BenchmarkError where it does not build.
    """
    units = cuda_units(sources)
    device = program.with_suffix(".cu")
    headers: set[Path] = set()
    hosts, parts = [], []
    for unit in units:
        try:
            host = parted(expanded(unit)).host
            parts.append(parted(expanded(unit, headers)).device)
        except CudaTextError as error:
            raise BenchmarkError(f"{unit}\n{error}") from None
        hosts.append(program.with_name(f"{program.name}-{unit.stem}.cc"))
        text = f'extern "{linkage}" {{\n{host}\n}}\n' if linkage else host
        hosts[-1].write_text(f'#include "cuda_runtime.h"\n{text}')
    device.write_text("\n".join(parts))
    libraries = [str(simulator.driver), str(simulator.nvrtc)]
    command = [
        *shlex.split(os.environ.get("CXX", "g++")),
        *_FLAGS,
        *(f'-DSIMULATED_DEVICE_CODE="{device}"', f"-I{HERE}", f"-I{sources.resolve()}", "-o", str(program)),
        *map(str, [*hosts, *others]),
        *libraries,
        *(f"-Wl,-rpath,{Path(library).parent}" for library in libraries),
        *("-Wl,--enable-new-dtags,--allow-shlib-undefined", "-lm"),
    ]
    checked_output(command, environment(), program.parent)


def build_peer(peer: Peer, case: KernelCase, simulator: Simulator, folder: Path) -> list[str]:
    """The peer's program for a case, as a command that runs it. Raises BenchmarkError."""
    sources = peer.sources_of(case)
    if sources is None:
        raise BenchmarkError(f"{peer.folder}\nhas nothing for {case.title}")
    program, plain, weak = folder / "peer", folder / "plain.o", folder / "weak.h"
    # The plain kernel is replaced where the peer has a function of this name.
    weak.write_text(f"#pragma weak {case.kernel}\n")
    compiler = (*shlex.split(COMPILER), *EXACT, "-include", str(weak), "-r", "-o", str(plain))
    checked_output([*compiler, *sources_of()], environment(), folder)
    build_cuda(sources, program, simulator, plain, linkage="C")
    return [str(program), "-", kernel_settings(case.kernel, case.n, case.steps, seed=1)]
