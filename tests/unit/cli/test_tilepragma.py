"""The tilepragma command: outputs, exit statuses, depfiles, bad usage; with a translator that replaces one word."""

from __future__ import annotations

import errno
import io
import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import word_translator
from tilepragma import __version__, driver
from tilepragma.cli import source_commands, tilepragma

SOURCE = "/* tilek */\nint x = KERNEL;\n"


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(source_commands, "translate", word_translator)
    Path("in.c").write_text(SOURCE)


def test_translate() -> None:
    assert tilepragma.run(["translate", "in.c", "-o", "out.c", "-I", "include", "-DA=1", "-std=c99"]) == 0
    assert '#line 1 "in.c"' in Path("out.c").read_text()
    assert sorted(path.name for path in Path().iterdir()) == ["in.c", "out.c"]


def test_translate_from_standard_input_to_output(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SOURCE.encode())))
    assert tilepragma.run(["translate", "-", "-o", "-"]) == 0
    assert b'#line 1 "<stdin>"' in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("options", "depfile", "rule"),
    [
        (["-MMD"], "out.d", "out.c: \\\n in.c\n"),
        (["-MD"], "out.d", "out.c: \\\n in.c \\\n /usr/include/stddef.h\n"),
        (["-MF", "x.dep", "-MT", "a target"], "x.dep", "a\\ target: \\\n in.c\n"),
    ],
)
def test_depfile(options: list[str], depfile: str, rule: str) -> None:
    assert tilepragma.run(["translate", "in.c", "-o", "out.c", *options]) == 0
    assert Path(depfile).read_text() == rule


def test_errors_leave_the_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text("REFUSE\n")
    Path("out.c").write_text("old")
    assert tilepragma.run(["translate", "in.c", "-o", "out.c", "-MMD"]) == 1
    assert Path("out.c").read_text() == "old"
    assert not Path("out.d").exists()
    assert capsys.readouterr().err.startswith("in.c:1:1: error: This is refused.\n REFUSE\n ^\n")


def test_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text("REFUSE\n")
    assert tilepragma.run(["check", "in.c", "--format", "json"]) == 1
    said = capsys.readouterr()
    assert said.err == ""
    [one] = json.loads(said.out)
    assert (one["severity"], one["file"], one["line"], one["column"]) == ("error", "in.c", 1, 1)
    assert one["notes"][0]["message"] == "Leave it out."


def test_check_of_a_good_file_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["check", "in.c"]) == 0
    assert capsys.readouterr() == ("", "")


