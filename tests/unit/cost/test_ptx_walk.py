"""What is walked of PTX: threads that part and meet, sampled gangs, sectors and banks of warps, and what is not known."""

from __future__ import annotations

import pytest

from tilepragma.cost import ptx_walk
from tilepragma.cost.ptx_walk import ARRAY, LaunchCounts, Traffic, entry_points, walk_launch
from tilepragma.ir.evaluation import UncountableError


def program(body: str, parameters: str = "\t.param .u64 f_param_0,\n\t.param .u32 f_param_1\n") -> str:
    return f".version 7.0\n.target sm_70\n.visible .entry f(\n{parameters})\n{{\n\t.reg .b32 %r<9>;\n{body}\n}}\n"


def counts(body: str, grid: int = 1, block: int = 32, n: int = 10) -> LaunchCounts:
    return walk_launch(entry_points(program(body))["f"], (grid, 1, 1), (block, 1, 1), (ARRAY, n))


LOOP = """
	mov.u32 	%r1, %tid.x;
	ld.param.u32 	%r2, [f_param_1];
	rem.s32 	%r3, %r1, %r2;
$L__BB0_1:
	setp.lt.s32	%p1, %r3, 1;
	@%p1 bra 	$L__BB0_3;
	add.s32 	%r3, %r3, -1;
	bra.uni 	$L__BB0_1;
$L__BB0_3:
	ret;
"""


def test_threads_go_through_a_loop_as_often_as_each_has_to() -> None:
    rounds = [thread % 10 for thread in range(64)]
    walked = counts(LOOP, block=64)
    assert walked.instructions == sum(3 + 4 * times + 2 + 1 for times in rounds)
    # A warp goes as often as the slowest of its threads, and each of its threads ends with it.
    assert walked.warps == 2 * (3 + 4 * 9 + 2 + 1)


def test_threads_beyond_a_gang_do_nothing() -> None:
    assert counts(LOOP, block=33).instructions == sum(6 + 4 * (thread % 10) for thread in range(33))


TRIANGLE = """
	mov.u32 	%r1, %ctaid.x;
$L__BB0_1:
	setp.lt.s32	%p1, %r1, 1;
	@%p1 bra 	$L__BB0_3;
	add.s32 	%r1, %r1, -1;
	bra.uni 	$L__BB0_1;
$L__BB0_3:
	ret;
"""


def test_some_gangs_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that grows with the gang's number: the middles of equal parts have the mean of their part."""
    exact = sum(32 * (1 + 4 * gang + 2 + 1) for gang in range(500))
    assert counts(TRIANGLE, grid=500).instructions == exact
    monkeypatch.setattr(ptx_walk, "THREADS", 2**10)
    assert counts(TRIANGLE, grid=500).instructions == pytest.approx(exact, rel=0.01)


ACCESS = """
	mov.u32 	%r1, %tid.x;
	ld.param.u64 	%rd1, [f_param_0];
	ld.param.u32 	%r2, [f_param_1];
	cvta.to.global.u64 	%rd2, %rd1;
	mul.lo.s32 	%r3, %r1, %r2;
	mul.wide.s32 	%rd3, %r3, 4;
	add.s64 	%rd4, %rd2, %rd3;
	ld.global.nc.f32 	%f1, [%rd4+4];
	add.f32 	%f2, %f1, 0f3F800000;
	st.global.f32 	[%rd4], %f2;
	ret;
"""


@pytest.mark.parametrize(("step", "loaded", "stored"), [(0, 1, 1), (1, 5, 4), (2, 8, 8), (8, 32, 32), (-1, 5, 5)])
def test_sectors_are_those_that_a_warp_touches(step: int, loaded: int, stored: int) -> None:
    """The load begins one element into a sector."""
    walked = counts(ACCESS, n=step)
    first = 5 if step == -1 else loaded
    assert walked.sectors == first + stored
    assert walked.instructions == 11 * 32


SHARED = """
	.shared .align 4 .b8 tile[4096];
	mov.u32 	%r1, %tid.x;
	ld.param.u32 	%r2, [f_param_1];
	mul.lo.s32 	%r3, %r1, %r2;
	shl.b32 	%r4, %r3, 2;
	mov.u32 	%r5, tile;
	add.s32 	%r6, %r5, %r4;
	st.shared.u32 	[%r6], %r1;
	bar.sync 	0;
	ret;
"""


@pytest.mark.parametrize(("step", "conflicts"), [(0, 0), (1, 0), (2, 1), (17, 0), (32, 31)])
def test_banks_serve_a_word_at_a_time(step: int, conflicts: int) -> None:
    assert counts(SHARED, n=step).conflicts == conflicts


def test_copies_past_the_registers_access_both_memories() -> None:
    copy = SHARED.replace("st.shared.u32 	[%r6], %r1;", "cp.async.ca.shared.global [%r6], [%rd2], 4;").replace(
        "	bar.sync", "	cp.async.wait_all;\n	bar.sync"
    )
    address = "	ld.param.u64 	%rd1, [f_param_0];\n	cvta.to.global.u64 	%rd2, %rd1;\n"
    walked = counts(copy.replace("	mov.u32 	%r1", address + "	mov.u32 	%r1", 1), n=2)
    assert (walked.sectors, walked.conflicts) == (1, 1)


