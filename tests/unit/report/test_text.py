"""What explain says of nests, compared with reviewed text: tests/golden/explain/NAME.c and
NAME.txt.

The plan's part is left out: it changes with what the planner can do.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.golden_texts import check_golden
from tilepragma.base.refusals import CommandError
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.report.size_values import byte_text, parse_sizes

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "explain"
CASES = sorted(path.stem for path in GOLDEN.glob("*.c"))


def planned(name: str) -> TranslateResult:
    return translate(TranslateRequest(f"{name}.c", text=(GOLDEN / f"{name}.c").read_bytes(), last="choose_sizes"))


@pytest.mark.parametrize("name", CASES)
def test_nests_read_as_reviewed(name: str) -> None:
    text = explain(kernel_reports(planned(name)))
    check_golden(GOLDEN / f"{name}.txt", text[text.index("  nest over") :])


@pytest.mark.parametrize("name", CASES)
def test_data_is_named_as_the_user_does(name: str) -> None:
    text = explain(kernel_reports(planned(name)))
    assert text.startswith(f"{name}.c:")
    assert "(long)" not in text
    assert "0l" not in text


def test_every_reviewed_text_has_its_source() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == CASES


def test_sizes_become_trip_counts_and_bytes() -> None:
    text = explain(kernel_reports(planned("lu"), parse_sizes(["n=1024"])))
    assert re.search(r"for \(int k = 0; k < n; k\+\+\) +1024× +DOACROSS", text)
    assert re.search(r"for \(int i = k \+ 1; i < n; i\+\+\) +1…1023× +DOALL", text)
    assert "copied in and out  8.4 MB\n" in text


JACOBI_2D = """\
void jacobi(int steps, int n, double A[n][n], double B[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
    }
}
"""


def test_hyperplanes_are_those_of_the_launches() -> None:
    """Diamonds on cores; devices have a launch for each time step, and no hyperplanes."""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=JACOBI_2D.encode(), last="choose_sizes"))))
    cores, devices = text[text.index("  on cores") :].split("  on devices", 1)
    assert "hyperplanes phi, line 7: (2*t - i, 2*t + i, 2*t + j)\n" in cores
    assert "hyperplanes phi, line 10: (2*t - i + 1, 2*t + i + 1, 2*t + j + 1)\n" in cores
    assert "tiles t = floor(phi / size): those of equal t1 + t2 in parallel, t3 in order inside each\n" in cores
    assert "phi" not in devices


def test_checks_of_rows_say_what_is_compared() -> None:
    source = """\
void smooth(int n, int m, double **a, double **b)
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            b[i][j] = a[i - 1][j] + a[i + 1][j];
}
"""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    assert "at each launch: rows of b share no memory with other arrays or with each other\n" in text
    assert "at each launch: rows of a share no memory with other arrays\n" in text


def test_wavefronts_are_those_of_the_plans_host_loops() -> None:
    """Counted here by going through all points: floor(t / 256) + floor((t + i) / 32) of seidel_2d's tiles on cores."""
    result = planned("seidel_2d")
    steps, others = (size.host for size in result.plans[0].sizes[:2])
    waves = {t // steps + (t + i) // others for t in range(600) for i in range(1, 199)}
    text = explain(kernel_reports(result, parse_sizes(["n=200", "steps=600"])))
    assert f"for each wavefront in order  {len(waves)}×\n" in text
    assert "hyperplanes phi, line 7: (t, t + i, t + j)\n" in text


def test_a_loop_that_does_not_run() -> None:
    text = explain(kernel_reports(planned("smooth"), parse_sizes(["J=0,I=5"])))
    assert re.search(r"for \(int j = 1; j <= J; j\+\+\) +0× +DOACROSS", text)
    assert re.search(r"for \(int i = 1; i <= I; i\+\+\) +5× +DOACROSS", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["n"], "--size n: write NAME=INTEGER, as in --size n=1024"),
        (["n=4.5"], "--size n=4.5: write NAME=INTEGER"),
        (["n=99999999999999999999"], "does not fit in 64 bits"),
        (["n=4", "n=5"], "--size n=5: n has another size already, 4"),
    ],
)
def test_sizes_that_are_none(words: list[str], said: str) -> None:
    with pytest.raises(CommandError) as refused:
        parse_sizes(words)
    assert said in str(refused.value)


def test_a_size_that_nothing_depends_on() -> None:
    with pytest.raises(CommandError) as refused:
        explain(kernel_reports(planned("smooth"), parse_sizes(["N=8"])))
    assert (
        str(refused.value) == "--size N: no kernel depends on that name; parameters are I, J (macros are set with -D)"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (8388608, "8.4 MB"), (999_960_000, "1.0 GB"), (10**19, "10.0 EB")],
)
def test_bytes(count: int, text: str) -> None:
    assert byte_text(count) == text


