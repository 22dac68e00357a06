"""benchmarks/real: directives changed in a copy, messages counted, inputs, and a whole program
compared, with results that are right and wrong.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from benchmarks.real import measuring, tables, tsvc
from benchmarks.real.inputs import counted_integers, hurricanes, image, points, video
from benchmarks.real.lines import Loops, kernels_in, loops_of, with_kernels
from benchmarks.real.measuring import PRAGMA, UNEDITED, Measured, measure
from benchmarks.real.programs import CLASSES, RODINIA, Edit, Program, npb
from benchmarks.real.running import Workplace, difference, ours_on, reason

PROGRAM = Program("fake", "app", ("main.c", "sums.c"), ("data.txt", "{threads}"), inputs={"data.txt": lambda: b"3\n"})
MAIN = """#include <stdio.h>
#include <stdlib.h>
void sums(int n, double *a, double *s);
int main(int argc, char **argv)
{
    FILE *in = fopen(argv[1], "r"), *out = fopen("out.txt", "w");
    int start;
    static double a[1000], s;
    if (fscanf(in, "%d", &start) != 1 || atoi(argv[2]) < 1) return 1;
    for (int i = 0; i < 1000; i++) a[i] = start;
    sums(1000, a, &s);
    fprintf(out, "sum %.17g\\n", s);
    fputs("main.c:13: tilek: warning: no result\\n", stderr);
    printf("last %.17g\\nTime: %d.5 s\\n", a[999], (int)(s > 0));
    return 0;
}
"""
SUMS = """#include <stdio.h>
void sums(int n, double *a, double *s)
{
    int i;
    double sum = 0;
#pragma omp parallel for private(i) \\
    reduction(+: sum)
    for (i = 0; i < n; i++)
        sum += a[i] = a[i] * 2 + i;
#pragma omp parallel
    {
#pragma omp for
        for (i = 0; i < n; i++)
            a[i] += WRONG;
#pragma omp critical
        puts("done");
    }
    *s = sum;
}
"""
EXPLAINED = """sums.c:10:1: note: this line stays OpenMP's: each thread calls 'puts'
 #pragma omp parallel
 ^~~~~~~~~~~~~~~~~~~~
sums.c:12:1: note: this line stays OpenMP's: its loop needs the threads of an 'omp parallel' that stays
 #pragma omp for
 ^~~~~~~~~~~~~~~
sums.c:20:1: warning: iterations of this loop depend on each other, though the line says that they may run in any order
 #pragma omp parallel for
 ^~~~~~~~~~~~~~~~~~~~~~~~
sums.c:20:1: note: without -fopenmp it runs on one core
sums.c:8: kernel sums_kernel

  on cores    launch sums_kernel, line 8  i: threads  (reduces sum with +)
  on devices  launch sums_kernel, line 8  i: gangs 0 × workers 0
  targets     serial, threads, opencl, cuda

sums.c:30: kernel sums_kernel_2

  original    the loop over 'i' carries a flow dependence
  targets     serial, threads, opencl, cuda

sums.c:40: kernel sums_kernel_3

  on cores    for t, line 40
                launch sums_kernel_3, line 41  i: threads
  targets     serial, threads
