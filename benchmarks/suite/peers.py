"""Source-to-source tools that take part where they are installed: PPCG and PLUTO.

Their settings are the better of those seen (defaults, PPCG with --tile, PLUTO without
unroll-and-jam); each is a contender of its own, and per kernel the best one counts.
"""

from __future__ import annotations

import ctypes.util
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.contenders import PLUTO, PLUTO_PLAIN, PPCG_OPENCL, PPCG_OPENMP, PPCG_TILED
from tilepragma.base.resources import resource_folder
from tilepragma.base.wheels import wheel_library, wheel_macros
from tilepragma.cli.runtime_library import LINK_OPTIONS, library

#: Files that PPCG's OpenCL programs need and that it does not install: they lie in its source tree,
#: beside the program.
_OCL_UTILITIES = "ocl_utilities.c"


@dataclass(frozen=True)
class PeerTool:
    """One tool with one setting. `command` reads a file SOURCE, with preprocessor options where
    OPTIONS stands; a tool that takes none reads preprocessed text. `suffix` is that of the C file
    that it leaves.
    """

    name: str
    command: tuple[str, ...]
    suffix: str
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    more: tuple[Path, ...] = ()
    device: bool = False

    @property
    def preprocessed(self) -> bool:
        """Whether it reads preprocessed text."""
        return "OPTIONS" not in self.command

    def translation(self, source: Path, options: Iterable[str]) -> tuple[str, ...]:
        """The command that translates `source`, run in its folder."""
        words: list[str] = []
        for word in self.command:
            words += [source.name] if word == "SOURCE" else options if word == "OPTIONS" else [word]
        return tuple(words)

    def inputs(self, source: Path) -> tuple[Path, ...]:
        """The C files to compile afterwards."""
        return (source.with_name(source.stem + self.suffix), *self.more)


def find_tools(ppcg: str | None = None, pluto: str | None = None) -> tuple[PeerTool, ...]:
    """Those that are there: at the given paths, else in PATH as `ppcg` and `polycc`."""
    tools: list[PeerTool] = []
    ppcg = shutil.which(ppcg or "ppcg")
    if ppcg is not None:
        openmp = (ppcg, "--target=c", "--openmp")
        tools.append(PeerTool(PPCG_OPENMP, (*openmp, "OPTIONS", "SOURCE"), ".ppcg.c", ("-fopenmp",)))
        tools.append(PeerTool(PPCG_TILED, (*openmp, "--tile", "OPTIONS", "SOURCE"), ".ppcg.c", ("-fopenmp",)))
        utilities = [folder / _OCL_UTILITIES for folder in _around(Path(ppcg))]
        result = next((path for path in utilities if path.is_file()), None)
        if result is not None:
            tools.append(_ppcg_opencl(ppcg, result))
    polycc = shutil.which(pluto or "polycc")
    if polycc is not None:
        base = (polycc, "--pet", "--tile", "--parallel")
        tools.append(PeerTool(PLUTO, (*base, "SOURCE"), ".pluto.c", ("-fopenmp",)))
        tools.append(PeerTool(PLUTO_PLAIN, (*base, "--nounrolljam", "SOURCE"), ".pluto.c", ("-fopenmp",)))
    return tuple(tools)


def _ppcg_opencl(ppcg: str, utilities: Path) -> PeerTool:
    """PPCG for OpenCL, whose programs run on the driver that ours find: the system's, else that of Python's wheels."""
    command = (ppcg, "--target=opencl", "OPTIONS", "SOURCE")
    flags, libraries, more = [f"-I{utilities.parent}", "-Wno-deprecated-declarations"], ["-lOpenCL"], [utilities]
    loader = wheel_library("TILEK_WHEEL_OPENCL")
    if ctypes.util.find_library("OpenCL") is None and loader is not None:
        runtime = resource_folder("runtime")
        flags += [f"-I{runtime}", f"-I{runtime / 'include'}", *wheel_macros()]
        libraries = [str(loader), f"-Wl,-rpath,{loader.parent}", str(library()), *LINK_OPTIONS]
        more.append(Path(__file__).resolve().parent / "peer_opencl.c")
    return PeerTool(PPCG_OPENCL, command, "_host.c", tuple(flags), tuple(libraries), tuple(more), device=True)


def _around(program: Path) -> Iterable[Path]:
    real = program.resolve().parent
    return (real, real.parent, real.parent / "share" / "ppcg", program.parent)
