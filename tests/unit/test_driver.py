"""The pipeline from a C file to OUT.c: passes, errors collected, plain files passed through."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tilepragma.base.resources import resource_folder
from tilepragma.driver import PASSES, translate
from tilepragma.driver.reports import advice, explain, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.model.descriptor_files import named_device, write_descriptor
from tilepragma.model.device import Device, Overheads, Processor
from tilepragma.plan.kernel_plan import SizeChoice

KERNEL = """\
void scale(int n, double *a)
{
#pragma tilek kernel data(a[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
}
"""
TWO_ERRORS = """\
void first(int n, double *a)
{
#pragma tilek kernel frobnicate
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
}
void second(int n, double *a)
{
#pragma tilek kernel data(a[0:n])
#pragma tilek loop tile(dynamic) tile(dynamic)
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
}
"""


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_output_compiles_without_warnings() -> None:
    Path("a.c").write_text(KERNEL)
    result = translate(TranslateRequest("a.c", output_name="out.c"))
    assert result.succeeded
    assert result.output is not None
    Path("out.c").write_bytes(result.output)
    include = resource_folder("runtime") / "include"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}"]
    subprocess.run(["cc", *flags, "-c", "out.c"], check=True)


def test_plain_source_is_passed_through_without_the_front_end() -> None:
    Path("a.h").write_text("int x;\n")
    Path("a.c").write_text('#include "a.h"\nint y;\n')
    result = translate(TranslateRequest("a.c"))
    assert result.output == b'#line 1 "a.c"\n#include "a.h"\nint y;\n'
    assert result.dependencies == ("a.c", "a.h")
    assert result.unit is None


def test_errors_of_all_regions_come_in_one_run() -> None:
    Path("a.c").write_text(TWO_ERRORS)
    result = translate(TranslateRequest("a.c"))
    assert not result.succeeded
    assert result.output is None
    lines = {diagnostic.range.start.line for diagnostic in result.diagnostics if diagnostic.severity.value == "error"}
    assert lines == {3, 10}


def test_errors_write_no_kernels() -> None:
    Path("a.c").write_text(TWO_ERRORS)
    translate(TranslateRequest("a.c", kernel_folder=Path("kernels")))
    assert not Path("kernels").exists()


def test_kernels_are_written_where_asked_for() -> None:
    Path("a.c").write_text(KERNEL)
    translate(TranslateRequest("a.c", kernel_folder=Path("kernels"), targets=("threads", "opencl")))
    assert {path.name.partition(".scale.")[2] for path in Path("kernels").iterdir()} == {"cl", "cpu.cl"}
    translate(TranslateRequest("a.c", kernel_folder=Path("kernels")))
    assert {path.name.partition(".scale.")[2] for path in Path("kernels").iterdir()} == {"cl", "cpu.cl", "cu"}


def test_a_target_left_out_leaves_no_program() -> None:
    Path("a.c").write_text(KERNEL)
    everything = translate(TranslateRequest("a.c")).output or b""
    host_only = translate(TranslateRequest("a.c", targets=("serial", "threads"))).output or b""
    assert b"__kernel" in everything
    assert b"__kernel" not in host_only
    assert b"__global__" not in host_only


@pytest.mark.parametrize("name", [step.name for step in PASSES if step.name != "write_kernels"])
def test_every_pass_can_be_dumped(name: str) -> None:
    Path("a.c").write_text(KERNEL)
    result = translate(TranslateRequest("a.c", dump=frozenset({name})))
    [(dumped, text)] = result.dumps
    assert dumped == name
    assert text.strip()


def test_last_pass() -> None:
    Path("a.c").write_text(KERNEL)
    result = translate(TranslateRequest("a.c", last="choose_sizes"))
    assert result.output is None
    assert result.succeeded
    assert len(result.plans) == 1


def test_headers_are_dependencies() -> None:
    Path("include").mkdir()
    Path("include/k.h").write_text("static " + KERNEL)
    Path("near.h").write_text("int near;\n")
    Path("a.c").write_text('#include <stddef.h>\n#include <k.h>\n#include "near.h"\n')
    result = translate(TranslateRequest("a.c", options=("-Iinclude",), folders=("include",)))
    assert result.dependencies == ("a.c", "include/k.h", "near.h")
    assert [Path(path).name for path in result.system_dependencies if path.endswith("stddef.h")] == ["stddef.h"]
    assert result.inlined == ("include/k.h",)
    assert len(result.plans) == 1


def test_missing_source() -> None:
    with pytest.raises(FileNotFoundError):
        translate(TranslateRequest("missing.c"))


def test_explain() -> None:
    Path("a.c").write_text(KERNEL)
    text = explain(kernel_reports(translate(TranslateRequest("a.c", last="choose_sizes"))))
    assert text.startswith("a.c:5: kernel scale\n")
    assert "  on cores    launch scale, line 5  i: threads\n" in text
    assert "  on devices  launch scale, line 5  i: gangs 0 × workers 0\n" in text
    assert "  data        a[0:n]  double  read and written  copied in and out\n" in text


def test_explain_says_why_a_region_runs_as_written() -> None:
    Path("a.c").write_text(
        KERNEL.replace("#pragma tilek loop independent\n", "").replace("a[i] *=", "a[i] = a[i / 2] *")
    )
    text = explain(kernel_reports(translate(TranslateRequest("a.c", last="choose_sizes"))))
    assert "  original    the loop over 'i' carries a flow dependence of 'a'" in text
    assert re.search(r"\n +4  for \(int i = 0; i < n; i\+\+\) +sequential  carries flow of a\n", text)
    assert re.search(r"S1 → S1 in \(i\) +flow +\(\+\) +a\[i\] → a\[i / 2\]\n", text)


def test_explain_shows_what_each_loop_carries() -> None:
    Path("a.c").write_text(KERNEL)
    text = explain(kernel_reports(translate(TranslateRequest("a.c", last="choose_sizes"))))
    assert re.search(r"\n +5  for \(int i = 0; i < n; i\+\+\) +DOALL\n", text)


def test_explain_shows_hyperplanes() -> None:
    """The thesis's Figure 3.4 from C: Table 3.1's distances and the hyperplanes of least communication (1 0; 1 1), as run."""
    Path("a.c").write_text(
        "void relax(int J, int I, double A[I + 2])\n{\n#pragma tilek kernel\n"
        "    for (int j = 1; j <= J; j++)\n        for (int i = I; i >= 1; i--)\n"
        "            A[I + 1 - i] = 0.5 * (A[I + 1 - i] + A[I + 2 - i]);\n}\n"
    )
    text = explain(kernel_reports(translate(TranslateRequest("a.c", last="choose_sizes"))))
    # Distances count iterations, whichever way i goes.
    assert re.search(r"flow +\(1, -1\) +A\[I \+ 1 - i\] → A\[I \+ 2 - i\]\n", text)
    assert "hyperplanes phi, line 6: (j, j - i)\n" in text


def test_a_pipe_is_read_once() -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(KERNEL))
    writer.start()
    result = translate(TranslateRequest("pipe", last="choose_sizes"))
    writer.join()
    assert len(result.plans) == 1


STENCIL = """\
void relax(int steps, int n, double *a, double *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = a[i - 1] + a[i + 1];
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}
"""


@pytest.mark.parametrize(
    ("said", "cores", "devices"), [("", 1, 0), ("auto", 1, 0), ("diamond", 1, 1), ("skewed", 0, 0)]
)
def test_tiles_of_time_steps_are_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, said: str, cores: int, devices: int
) -> None:
    monkeypatch.setenv("TILEK_TILES", said)
    result = translate(TranslateRequest("t.c", text=STENCIL.encode(), last="choose_sizes"))
    (plan,) = result.plans
    for steps, expected in ((plan.host_steps, cores), (plan.device_steps, devices)):
        assert sum("diamond" in getattr(step, "shape", "") for step in steps) == expected
    assert result.diagnostics == ()


def test_unknown_tiles_of_time_steps_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_TILES", "hexagon")
    result = translate(TranslateRequest("t.c", text=STENCIL.encode(), last="choose_sizes"))
    assert [item.message for item in result.diagnostics] == [
        "TILEK_TILES=hexagon is ignored: it is none of auto, skewed, diamond, overlapped, streamed, boxes"
    ]
    assert result.succeeded


IN_PLACE = """\
void relax(int steps, int n, double a[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            a[i] = a[i - 1] + a[i + 1];
}
"""


def test_sizes_are_chosen_for_cores_that_were_calibrated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEK_DATA_DIR", str(tmp_path / "data"))

    def chosen(device: Device | None = None) -> tuple[tuple[SizeChoice, ...], tuple[str, ...]]:
        """And what was measured that the output depends on."""
        result = translate(TranslateRequest("t.c", text=IN_PLACE.encode(), device=device, last="choose_sizes"))
        assert result.dependencies == ("t.c", *result.measured) and result.inlined == result.measured
        return result.plans[0].choices, result.measured

    assert chosen() == ((), ())
    processor = named_device("processor")
    calibration = str(write_descriptor(processor, "threads", "a test"))
    choices, measured = chosen()
    assert choices and measured == (calibration,)
    assert chosen(named_device("h100")) == (choices, measured)
    assert chosen(processor) == (choices, ())
    measured_costs = Overheads(1e-5, ((1, 0.0),), ((1, 1e-6),), 1e-5, 1e10, 1e10)
    assert isinstance(processor, Processor)
    assert chosen(replace(processor, overheads=measured_costs)) == (choices, measured), (
        "under OpenCL: no cores of hosts"
    )
    plain = translate(TranslateRequest("t.c", text=b"void f(int n) { /* tilek */ }", last="choose_sizes"))
    assert plain.dependencies == ("t.c",)


@pytest.mark.parametrize("kind", ["pipe", "folder", "huge"])
def test_kept_sizes_that_are_no_file_are_warned_of_and_never_waited_for(tmp_path: Path, kind: str) -> None:
    (tmp_path / "k.c").write_text(KERNEL)
    kept = tmp_path / "k.tilek.json"
    if kind == "pipe":
        os.mkfifo(kept)
    elif kind == "folder":
        kept.mkdir()
    else:
        with kept.open("wb") as file:
            file.truncate(1 << 40)
    result = translate(TranslateRequest("k.c"))
    (warning,) = [diagnostic for diagnostic in result.diagnostics if diagnostic.range.file == "k.tilek.json"]
    assert warning.message.startswith("recorded tile sizes are ignored: it ")
    assert result.succeeded
    assert "k.tilek.json" not in result.dependencies


@pytest.mark.parametrize(
    "value",
    [
        " + ".join(f"{k}.5f * x[i]" for k in range(343)),
        "(" * 500 + "x[i]" + " + 1)" * 500,
        "".join(f"x[i] > {k} ? {k} : " for k in range(200)) + "7",
        "h(" * 300 + "x[i]" + ")" * 300,
    ],
    ids=["terms", "parentheses", "conditions", "calls"],
)
def test_no_depth_of_expressions_is_too_much(value: str) -> None:
    head = "static float h(float v) { return v + 1; }\nvoid f(int n, float *x, float *restrict y)\n"
    source = (
        f"{head}{{\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) y[i] = {value};\nif (n < 0) y[0] = h(0);\n}}\n"
    )
    result = translate(TranslateRequest("deep.c", text=source.encode(), targets=("serial",)))
    assert result.succeeded, result.diagnostics
    assert result.output is not None and value.encode() in result.output


@pytest.mark.parametrize("clause", ["", " independent"])
def test_dependences_of_hundreds_of_statements_are_not_sought_for_minutes(clause: str) -> None:
    body = " ".join(f"y[i] = y[i] * 0.5f + {number};" for number in range(450))
    source = (
        f"void f(int n, float *y)\n{{\n#pragma tilek kernel{clause}\nfor (int i = 0; i < n; i++) {{ {body} }}\n}}\n"
    )
    result = translate(TranslateRequest("long.c", text=source.encode(), targets=("threads",)))
    assert result.succeeded, result.diagnostics
    notes = [each.message for each in advice(result, loops=False)]
    as_written = "kernel 'f' runs the original loops, on one core: its dependences are too many to be proven absent"
    assert (as_written in notes) == (not clause), notes


@pytest.mark.parametrize("elements", [10, 1])
def test_statements_on_different_elements_are_no_pairs(monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    monkeypatch.setattr("tilepragma.poly.extraction.MOST_PAIRS", 100)
    body = " ".join(f"y[i][{number % elements}] = y[i][{number % elements}] * 0.5f + {number};" for number in range(10))
    source = f"void f(int n, float y[n][10])\n{{\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) {{ {body} }}\n}}\n"
    result = translate(TranslateRequest("long.c", text=source.encode(), targets=("threads",)))
    assert result.succeeded, result.diagnostics
    notes = [each.message for each in advice(result, loops=False)]
    assert any("its dependences are too many" in note for note in notes) == (elements == 1), notes


def test_operators_are_no_deeper_than_libclang_can_parse() -> None:
    source = f"int f(int x)\n{{\n/* tilek */ return {'- ' * 8000}x;\n}}\n"
    result = translate(TranslateRequest("deep.c", text=source.encode(), targets=("serial",)))
    assert result.succeeded, result.diagnostics


def test_what_no_stack_can_follow_is_a_located_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilepragma.base.deep_recursion._LEVELS", (1200,))
    head = "void f(int n, float *x, float *restrict y)\n{\n"
    value = " + ".join(f"{k}.5f * x[i]" for k in range(2000))
    source = f"{head}#pragma tilek kernel\nfor (int i = 0; i < n; i++) y[i] = {value};\n}}\n"
    result = translate(TranslateRequest("deep.c", text=source.encode(), targets=("serial",)))
    assert not result.succeeded
    (error,) = result.diagnostics
    assert (error.range.start.file, error.range.start.line) == ("deep.c", 3)
    assert "nested deeper than this Python can follow" in error.message
