"""`tilepragma tune --quick` on programs that write the profile of a kernel as the runtime does, with times that are known."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tilepragma.cli import devices, tilepragma
from tilepragma.cli.devices import ListedDevice
from tilepragma.model.linear_model import Terms
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.sizes.ranked_layouts import Layout, Ranking
from tilepragma.tuning import kernel_tuning
from tilepragma.tuning.programs import Run

SOURCE = """\
void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
"""
SCALE = """\
void scale(int n, float *a)
{
#pragma tilek kernel data(a[0:n], mode:rw, live:inout)
#pragma tilek loop tile(gang) tile(worker) tile(dynamic)
    for (int i = 0; i < n; ++i)
        a[i] *= 2;
}
"""
WRITTEN = """\
int first(int n, const int *a)
{
    int k = 0;
#pragma tilek kernel
    for (int i = 0; i < n; ++i)
        k = a[k] + i;
    return k;
}
"""
EVENT = {"ph": "X", "ts": 0, "cat": "kernel", "name": "x"}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    Path("in.c").write_text(SOURCE)


def program(
    times: dict[str, int],
    otherwise: int = 1000,
    target: str = "threads",
    form: str = "host",
    more: str = "",
    takes: Sequence[dict[str, int]] = (),
) -> str:
    """A program whose kernel takes so many microseconds where TILEK_SIZES has the text, in launches
    that take such sizes by themselves (none: its profile does not say it). It notes what
    TILEK_SIZES says in the file `asked`.
    """
    own = {"target": target, "kernel": "sweep", "form": form, "source": "in.c", "line": 3}
    launches = [{**own, "tile sizes": sizes} for sizes in takes] or [own]
    events = [json.dumps({**EVENT, "dur": 0, "args": launch}).replace('"dur": 0', '"dur": %d') for launch in launches]
    cases = " ".join(f"*{text}*) us={us};;" for text, us in times.items())
    script = Path("program")
    script.write_text(
        f'#!/bin/sh\necho "$TILEK_SIZES" >> asked\n{more}\ncase "$TILEK_SIZES" in {cases} *) us={otherwise};; esac\n'
        'us=$((us / %d)); rm -f "$TILEK_PROFILE"\n'
        % len(events)
        + "\n".join(f'printf {shlex.quote(event)}"\\n" $us >> "$TILEK_PROFILE"' for event in events)
        + "\n"
    )
    script.chmod(0o755)
    return "./program"


def tune(command: str, *options: str) -> int:
    return tilepragma.run(["tune", "in.c", "--quick", *options, "--", *command.split()])


def ranked(monkeypatch: pytest.MonkeyPatch, reason: str = "") -> list[tuple[object, ...]]:
    """The model likes (64, 128) most, then (32, 32), then the default; it notes what it is asked."""
    asked: list[tuple[object, ...]] = []

    def rank(plan: KernelPlan, scalars: object, target: object, device: object, others: object) -> Ranking:
        asked.append((scalars, target, device))
        default = Layout((256, 16), 0.003)
        return Ranking(
            ("t_size", "t_i_size"), (Layout((64, 128), 0.001), Layout((32, 32), 0.002), default), default, reason
        )

    monkeypatch.setattr(kernel_tuning, "rank_layouts", rank)
    return asked


def kept() -> dict[str, dict[str, dict[str, object]]]:
    return json.loads(Path("in.tilek.json").read_text())["kernels"]  # type: ignore[no-any-return]


def test_the_fastest_is_kept_and_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ranked(monkeypatch)
    assert tune(program({"t_size=32": 500}), "--size", "n=4096,steps=7") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "TILEK_SIZES=sweep.t_size=32,sweep.t_i_size=32"
    rows = [line.split() for line in said if line.strip().startswith("t_size")]
    assert rows[0] == ["t_size=32", "t_i_size=32", "2", "2", "ms", "500", "us", "7", "0.500"]
    assert [row[-1] for row in rows] == ["0.500", "1.000", "1.000"]
    assert ["t_size=256", "t_i_size=16", "(default)", "3", "3", "ms"] in [row[:6] for row in rows]
    assert "  the fastest is t_size=32 t_i_size=32: 0.500 of the default's time" in said
    assert "  it is the model's number 2 of 3" in said
    own = kept()["sweep"]["host"]
    assert own["sizes"] == {"t_size": 32, "t_i_size": 32}
    assert (own["target"], own["seconds"], own["default_seconds"]) == ("threads", 0.0005, 0.001)
    assert own["machine"]
    assert str(own["date"])[:2] == "20"


def test_what_is_named_fastest_is_the_first_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """(64, 128) takes 700 us in most of its runs and 1200 in some, so that its median is the least; (32, 32) always takes 900."""
    ranked(monkeypatch)
    lucky = "us=700; case $(grep -c t_size=64 asked) in 4|6) us=1200;; esac"
    script = program({"t_size=32": 900})
    text = (
        Path(script)
        .read_text()
        .replace('case "$TILEK_SIZES" in ', f'case "$TILEK_SIZES" in *t_size=64*) {lucky};; ', 1)
    )
    Path(script).write_text(text)
    assert tune(script) == 0
    said = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in said if line.strip().startswith("t_size")]
    assert [row[0] for row in rows] == ["t_size=32", "t_size=256", "t_size=64"]
    assert [row[-1] for row in rows] == ["0.900", "1.000", "1.200"]
    assert "  the fastest is t_size=32 t_i_size=32: 0.900 of the default's time" in said
    assert any("a share that was reached in 4 of 5 rounds in turn with the default" in line for line in said)


def test_the_model_is_asked_for_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ranked(monkeypatch)
    tune(program({}), "--size", "n=4096", "steps=7", "--device", "h100")
    [(scalars, target, device)] = asked
    assert scalars == {"n": 4096, "steps": 7}
    assert getattr(target, "value", "") == "threads"
    assert "H100" in getattr(device, "name", "")


@pytest.mark.parametrize(
    ("form", "asked_for", "size_class"), [("host", "threads", "host"), ("device", "opencl", "device")]
)
def test_processors_under_opencl_have_the_hosts_sizes(
    monkeypatch: pytest.MonkeyPatch, form: str, asked_for: str, size_class: str
) -> None:
    asked = ranked(monkeypatch)
    monkeypatch.setattr(devices, "accelerators", list)
    assert tune(program({"t_i_size=128": 500}, target="opencl", form=form)) == 0
    assert getattr(asked[0][1], "value", "") == asked_for
    assert kept()["sweep"].keys() == {size_class}


@pytest.mark.parametrize(("said", "name"), [("", "one"), ("1", "two"), ("wo", "two"), ("7", "host"), ("three", "host")])
def test_the_device_is_that_of_the_runtime(monkeypatch: pytest.MonkeyPatch, said: str, name: str) -> None:
    here = [
        ListedDevice("opencl", 0, "one"),
        ListedDevice("opencl", 1, "two"),
        ListedDevice("cuda", None, "no driver"),
        ListedDevice("cuda", 0, "three"),
    ]
    monkeypatch.setattr(devices, "accelerators", lambda: here)
    monkeypatch.setattr(devices, "host_devices", lambda: [ListedDevice("threads", 0, "host")])
    monkeypatch.setenv("TILEK_DEVICE", said)
    assert devices.machine_of("opencl").name == name
    assert devices.machine_of("threads").name == "host"


def test_the_default_stays_where_nothing_is_faster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    assert tune(program({"t_size=32": 990})) == 0
    said = capsys.readouterr().out
    assert "the default is kept: no other is faster by 2%" in said
    assert "TILEK_SIZES" not in said
    assert not Path("in.tilek.json").exists()


def test_a_default_that_wins_takes_out_what_was_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    assert tune(program({"t_size=32": 500})) == 0
    assert tune(program({})) == 0
    assert "what was kept before is taken out of in.tilek.json" in capsys.readouterr().out
    assert kept() == {}


def test_no_keep(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ranked(monkeypatch)
    assert tune(program({"t_size=32": 500}), "--no-keep") == 0
    assert "TILEK_SIZES=sweep.t_size=32,sweep.t_i_size=32" in capsys.readouterr().out
    assert sorted(path.name for path in Path().iterdir()) == ["asked", "in.c", "program"]


def test_the_models_reason_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ranked(monkeypatch, "the sizes of n and steps are not known")
    assert tune(program({"t_size=32": 500})) == 0
    said = capsys.readouterr().out
    assert "the model did not order them: the sizes of n and steps are not known" in said
    assert "rank" not in said


def test_what_the_fitted_prices_say_of_the_winner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Launches cost ten times what the model takes them to cost, which the first runs show."""
    points, launches = [100.0, 101.0, 108.0, 102.0, 103.0], [10.0, 11.0, 5.0, 12.0, 20.0]
    terms = Terms(("points", "launches"), 1e-6 * np.array([points, launches]).T)
    layouts = tuple(Layout((64, 30 + place), seconds) for place, seconds in enumerate(terms.estimate.tolist()))
    found = Ranking(("t_size", "t_i_size"), layouts, layouts[0], terms=terms)
    monkeypatch.setattr(kernel_tuning, "rank_layouts", lambda *_: found)
    times = {f"t_i_size={30 + place}": round(one + 10 * launches[place]) for place, one in enumerate(points)}
    taken = {"t_size": 64, "t_i_size": 30}
    assert tune(program(times, otherwise=200, takes=[taken]), "--best", "4") == 0
    said = capsys.readouterr().out
    assert "the fastest is t_size=64 t_i_size=32" in said
    assert "it is the model's number 3 of 5" in said
    [line] = [line for line in said.splitlines() if "prices fitted" in line]
    assert line.startswith("  with its prices fitted to runs of the first ")
    assert ", number 1: " in line
    assert line.endswith(" predicted, 158 us measured")


