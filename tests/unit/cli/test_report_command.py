"""`tilepragma report` on a small database made here: a whole page without references, numbers that follow from the times, and errors."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tilepragma.cli import measurement_report, tilepragma
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import kernel_digest
from tilepragma.model.device import Memory, Processor
from tilepragma.report import png
from tilepragma.tuning.database import Environment, KernelKey, Outcome, Trial, database_path, opened

SOURCE = """\
void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
"""
ENVIRONMENT = Environment("threads", "a machine", "", "a machine", 4, "cc 1", "-O3", "", "0.1")
SMALL, LARGE = "t_size=8 t_i_size=8", "t_size=32 t_i_size=32"
#: Microseconds by input and version: nothing is the best at both.
TIMES = {
    "n=102,steps=10": {"default": 40.0, SMALL: 10.0, LARGE: 20.0},
    "n=1002,steps=10": {"default": 400.0, SMALL: 400.0, LARGE: 100.0},
}
MEMORIES = (Memory("L1", 2**15, 1, 1e11), Memory("DRAM", 2**34, 4, 1e10))
DEVICE = Processor("a machine", 4, 32, 64, 1e9, 1e11, 5e10, MEMORIES)
HEADINGS = ["At a glance", "sweep on threads", "What adapting is worth", "The rules", "Where it matters most"]


class Page(HTMLParser):
    """The words of each cell and heading, and what elements refer to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.headings: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        if {"h1", "h2", "h3"} & set(self.open):
            self.headings[-1] += data

    def row(self, name: str) -> list[str]:
        return next(row for row in self.rows if row[0] == name)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a source and measurements of its kernel, on a machine that is calibrated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(measurement_report, "calibrated", lambda _: DEVICE)
    Path("in.c").write_text(SOURCE)


@lru_cache
def digest(source: str) -> str:
    result = translate(TranslateRequest("in.c", text=source.encode(), last="choose_sizes", use_records=False))
    return kernel_digest(result, result.plans[0])


def measure(
    times: dict[str, dict[str, float]] = TIMES, source: str = SOURCE, name: str = "sweep", target: str = "threads"
) -> None:
    with opened(database_path()) as database:
        environment = replace(ENVIRONMENT, target=target)
        study = database.study(KernelKey("in.c", name, digest(source)), environment)
        for sizes, found in times.items():
            for version, time in found.items():
                study.add(Trial(version, sizes, 0), Outcome((1e-6 * time,), "", 0.1, "2026-01-02T03:04:05"))


def report(*arguments: str) -> int:
    return tilepragma.run(["report", *arguments])


def page(*arguments: str) -> Page:
    assert report(*arguments, "-o", "page.html") == 0
    return Page(Path("page.html").read_text())


def test_the_page_is_whole_and_refers_to_nothing_elsewhere() -> None:
    measure()
    result = page("in.c", "--note", "load 3 <of 4>")
    html = Path("page.html").read_text()
    assert result.open == []
    assert result.references != []
    assert all(reference.startswith("#") for reference in result.references)
    assert set(re.findall(r"https?://[^\"]*", html)) == {"http://www.w3.org/2000/svg"}
    assert not {"script", "link", "iframe", "img"} & set(result.tags)
    assert "url(" not in html
    assert "@import" not in html
    assert "@media print" in html
    assert "load 3 &lt;of 4&gt;" in html
    assert result.tags.count("figure") == result.tags.count("figcaption") == html.count('role="img"') == 5
    assert html.count("<desc>") == 5
    assert [each for each in HEADINGS if not any(heading.startswith(each) for heading in result.headings)] == []


def test_numbers_follow_from_the_times() -> None:
    """By hand, with three operations a point: SMALL does 0.3 and 0.075 GFLOP/s, LARGE 0.15 and 0.3,
    the default 0.075 and 0.075; the fastest do 0.3 at both.
    """
    measure()
    result = page("in.c")
    assert result.row("the fastest at each input (ideal)")[1:] == ["0.3", "0.3", "0.3", "1.33", "2.00"]
    assert result.row(f"best on average: {LARGE}")[1:] == ["0.225", "0.15", "0.3", "1.00", "1.00"]
    assert result.row("learned rules")[1:] == ["0.3", "0.3", "0.3", "1.33", "2.00"]
    assert result.row("default")[1:] == ["0.075", "0.075", "0.075", "0.33", "0.50"]
    assert result.row("sweep on threads")[1:] == ["2", "1.33", "2.00", "1.33", "2.00"]
    assert result.row(f"n=102,steps=10{SMALL}")[1:] == ["10 us", "40 us", "25%", "100%"]
    assert result.row(LARGE)[1:] == ["75.0%", "50.0%", "1"]
    html = Path("page.html").read_text()
    assert (
        "is the best on average, with 50% at its worst input, n=102,steps=10. The learned rules reach 100% everywhere"
        in html
    )
    assert "<li>t_size = 8, t_i_size = 8 for arrays up to" in html
    # 3e4 operations for 1002 numbers read and written: 37 GFLOP/s at 10 GB/s.
    assert "Below what DRAM allows: sweep on threads 0.8 %. Try" in html