"""
TSVC = """real_t s000(struct args_t * func_args)
{
    for (int nl = 0; nl < iterations; nl++) {
        j = -1;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
            }
        }
        for (int i = 0; i < n; i++) {
        }
    }
    for (int i = 0; i < n; i++) {
    }
}
real_t s162(struct args_t * func_args)
{
    for (int nl = 0; nl < iterations; nl++) {
        if (k > 0) {
            for (int i = 0; i < n; i++) {
            }
        }
    }
}
"""


def fake(folder: Path, sums: str) -> Workplace:
    app = folder / "suite" / "app"
    app.mkdir(parents=True)
    (app / "main.c").write_text(MAIN)
    (app / "sums.c").write_text(sums)
    return Workplace(folder / "suite", folder / "scratch", 1)


def test_a_program_is_built_compared_and_timed(tmp_path: Path) -> None:
    place = fake(tmp_path, SUMS.replace("WRONG", "1"))
    program = Program(**{**PROGRAM.__dict__, "outputs": ("out.txt",), "seconds": r"Time: ([\d.]+)"})
    [unedited, pragma] = measure(place, program, (UNEDITED, PRAGMA), ("serial", "threads"), 1)
    assert unedited.loops == Loops(1, 1, 1)
    assert (unedited.failure, [each.fault for each in unedited.outcomes.values()]) == ("", ["", ""])
    assert unedited.outcomes["serial"].remarks == "main.c:13: tilek: warning: no result"
    assert unedited.peer.seconds > 0 and unedited.outcomes["threads"].printed == 1.5
    assert pragma.loops.kernels == 2 and not pragma.outcomes["serial"].fault
    row = tables.row(unedited, ("serial", "threads"))
    assert len(row) == len(tables.head(("serial", "threads"))) and row[:4] == ["fake", "1", "1", "1"]
    assert row[6].endswith("*")
    assert any("fake on serial: main.c:13" in line for line in tables.remarks([unedited], ("serial",)))
    assert not tables.wrong([unedited, pragma])
    assert (tmp_path / "suite/app/sums.c").read_text() == SUMS.replace("WRONG", "1")


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [("TEST_OURS", "'last 1012' instead of 'last 1005'"), ("1; if (TEST_OURS) __builtin_abort()", "status -6")],
)
def test_a_wrong_result_of_ours_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, fault: str
) -> None:
    place = fake(tmp_path, SUMS.replace("WRONG", wrong))
    program = Program(**{**PROGRAM.__dict__, "options": ("-DTEST_OURS=0",)})
    options, _ = measuring.FORMS[UNEDITED]
    monkeypatch.setitem(measuring.FORMS, UNEDITED, (options, lambda text: text.replace("TEST_OURS", "7")))
    [measured] = measure(place, program, (UNEDITED,), ("serial",), 1)
    assert fault in measured.outcomes["serial"].fault
    assert tables.wrong([measured])
    assert any("fake on serial: " in line for line in tables.remarks([measured], ("serial",)))


def test_a_program_that_cannot_be_built_is_reported(tmp_path: Path) -> None:
    place = fake(tmp_path, SUMS)
    [measured] = measure(place, PROGRAM, (UNEDITED,), ("serial",), 1)
    assert "error" in measured.peer.fault and "WRONG" in measured.peer.fault and not measured.outcomes
    edited = Program(**{**PROGRAM.__dict__, "edits": (Edit("sums.c", "no such text", ""),)})
    [measured] = measure(place, edited, (UNEDITED,), ("serial",), 1)
    assert "has no 'no such text'" in measured.peer.fault
    assert tables.row(measured, ("serial",))[1] == "OpenMP fails"
    assert not tables.wrong([measured])


def test_loops_become_kernels_and_other_lines_go() -> None:
    text = with_kernels(SUMS)
    assert text.count("#pragma tilek kernel\n") == 2
    assert "omp" not in text and "reduction" not in text
    assert with_kernels("// #pragma omp parallel for\n") == "// #pragma omp parallel for\n"


def test_messages_are_counted() -> None:
    assert kernels_in(EXPLAINED) == {"sums.c:8": True, "sums.c:30": False, "sums.c:40": True}
    assert loops_of(EXPLAINED) == Loops(kernels=3, parallel=2, stay=2)


@pytest.mark.parametrize(
    ("result", "agrees"),
    [
        ("a 1000.0 2\nTime 9\n", True),
        ("a 1000.001 2\nTime 5\n", True),
        ("a 1000.1 2\nTime 5\n", False),
        ("a 1000.0 2.001\nTime 5\n", False),
        ("b 1000.0 2\nTime 5\n", False),
        ("a nan 2\nTime 5\n", False),
        ("a 1000.0 2\na 1 1\n", False),
        ("", False),
    ],
)
def test_numbers_are_compared(result: str, agrees: bool) -> None:
    assert (difference(PROGRAM, "a 1000.0 2\nTime 5\n", result) == "") is agrees


def test_numbers_are_compared_with_their_column() -> None:
    wanted = "0 1.0\n900000 1.0\n"
    assert difference(PROGRAM, wanted, "0 1.000001\n900000 1.0\n") == ""
    assert "'0 1.001' instead" in difference(PROGRAM, wanted, "0 1.001\n900000 1.0\n")
    assert difference(PROGRAM, "0x1.8p+1 nan\n", "0x1.8p+1 nan\n") == ""
    assert difference(PROGRAM, "0x1.8p+1\n", "0x1.9p+1\n") != ""
    assert "nothing is compared" in difference(PROGRAM, "Time 5\n", "Time 5\n")


def test_npb_must_verify() -> None:
    [program] = [program for program in npb(("W",)) if program.name == "LU.W"]
    said = " Verification    =           %s\n Time in seconds =      1.25\n"
    assert difference(program, said % "  SUCCESSFUL", said % "  SUCCESSFUL") == ""
    assert difference(program, said % "UNSUCCESSFUL", said % "UNSUCCESSFUL") != ""


def test_programs_are_named_once() -> None:
    names = [program.name for program in (*RODINIA, *npb(CLASSES))]
    assert len(RODINIA) == 12 and len(set(names)) == len(names) == 12 + 24


def test_threads_are_not_bound() -> None:
    variables = ours_on("threads", 2)
    assert "OMP_PROC_BIND" not in variables
    assert variables["TILEK_TARGET"] == "threads" and variables["OMP_NUM_THREADS"] == "2"


def test_the_reason_is_the_first_error() -> None:
    assert reason("cc x.c\nended with status 1\nx.c:1:2: warning: w\nx.c:1:2: error: e\nmore") == "x.c:1:2: error: e"
    assert reason("./built\nended with status -11\n") == "ended with status -11"


def test_tsvc_marks_the_loops_that_are_repeated() -> None:
    lines = tsvc.marked(TSVC).split("\n")
    marked = [lines[k + 1].strip() for k, line in enumerate(lines) if line == "#pragma tilek kernel"]
    assert marked == ["for (int i = 0; i < n; i++) {"] * 3
    assert tsvc.marked(TSVC, ("s000",)).count("#pragma") == 1


def test_a_checksum_that_differs_is_wrong() -> None:
    right = tsvc.Loop("s000", tsvc.PARALLEL, peer=2.0, seconds={"threads": 1.0})
    differing = tsvc.Loop("s111", tsvc.REFUSED, "why", 1.0, {"threads": 2.0}, ["threads"])
    assert not tsvc.wrong([right]) and tsvc.wrong([right, differing])
    assert tsvc.row(right, ("threads",)) == ["s000", "parallel", "2.000", "2.00"]
    assert "differs" in tsvc.row(differing, ("threads",))
    assert "threads: geometric mean 1.00 of 2, least 0.50, 1 under 0.9" in tsvc.remarks(
        [right, differing], ("threads",)
    )


def test_inputs_are_the_same_each_time_and_as_programs_read_them() -> None:
    assert counted_integers(5)() == counted_integers(5)()
    assert counted_integers(5)().split()[0] == b"5" and len(set(counted_integers(5)().split()[1:])) == 5
    assert {len(line) for line in hurricanes(30)().splitlines(keepends=True)} == {49}
    assert [len(line.split()) for line in points(4, 7)().splitlines()] == [8] * 4
    assert image(3, 4)().splitlines()[:3] == [b"P2", b"4 3", b"255"] and len(image(3, 4)().split()) == 4 + 12
    film = video(656, 744, 2)()
    assert film[:4] == b"RIFF" and struct.unpack("<I", film[4:8])[0] == len(film) - 8
    assert film.count(b"00db" + struct.pack("<I", 656 * 744)) == 2


def test_ratios_need_two_times() -> None:
    measured = Measured("x", UNEDITED, measuring.Outcome(fault="it fails"))
    assert tables.remarks([measured], ("serial",)) == ["0 of 1 built; 0 agree on serial", "x, OpenMP: it fails"]
