"""The runtime's core in C, on a device in host memory: plain, and under the address, undefined-behaviour and thread sanitizers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tilepragma.cli.runtime_library import runtime_includes, runtime_sources

HERE = Path(__file__).parent
#: Folders of sources that talk to real devices; the fake device stands in for them.
DEVICE_FOLDERS = ("common", "cuda", "opencl")

VARIANTS = {
    "plain": ("-O2",),
    "address": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-O1", "-fsanitize=thread"),
}

ON_EVERY_TARGET = (
    "trips tiles reductions launches twice sums ordered_zeros rows declines queues concurrency parallel cores forks "  # noqa: SIM905
    "steps steps_queued steps_concurrent graphs_queued".split()
)
ON_THE_DEVICE = [
    "specialises",
    "fewer_workers",
    "failures",
    "lost_write",
    "lost_run",
    "lost_wait",
    "lost_read",
    "lost_result_small",
    "lost_result_large",
    "scarce_memory",
    "data_region",
    "coherence",
    "create_and_present",
    "kept_values",
    "fetched_values",
    "steps_differ",
    "steps_lost",
    "steps_copies",
    "steps_unreached",
    "steps_workers",
    "steps_points",
    "steps_spread",
    "processors",
    "distant_processors",
    "graphs",
    "graphs_rarely",
    "graphs_elsewhere",
    "graphs_refused",
    "graphs_lost",
    "graphs_concurrent",
    "divided",
    "divided_far",
    "divided_overlaps",
    "divided_programs",
    "divided_alone",
    "divided_scarce",
    "divided_lost_write",
    "divided_lost_run",
    "divided_lost_wait",
    "divided_lost_result",
    "divided_present",
    "held_rows",
    "flags_of_many_sizes",
    "flags_and_boxes",
    "flags_scarce",
    "flags_concurrent",
    "columns_of_wavefronts",
]


def run(program: Path, case: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TILEK_")}
    return subprocess.run(
        [program, case], env=clean | environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="session", params=VARIANTS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    core = [path for path in runtime_sources() if path.parent.name not in DEVICE_FOLDERS]
    tests = [
        HERE / name
        for name in (
            "cases.c",
            "part_cases.c",
            "steps_cases.c",
            "wavefront_cases.c",
            "graph_cases.c",
            "partition_cases.c",
            "online_tuning_cases.c",
            "persistent_cases.c",
            "fault_cases.c",
            "kernels.c",
            "fake_backend.c",
        )
    ]
    output = tmp_path_factory.mktemp("core") / request.param
    flags = [
        "-std=c99",
        "-DTILEK_CHECK_LOCKS",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-g",
        "-pthread",
        *VARIANTS[request.param],
    ]
    done = subprocess.run(
        ["cc", *flags, *runtime_includes(), *core, *tests, "-ldl", "-lm", "-o", output],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.parametrize("target", ["serial", "threads", "opencl"])
@pytest.mark.parametrize("case", ON_EVERY_TARGET)
def test_on_every_target(program: Path, case: str, target: str) -> None:
    if case == "forks" and program.name == "thread":
        pytest.skip("the thread sanitizer does not follow a fork of a threaded program")
    done = run(program, case, TILEK_TARGET=target)
    assert done.returncode == 0, done.stderr


def test_threads_without_a_part_sleep_on(program: Path) -> None:
    done = run(program, "spare_threads")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", ["waves", "waves_apart"])
def test_tiles_of_wavefronts(program: Path, case: str) -> None:
    done = run(program, case)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "case", ["adapts", "adapts_to_many", "adapts_concurrently", "adapts_to_failures", "adapts_apart", "versions_adapt"]
)
def test_adaptation(program: Path, case: str) -> None:
    done = run(program, case, TILEK_ADAPT="1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", ["adapts_not", "versions_by_rules"])
def test_nothing_adapts_unasked(program: Path, case: str) -> None:
    done = run(program, case)
    assert done.returncode == 0, done.stderr


def test_a_version_that_is_asked_for(program: Path) -> None:
    done = run(program, "versions_as_said", TILEK_VERSION="1", TILEK_ADAPT="1")
    assert done.returncode == 0, done.stderr
    assert run(program, "versions_by_rules", TILEK_VERSION="2").returncode == 1, "there are no such"


def test_profiles_say_what_was_learned(program: Path) -> None:
    result = run(program, "adapts", TILEK_ADAPT="1", TILEK_PROFILE="1").stderr
    assert "  delayed on threads, arrays below 64 bytes" not in result
    assert "  delayed on threads, arrays below 128 bytes, below 128 iterations: takes size=5, of 3\n" in result


def test_a_trial_ends_though_a_version_is_declined(program: Path) -> None:
    done = run(program, "versions_declined", TILEK_ADAPT="1", TILEK_PROFILE="1")
    assert done.returncode == 0, done.stderr
    assert ": takes version 0 size=4, of 4\n" in done.stderr


@pytest.mark.parametrize("case", ON_THE_DEVICE)
def test_on_the_device(program: Path, case: str) -> None:
    done = run(program, case, TILEK_TARGET="opencl")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("case", "target"),
    [("own_arrays", "opencl"), ("own_arrays_of_devices", "threads"), ("own_arrays_of_devices", "serial")],
)
def test_cores_have_no_arrays_of_devices(program: Path, case: str, target: str) -> None:
    done = run(program, case, TILEK_TARGET=target)
    assert done.returncode == 0, done.stderr


def test_parametric_program(program: Path) -> None:
    for case in ("specialises", "steps"):
        done = run(program, case, TILEK_TARGET="opencl", TILEK_SPECIALIZE="0")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("case", "count"), [("failures", 2), ("lost_write", 1), ("lost_run", 1), ("lost_read", 1)])
def test_each_failure_costs_one_warning(program: Path, case: str, count: int) -> None:
    done = run(program, case, TILEK_TARGET="opencl")
    warnings = done.stderr.splitlines()
    assert len(warnings) == len(set(warnings)) == count
    assert all(
        "cannot run on opencl: the fake device fails to" in line and "it runs on threads instead" in line
        for line in warnings
    )


@pytest.mark.parametrize(
    ("case", "message"), [("failures", "fails to allocate"), ("create_and_present", "only partly present")]
)
def test_strict_makes_errors(program: Path, case: str, message: str) -> None:
    done = run(program, case, TILEK_TARGET="opencl", TILEK_STRICT="1")
    assert done.returncode == 71
    assert "error:" in done.stderr
    assert message in done.stderr


def test_failure_in_a_queue(program: Path) -> None:
    assert run(program, "lost_in_queue", TILEK_TARGET="opencl").returncode == 0
    done = run(program, "lost_in_queue", TILEK_TARGET="opencl", TILEK_STRICT="1", TILEK_PROFILE="1")
    assert done.returncode == 71
    assert "the fake device fails to finish a kernel" in done.stderr
    assert "launches" in done.stderr, "what was measured is said before the end"


def test_values_that_only_a_failing_device_had(program: Path) -> None:
    done = run(program, "lost_values", TILEK_TARGET="opencl")
    assert done.returncode == 71
    assert "the newest values of A were on that device only, and are lost" in done.stderr


def test_graphs_of_a_parent(program: Path) -> None:
    if program.name == "thread":
        pytest.skip("the thread sanitizer does not follow a fork of a threaded program")
    done = run(program, "graphs_forked", TILEK_TARGET="opencl")
    assert done.returncode == 0, done.stderr


def test_launches_that_are_timed_or_wanted_singly(program: Path, tmp_path: Path) -> None:
    trace = str(tmp_path / "trace.json")
    for more in ({"TILEK_GRAPHS": "0"}, {"TILEK_PROFILE": "1"}, {"TILEK_PROFILE": trace}):
        done = run(program, "graphs_not", TILEK_TARGET="opencl", **more)
        assert done.returncode == 0, done.stderr


def test_what_is_played_is_verified(program: Path) -> None:
    done = run(program, "graphs_verified", TILEK_TARGET="opencl", TILEK_VERIFY="1", TILEK_TOLERANCE="0")
    assert done.returncode == 0, done.stderr
    assert "kernel fade, A: largest difference 0 absolute, 0 relative, in 4 launches" in done.stderr


@pytest.mark.parametrize(("case", "form"), [("processors_as_gpus", "gpu"), ("gpus_as_processors", "cpu")])
def test_the_other_program(program: Path, case: str, form: str) -> None:
    done = run(program, case, TILEK_TARGET="opencl", TILEK_OPENCL_FORM=form)
    assert done.returncode == 0, done.stderr


def test_no_other_program(program: Path) -> None:
    done = run(program, "launches", TILEK_OPENCL_FORM="fpga")
    assert "TILEK_OPENCL_FORM" in done.stderr
    assert "auto, gpu, cpu" in done.stderr
    assert done.returncode == 0


def test_shared_memory_that_a_failing_processor_wrote_to(program: Path) -> None:
    done = run(program, "processors_lost", TILEK_TARGET="opencl")
    assert done.returncode == 71
    assert "A is half written" in done.stderr


@pytest.mark.parametrize("target", ["serial", "threads", "opencl"])
def test_verify(program: Path, target: str) -> None:
    done = run(program, "verified", TILEK_TARGET=target, TILEK_VERIFY="1")
    assert done.returncode == 0, done.stderr
    assert "kernel scale, A: largest difference 0 absolute, 0 relative, in 3 launches" in done.stderr


def test_verify_names_the_element(program: Path) -> None:
    done = run(program, "differs", TILEK_TARGET="opencl", TILEK_VERIFY="1")
    assert done.returncode == 70
    assert (
        "scale.c:12: tilek: error: kernel scale: A[77] is 232 on opencl and 232.001 in the original loop" in done.stderr
    )
    assert (
        run(program, "differs", TILEK_TARGET="opencl", TILEK_VERIFY="1", TILEK_TOLERANCE="0.01").returncode == 1
    )  # goes on


def test_a_tolerance_that_the_user_gives_is_kept_to(program: Path) -> None:
    slightly = {"TILEK_TARGET": "opencl", "TILEK_VERIFY": "1"}
    assert run(program, "differs_slightly", **slightly).returncode == 1  # goes on
    assert run(program, "differs_slightly", **slightly, TILEK_TOLERANCE="0").returncode == 70


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("TILEK_TARGET", "gpu", "cuda, opencl, threads, serial, auto"),
        ("TILEK_VERIFY", "yes", "0, 1"),
        ("TILEK_GRAPHS", "on", "0, 1"),
        ("TILEK_ADAPT", "2", "0, 1"),
        ("TILEK_VERSION", "-1", "a version's number from 0"),
        ("TILEK_NUM_THREADS", "0", "a number from 1"),
        ("TILEK_TOLERANCE", "-1", "a number from 0, relative"),
        ("TILEK_PROFILE", "trace", "0, 1, a file's name that ends in .json"),
        ("TILEK_SUBDEVICES", "0", "a number from 1 to 16"),
        ("TILEK_SUBDEVICES", "17", "a number from 1 to 16"),
        ("TILEK_DEVICE", "-3", "a device's number from 0, a part of a device's name"),
    ],
)
def test_bad_environment(program: Path, name: str, value: str, accepted: str) -> None:
    done = run(program, "twice", **{name: value})
    assert done.returncode == 0
    assert done.stderr == f'tilek: warning: {name} is "{value}", which is not one of: {accepted}; it is ignored\n'
    strict = run(program, "twice", TILEK_STRICT="1", **{name: value})
    assert strict.returncode == 71
    assert strict.stderr == f'tilek: error: {name} is "{value}", which is not one of: {accepted}\n'


def test_profile_table(program: Path) -> None:
    done = run(program, "twice", TILEK_TARGET="opencl", TILEK_PROFILE="1")
    header, row = done.stderr.splitlines()
    assert header.split()[:4] == ["tilek:", "kernel", "target", "launches"]
    assert row.split()[:4] == ["twice", "opencl", "1", "0.002"]
    assert header.split()[-4:-2] == ["GB/s", "GFLOP/s"]
    assert row.split()[9] == "3.0"  # 6000 operations in 2000 ns


def test_profile_trace(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = run(program, "twice", TILEK_TARGET="opencl", TILEK_PROFILE=str(trace))
    assert done.returncode == 0, done.stderr
    events = json.loads(trace.read_text())["traceEvents"]
    assert [event["cat"] for event in events] == ["compile", "copy in", "kernel", "kernel", "copy out"]
    assert list(tmp_path.iterdir()) == [trace]


def test_warm_launch_is_cheap(program: Path) -> None:
    if program.name != "plain":
        pytest.skip("sanitizers are slow")
    done = run(program, "warm", TILEK_TARGET="opencl")
    assert float(done.stdout) < 20


@pytest.mark.parametrize("target", ["serial", "threads", "opencl"])
def test_verified_steps(program: Path, target: str) -> None:
    done = run(program, "steps_verified", TILEK_TARGET=target, TILEK_VERIFY="1", TILEK_TOLERANCE="1e-9")
    assert done.returncode == 0, done.stderr
    assert "kernel decay, A: largest difference 0 absolute, 0 relative, in 1 launch\n" in done.stderr


@pytest.mark.parametrize("target", ["serial", "threads", "opencl"])
def test_refused_steps_leave_the_data_as_they_were(program: Path, target: str) -> None:
    done = run(program, "steps_refused", TILEK_TARGET=target)
    assert done.returncode == 0, done.stderr
    assert "the tiles of loop i pass the range of its iterator's type" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("it runs as the original loop instead")


def test_what_is_no_constant_is_found_out(program: Path) -> None:
    done = run(program, "steps_differ", TILEK_TARGET="opencl")
    (warning,) = done.stderr.splitlines()
    assert "i_trip of launch wrong_decay differs from step to step, and was taken for a constant" in warning
    done = run(program, "steps_unsaid", TILEK_TARGET="opencl")
    assert done.returncode == 71
    first, second = done.stderr.splitlines()
    assert "i_trip of launch wrong_decay differs from step to step, and was taken for a constant" in first
    assert second == "steps.c:7: tilek: error: kernel unsaid: a step of launch add is not what it was in rehearsal"


@pytest.mark.parametrize(
    ("given", "value"),
    [("size=5", "5"), ("size=5,decay.size=7", "7"), ("decay.size=7,size=5", "7"), ("size=4,size=9", "9"), ("", "3")],
)
def test_tile_sizes(program: Path, given: str, value: str) -> None:
    for target in ("serial", "opencl"):
        done = run(program, "steps_size", TILEK_TARGET=target, TILEK_SIZES=given)
        assert (done.stdout, done.stderr) == (f"{value}\n", "")


@pytest.mark.parametrize(
    "given",
    [
        "size",
        "size=",
        "size=0",
        "size=-1",
        "size=+2",
        "size= 2",
        "=3",
        "a.b.c=1",
        "size=1,",
        "size=2147483648",
        "a-b=3",
    ],
)
def test_bad_tile_sizes(program: Path, given: str) -> None:
    done = run(program, "steps_size", TILEK_TARGET="serial", TILEK_SIZES=given)
    accepted = (
        "NAME=SIZE or KERNEL.NAME=SIZE with sizes from 1, several with commas between them (i_size=32,lu.j_size=8)"
    )
    assert done.stdout == "3\n"
    assert done.stderr == f'tilek: warning: TILEK_SIZES is "{given}", which is not one of: {accepted}; it is ignored\n'


def test_unknown_tile_sizes(program: Path) -> None:
    done = run(program, "steps_size", TILEK_TARGET="serial", TILEK_SIZES="size=2,sise=3,lu.size=4,decay.j=5")
    assert done.stdout == "2\n"
    assert done.stderr.splitlines() == [
        "tilek: warning: TILEK_SIZES names sise, and no kernel with a tile size of that name ran",
        "tilek: warning: TILEK_SIZES names lu.size, and no kernel lu with a tile size size ran",
        "tilek: warning: TILEK_SIZES names decay.j, and no kernel decay with a tile size j ran",
    ]


@pytest.mark.parametrize(
    ("given", "sizes", "extremes"),
    [("", "4 5 3 4 3", "4 3 3 3 5"), ("size=7", "7 7 7 7 7", "7 7 7 7 7"), ("decay.size=7", "4 5 3 4 3", "4 3 3 3 5")],
)
def test_chosen_tile_sizes(program: Path, given: str, sizes: str, extremes: str) -> None:
    for target in ("serial", "threads"):
        assert run(program, "steps_chosen", TILEK_TARGET=target, TILEK_SIZES=given).stdout == f"{sizes} "
        assert run(program, "steps_chosen_extremes", TILEK_TARGET=target, TILEK_SIZES=given).stdout == f"{extremes} "


def test_arrays_that_count_for_choices(program: Path) -> None:
    done = run(program, "steps_chosen_arrays")
    assert done.returncode == 0, done.stderr


def test_opencl_processors_have_choices_of_their_own(program: Path) -> None:
    done = run(program, "steps_chosen_sides")
    assert done.returncode == 0, done.stderr


def test_devices_have_no_choices(program: Path) -> None:
    assert run(program, "steps_chosen", TILEK_TARGET="opencl").stdout == "3 3 3 3 3 "


@pytest.mark.parametrize(
    ("target", "threads", "given", "sizes"),
    [
        ("threads", "2", "", "3 4 2 4 3 4 6 6"),
        ("threads", "1", "", "3 4 3 4 3 4 3 3"),
        ("threads", "2", "size=3", "3 3 3 3 3 3 3 3"),
        ("opencl", "2", "", "3 3 3 3 3 3 3 3"),
    ],
)
def test_even_blocks_of_threads(program: Path, target: str, threads: str, given: str, sizes: str) -> None:
    """Only where no size is given, on hosts: not what is given, though it is the default, nor what is chosen."""
    done = run(program, "steps_even", TILEK_TARGET=target, TILEK_NUM_THREADS=threads, TILEK_SIZES=given)
    assert done.stdout == f"{sizes} ", done.stderr


def test_choices_below_1_are_refused(program: Path) -> None:
    done = run(program, "steps_misled", TILEK_TARGET="serial")
    assert done.returncode == 0, done.stderr
    assert "kernel misled cannot run on serial: the tile size size is 0; it runs as the original loop" in done.stderr


def test_the_trace_has_the_sizes_of_each_launch(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    assert run(program, "steps_chosen", TILEK_TARGET="threads", TILEK_PROFILE=str(trace)).returncode == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert [event["args"]["tile sizes"]["size"] for event in events] == [4, 5, 3, 4, 3]


def test_choices_are_cheap(program: Path) -> None:
    if program.name != "plain":
        pytest.skip("sanitizers are slow")
    chosen, plain = map(float, run(program, "steps_choice_cost", TILEK_TARGET="serial").stdout.split())
    assert chosen < plain + 1000


def test_choosing_a_version_is_cheap(program: Path) -> None:
    if program.name != "plain":
        pytest.skip("sanitizers are slow")
    assert float(run(program, "versions_cost").stdout) < 1000


def test_a_step_is_cheap(program: Path) -> None:
    if program.name != "plain":
        pytest.skip("sanitizers are slow")
    for target, most in (("serial", 1000), ("threads", 1000), ("opencl", 2000)):
        assert float(run(program, "steps_cost", TILEK_TARGET=target).stdout) < most


@pytest.mark.parametrize("kind", ["gpu", "processor", "several"])
@pytest.mark.parametrize("strict", ["0", "1"])
def test_any_call_of_a_device_may_fail(program: Path, kind: str, strict: str) -> None:
    """Right results with one warning, or status 71 with one error: of strict programs, and where values that the device alone had are lost."""

    def failing(call: int) -> subprocess.CompletedProcess[str]:
        return run(
            program, "every_call", TILEK_TARGET="opencl", TILEK_STRICT=strict, FAKE_KIND=kind, FAKE_FAIL=str(call)
        )

    whole = failing(0)
    assert (whole.returncode, whole.stderr) == (0, "")
    count = int(whole.stdout)
    assert count > 60
    wrong = []
    # All calls under the address sanitizer, which sees most; a ninth of them else.
    for call in range(1, count + 1, 1 if program.name == "address" else 9):
        done = failing(call)
        lines = done.stderr.splitlines()
        errors, warnings = (sum(f"tilek: {word}: " in line for line in lines) for word in ("error", "warning"))
        allowed = (0, 0) if strict == "1" else (0, 1)
        right = done.returncode == 0 and errors == 0 and allowed[0] <= warnings <= allowed[1]
        ended = done.returncode == 71 and errors == 1 and warnings <= 1
        if not (right or ended) or len(lines) != errors + warnings:
            wrong.append(f"call {call} of {count}: status {done.returncode}\n{done.stderr}")
    assert not wrong, f"{len(wrong)} of {count} calls:\n" + "\n".join(wrong[:12])