PRIVATE = """\
void f(int n, const double a[n][n], double x[n])
{
    double s;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        s = 0.0;
        for (int j = 0; j < n; j++)
            s = s + a[i][j];
        x[i] = s;
    }
}
"""


def test_a_private_scalar_orders_the_loop_that_needs_it() -> None:
    """The copy of s that each i has carries values over j, and nothing over i."""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=PRIVATE.encode(), last="choose_sizes"))))
    assert re.search(r"for \(int i = 0; i < n; i\+\+\) +DOALL\n", text)
    assert re.search(r"for \(int j = 0; j < n; j\+\+\) +sequential  carries flow, anti and output of s\n", text)
    assert re.search(r"S2 → S2 in \(i, j\) +flow, anti, output +\(0, 1\)  s → s\n", text)


def test_a_reduction_orders_nothing() -> None:
    source = "double f(int n, const double *x)\n{\n    double s = 0.0;\n#pragma tilek kernel data(x[0:n]) reduction(+: s) independent\n"
    source += "    for (int i = 0; i < n; i++)\n        s += x[i];\n    return s;\n}\n"
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    assert re.search(r"for \(int i = 0; i < n; i\+\+\) +DOALL\n", text)
    assert "dependences" not in text


def test_a_note_is_given_once() -> None:
    text = """void f(int n, double *a) {
#pragma tilek kernel data(a[0:n*n])
for (int i = 0; i < n; i++) a[i * i] = a[i * i] * 0.5;
}"""
    result = translate(TranslateRequest("squares.c", text=text.encode(), last="choose_sizes"))
    (nest,) = kernel_reports(result)[0].nests
    assert len(nest.notes) == len(set(nest.notes))
    assert sum("multiplies 'i'" in note for note in nest.notes) == 1


def test_iterators_that_the_user_has_not_written_are_explained() -> None:
    source = """
    void f(int n, double *a, const double *b) {
    #pragma tilek kernel
      for (int r = 1; r < n; r += 3) a[r] = b[r];
    }"""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    assert "  counted     r_index counts the iterations of the loop over r, line 4: r is (3 * r_index) + 1\n" in text
    assert text.count("  counted") == 1


def test_rows_are_seen_where_loops_have_steps_too() -> None:
    source = """
    void f(int n, float *restrict out, const float *restrict in) {
    #pragma tilek kernel
        for (int i = 3; i < n; i += 2)
            for (int j = i / 2; j < n - i % 7; j++)
                out[i * n + j] = in[(i - 1) * n + j];
    }"""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    assert text[text.index("  nest over") :].count("  DOALL\n") == 2
    assert "dependences, with" not in text


def test_loops_that_are_taken_apart_are_named() -> None:
    source = """
    void f(int n, double *a, int p) {
    #pragma tilek kernel
      for (int i = 0; i < n; i++) a[i] += a[p];
    }"""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    assert "  split       the loop over i, line 4, at p, which its other iterations read\n" in text


def launches_of(source: str) -> str:
    """What the report of the text's only kernel says before its nests."""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    return text[: text.index("  nest over")]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("b[i]", "  devices     launch g on several, blocks of i: reads a in rows i - 1 to i, writes b in row i\n"),
        (
            "b[x[i]]",
            "  rejected    several devices: launch g writes 'b' in rows that are not those of the loop over 'i'\n",
        ),
    ],
)
def test_how_devices_share_a_launch_or_why_not(target: str, said: str) -> None:
    text = (
        "void g(int n, const float *a, float *b, const int *x)\n{\n"
        "#pragma tilek kernel device(all) independent data(a[0:n], b[0:n], x[0:n])\n"
        f"    for (int i = 1; i < n; i++)\n        {target} = a[i] + a[i - 1];\n}}\n"
    )
    result = translate(TranslateRequest("several.c", text=text.encode(), last="choose_sizes"))
    assert said in explain(kernel_reports(result))


def test_what_neighbouring_workers_make_of_arrays() -> None:
    text = launches_of("""\
void turn(int n, int m, float a[n][m], const float b[n])
{
#pragma tilek kernel
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            a[i][j] *= b[i];
}
""")
    assert (
        "  on devices  launch turn, line 6  i_row: gangs 1 × workers 1, j_row: gangs 0 × workers 0\n"
        "                neighbours along j_row: b broadcast, a coalesced\n"
        "                along i_row they would have a strided by m\n"
    ) in text


