"""Plans changed for the worse, each refused with a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.plan_text import plan_of
from tests.support.source_plans import plan
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.ir.expressions import Binary, Expression, integer
from tilepragma.ir.loop_tree import Block, Loop, TiledLoop, TileNest
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, SectionBound, Step, with_launches
from tilepragma.plan.space_time import LoopMeaning, SpaceTimeMap
from tilepragma.verify.certificate import Fault
from tilepragma.verify.instances import Original
from tilepragma.verify.proofs import original_of, proof_of, prove
from tilepragma.verify.rules import PlanFault, verify

JACOBI = """
void jacobi(int n, int m, double A[n][n], double B[n][n]) {
#pragma tilek kernel
  for (int t = 0; t < m; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        B[i][j] = (A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]) / 4;
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = B[i][j];
  }
}"""


def with_steps(planned: KernelPlan, change: Callable[[Step], tuple[Step, ...]]) -> KernelPlan:
    """Every step, from the inside out, replaced by those that `change` gives; on the host and on devices."""

    def visit(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        made: list[Step] = []
        for step in steps:
            inner = step if isinstance(step, Launch) else replace(step, steps=visit(step.steps))
            made += change(inner)
        return tuple(made)

    return replace(planned, host_steps=visit(planned.host_steps), device_steps=visit(planned.device_steps))


def with_host_loop(planned: KernelPlan, change: Callable[[HostLoop], HostLoop]) -> KernelPlan:
    return with_steps(planned, lambda step: (change(step) if isinstance(step, HostLoop) else step,))


def with_bodies(planned: KernelPlan, change: Callable[[Block], Block]) -> KernelPlan:
    return with_steps(
        planned, lambda step: (replace(step, body=change(step.body)) if isinstance(step, Launch) else step,)
    )


def with_tiled(planned: KernelPlan, change: Callable[[TiledLoop], TiledLoop]) -> KernelPlan:
    """The outermost nest of every launch with its first loop changed."""

    def in_block(block: Block) -> Block:
        (nest,) = block.statements
        assert isinstance(nest, TileNest)
        return replace(block, statements=(replace(nest, loops=(change(nest.loops[0]), *nest.loops[1:])),))

    return with_bodies(planned, in_block)


def beyond(bound: Expression, by: int) -> Expression:
    return Binary("+", bound, integer(by), bound.type)


def messages(faults: tuple[Fault, ...]) -> str:
    return "\n".join(f"{fault.message} ({fault.certain})" for fault in faults)


@pytest.fixture(scope="module")
def jacobi() -> KernelPlan:
    return plan(JACOBI)


def test_the_plan_is_proven(jacobi: KernelPlan) -> None:
    assert isinstance(jacobi.host_steps[0], HostLoop)
    assert prove(jacobi) == ()


def in_loop(change: Callable[[TiledLoop], dict[str, Any]]) -> Callable[[KernelPlan], KernelPlan]:
    return lambda p: with_tiled(p, lambda tiled: replace(tiled, loop=replace(tiled.loop, **change(tiled))))


def in_host_loop(change: Callable[[Loop], dict[str, Any]]) -> Callable[[KernelPlan], KernelPlan]:
    return lambda p: with_host_loop(p, lambda step: replace(step, loop=replace(step.loop, **change(step.loop))))


def backwards(loop: Loop) -> dict[str, Any]:
    return {
        "lower": beyond(loop.upper, -1),
        "comparison": ">=",
        "upper": loop.lower,
        "step": integer(-1),
        "decreasing": True,
    }


WRONG: dict[str, tuple[Callable[[KernelPlan], KernelPlan], str]] = {
    "launches swapped": (
        lambda p: with_host_loop(p, lambda step: replace(step, steps=step.steps[::-1])),
        "the anti dependence of 'A' from line 7, column 20 to line 10, column 9 with distance (0) over (t) is broken: its instances run in the "
        "opposite order (True)",
    ),
    "launch dropped": (
        lambda p: with_host_loop(p, lambda step: replace(step, steps=step.steps[:1])),
        "the statement at line 10 never runs for (t = ",
    ),
    "launch doubled": (
        lambda p: with_host_loop(p, lambda step: replace(step, steps=(*step.steps, step.steps[0]))),
        "the statement at line 7 runs twice for (t = ",
    ),
    "host loop reversed": (
        in_host_loop(backwards),
        "with distance (1, 0, 0) over (t, i, j) is broken: its instances run in the opposite order (True)",
    ),
    "host loop starts late": (in_host_loop(lambda loop: {"lower": beyond(loop.lower, 1)}), "never runs for (t = 0"),
    "host loop ends late": (in_host_loop(lambda loop: {"comparison": "<="}), "which the region does not have"),
    "lower bound too high": (in_loop(lambda tiled: {"lower": beyond(tiled.loop.lower, 1)}), "never runs for (t = "),
    "lower bound too low": (
        in_loop(lambda tiled: {"lower": beyond(tiled.loop.lower, -1)}),
        "which the region does not have",
    ),
    "upper bound too low": (in_loop(lambda tiled: {"upper": beyond(tiled.loop.upper, -1)}), "never runs for (t = "),
    "upper bound too high": (in_loop(lambda tiled: {"comparison": "<="}), "which the region does not have"),
    "step too large": (in_loop(lambda tiled: {"step": integer(2)}), "never runs for (t = "),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_steps_are_refused(jacobi: KernelPlan, name: str) -> None:
    change, sentence = WRONG[name]
    assert sentence in messages(prove(change(jacobi)))
    with pytest.raises(PlanFault):
        verify(change(jacobi))


def with_schedules(p: KernelPlan, change: Callable[[SpaceTimeMap], dict[str, Any]]) -> KernelPlan:
    def changed(launch: Launch) -> Launch:
        return replace(launch, schedule=tuple(replace(each, **change(each)) for each in launch.schedule))

    return replace(p, host_steps=with_launches(p.host_steps, changed))


def shifted(meanings: tuple[LoopMeaning, ...]) -> tuple[LoopMeaning, ...]:
    """The loops' meanings with the first hyperplane one further on."""
    first, *others = meanings
    plane, *planes = first.hyperplanes
    further = replace(plane, offset=Binary("+", plane.offset, integer(1), plane.offset.type))
    return (replace(first, hyperplanes=(further, *planes)), *others)


