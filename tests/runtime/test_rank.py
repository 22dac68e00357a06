"""Ranks of a parallel program, of which launchers' variables tell: part of the cores, device, and what names the rank."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import FLAGS, Workshop
from tests.support.runtime_programs import SANITIZE, build_runtime_test

NODE = 8


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_runtime_test("rank.c", tmp_path_factory.mktemp("rank"), SANITIZE)


def asked(program: Path, *words: str, cores: set[int] | None = None, **variables: str) -> list[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    bind = None if cores is None else lambda: os.sched_setaffinity(0, cores)
    done = subprocess.run(
        words or (program, str(NODE)), env=environment, capture_output=True, text=True, preexec_fn=bind
    )
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout.split()


OPEN_MPI = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
HYDRA = ("PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")


def said(names: tuple[str, ...], *values: int) -> dict[str, str]:
    return dict(zip(names, map(str, values), strict=True))


def test_without_a_launcher_nothing_is_divided(program: Path) -> None:
    assert asked(program) == ["-1", "0", str(NODE), "0", "1"]
    batch = said(("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"), 0, 0, 4)
    assert asked(program, **batch) == ["-1", "0", str(NODE), "0", "1"]


@pytest.mark.parametrize("names", [OPEN_MPI, HYDRA, ("PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE")])
def test_local_ranks_share_cores_and_devices(program: Path, names: tuple[str, ...]) -> None:
    results = [asked(program, **said(names, 5 + local, local, 3)) for local in range(3)]
    # More cores than this machine may have: the launcher's are as many as are asked about.
    assert [each[:4] for each in results] == [
        ["rank", f"{5 + local}:", str(5 + local), str(local)] for local in range(3)
    ]
    assert [each[4] for each in results] == ["3", "3", "2"] and sum(int(each[4]) for each in results) == NODE
    assert [each[5:] for each in results] == [["0", "1"], ["1", "2"], ["2", "1"]]


@pytest.mark.parametrize(
    ("node", "tasks", "cores"), [(0, "4(x2),2", 2), (1, "4(x2),2", 2), (2, "4(x2),2", 4), (0, "x", 8), (7, "2", 8)]
)
def test_slurm_says_how_many_tasks_a_node_has(program: Path, node: int, tasks: str, cores: int) -> None:
    variables = said(("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"), 1, 1, node)
    assert asked(program, **variables, SLURM_STEP_TASKS_PER_NODE=tasks)[2:5] == ["1", "1", str(cores)]


def test_more_ranks_than_cores_have_one_each(program: Path) -> None:
    assert asked(program, **said(OPEN_MPI, 90, 20, 24))[4] == "1"


def test_what_is_no_number_is_no_rank(program: Path) -> None:
    for value in ("", "x", "-1", "3x", "99999999999999999999"):
        assert asked(program, OMPI_COMM_WORLD_RANK=value, OMPI_COMM_WORLD_LOCAL_RANK="0")[0] == "-1"


def test_bound_ranks_are_not_divided_again(program: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core cannot be divided")
    bound, count = set(cores[: len(cores) // 2]), len(cores) // 2
    variables = said(OPEN_MPI, 1, 1, 2)
    assert asked(program, str(program), **variables)[4] == str(count)
    assert asked(program, str(program), cores=bound, **variables)[4] == str(count)
    # A shell between the launcher and the program is bound as well.
    assert asked(program, "sh", "-c", f"'{program}'; true", cores=bound, **variables)[4] == str(count)


SOURCE = """
static double a[100], b[200];
static void f(double *to, const double *from, int n)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) to[i] = from[i] + 1;
}
int main(void) { f(a, b, 100); f(b + 1, b, 50); return 0; }
"""


def test_messages_and_traces_name_the_rank(workshop: Workshop, tmp_path: Path) -> None:
    source = tmp_path / "ranks.c"
    source.write_text(SOURCE)
    program = workshop.build_translated(source, FLAGS)
    common = {"PATH": os.environ["PATH"], "TILEK_TARGET": "threads", "TILEK_CACHE_DIR": str(workshop.cache)}
    for rank in range(2):
        variables = {**common, **said(OPEN_MPI, rank, rank, 2)}
        table = subprocess.run(
            [program], env={**variables, "TILEK_PROFILE": "1", "TILEK_VERIFY": "1"}, capture_output=True, text=True
        )
        assert f"tilek: rank {rank}: warning: kernel f runs as the original loop" in table.stderr
        assert f"tilek: rank {rank}: verify: kernel f, to:" in table.stderr
        assert f"rank {rank}: tilek: kernel" in table.stderr and f"\nrank {rank}: f " in table.stderr
        subprocess.run(
            [program], env={**variables, "TILEK_PROFILE": str(tmp_path / "trace.json")}, capture_output=True, check=True
        )
    traces = [json.loads((tmp_path / f"trace.{rank}.json").read_text())["traceEvents"] for rank in range(2)]
    assert all(traces) and not (tmp_path / "trace.json").exists()