def test_places_that_data_say_are_apart() -> None:
    gathered = ACCESS.replace(
        "add.f32 	%f2, %f1, 0f3F800000;", "cvt.rzi.s32.f32	%r4, %f1;\n	add.s32	%r4, %r4, 1;"
    )
    gathered = gathered.replace(
        "st.global.f32 	[%rd4], %f2;", "cvt.s64.s32	%rd5, %r4;\n	st.global.s32 	[%rd5], %r4;"
    )
    assert counts(gathered, n=0).sectors == 1 + 32


def test_every_other_thread_takes_a_branch_that_data_decide() -> None:
    decided = ACCESS.replace(
        "add.f32", "setp.lt.f32	%p1, %f1, 0f3F800000;\n	@%p1 bra 	$L__BB0_1;\n	add.f32"
    )
    walked = counts(decided.replace("	ret;", "$L__BB0_1:\n	ret;"), n=1)
    assert walked.instructions == 32 * (10 + 1) + 16 * 2
    assert walked.warps == 10 + 2 + 1
    assert walked.sectors == 5 + 4


def test_arguments_that_are_data_decide_no_loop() -> None:
    with pytest.raises(UncountableError, match=r"the argument f_param_1 is not known"):
        walk_launch(entry_points(program(LOOP))["f"], (1, 1, 1), (32, 1, 1), (ARRAY, None))


def test_memory_delivers_what_nothing_has_stored() -> None:
    """A load and a store one element apart: the store of a word before its load saves no sector."""
    traffic = Traffic()
    entry = entry_points(program(ACCESS))["f"]
    walk_launch(entry, (1, 1, 1), (32, 1, 1), (ARRAY, 1), traffic)
    assert traffic.complete
    assert traffic.sectors == 5
    walk_launch(entry, (1, 1, 1), (32, 1, 1), (2 * ARRAY, 8), traffic)
    assert traffic.sectors == 5 + 32
    stored = entry_points(program(ACCESS.replace("[%rd4+4]", "[%rd4]")))["f"]
    walk_launch(stored, (1, 1, 1), (32, 1, 1), (ARRAY, 1), traffic)
    assert traffic.sectors == 5 + 32, "the first launch has stored all"


def test_of_large_launches_some_gangs_are_walked() -> None:
    traffic = Traffic()
    entry = entry_points(program(ACCESS))["f"]
    walked = walk_launch(entry, (2**14, 1, 1), (32, 1, 1), (ARRAY, 1), traffic)
    assert (walked.instructions, walked.sectors) == (2**14 * 11 * 32, 2**14 * 9)
    assert not traffic.complete


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("add.s32 %r3, %r2, 2147483647;", 5 + 2**31 - 1 - 2**32),
        ("mul.hi.u32 %r3, %r2, -1;", 4),
        ("mul.hi.s32 %r3, %r2, -1;", -1),
        ("shr.u32 %r3, -8, 28;", 15),
        ("shr.s32 %r3, -8, 2;", -2),
        ("div.s32 %r3, -7, %r2;", -1),
        ("rem.s32 %r3, -7, %r2;", -2),
        ("div.u32 %r3, -1, %r2;", (2**32 - 1) // 5),
        ("mad.lo.s32 %r3, %r2, %r2, 7;", 32),
        ("bfe.u32 %r3, 1000, 3, 4;", 1000 >> 3 & 15),
        ("bfi.b32 %r3, %r2, 1000, 4, 3;", 1000 & ~0x70 | 5 << 4),
        ("prmt.b32 %r3, 287454020, %r2, 17185;", 0x05112233),
        ("prmt.b32 %r3, -8, %r2, 32904;", 0xFFF8FFFF - 2**32),
        ("selp.b32 %r3, 7, 9, %p2;", 7),
        ("min.u32 %r3, -1, %r2;", 5),
        ("min.s32 %r3, -1, %r2;", -1),
        ("cvt.u32.u16 %r3, 65541;", 5),
        ("not.b32 %r3, %r2;", -6),
        ("xor.b32 %r3, %r2, 4;", 1),
    ],
)
def test_instructions_of_integers(instruction: str, expected: int) -> None:
    """A thread takes another instruction where the result is as expected."""
    body = f"""
	ld.param.u32 	%r2, [f_param_1];
	setp.eq.s32	%p2, %r2, 5;
	{instruction}
	setp.ne.s32	%p1, %r3, {expected};
	@%p1 bra 	$L__BB0_1;
	mov.u32 	%r4, 0;
$L__BB0_1:
	ret;
"""
    assert counts(body, n=5).instructions == 7 * 32


def test_an_unknown_instruction_is_named() -> None:
    with pytest.raises(UncountableError, match=r"the instruction popc.b32 is not known"):
        counts(LOOP.replace("rem.s32 	%r3, %r1, %r2;", "popc.b32 	%r3, %r1;"))