def test_a_version_that_crashes_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    crash = 'case "$TILEK_SIZES" in *t_i_size=128*) kill -SEGV $$;; esac'
    assert tune(program({"t_size=32": 500}, more=crash)) == 0
    said = capsys.readouterr().out
    assert "was ended by signal 11 (SIGSEGV)" in said
    assert said.splitlines()[-1] == "TILEK_SIZES=sweep.t_size=32,sweep.t_i_size=32"


def test_a_version_that_hangs_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    monkeypatch.setattr(kernel_tuning, "LEAST_SECONDS", 1.0)
    hang = 'case "$TILEK_SIZES" in *t_i_size=128*) sleep 600;; esac'
    assert tune(program({"t_size=32": 500}, more=hang)) == 0
    said = capsys.readouterr().out
    assert "was stopped after " in said
    assert said.splitlines()[-1] == "TILEK_SIZES=sweep.t_size=32,sweep.t_i_size=32"


def test_what_falls_back_to_another_target_is_no_winner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    monkeypatch.setattr(devices, "accelerators", list)
    path = Path(program({"t_i_size=128": 500}, target="opencl", form="device"))
    fall = 's/"opencl"/"threads"/'
    lines = path.read_text() + f'case "$TILEK_SIZES" in *t_i_size=128*) sed -i \'{fall}\' "$TILEK_PROFILE";; esac\n'
    path.write_text(lines)
    assert tune("./program") == 0
    said = capsys.readouterr().out
    assert "ran the kernel on threads, not on opencl" in said
    assert "the default is kept" in said