def test_without_the_source_shares_are_what_counts() -> None:
    measure()
    result = page()
    assert result.row("the fastest at each input (ideal)")[1:] == ["100", "100", "100", "1.33", "2.00"]
    assert result.row(f"best on average: {LARGE}")[1:] == ["75", "50", "100", "1.00", "1.00"]
    assert result.row("sweep on threads")[-2:] == ["–", "–"]
    assert "tilepragma report IN.c" in Path("page.html").read_text()


def test_one_target_and_one_kernel_of_several() -> None:
    measure()
    measure(target="serial")
    measure(name="other")

    def titles(*arguments: str) -> list[str]:
        return [each.rpartition(" ")[0] for each in page(*arguments).headings if " on " in each]

    assert titles() == ["other on threads", "sweep on serial", "sweep on threads"]
    assert titles("--target", "serial, cuda") == ["sweep on serial"]
    assert titles("in.c", "--target", "threads") == ["sweep on threads"]
    assert titles("--kernel", "sweep") == ["sweep on serial", "sweep on threads"]


def test_standard_output_has_the_page_alone(capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    page("in.c")
    capsys.readouterr()
    assert report("in.c", "-o", "-") == 0
    assert capsys.readouterr().out == Path("page.html").read_text()
    assert sorted(path.name for path in Path().iterdir()) == ["data", "in.c", "page.html"]


def test_a_device_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement_report, "calibrated", lambda _: None)
    measure()
    assert page("in.c", "--device", "processor").tags.count("figure") == 5
    html = Path("page.html").read_text()
    assert "Roofline of a processor" in html
    assert "Predicted on a processor" in html


def test_a_program_that_was_measured_without_sizes() -> None:
    measure({"": {"default": 20.0, SMALL: 10.0}})
    result = page()
    assert result.row("sweep on threads")[1:4] == ["1", "1.00", "1.00"]
    html = Path("page.html").read_text()
    assert f"Of the 2 versions that ran at all of them {SMALL} is the best on average" in html
    assert "with 100% at its worst input, the program&#39;s own sizes." in html


def test_where_the_default_alone_ran_everywhere_there_is_no_comparison() -> None:
    measure({"n=102,steps=10": TIMES["n=102,steps=10"], "n=1002,steps=10": {"default": 400.0}})
    page("in.c")
    assert "The default alone ran at all of them, with 25% at its worst input" in Path("page.html").read_text()


def test_the_same_measurements_give_the_same_page() -> None:
    measure()
    page("in.c")
    first = Path("page.html").read_bytes()
    page("in.c")
    assert Path("page.html").read_bytes() == first


def test_without_a_calibrated_machine_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement_report, "calibrated", lambda _: None)
    measure()
    assert page("in.c").tags.count("figure") == 3
    html = Path("page.html").read_text()
    assert "No roofline of a machine, not calibrated here" in html
    assert "No predicted times: what it was measured on is not calibrated here" in html


def test_a_folder_gets_the_page_and_says_why_there_are_no_pictures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert report("-o", "new/folder") == 0
    said = capsys.readouterr()
    assert said.out == "new/folder/report.html\n"
    assert "PNGs need matplotlib: pip install 'tilepragma[report]'" in said.err
    assert [path.name for path in Path("new/folder").iterdir()] == ["report.html"]


def test_a_folder_gets_every_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    measure()
    monkeypatch.setattr("tilepragma.cli.measurement_report.png", lambda svg: svg[:4].encode())
    assert report("in.c", "-o", "folder") == 0
    assert sorted(path.name for path in Path("folder").iterdir()) == [
        "report.html",
        "roofline.png",
        *(f"sweep-threads-{name}.png" for name in ("adaptive", "inputs", "landscape", "measured")),
    ]


def test_names_from_elsewhere_stay_in_the_folder_and_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    measure(name="../<b>")
    monkeypatch.setattr("tilepragma.cli.measurement_report.png", lambda svg: b"")
    assert report("-o", "folder") == 0
    assert Path("folder/____b_-threads-inputs.png").is_file()
    assert "../&lt;b&gt; on threads" in Path("folder/report.html").read_text()
    assert [path.name for path in Path().iterdir() if path.suffix == ".png"] == []