def test_explain_without_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["explain", "in.c"]) == 0
    assert capsys.readouterr().out == "No kernel regions: the program runs as it was written.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage:"),
        (["translate", "in.c"], "-o"),
        (
            ["translate", "in.c", "-o", "out.c", "--targets", "cuda"],
            "unrecognized arguments: --targets cuda; did you mean --target?",
        ),
        (["check", "in.c", "--formt=json"], "unrecognized arguments: --formt=json; did you mean --format?"),
        (["translate", "in.c", "-o", "out.c", "--target", "gpu"], "targets are serial, threads, opencl, cuda"),
        (["translate", "missing.c", "-o", "out.c"], "missing.c: No such file or directory"),
        (["translate", "in.c", "-o", "in.c"], "-o in.c: that is the source itself"),
        (["translate", "in.c", "-o", "no/out.c"], "there is no such folder"),
        (["translate", "in.c", "-o", "-", "-MMD"], "needs -MF FILE and -MT TARGET"),
        (
            ["check", "in.c", "--device", "h2OO"],
            "--device: no device is called 'h2OO' (did you mean 'h200'?); known are a100, c1060",
        ),
        (["check", "in.c", "--device", "none/mine.json"], "--device: none/mine.json: No such file or directory"),
        (["check", "in.c", "--dump-after", "tokens"], "passes are scan, parse"),
        (["devices", "-v"], "unrecognized arguments: -v"),
        (["frobnicate"], "invalid choice"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = tilepragma.run(arguments)
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 2
    assert said in capsys.readouterr().err
    assert not Path("out.c").exists()


def test_devices_say_why_they_cannot_be_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tilepragma.cli.devices.print_devices", fail)
    assert tilepragma.run(["devices"]) == 2
    assert capsys.readouterr().err == "tilepragma: error: standard output: No space left on device\n"


def test_fault_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text("CRASH\n")
    assert tilepragma.run(["translate", "in.c", "-o", "out.c"]) == 3
    assert "internal fault" in capsys.readouterr().err
    assert not Path("out.c").exists()


@pytest.mark.parametrize(
    ("arguments", "raising"),
    [
        (["explain", "in.c"], "tilepragma.report.facts.kernel_facts"),
        (["explain", "in.c"], "tilepragma.report.text.report_text"),
        (["explain", "in.c", "--html", "-"], "tilepragma.report.page.explain_page"),
        (["check", "in.c"], "tilepragma.report.advice.as_written_notes"),
        (["check", "in.c", "--loops"], "tilepragma.report.advice.loop_notes"),
    ],
)
def test_nesting_too_deep_for_python_is_a_located_error_of_every_command(
    arguments: list[str], raising: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_deep(*_: object) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    Path("in.c").write_text(
        "void f(int n, float *x) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) x[i] = i;\n}\n"
    )
    monkeypatch.setattr(raising, too_deep)
    monkeypatch.setattr("tilepragma.base.deep_recursion._LEVELS", (1200,))
    monkeypatch.setattr(source_commands, "translate", driver.translate)
    assert tilepragma.run(arguments) == 1
    written = capsys.readouterr().err
    assert (
        "in.c:2:1: error: an expression or statement of a kernel is nested deeper than this Python can follow"
        in written
    )
    assert "internal fault" not in written


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        tilepragma.run(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"tilepragma {__version__}\n"


@pytest.mark.parametrize(("option", "name"), [("--makefile", "tilepragma.mk"), ("--cmake", "Tilepragma.cmake")])
def test_fragments(option: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run([option]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.name == name
    assert path.is_file()


SIZED = "void f(int n, double a[n])\n{\n#pragma tilek kernel\n    for (int i = 0; i < n; i++)\n        a[i] = 0.0;\n}\n"


@pytest.fixture
def real_translator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_commands, "translate", driver.translate)
    Path("in.c").write_text(SIZED)


@pytest.mark.parametrize(
    "arguments", [["in.c", "--size", "n=100"], ["--size", "n=100", "in.c"], ["in.c", "--size=n=1", "-DA=2"]]
)
def test_explain_with_sizes(arguments: list[str], real_translator: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["explain", *arguments]) == 0
    assert "×  DOALL" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (["--size", "m=1"], "no kernel depends on that name; parameters are n"),
        (["--size", "n=1k"], "write NAME=INTEGER"),
        (["--size", "n=1", "m=1"], "--size m: no kernel"),
    ],
)
def test_wrong_sizes(sizes: list[str], said: str, real_translator: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["explain", "in.c", *sizes]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


GAUSS_SEIDEL = """void f(int n, double a[n][n]) {

#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j + 1]) / 3;
}
"""


def test_explain_writes_a_page_and_pictures(real_translator: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text(GAUSS_SEIDEL)
    assert tilepragma.run(["explain", "in.c", "--html", "page.html", "--figures", "drawn"]) == 0
    assert capsys.readouterr().out.startswith("in.c:4: kernel f\n")
    assert Path("page.html").read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in Path("drawn").iterdir()) == [
        "f-1-dependences.svg",
        "f-1-tiles.svg",
    ]


def test_explain_writes_the_page_to_standard_output(real_translator: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["explain", "in.c", "--html", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("page", "said"), [("no/page.html", "no such folder"), (".", "that is a folder"), ("in.c", "the source itself")]
)
def test_pages_that_cannot_be_written(
    page: str, said: str, real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tilepragma.run(["explain", "in.c", "--html", page]) == 2
    assert said in capsys.readouterr().err
    assert Path("in.c").read_text() == SIZED


CARRIED = SIZED.replace("a[i] = 0.0", "a[i] = a[i / 2] + 1.0")


def test_check_notes_kernels_that_run_as_written(real_translator: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text(CARRIED)
    assert tilepragma.run(["check", "in.c"]) == 0
    said = capsys.readouterr().err
    assert said.startswith(
        "in.c:3:1: note: kernel 'f' runs the original loops, on one core: the loop over 'i' carries a flow"
    )
    assert said.count("note: ") == 2


UNKNOWN_EXTENT = """void f(int n, int s, const double *a, double *b) {
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        int k = (int)(0.5 * (i + s));
        b[i] = a[k];
    }
}
"""


def test_check_says_which_section_would_let_a_kernel_be_distributed(
    real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.c").write_text(UNKNOWN_EXTENT)
    assert tilepragma.run(["check", "in.c"]) == 0
    said = capsys.readouterr().err
    assert "note: kernel 'f' runs the original loops, on one core: the extent of 'a' cannot be found" in said
    assert "in.c:5:16: note: add data(a[0:N1]) to the kernel directive, with the length of 'a' for N1" in said
    assert "in.c:5:16: note: or declare 'a' and 'b' restrict, if nothing that the kernel writes is read through" in said
    assert "in.c:5:16: note: or put '#pragma tilek loop independent' before a loop in which no iteration reads" in said
    Path("in.c").write_text(UNKNOWN_EXTENT.replace("double *", "double *restrict "))
    assert tilepragma.run(["check", "in.c"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("in.c:2:1: note: kernel 'f' runs on cores, and on devices only where a data region holds")
    assert "add data(a[0:N1]) to the kernel directive" in said
    assert "restrict," not in said
    assert "independent" not in said
    Path("in.c").write_text(UNKNOWN_EXTENT.replace("tilek kernel", "tilek kernel data(a[0:n])"))
    assert tilepragma.run(["check", "in.c"]) == 0
    assert capsys.readouterr().err == ""


UPWIND = """void f(int n, const float *q, float *r, const float *u) {
#pragma tilek kernel
    for (int i = 0; i < n; i++) r[i] = u[i] > 0 ? q[i] - q[i - 1] : q[i + 1] - q[i];
}
"""


def test_check_says_which_section_would_let_devices_run_a_kernel(
    real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.c").write_text(UPWIND)
    assert tilepragma.run(["check", "in.c"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("in.c:2:1: note: kernel 'f' runs on cores, and on devices only where a data region holds")
    assert "add data(q[-1:n + 2]) to the kernel directive" in said
    assert tilepragma.run(["explain", "in.c"]) == 0
    assert "rejected    devices, unless a data region holds the array: the extent of 'q'" in capsys.readouterr().out
    Path("in.c").write_text(UPWIND.replace("tilek kernel", "tilek kernel target(cuda)"))
    assert tilepragma.run(["check", "in.c"]) == 0
    assert "in.c:3:58: warning: the extent of 'q' cannot be found" in capsys.readouterr().err
    Path("in.c").write_text(UPWIND.replace("tilek kernel", "tilek kernel data(q[-1:n + 2])"))
    assert tilepragma.run(["check", "in.c"]) == 0
    assert capsys.readouterr().err == ""


UNCOUNTED = """void f(int n, double *restrict a, double *restrict b) {
#pragma tilek kernel data(a[0:n])
    for (int d = 1; d < n; d *= 2) {
        for (int i = 0; i < n; i++) b[i] = i < d ? a[i] : a[i] + a[i - d];
        for (int i = 0; i < n; i++) a[i] = b[i];
    }
}
"""


def test_loops_that_cannot_be_counted_run_on_the_host_around_kernels(
    real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.c").write_text(UNCOUNTED)
    assert tilepragma.run(["check", "in.c"]) == 0
    assert capsys.readouterr().err == ""
    assert tilepragma.run(["explain", "in.c"]) == 0
    said = capsys.readouterr().out
    assert "f_part1" in said and "f_part2" in said


def test_check_says_why_an_array_of_variable_length_makes_many_launches(
    real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """void f(int n, int u, const float *in, float *o) {
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        float r[u];
        for (int k = 0; k < u; k++) r[k] = in[i * u + k] * 2;
        for (int k = 0; k < u; k++) o[i * u + k] = r[u - 1 - k];
    }
}
"""
    Path("in.c").write_text(text)
    assert tilepragma.run(["check", "in.c"]) == 0
    said = capsys.readouterr().err
    assert said.startswith(
        "in.c:4:9: note: the loop around runs on the host, and each loop in it is a separate launch:"
    )
    assert "the length of 'r' is known at run time only" in said and "note: give it a constant length" in said
    Path("in.c").write_text(text.replace("r[u];", "r[9];"))
    assert tilepragma.run(["check", "in.c"]) == 0
    assert "a launch of its own" not in capsys.readouterr().err


def test_check_says_why_a_loop_that_cannot_be_counted_runs_in_order(
    real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.c").write_text(UNCOUNTED.replace("d < n;", "d < n && a[d] > 0;"))
    assert tilepragma.run(["check", "in.c"]) == 0
    said = capsys.readouterr().err
    assert "in.c:3:30: warning: a loop of kernel 'f' that ends with a condition runs in order" in said
    assert "the newest value of 'a[d]' may be on a device" in said
    assert "the iterations of the loop on line 3 cannot be counted" in said


def test_check_of_a_kernel_that_is_distributed_says_nothing(
    real_translator: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tilepragma.run(["check", "in.c"]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_classifies_loops_where_asked(real_translator: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["check", "in.c", "--loops", "--format", "json"]) == 0
    [one] = json.loads(capsys.readouterr().out)
    assert (one["severity"], one["line"], one["message"]) == ("note", 4, "the loop over 'i' is DOALL")
