"""`tilepragma tune` on programs that write the profile of a kernel as the runtime does, with times that are known; and what is handed on."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from tilepragma.cli import tilepragma
from tilepragma.cli.exploration_programs import that_matter
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import calling_program
from tilepragma.model.linear_model import Terms
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.sizes.ranked_layouts import Layout, Ranking
from tilepragma.tuning import trial_versions
from tilepragma.tuning.database import Measurement, database_path, opened
from tilepragma.tuning.size_ranges import parse_ranges, sizes_text

SOURCE = """\
void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
"""
DEFAULT = (256, 16)
LAYOUTS = ((64, 128), (32, 32), (8, 8), DEFAULT)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a source and no measurements, and a model that likes (64, 128) most."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TILEK_DATA_DIR", str(tmp_path / "data"))
    Path("in.c").write_text(SOURCE)

    def rank(plan: KernelPlan, scalars: object, target: object, device: object) -> Ranking:
        layouts = tuple(Layout(sizes, 0.001 * place) for place, sizes in enumerate(LAYOUTS, 1))
        return Ranking(("t_size", "t_i_size"), layouts, layouts[-1])

    monkeypatch.setattr(trial_versions, "rank_layouts", rank)


def program(case: str = "*) us=1000;;", target: str = "threads", **more: object) -> str:
    """A program whose kernel takes what the case of a shell says for "$1 $TILEK_SIZES". It notes each run in the file `asked`."""
    own = {"target": target, "kernel": "sweep", "form": "host", "source": "in.c", "line": 3, **more}
    event = json.dumps({"ph": "X", "ts": 0, "cat": "kernel", "name": "x", "dur": 0, "args": own}).replace(
        '"dur": 0', '"dur": %d'
    )
    script = Path("program")
    script.write_text(
        f'#!/bin/sh\necho "$1 $TILEK_SIZES" >> asked\ncase "$1 $TILEK_SIZES" in {case} esac\n'
        f"printf '{event}\\n' $us > \"$TILEK_PROFILE\"\n"
    )
    script.chmod(0o755)
    return "./program"


def tune(*options: str, command: tuple[str, ...]) -> int:
    return tilepragma.run(["tune", "in.c", *options, "--", *command])


def measured() -> list[Measurement]:
    with opened(database_path()) as database:
        return list(database.measurements())


def rows(said: str) -> list[list[str]]:
    return [line.split() for line in said.splitlines() if line.strip().startswith("n=")]


def test_the_fastest_of_each_size_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    command = (program('"64 "*t_size=8,*) us=500;; "128 "*t_size=32,*) us=100;; *) us=1000;;'), "{n}", "{x}")
    assert tune("--sizes", "n=64:128:x2", "--target", "threads", command=command) == 0
    assert rows(capsys.readouterr().out) == [
        ["n=64", "t_size=8", "t_i_size=8", "500", "us", "0.500", "4", "4", "of", "4"],
        ["n=128", "t_size=32", "t_i_size=32", "100", "us", "0.100", "3", "4", "of", "4"],
    ]
    result = measured()
    assert {each.trial.version for each in result} == {
        "default",
        "t_size=64 t_i_size=128",
        "t_size=32 t_i_size=32",
        "t_size=8 t_i_size=8",
    }
    assert {each.environment.target for each in result} == {"threads"}
    assert {each.environment.program for each in result} == {"./program '{n}' '{x}'"}
    assert result[0].kernel.name == "sweep"
    assert result[0].outcome.seconds == (0.001,)
    assert result[0].outcome.date[:2] == "20"


def test_tiles_beyond_the_loops_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of (64, 128) and (64, 256) the same work is predicted, and both hold all of 64 points and 64
    # steps.
    sizes = ((64, 128), (64, 256), (64, 32), (128, 512), DEFAULT)
    work = (2.0, 2.0, 2.0, 3.0, 4.0)
    layouts = tuple(Layout(one, seconds) for one, seconds in zip(sizes, work, strict=True))
    terms = Terms(("points",), np.array([[seconds] for seconds in work]))
    ranking = Ranking(("t_size", "t_i_size"), layouts, layouts[-1], terms=terms)
    monkeypatch.setattr(trial_versions, "rank_layouts", lambda *_: ranking)
    assert tune("--sizes", "n=64,steps=64", command=(program(), "{n}")) == 0
    assert {each.trial.version for each in measured()} == {
        *("default", "t_size=64 t_i_size=128", "t_size=64 t_i_size=32", "t_size=128 t_i_size=512"),
    }


def test_rules_are_learned_and_kept_beside_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    command = (program('"64 "*t_size=8,*) us=500;; "256 "*t_size=32,*) us=100;; *) us=1000;;'), "{n}")
    assert tune("--sizes", "n=64:256:x4,steps=7", "--no-keep", command=command) == 0
    assert not Path("in.tilek.json").exists()
    assert tune("--sizes", "n=64,steps=7", command=command) == 0
    assert len(json.loads(Path("in.tilek.json").read_text())["kernels"]["sweep"]["host"]["choices"]) == 2, (
        "what was measured before at other sizes counts"
    )
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for line in (
        "t_size = 8, t_i_size = 8 for arrays up to 512 B",
        "t_size = 32, t_i_size = 32 for arrays up to 1.0 kB",
        "these 2 rules reach 100.0% of the best at every size, 100.0% on average; "
        "the best layout for all sizes 50.0% of the best at every size, 75.0% on average; "
        "the default 10.0% of the best at every size, 30.0% on average",
        "kept in in.tilek.json, where the translator looks for it: build again (touch in.c)",
    ):
        assert said.count(line) == (1 if "kept" in line else 2), line
    kept = json.loads(Path("in.tilek.json").read_text())["kernels"]["sweep"]["host"]
    assert kept["least_bytes"] == 256
    assert [each["bytes"] for each in kept["choices"]] == [512, 1024]
    assert tilepragma.run(["explain", "in.c"]) == 0
    explained = " ".join(capsys.readouterr().out.split())
    assert (
        "t_size = 8, t_i_size = 8 for arrays up to 512 B; t_size = 32, t_i_size = 32 for arrays up to 1.0 kB"
        in explained
    )
    assert tune("--sizes", "n=64:256:x4,steps=7", "--again", command=(program(), "{n}")) == 0
    assert "the default is kept: it reaches 100.0% of the best at every size" in capsys.readouterr().out
    assert json.loads(Path("in.tilek.json").read_text())["kernels"] == {}


def built_program(us: str) -> list[str]:
    """The options and the words of a program whose build notes what it is to try, and which runs
    what it was built with: `us` is a shell's case of the version's text and the first argument.
    """
    event = {"ph": "X", "ts": 0, "cat": "kernel", "name": "x", "dur": 0}
    event["args"] = {"target": "threads", "kernel": "sweep", "form": "host", "source": "in.c", "version text": "TEXT"}
    line = json.dumps(event).replace('"dur": 0', '"dur": %d').replace("TEXT", "%s")
    Path("program").write_text(
        f'#!/bin/sh\ntext=$(sed -n ${{TILEK_VERSION:-0}}p tried 2>/dev/null)\ncase "$text $1" in {us} esac\n'
        f'printf \'{line}\\n\' $us "$text" > "$TILEK_PROFILE"\n'
    )
    Path("program").chmod(0o755)
    Path("build").write_text(
        'test -n "$TILEK_CANDIDATES" || { echo plain >> builds; exec rm -f tried; }\necho versions >> builds\n'
        'python3 -c \'import json, sys; print(*json.load(open(sys.argv[1]))["kernels"]["sweep"], sep="\\n")\' '
        '"$TILEK_CANDIDATES" > tried\n'
    )
    return ["--build", "sh ./build"]


def test_versions_are_tried_in_a_program_that_is_built_anew(capsys: pytest.CaptureFixture[str]) -> None:
    options = built_program('"unroll(2) 64") us=100;; "unroll(4) 256") us=200;; *) us=1000;;')
    before = Path("in.c").stat().st_mtime_ns
    sizes = ("--sizes", "n=64:256:x4,steps=7", "--versions", "unroll")
    assert tune(*options, *sizes, command=("./program", "{n}")) == 0
    assert Path("in.c").stat().st_mtime_ns > before, "for make to see that it has to"
    assert Path("builds").read_text().split() == ["plain", "versions", "plain"]
    result = {
        (each.trial.version, each.trial.sizes): each.outcome.seconds for each in measured() if not each.trial.attempt
    }
    assert result["unroll(2)", "n=64,steps=7"] == pytest.approx((0.0001,))
    assert result["unroll(8)", "n=64,steps=7"] == result["default", "n=256,steps=7"] == pytest.approx((0.001,))
    assert {each.environment.program for each in measured()} == {"sh ./build && ./program '{n}'"}
    kept = json.loads(Path("in.tilek.json").read_text())["kernels"]["sweep"]["host"]
    assert [each["version"] for each in kept["choices"]] == ["unroll(2)", "unroll(4)"]
    said = capsys.readouterr().out
    assert "version 1 for arrays up to 512 B" in said
    assert "the program is built again as it stands: sh ./build" in said
    assert "build again (touch" not in said


def test_an_interrupted_search_builds_the_program_again(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = built_program('"unroll(4) x") kill -INT $PPID; sleep 600;; *) us=1000;;')
    try:
        assert tune(*options, "--versions", "unroll", command=("./program", "x")) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert Path("builds").read_text().split() == ["plain", "versions", "plain"]
    assert not Path("tried").exists()
    assert "interrupted: what was measured is kept" in capsys.readouterr().out


def test_a_program_that_is_not_built_with_the_versions(capsys: pytest.CaptureFixture[str]) -> None:
    built_program("*) us=1000;;")
    command = ("./program", "{n}")
    for build, message in (
        ("true", "kernel 'sweep' has none of the versions to try in its program after 'true'"),
        ("echo 'in.c:3: error: no' >&2; false", "kernel 'sweep' cannot be tried: its program is not built: no"),
        ("exit 3", "kernel 'sweep' cannot be tried: its program is not built: its command ended with status 3"),
    ):
        assert tune("--build", build, "--versions", "unroll", command=command) == 1
        assert message in capsys.readouterr().err
    assert measured() == []
    assert tune("--versions", "unroll", command=command) == 2
    assert "--versions: unroll needs the program to be built again: say how, as in  --build" in capsys.readouterr().err
    assert tilepragma.run(["tune", "in.c", "--build", "make"]) == 2
    assert "--build goes with a program of yours" in capsys.readouterr().err


def test_sizes_that_do_not_tell_launches_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--sizes", "n=64", command=(program("*t_size=8,*) us=1;; *) us=9;;"), "{n}")) == 0
    assert "nothing is kept beside the source: 'steps' has no known value; --sizes should say all" in " ".join(
        capsys.readouterr().out.split()
    )
    assert not Path("in.tilek.json").exists()


def test_devices_have_rules_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    case = '"64 "*t_size=8,*) us=500;; "256 "*t_size=32,*) us=100;; *) us=1000;;'
    program(case, target="opencl")
    script = Path("program")
    script.write_text(script.read_text().replace('"form": "host"', '"form": "device"'))
    assert tune("--sizes", "n=64:256:x4,steps=7", "--target", "opencl", command=("./program", "{n}")) == 0
    kept = json.loads(Path("in.tilek.json").read_text())["kernels"]["sweep"]
    assert kept.keys() == {"device"}
    sizes = [each["sizes"] for each in kept["device"]["choices"]]
    assert sizes == [{"t_size": 8, "t_i_size": 8}, {"t_size": 32, "t_i_size": 32}]
    assert kept["device"]["least_share_of_best"] == 1.0
    [plan] = translate(TranslateRequest("in.c")).plans
    assert [choice.sizes for choice in plan.device_choices][-2:] == [(8, 8), (32, 32)]
    assert plan.choices == ()


def test_what_was_measured_is_not_measured_again(capsys: pytest.CaptureFixture[str]) -> None:
    command = (program(), "{n}")
    assert tune("--sizes", "n=64", command=command) == 0
    runs, first = len(Path("asked").read_text().splitlines()), measured()
    assert runs == 1 + len(first), "and the first run, which says where the program runs"
    Path("in.c").write_text("/* formatted */\n" + SOURCE.replace("    ", "\t"))
    assert tune("--sizes", "n=64", command=command) == 0
    assert measured() == first
    assert len(Path("asked").read_text().splitlines()) == runs + 1
    assert tune("--sizes", "n=64", "--again", command=command) == 0
    assert len(Path("asked").read_text().splitlines()) == 2 * runs + 1
    assert len(measured()) == len(first)


def test_a_version_that_crashes_costs_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(command=(program("*t_size=64,*) kill -SEGV $$;; *) us=10;;"), "x")) == 0
    said = capsys.readouterr().out
    assert "t_size=64 t_i_size=128: the program was ended by signal 11 (SIGSEGV)" in said
    assert sum(bool(each.outcome.failure) for each in measured()) == 1


@pytest.mark.parametrize(("sent", "status", "said_first"), [("INT", 130, "interrupted"), ("TERM", 143, "terminated")])
def test_an_interruption_keeps_what_was_measured(
    sent: str, status: int, said_first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = (program(f'*) us=10; if test "$(wc -l < asked)" = 4; then kill -{sent} $PPID; sleep 600; fi ;;'), "x")
    try:
        assert tune(command=command) == status
    finally:
        signal.signal(signal.SIGINT, before)
    assert f"{said_first}: what was measured is kept; the same command goes on from there" in capsys.readouterr().out
    assert len(measured()) == 2
    assert tune(command=command) == 0
    assert len(measured()) > 4


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("*) exit 3;;", "kernel 'sweep' cannot be measured: its program ended with status 3"),
        ("*) us=1; TILEK_PROFILE=/dev/null;;", "wrote no profile: was it built with tilecc"),
    ],
)
def test_programs_that_cannot_be_measured(case: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(command=(program(case), "x")) == 1
    assert message in capsys.readouterr().err
    assert measured() == []


def test_a_device_that_vanishes_in_the_middle(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(command=(program('*) us=5; test "$(wc -l < asked)" -lt 5 || exit 9;;'), "x")) == 1
    said = capsys.readouterr()
    assert "cannot be measured any more: its program ended with status 9; what was measured is kept" in said.err
    assert "sweep on threads" in said.out
    assert [each.outcome.failure for each in measured()] == [""] * 3


def test_a_program_that_was_built_of_another_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(command=(program(**{"tile sizes": {"i_size": 4}}), "x")) == 1
    said = capsys.readouterr().err
    assert (
        "has the tile sizes t_size, t_i_size here, but i_size in the program: it was built from another source" in said
    )
    assert measured() == []


def test_another_target_than_the_one_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--target", "opencl", command=(program(), "x")) == 1
    assert "its program ran the kernel on threads, not on opencl" in capsys.readouterr().err


def test_a_program_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(command=("./none",)) == 2
    assert "./none cannot be started: No such file or directory; build it first" in capsys.readouterr().err


def test_sizes_that_the_program_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--sizes", "n=64:128:x2,steps=5", command=(program(), "64")) == 2
    assert "--sizes n: write {n} where the program's arguments have it" in capsys.readouterr().err
    assert not Path("asked").exists()


def test_budgets_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--budget", "0s", command=(program(),)) == 2
    assert "--budget 0s: write a time, as in 90s, 10m or 2h" in capsys.readouterr().err


def test_what_a_kernel_has_no_use_for_is_left_to_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    never = SOURCE.replace("sweep", "never")
    Path("in.c").write_text(never + SOURCE)
    assert tune("--sizes", "n=64", "--budget", "0.001s", command=(program(),)) == 0
    said = capsys.readouterr()
    assert "kernel 'never' was never launched" in said.err
    assert "the budget of 0.001 s is spent" in said.out


def test_sizes_of_another_kernel_are_none_of_this_one() -> None:
    scale = (
        "void scale(int m, float *a)\n{\n#pragma tilek kernel\n    for (int i = 0; i < m; ++i)\n        a[i] *= 2;\n}\n"
    )
    Path("in.c").write_text(SOURCE + scale)
    result = translate(TranslateRequest("in.c", last="verify"))
    points = {sizes_text(each): each for each in parse_ranges(["n=64:256:x2,m=5"])}
    texts = [list(that_matter(plan, calling_program(result, plan), points)) for plan in result.plans]
    assert texts == [["n=64", "n=128", "n=256"], ["m=5"]]


def test_sizes_that_no_kernel_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--sizes", "q=3", command=(program(), "x")) == 2
    assert "q: no kernel depends on that name; parameters are n, steps" in capsys.readouterr().err


def test_a_damaged_database(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data").mkdir()
    Path("data/measurements.sqlite").write_text("no database" * 100)
    assert tune(command=(program(), "x")) == 1
    assert "measurements.sqlite is damaged (file is not a database): move it away" in capsys.readouterr().err


def test_a_function_that_cannot_be_called(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text(SOURCE.replace("float *a)", "float *a, void *other)"))
    assert tilepragma.run(["tune", "in.c", "--sizes", "n=64,steps=3"]) == 1
    said = capsys.readouterr().err
    assert (
        "in.c:3:1: error: kernel 'sweep' cannot be called: its function 'sweep' has a parameter 'other' that is neither"
        in said
    )
    assert "give a program that calls it: -- ./program arguments" in said


def test_all_numbers_that_are_missing_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["tune", "in.c", "--target", "threads,threads"]) == 1
    said = capsys.readouterr().err
    assert said.count("depends on steps and n, of which no number is known: say --sizes steps=…,n=…") == 1


def test_sizes_that_do_not_fit_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["tune", "in.c", "--sizes", "n=1000000000000,steps=3"]) == 1
    said = capsys.readouterr()
    assert "sweep at n=1000000000000,steps=3 is left out: its arrays take 4000.0 GB" in said.out
    assert "kernel 'sweep' has no sizes that fit in memory" in said.err


def test_measurements_are_handed_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert tilepragma.run(["tune", "--export", "-"]) == 1
    assert "nothing was measured yet" in capsys.readouterr().err
    assert tune(command=(program(), "x")) == 0
    assert tilepragma.run(["tune", "--export", "all.jsonl"]) == 0
    there = measured()
    monkeypatch.setenv("TILEK_DATA_DIR", "elsewhere")
    assert tilepragma.run(["tune", "--merge", "all.jsonl"]) == 0
    assert f"{len(there)} measurements that were not here before" in capsys.readouterr().out
    assert measured() == there
    Path("all.jsonl").write_text(Path("all.jsonl").read_text()[:-20])
    assert tilepragma.run(["tune", "--merge", "all.jsonl"]) == 1
    assert "all.jsonl: line " in capsys.readouterr().err
    assert tilepragma.run(["tune", "--merge", "none.jsonl"]) == 2
    with pytest.raises(SystemExit):
        tilepragma.run(["tune", "in.c", "--merge", "all.jsonl"])
    with pytest.raises(SystemExit):
        tilepragma.run(["tune"])
    assert "required: IN.c" in capsys.readouterr().err
