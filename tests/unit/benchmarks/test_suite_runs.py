"""How the benchmark suite runs contenders and compares what they leave, with scripts in their place."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from benchmarks.polybench_programs import Program
from benchmarks.suite.cases import Case
from benchmarks.suite.contenders import Built, Contender, our_variables
from benchmarks.suite.results import Measurement
from benchmarks.suite.runs import CaseRuns, RunError, difference

CASE = Case("small", "PolyBench/C", {"N": 4}, {"N": 4}, "N", "2*N", scratch=("sum",))
PROGRAM = Program(Path("small.c"), "double", (), ("A", "sum"), False)


def dump(path: Path, **arrays: list[float]) -> Path:
    """A dump as polybench_support.c writes it."""
    with path.open("wb") as file:
        for number, name in enumerate(PROGRAM.arrays):
            data = numpy.array(arrays[name], dtype=numpy.float64).tobytes()
            file.write(b"0 %d 8 %d\n" % (number, len(data)) + data)
    return path


def test_differences_are_relative_to_the_largest_element(tmp_path: Path) -> None:
    wanted = dump(tmp_path / "wanted", A=[1.0, -8.0], sum=[1.0])
    result = dump(tmp_path / "found", A=[1.0, -6.0], sum=[3.0])
    assert difference(PROGRAM, wanted, result, ("sum",)) == 0.25
    assert difference(PROGRAM, wanted, result, ()) == 2.0
    assert difference(PROGRAM, wanted, wanted, ()) == 0.0


def test_what_is_no_number_is_compared_too(tmp_path: Path) -> None:
    nan = float("nan")
    wanted = dump(tmp_path / "wanted", A=[1.0, nan], sum=[1.0])
    assert difference(PROGRAM, wanted, dump(tmp_path / "same", A=[1.5, nan], sum=[1.0]), ()) == 0.5
    assert difference(PROGRAM, wanted, dump(tmp_path / "other", A=[nan, 1.0], sum=[1.0]), ()) == float("inf")
    nothing = dump(tmp_path / "nothing", A=[nan, nan], sum=[1.0])
    with pytest.raises(RunError, match="cannot be compared"):
        difference(PROGRAM, nothing, wanted, ())


class Scripts:
    """Contenders that are shell scripts; each run is noted in `log`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.contenders = folder, folder / "log", []  # type: ignore[var-annotated]

    def add(
        self, name: str, seconds: float, hashes: str = "aa bb", values: str = "", warm: bool = False, end: int = 0
    ) -> None:
        """One that prints `seconds` and `hashes`, and leaves the file `values` as its dump."""
        script = self.folder / f"{name.replace(' ', '-')}.sh"
        script.write_text(
            f"#!/bin/sh\necho '{name}' $# >>{self.log}\n"
            f'[ "$1" = - ] || cp {self.folder}/{values or "right"} "$1"\n'
            f"echo '0 99 cold'; echo '1 {seconds} {hashes}'; exit {end}\n"
        )
        script.chmod(0o755)
        self.contenders.append(Contender(name, script, {}, warm))

    def measured(self, rounds: int, type_: str = "double") -> dict[str, Measurement]:
        built = Built(CASE, type_, tuple(self.contenders), {"PLUTO": "no"})
        return CaseRuns(built, PROGRAM, True, self.folder).take(rounds, lambda name: None).contenders

    def runs(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    dump(tmp_path / "right", A=[1.0, 2.0], sum=[0.0])
    dump(tmp_path / "near", A=[1.0, 2.0 + 1e-12], sum=[0.0])
    dump(tmp_path / "wrong", A=[1.0, 2.5], sum=[0.0])
    return Scripts(tmp_path)


def test_contenders_run_in_turn(scripts: Scripts) -> None:
    scripts.add("tilepragma threads", 0.5)
    scripts.add("gcc", 1.0)
    scripts.add("tilepragma opencl", 2.0, warm=True)
    taken = scripts.measured(2)
    assert taken["gcc"].seconds == [1.0, 1.0]
    assert taken["tilepragma threads"].seconds == [0.5, 0.5]
    assert {name: each.match for name, each in taken.items()} == {
        "gcc": "bits",
        "tilepragma threads": "bits",
        "tilepragma opencl": "bits",
        "PLUTO": "not built: no",
    }
    turn = ["gcc 2", "tilepragma threads 2", "tilepragma opencl 3"]  # warm: one run more in the same process
    assert scripts.runs() == [*turn, *turn, *turn]  # the first to compare


def test_results_are_compared(scripts: Scripts) -> None:
    scripts.add("gcc", 1.0)
    scripts.add("scratch", 1.0, hashes="aa cc")
    scripts.add("near", 1.0, hashes="ab bb", values="near")
    scripts.add("wrong", 1.0, hashes="ac bb", values="wrong")
    scripts.add("broken", 1.0, end=3)
    taken = scripts.measured(1)
    said = {name: taken[name].match for name in ("scratch", "near", "wrong", "broken")}
    assert said == {
        "scratch": "bits",
        "near": "tolerance",
        "wrong": "differs by 2.5e-01",
        "broken": "failed: status 3; 0 99 cold; 1 1.0 aa bb",
    }
    assert taken["near"].difference == pytest.approx(4e-13, rel=0.01)
    assert not taken["broken"].ran


def test_a_slow_contender_runs_one_round(scripts: Scripts) -> None:
    scripts.add("gcc", 1.0)
    scripts.add("tilepragma opencl", 21.0)
    taken = scripts.measured(3)
    assert (len(taken["gcc"].seconds), len(taken["tilepragma opencl"].seconds)) == (3, 1)


def test_opencl_on_cores_has_no_more_of_them_than_threads() -> None:
    """PoCL's names: up to version 3, and from 4 on."""
    result = our_variables("opencl", 2)
    assert (result["POCL_MAX_PTHREAD_COUNT"], result["POCL_CPU_MAX_CU_COUNT"]) == ("2", "2")
    assert result["TILEK_TARGET"] == "opencl"
    assert our_variables("threads", 2) == {"TILEK_TARGET": "threads", "TILEK_STRICT": "1", "TILEK_NUM_THREADS": "2"}