SCHEDULES: dict[str, tuple[Callable[[SpaceTimeMap], dict[str, Any]], str]] = {
    "time": (lambda each: {"time": shifted(each.time)}, "runs otherwise than its schedule says"),
    "place": (lambda each: {"place": shifted(each.place)}, "runs otherwise than its schedule says"),
    "order": (lambda each: {"ordered": shifted(each.ordered)}, "runs otherwise than its schedule says"),
    "no time": (lambda each: {"time": ()}, "runs otherwise than its schedule says"),
    "no place": (lambda each: {"place": ()}, "runs otherwise than its schedule says"),
    "statement": (lambda each: {"statements": ()}, "is in no schedule"),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_that_the_loops_do_not_follow_are_refused(name: str) -> None:
    """Tiles of three hyperplanes in wavefronts of two of them: all parts of a schedule are there."""
    change, told = SCHEDULES[name]
    p = plan(
        """
        void seidel(int n, int m, double A[n][n]) {
        #pragma tilek kernel
          for (int t = 0; t < m; t++)
            for (int i = 1; i < n - 1; i++)
              for (int j = 1; j < n - 1; j++)
                A[i][j] = (A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]) / 4;
        }"""
    )
    assert prove(p) == ()
    assert told in messages(prove(with_schedules(p, change)))


def test_a_proof_counts_for_its_own_plan_only(jacobi: KernelPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = proof_of(jacobi)
    change, _ = WRONG["step too large"]
    with pytest.raises(PlanFault):
        verify(change(jacobi), proof)
    monkeypatch.setattr("tilepragma.verify.rules.proof_of", lambda plan: pytest.fail("proven twice"))
    assert verify(replace(jacobi, rejected=("another strategy: a reason",)), proof).plan.kernel is jacobi.kernel


def test_each_plan_is_proven_once(monkeypatch: pytest.MonkeyPatch) -> None:
    proven: list[KernelPlan] = []

    def counted(plan: KernelPlan, original: Original | None = None) -> tuple[Fault, ...]:
        proven.append(plan)
        return prove(plan, original)

    monkeypatch.setattr("tilepragma.verify.proofs.prove", counted)
    result = translate(TranslateRequest("t.c", text=JACOBI.encode()))
    (taken,) = result.plans
    assert result.succeeded
    # Staged forms are proven on top, once the plan is chosen.
    known = with_steps(taken, lambda step: (replace(step, staged=None) if isinstance(step, Launch) else step,))
    assert [(plan.host_steps, plan.device_steps) for plan in proven].count((known.host_steps, known.device_steps)) == 1


def test_two_statements_of_one_launch_swapped_are_refused() -> None:
    source = """
    void f(int n, double a[n], double b[n]) {
    #pragma tilek kernel
      for (int i = 0; i < n; i++) {
        a[i] = i;
        b[i] = a[i];
      }
    }"""

    def swapped(block: Block) -> Block:
        (nest,) = block.statements
        assert isinstance(nest, TileNest)
        body = replace(nest.body, statements=nest.body.statements[::-1])
        return replace(block, statements=(replace(nest, body=body),))

    planned = plan(source)
    assert prove(planned) == ()
    sentence = (
        "the flow dependence of 'a' from line 5, column 5 to line 6, column 12 with distance (0) over (i) is broken"
    )
    assert sentence in messages(prove(with_bodies(planned, swapped)))


REGION = """
void f(int n, int m, double a[n][m], double b[m], int barrier) {{
#pragma tilek kernel
  {{ {region} }}
}}
void p(int n, int m, double a[n][m], double b[m], int barrier) {{
#pragma tilek kernel
  {{ {steps} }}
}}"""

ROWS = "for (int i = 0; i < n; i++) { for (int j = 1; j < m; j++) a[i][j] = 2 * j; for (int j = 1; j < m; j++) a[i][j - 1] += a[i][j]; }"


def said(region: str, steps: str) -> KernelPlan:
    return plan_of(REGION.format(region=region, steps=steps))


RIGHT = {
    "rows": (ROWS, ROWS.replace("int i = 0; i < n; i++) {", "int g = 0; g < n; g++) { const int i = g;")),
    "barrier between workers": (
        "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) b[j] = i * j; for (int j = 0; j < m - 1; j++) a[i][j] = b[j + 1]; }",
        """for (int k = 0; k < n; k++) {
             for (int w = 0; w < m; w++) { const int i = k; const int j = w; b[j] = i * j; }
             barrier = 0;
             for (int w = 0; w < m - 1; w++) { const int i = k; const int j = w; a[i][j] = b[j + 1]; }
             barrier = 0;
           }""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_plans_are_proven(name: str) -> None:
    assert prove(said(*RIGHT[name])) == ()


TWO_LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = {value};"

CARRIED = {
    "gangs": ("for (int g = 0; g < n; g++) for (int j = 0; j < m; j++) { const int i = g; a[i][j] = a[i - 1][j + 1]; }", "two gangs"),
    "threads": ("for (int x = 0; x < n; x++) for (int j = 0; j < m; j++) { const int i = x; a[i][j] = a[i - 1][j + 1]; }", "two threads"),
    "workers": ("for (int w = 0; w < n; w++) for (int j = 0; j < m; j++) { const int i = w; a[i][j] = a[i - 1][j + 1]; }", "two workers"),
    "interchanged": (
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) a[i][j] = a[i - 1][j + 1];",
        "distance (1, -1) over (i, j) is broken: its instances run in the opposite order",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIED)
def test_loops_that_carry_a_dependence_are_not_distributed(name: str) -> None:
    steps, sentence = CARRIED[name]
    planned = said(TWO_LOOPS.format(value="a[i - 1][j + 1]"), steps)
    assert sentence in messages(prove(planned))
    assert "the flow dependence of 'a'" in messages(prove(planned))


BARRIERS = {
    "none": ("", ""),
    "only between": ("barrier = 0;", ""),
    "only at the end": ("", "barrier = 0;"),
    "under a condition": ("if (n > 3) { barrier = 0; }", "barrier = 0;"),
}


@pytest.mark.parametrize("name", BARRIERS)
def test_dropped_barriers_are_refused(name: str) -> None:
    between, end = BARRIERS[name]
    region = RIGHT["barrier between workers"][0]
    steps = RIGHT["barrier between workers"][1].split("barrier = 0;")
    planned = said(region, f"{steps[0]}{between}{steps[1]}{end}{steps[2]}")
    assert "may be run by two workers with no barrier between (True)" in messages(prove(planned))


def test_workers_of_equally_distributed_nests_need_no_barrier() -> None:
    region = "for (int i = 0; i < n; i++) b[i] = 1; for (int i = 0; i < n; i++) b[i] *= 2;"
    first = "for (int w = 0; w < n; w++) { const int i = w; b[i] = 1; }"
    alike = "for (int w = 0; w < n; w++) { const int i = w; b[i] *= 2; }"
    otherwise = "for (int w = -2; w < n - 2; w++) { const int i = w + 2; b[i] *= 2; }"
    assert prove(said(region, f"{{ {first} {alike} }}")) == ()
    assert "no barrier between" in messages(prove(said(region, f"{{ {first} {otherwise} }}")))


def test_a_barrier_that_not_all_workers_reach_is_refused() -> None:
    planned = plan_of("""
    void f(int n, double b[n], int c[n], int barrier) {
    #pragma tilek kernel
      { for (int i = 0; i < n; i++) c[i] = i; }
    }
    void p(int n, double b[n], int c[n], int barrier) {
    #pragma tilek kernel
      { for (int k = 0; k < 1; k++) {
          for (int w = 0; w < n; w++) { const int i = w; c[i] = i; }
          if (c[0] > 2) { barrier = 0; } } }
    }""")
    assert "a barrier stands under a decision on 'c', which differs between workers" in messages(prove(planned))


# -- what a device holds

HALO = """
void f(int n, double *a, double *b) {
#pragma tilek kernel
  for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
}"""


def with_array(planned: KernelPlan, name: str, **changes: Any) -> KernelPlan:
    arrays = tuple(replace(array, **changes) if array.object.name == name else array for array in planned.arrays)
    return replace(planned, arrays=arrays)


def section(planned: KernelPlan, name: str) -> SectionBound:
    return next(array.section[0] for array in planned.arrays if array.object.name == name)


def test_an_untested_assumption_is_refused() -> None:
    planned = plan(
        """
        void f(int w, int h, int s, unsigned char *a) {
        #pragma tilek kernel
          for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
              a[y * s + x] += 1;
        }"""
    )
    assert [plain_text(each) for each in planned.conditions] == ["s >= w"]
    assert not prove(planned)
    untested = replace(planned, conditions=())
    assert prove(untested)
    (fault,) = (
        each for each in prove(untested, original_of(planned)) if each.rule == "what is assumed is tested at launch"
    )
    assert fault.message == "nothing tests 's >= w' at launch"


@pytest.mark.parametrize("step", [1, 2, 3])
def test_short_sections_of_decreasing_loops_are_refused(step: int) -> None:
    planned = plan(f"""
    void f(int n, double *restrict a) {{
    #pragma tilek kernel
      for (int i = n - 1; i > 2; i -= {step}) a[i] = i;
    }}""")
    assert not prove(planned)
    right = section(planned, "a")
    assert isinstance(right.lower, Expression) and isinstance(right.length, Expression)
    later = SectionBound(Binary("+", right.lower, integer(1), right.lower.type), right.length)
    (fault, *_) = prove(with_array(planned, "a", section=(later,)))
    assert fault.rule == "accesses lie in the sections" and fault.certain


def test_short_sections_are_refused() -> None:
    planned = plan(HALO)
    assert prove(planned) == ()
    whole = section(planned, "a")
    assert isinstance(whole.length, Expression) and isinstance(whole.lower, Expression)
    short = with_array(planned, "a", section=(SectionBound(whole.lower, beyond(whole.length, -1)),))
    assert "'a' is accessed on line 4, column 53 at index " in messages(prove(short))
    late = with_array(planned, "a", section=(SectionBound(beyond(whole.lower, 1), whole.length),))
    assert "'a' is accessed on line 4, column 42 at index 0 " in messages(prove(late))


FLAT = {
    "plane": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) b[i * m + j] = a[i * m + j];",
    "border": (
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
        " b[i * m + j] = a[i * m + j - 1] + a[(i - 1) * m + j] + a[(i + 1) * m + j];"
    ),
    "space": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int l = 0; l < k; l++)"
        " b[(i * m + j) * k + l] = a[i * m * k + j * k + l];"
    ),
}


@pytest.mark.parametrize("name", FLAT)
def test_short_sections_of_flattened_arrays_are_refused(name: str) -> None:
    planned = plan(f"void f(int n, int m, int k, double *a, double *b) {{\n#pragma tilek kernel\n{FLAT[name]}\n}}")
    assert prove(planned) == ()
    for array in ("a", "b"):
        whole = section(planned, array)
        assert isinstance(whole.length, Expression) and isinstance(whole.lower, Expression)
        for lower, length in (
            (whole.lower, beyond(whole.length, -1)),
            (beyond(whole.lower, 1), whole.length),
            (whole.lower, integer(0)),
        ):
            faults = prove(with_array(planned, array, section=(SectionBound(lower, length),)))
            assert f"'{array}' is accessed on line 3" in messages(faults)
            assert any(fault.certain for fault in faults)


@pytest.mark.parametrize(
    ("clause", "told"),
    [("", True), ("data(b[0:n], live:not)", False), ("data(b[0:n], live:in)", False), ("data(b[0:n], live:out)", True)],
)
def test_results_that_may_be_wanted_go_back(clause: str, told: bool) -> None:
    source = f"""
    void f(int n, double *a, double *b) {{
    #pragma tilek kernel {clause}
      for (int i = 0; i < n; i++) b[i] = a[i];
    }}"""
    broken = with_array(plan(source), "b", copy_out=False)
    if not told:
        verify(broken)
        return
    with pytest.raises(PlanFault, match="results go back: 'b' is written and may be read after the kernel"):
        verify(broken)


def test_what_is_read_must_be_copied_in_or_written_before() -> None:
    sentence = "'a' is read on line 4, column 42, but is not copied in, and nothing surely writes those elements before"
    assert sentence in messages(prove(with_array(plan(HALO), "a", copy_in=False)))


@pytest.mark.parametrize(("loop", "right"), [("i = 0; i < n", True), ("i = 0; i < n - 1; i += 2", False)])
def test_what_goes_back_must_be_written_or_copied_in(loop: str, right: bool) -> None:
    step = "" if "+=" in loop else "; i++"
    source = (
        f"void f(int n, double a[n], double b[n]) {{\n#pragma tilek kernel\nfor (int {loop}{step}) b[i] = a[i];\n}}"
    )
    faults = prove(with_array(plan(source), "b", copy_in=False))
    assert ("'b' is copied out but not in, and not all of it is surely written" in messages(faults)) is not right


def test_what_the_plan_writes_before_needs_no_copy() -> None:
    source = """
    void f(int n, double a[n], double b[n]) {
    #pragma tilek kernel
      {
        for (int i = 0; i < n; i++) b[i] = i;
        for (int i = 0; i < n; i++) a[i] = b[i];
      }
    }"""
    assert prove(with_array(plan(source), "b", copy_in=False)) == ()


# -- plans that are right

_SAMPLES = sorted((Path(__file__).parents[3] / "samples").glob("*/*.c"))


@pytest.mark.parametrize(
    "path", [path for path in _SAMPLES if b"tilek kernel" in path.read_bytes()], ids=lambda path: path.stem
)
def test_plans_of_samples_are_proven(path: Path) -> None:
    result = translate(TranslateRequest(str(path), last="verify"))  # raises PlanFault where a plan is not right
    assert result.succeeded and result.plans