def test_an_interrupt_tells_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    real, count = kernel_tuning.run, [0]

    def interrupted(command: Sequence[str], variables: dict[str, str], limit: float | None) -> Run:
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        return real(command, variables, limit)

    monkeypatch.setattr(kernel_tuning, "run", interrupted)
    assert tune(program({"t_size=32": 500})) == 130
    said = capsys.readouterr().out
    assert "t_size=256 t_i_size=16 (default)" in said
    assert said.splitlines()[-1] == "interrupted: nothing more is measured or kept"
    assert not Path("in.tilek.json").exists()


def test_sigterm_ends_it_as_an_interrupt_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here the program itself sends it, when it runs for the third time."""
    ranked(monkeypatch)
    before = signal.getsignal(signal.SIGTERM)
    end = "test $(wc -l < asked) -lt 4 || { kill -TERM $PPID; sleep 600; }"
    assert tune(program({"t_size=32": 500}, more=end)) == 143
    said = capsys.readouterr().out
    assert "t_size=256 t_i_size=16 (default)" in said
    assert said.splitlines()[-1] == "terminated: nothing more is measured or kept"
    assert not Path("in.tilek.json").exists()
    assert signal.getsignal(signal.SIGTERM) == before


# -- What the program takes by itself, and what was kept before


def rows_of(said: str) -> dict[str, list[str]]:
    """The rows of the table by their tile sizes, with the columns behind these."""
    lines = [line.split() for line in said.splitlines() if line.startswith("  t_size") and " the program " not in line]
    return {" ".join(words[:2]): words[2:] for words in lines}


def keep(t_size: int, t_i_size: int) -> str:
    """Writes such sizes beside the source; the text."""
    entry = {"sizes": {"t_size": t_size, "t_i_size": t_i_size}, "target": "threads"}
    Path("in.tilek.json").write_text(json.dumps({"version": 1, "kernels": {"sweep": {"host": entry}}}))
    return Path("in.tilek.json").read_text()


def asked_for() -> list[str]:
    """What TILEK_SIZES said, run by run."""
    return Path("asked").read_text().splitlines()


def test_the_default_is_what_the_program_takes_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    command = program({"t_size=32": 700, "t_size=256": 900}, otherwise=800, takes=[{"t_i_size": 8, "t_size": 4}])
    assert tune(command) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows["t_size=4 t_i_size=8"] == ["(default)", "800", "us", rows["t_size=4 t_i_size=8"][-2], "1.000"]
    assert rows["t_size=256 t_i_size=16"][-1] == "1.125", "what the plan takes is tried, as a layout among others"
    assert not any("t_size=4," in each for each in asked_for()), "the default need not be said"
    assert kept()["sweep"]["host"]["sizes"] == {"t_size": 32, "t_i_size": 32}


def test_what_the_program_takes_and_a_build_would_not_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    assert tune(program({}, takes=[{"t_size": 4, "t_i_size": 8}])) == 0
    said = capsys.readouterr().out
    assert "the default is kept" in said
    assert "TILEK_SIZES" not in said
    assert kept()["sweep"]["host"]["sizes"] == {"t_size": 4, "t_i_size": 8}


def test_what_was_kept_before_is_tried(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ranked(monkeypatch)
    keep(5, 7)
    command = program({"t_size=32": 700, "t_size=5": 500}, takes=[{"t_size": 256, "t_i_size": 16}])
    assert tune(command, "--best", "1") == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows["t_size=5 t_i_size=7"] == ["500", "us", "7", "0.500"]
    assert kept()["sweep"]["host"]["sizes"] == {"t_size": 5, "t_i_size": 7}


def test_a_program_that_takes_what_is_kept_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    text = keep(5, 7)
    assert tune(program({}, takes=[{"t_size": 5, "t_i_size": 7}])) == 0
    assert "the default is kept" in capsys.readouterr().out
    assert Path("in.tilek.json").read_text() == text


def test_what_a_build_takes_by_itself_need_not_be_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    keep(5, 7)
    assert tune(program({"t_i_size=16": 500}, takes=[{"t_size": 5, "t_i_size": 7}])) == 0
    said = capsys.readouterr().out
    assert "the fastest is t_size=256 t_i_size=16: 0.500" in said
    assert "what was kept before is taken out of in.tilek.json" in said
    assert said.splitlines()[-1] == "TILEK_SIZES=sweep.t_size=256,sweep.t_i_size=16"
    assert kept() == {}


def test_launches_may_take_several_layouts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ranked(monkeypatch)
    takes = [{"t_size": 4, "t_i_size": 8}, {"t_size": 4, "t_i_size": 16}, {"t_size": 4, "t_i_size": 8}]
    assert tune(program({"t_size=4,sweep.t_i_size=16": 600}, otherwise=900, takes=takes)) == 0
    said = capsys.readouterr().out
    assert "t_size=4 t_i_size=8, 1 more by launch (default)" in said
    rows = rows_of(said)
    assert rows["t_size=4 t_i_size=16"] == ["600", "us", "7", "0.667"]
    assert rows["t_size=4 t_i_size=8"][:2] == ["900", "us"], "each of them is tried for all launches, too"
    assert asked_for().count("sweep.t_size=4,sweep.t_i_size=8") >= 1
    assert kept()["sweep"]["host"]["sizes"] == {"t_size": 4, "t_i_size": 16}


def test_what_launches_would_choose_at_these_sizes_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    monkeypatch.setattr(
        kernel_tuning,
        "sizes_on_hosts",
        lambda _plan, numbers, _threads, by_opencl: (numbers["n"], 17 if by_opencl else 16),
    )
    assert tune(program({}, takes=[{"t_size": 256, "t_i_size": 16}]), "--size", "n=12,steps=7") == 0
    assert "t_size=12 t_i_size=16" in rows_of(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.c", "--best", "3", "--", "./program"], "--best goes with --quick"),
        (["-", "--budget", "3s"], "standard input cannot be tuned"),
        (["in.c", "--budget", "soon"], "--budget soon: write a time, as in 90s"),
        (["in.c", "--versions", "sizes,paper9"], "--versions: there is no family 'paper9'"),
        (["in.c", "--target", "threads,gpu"], "--target: unknown target 'gpu'"),
        (["in.c", "--target", "threads,opencl", "--", "./program"], "--target: name one target for a program of yours"),
        (["in.c", "--sizes", "n=4:2"], "--sizes n=4:2: 2 is less than 4"),
        (
            ["in.c", "--quick", "--budget", "3s", "--", "./program"],
            "--sizes, --budget, --versions, --again and --build are for the whole search",
        ),
        (["in.c", "--quick", "--target", "gpu", "--", "./program"], "--target: name one of"),
        (["in.c", "--quick"], "no program to run: name it last, built with tilecc before"),
        (["in.c", "--quick", "--"], "no program to run"),
        (["-", "--quick", "--", "./program"], "standard input cannot be tuned"),
        (["in.c", "--quick", "--best", "0", "--", "./program"], "--best 0: at least one layout"),
        (
            ["in.c", "--quick", "--size", "q=3", "--", "./program"],
            "--size q: no kernel depends on that name; parameters are n, steps",
        ),
        (
            ["in.c", "--quick", "--", "./no-such-program"],
            "./no-such-program cannot be started: No such file or directory; build it",
        ),
        (["no.c", "--quick", "--", "./program"], "no.c: No such file or directory"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    program({})
    assert tilepragma.run(["tune", *arguments]) == 2
    said = capsys.readouterr()
    assert f"tilepragma: error: {message}" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("options", "message"), [(["--bugdet", "3s"], "did you mean --budget?"), (["--quik"], "did you mean --quick?")]
)
def test_options_that_there_are_not(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        tilepragma.run(["tune", "in.c", *options, "--", "./program"])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_words_behind_the_program_are_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(monkeypatch)
    check = 'test "$*" = "--best 3 -- n=4" || exit 9'
    assert tune(program({}, more=check) + " --best 3 -- n=4") == 0, capsys.readouterr().err


@pytest.mark.parametrize(("name", "remedy"), [("swep", "did you mean 'sweep'?"), ("other", "kernels are sweep")])
def test_a_kernel_that_there_is_not(name: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(program({}), "--kernel", name) == 2
    said = capsys.readouterr().err
    assert f"--kernel {name}: no kernel of in.c is called so" in said
    assert remedy in said


def test_a_source_without_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text("int x;\n")
    assert tune(program({})) == 2
    assert "in.c has no kernel regions to tune" in capsys.readouterr().err


def test_a_source_with_errors(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text(SOURCE.replace("kernel", "kernle"))
    assert tune(program({})) == 1
    assert "in.c:3:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SCALE, "kernel 'scale' has no tile sizes that could be tuned"),
        (WRITTEN, "kernel 'first' runs the original loops"),
    ],
)
def test_kernels_without_sizes(source: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.c").write_text(source)
    assert tune(program({})) == 1
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("in.c:")


def test_sizes_that_the_target_does_not_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    default = Layout((256, 16))
    alone = Ranking(("t_size", "t_i_size"), (default,), default, "its tiles have no sizes to choose")
    monkeypatch.setattr(kernel_tuning, "rank_layouts", lambda *_: alone)
    assert tune(program({})) == 1
    assert "kernel 'sweep' has no tile sizes that could be tuned on threads" in capsys.readouterr().err
    assert len(asked_for()) == 1


def test_each_kernel_is_tuned_in_turn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ranked(monkeypatch)
    Path("in.c").write_text(SOURCE + SCALE + SOURCE.replace("sweep", "again"))
    script = Path(program({"sweep.t_size=32": 500, "again.t_i_size=128": 400}))
    lines = script.read_text().splitlines()
    script.write_text("\n".join([*lines, lines[-1].replace('"sweep"', '"again"')]) + "\n")
    assert tune("./program") == 0
    said = capsys.readouterr()
    assert "kernel 'scale' has no tile sizes" in said.err
    assert said.out.splitlines()[-1] == (
        "TILEK_SIZES=sweep.t_size=32,sweep.t_i_size=32,again.t_size=64,again.t_i_size=128"
    )
    assert kept().keys() == {"sweep", "again"}
    Path("in.tilek.json").unlink()
    assert tune("./program", "--kernel", "again") == 0
    assert kept().keys() == {"again"}


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"more": "echo no luck >&2; exit 3"}, [], "./program ended with status 3: no luck"),
        ({"more": "exit 0"}, [], "./program wrote no profile: was it built with tilecc"),
        ({"more": 'test -z "$TILEK_SIZES" || exit 4'}, [], "./program ended with status 4"),
        ({}, ["--target", "serial"], "kernel 'sweep' ran on threads, not on serial"),
        ({"target": "auto"}, [], "kernel 'sweep' ran on auto, where sizes are of no use"),
        ({"more": 'echo > "$TILEK_PROFILE"; exit 0'}, [], "kernel 'sweep' was never launched in this run"),
        (
            {"takes": [{"i_size": 3}]},
            [],
            "kernel 'sweep' has the tile sizes t_size, t_i_size here, but i_size in the program: it was built from another",
        ),
        (
            {"more": 'test -z "$TILEK_SIZES" || echo "TILEK_SIZES names sweep.t_size, and no" >&2'},
            [],
            "./program has no tile size sweep.t_size: it was built from another source",
        ),
    ],
)
def test_programs_that_are_of_no_use(
    options: dict[str, str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(program({}, **options), *arguments) == 1  # type: ignore[arg-type]
    assert message in capsys.readouterr().err
    assert not Path("in.tilek.json").exists()


@pytest.mark.parametrize(
    ("kind", "reason"), [("folder", "it is a folder"), ("pipe", "it is a pipe"), ("closed", "Permission")]
)
@pytest.mark.parametrize("options", [["--quick"], ["--budget", "1s"]])
def test_what_could_not_be_kept_is_said_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str, reason: str, options: list[str]
) -> None:
    ranked(monkeypatch)
    if kind == "folder":
        Path("in.tilek.json").mkdir()
    elif kind == "pipe":
        os.mkfifo("in.tilek.json")
    else:

        def closed(dir: Path) -> None:
            raise PermissionError(13, "Permission denied", str(dir))

        monkeypatch.setattr("tilepragma.cli.tune.tempfile.TemporaryFile", closed)
    command = program({"t_size=32": 500})
    assert tilepragma.run(["tune", "in.c", *options, "--", *command.split()]) == 1
    said = capsys.readouterr()
    assert f"what is found could not be kept: in.tilek.json: {reason}" in said.err
    assert "--no-keep measures all the same" in said.err
    assert said.out == ""