def test_a_picture_as_png() -> None:
    pytest.importorskip("matplotlib")
    measure()
    assert report("-o", "folder") == 0
    drawn = Path("folder/sweep-threads-inputs.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><path d="M0 0L40 20" stroke="#000000"/></svg>'
    assert int.from_bytes(png.png(svg)[16:20], "big") == 40 * png.SCALE


def test_a_run_over_time_needs_no_measurements() -> None:
    own = {"target": "opencl", "bytes": 8, "kernel": "sweep"}
    events = [{"ph": "X", "ts": 0, "dur": 300, "cat": "copy in", "name": "copy in", "args": own}]
    events.append({"ph": "X", "ts": 300, "dur": 100, "cat": "kernel", "name": "sweep", "args": own})
    lines = ",\n".join(map(json.dumps, events))
    Path("trace.json").write_text(f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n]}}\n')
    assert page("--trace", "trace.json").headings == ["A run over time", "A run"]
    html = Path("page.html").read_text()
    assert "400 us from the first to the last, of which kernels 25%, copies 75%." in html
    assert "#pragma tilek data" in html


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 1, "nothing was measured yet; 'tilepragma tune IN.c --sizes NAME=RANGE' measures"),
        (("in.c",), 1, "nothing was measured yet"),
        (("in.c", "--kernel", "swep"), 1, "nothing was measured yet"),
        (("--trace", "none.json"), 2, "--trace none.json: No such file or directory"),
        (("--trace", "in.c"), 1, "--trace: in.c is no trace"),
        (("-o", "none/page.html"), 2, "-o none/page.html: there is no such folder"),
        (("-o", "in.c"), 2, "-o in.c: that is a file"),
        (("--target", "gpu"), 2, "--target: unknown target 'gpu'"),
        (("--device", "h200"), 2, "--device goes with a source"),
        (("-",), 2, "standard input has no measurements"),
    ],
)
def test_errors_without_measurements(
    arguments: tuple[str, ...], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _status(*arguments) == status
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir() if path.name != "data") == ["in.c"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--kernel", "swep"), 2, "--kernel swep: no kernel of that name was measured; did you mean 'sweep'?"),
        (("--kernel", "other"), 2, "measured are sweep"),
        (("in.c", "--kernel", "swep"), 2, "--kernel swep: no kernel of in.c is called so"),
        (("--target", "opencl"), 1, "nothing was measured on opencl yet"),
        (
            ("in.c", "--target", "opencl"),
            1,
            "in.c:3: error: kernel 'sweep' was not measured yet on opencl; measure it: ",
        ),
    ],
)
def test_errors_with_measurements(
    arguments: tuple[str, ...], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    measure()
    assert _status(*arguments) == status
    assert message in capsys.readouterr().err
    assert not Path("tilepragma-report").exists()


def _status(*arguments: str) -> int:
    try:
        return report(*arguments)
    except SystemExit as ended:  # argparse's way to say that usage is wrong
        return int(ended.code or 0)


def test_several_sources_stand_on_one_page() -> None:
    measure()
    Path("more.c").write_text(SOURCE.replace("/ 3", "/ 4").replace("sweep", "other"))
    measure(source=Path("more.c").read_text(), name="other")
    result = page("in.c", "-O3", "more.c")
    assert [each for each in result.headings if " on threads" in each] == [
        "sweep on threads in.c",
        "other on threads in.c",
    ]
    assert "<b>Roofline of a machine.</b>" in Path("page.html").read_text()
    assert page("in.c", "more.c", "--kernel", "other").row("other on threads")[1] == "2"


def test_a_second_source_with_errors(capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    Path("more.c").write_text("#pragma tilek kernel\nint x;\n")
    assert report("in.c", "more.c", "-o", "page.html") == 1
    assert "more.c:1:" in capsys.readouterr().err
    assert not Path("page.html").exists()


def test_another_text_of_the_kernel_has_other_measurements(capsys: pytest.CaptureFixture[str]) -> None:
    measure(source=SOURCE.replace("/ 3", "/ 4"))
    assert report("in.c", "-O3") == 1
    said = capsys.readouterr().err
    assert "kernel 'sweep' was measured with another text or other macros only" in said
    assert "tilepragma tune in.c --kernel sweep --sizes NAME=RANGE -O3" in said


def test_a_damaged_database_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    database_path().parent.mkdir()
    database_path().write_bytes(b"no database at all" * 100)
    assert report() == 1
    assert "measurements.sqlite is damaged" in capsys.readouterr().err
    assert database_path().read_bytes() == b"no database at all" * 100


def test_a_kernel_whose_default_never_ran(capsys: pytest.CaptureFixture[str]) -> None:
    measure({"n=102,steps=10": {SMALL: 1.0}})
    assert report() == 1
    said = capsys.readouterr().err
    assert "sweep on threads is left out: its default was measured at no input" in said
    assert "there is nothing to report" in said
