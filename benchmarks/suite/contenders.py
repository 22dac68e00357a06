"""Who takes part, by name, and what it takes to run one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.cases import Case

OURS = "tilepragma"
GCC, HAND_OPENMP, OPENBLAS = "gcc", "OpenMP by hand", "OpenBLAS"
PPCG_OPENMP, PPCG_TILED, PPCG_OPENCL = "PPCG OpenMP", "PPCG OpenMP tiled", "PPCG OpenCL"
PLUTO, PLUTO_PLAIN = "PLUTO", "PLUTO nounrolljam"
PEERS = (PPCG_OPENMP, PPCG_TILED, PPCG_OPENCL, PLUTO, PLUTO_PLAIN)
DEVICES = ("opencl", "cuda")
#: Ours on devices with every size as a number in the text, with every size as a parameter, and the
#: latter compiled without the launch's numbers: what sizes cost that are known late.
LITERALS, PARAMETERS, UNSPECIALIZED = "literals", "parameters", "unspecialized"
FORMS = (LITERALS, PARAMETERS, UNSPECIALIZED)


def our_name(target: str, form: str = "") -> str:
    """What our program on a target is called, in one of FORMS or as the original gives its sizes."""
    return f"{OURS} {target} {form}".rstrip()


def thread_variables(threads: int) -> dict[str, str]:
    """What keeps programs to so many threads: OpenMP, and PoCL, to version 3 and from 4 on, which takes all cores else."""
    count = str(threads)
    return {
        "OMP_NUM_THREADS": count,
        "OMP_PROC_BIND": "true",
        "POCL_MAX_PTHREAD_COUNT": count,
        "POCL_CPU_MAX_CU_COUNT": count,
    }


def our_variables(target: str, threads: int) -> dict[str, str]:
    """Those of our programs on a target."""
    own = {"TILEK_TARGET": target, "TILEK_STRICT": "1", "TILEK_NUM_THREADS": str(threads)}
    return own | (thread_variables(threads) if target == "opencl" else {})


@dataclass(frozen=True)
class Contender:
    """One way to run a case. `warm`: a run before the one that counts, in the same process, in which devices compile."""

    name: str
    program: Path
    environment: dict[str, str]
    warm: bool = False


@dataclass(frozen=True)
class Built:
    """What came of building one case: who can run, and why others cannot."""

    case: Case
    type: str
    contenders: tuple[Contender, ...]
    failures: dict[str, str]