def test_what_no_order_of_loops_coalesces() -> None:
    text = launches_of("""\
void mv(int n, int a[n][n], int **rows, int *restrict x, const int *y, const int *at)
{
#pragma tilek kernel independent data(a[0:n][0:n], mode:r) data(rows[0:n][0:n], x[0:n], y[0:n], at[0:n])
    for (int i = 0; i < n; i++) {
        x[n - 1 - i] = y[at[i]];
        for (int j = 0; j < n; j++)
            x[n - 1 - i] += a[i][j] * y[j] + rows[i][j];
    }
}
""")
    line = re.search(
        r"neighbours along i, which alone runs in parallel: ([^:]*?)\n +neither coalesced nor staged: (.*)\n", text
    )
    assert line is not None
    said = {phrase.strip() for phrase in " ".join(line[1].split()).split(",")}
    assert said == {
        "x coalesced",
        "a strided by n",
        "y scattered and broadcast",
        "rows strided by rows",
        "at coalesced",
    }
    assert line[2] == "a, rows", "of what the innermost loops read; where the user vouches, nothing is staged"


SCALED = """\
void scaled(long n, unsigned char *restrict a)
{
#pragma tilek kernel
    for (long i = 0; i < n; i++)
        a[i] /= 2;
}
"""


@pytest.mark.parametrize(
    ("size", "alone", "wide"),
    [("1", True, False), ("2", False, False), ("1073741824", False, False), ("1073741825", False, True)],
)
def test_sizes_that_leave_nothing_to_run_at_once_or_need_wide_indices(size: str, alone: bool, wide: bool) -> None:
    result = translate(TranslateRequest("t.c", text=SCALED.encode(), last="choose_sizes"))
    text = explain(kernel_reports(result, parse_sizes([f"n={size}"])))
    assert ("(one alone: nothing runs in parallel)" in text) == alone
    said = f"32-bit indices on devices: 'a' has {size} elements, more than 1073741824 (2^30)"
    assert (said in text) == wide


YEE = """
enum { NX = 15, NY = 17, NZ = 13 };
typedef double Field[NX][NY][NZ];
Field ex, ey, ez, hx, hy, hz;
void maxwell(int steps) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < NX - 1; i++)
      for (int j = 0; j < NY - 1; j++)
        for (int k = 0; k < NZ - 1; k++) {
          hx[i][j][k] += 0.4 * ((ey[i][j][k + 1] - ey[i][j][k]) - (ez[i][j + 1][k] - ez[i][j][k]));
          hy[i][j][k] += 0.4 * ((ez[i + 1][j][k] - ez[i][j][k]) - (ex[i][j][k + 1] - ex[i][j][k]));
          hz[i][j][k] += 0.4 * ((ex[i][j + 1][k] - ex[i][j][k]) - (ey[i + 1][j][k] - ey[i][j][k]));
        }
    for (int i = 1; i < NX - 1; i++)
      for (int j = 1; j < NY - 1; j++)
        for (int k = 1; k < NZ - 1; k++) {
          ex[i][j][k] += 0.5 * ((hz[i][j][k] - hz[i][j - 1][k]) - (hy[i][j][k] - hy[i][j][k - 1]));
          ey[i][j][k] += 0.5 * ((hx[i][j][k] - hx[i][j][k - 1]) - (hz[i][j][k] - hz[i - 1][j][k]));
          ez[i][j][k] += 0.5 * ((hy[i][j][k] - hy[i - 1][j][k]) - (hx[i][j][k] - hx[i][j - 1][k]));
        }
    ez[NX / 2][NY / 2][NZ / 2] += t * 0.125;
  }
}"""


def test_hyperplanes_that_would_take_for_ever_are_not_asked_for() -> None:
    """Extents that are short numbers give factors as great; with 40 unknowns isl's second integer
    program did not end in 10 minutes. The plan has parameters in their place, so that the loops
    that its wavefronts cross are known from it alone.
    """
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=YEE.encode(), last="choose_sizes"))))
    assert "hyperplanes phi, lines 11 to 13, 18 to 20: (t, t + i, t + j, t + k)\n" in text
    assert re.search(r"for \(int t = 0; t < steps; t\+\+\) +DOACROSS", text)


@pytest.mark.parametrize(
    ("element", "value", "said"),
    [
        ("float", "0.1 * a[i]", "devices need double precision (the expression at line 4, column 40)"),
        ("float", "a[i] > 0.5 ? 1.0f : a[i]", "devices need double precision (the expression at line 4, column 47)"),
        ("float", "0.1f * a[i]", None),
        ("double", "0.1 * a[i]", None),
    ],
)
def test_what_of_single_precision_needs_double_is_named(element: str, value: str, said: str | None) -> None:
    source = f"""void f(int n, {element} *a)
{{
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] = {value};
}}
"""
    text = explain(kernel_reports(translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))))
    (targets,) = re.findall(r"  targets +(.*(?:\n {14}.*)*)", text)
    assert " ".join(targets.split()) == "serial, threads, opencl, cuda" + (f"; {said}" if said else "")
