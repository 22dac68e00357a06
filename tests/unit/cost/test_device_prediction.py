"""Times of plans on GPUs: the thesis's equations by hand, traffic against shared memory, and what no GPU has room for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.support.source_plans import plan
from tests.unit.cost.test_launch_work import planned
from tests.unit.model.small_devices import GPU
from tilepragma.cost import device_prediction
from tilepragma.cost.device_prediction import NAMES, overheads_of, predicted_on_gpu
from tilepragma.cost.gang_memory import array_tile_bytes
from tilepragma.cost.gang_workers import gang_workers
from tilepragma.cost.launch_counts import Place
from tilepragma.cost.launch_work import plan_work
from tilepragma.cost.memory_transactions import array_tile_conflicts, neighbour_steps, wasted
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.model.fitting import LATEST, SHARED_LATENCY
from tilepragma.model.linear_model import Terms
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.sizes.ranked_layouts import rank_layouts

#: 4 multiprocessors that issue a warp of 4 lanes in 2 cycles of a second, with a cache and room for
#: the registers of 2 gangs.
SMALL = replace(GPU, compute_capability=None, registers_per_multiprocessor=4096, registers_per_block=4096)


def device(name: str) -> Gpu:
    result = named_device(name)
    assert isinstance(result, Gpu)
    return result


def terms(found: KernelPlan, scalars: dict[str, int], gpu: Gpu, **sizes: int | list[int]) -> Terms:
    columns = {name: np.array(value) if isinstance(value, list) else value for name, value in sizes.items()}
    result = predicted_on_gpu(found, scalars, columns, gpu)
    assert isinstance(result, Terms), result
    return result


def seconds(found: KernelPlan, scalars: dict[str, int], gpu: Gpu, **sizes: int | list[int]) -> list[float]:
    return [float(each) for each in terms(found, scalars, gpu, **sizes).estimate]


def place_of(found: KernelPlan, scalars: dict[str, int], **sizes: int | list[int]) -> Place:
    columns = {name: np.array(value) if isinstance(value, list) else value for name, value in sizes.items()}
    work = plan_work(found, scalars, columns, Target.CUDA)
    return work[0].place


def test_a_tile_takes_what_the_thesis_says() -> None:
    """(5.2)-(5.8) for the one tile of 4 steps over 10 elements: a[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.3f."""
    result = terms(planned("sor 1-d"), {"n": 12, "steps": 4}, SMALL, t_size=4, t_i_size=16)
    parts = dict(zip(NAMES, result.seconds[0].tolist(), strict=True))
    # Point (t, i) is in the wavefront t + (t + i), one of 16, with 1 to 4 points: a warp each.
    widths = Counter(2 * t + i for t in range(4) for i in range(1, 11))
    assert (len(widths), max(widths.values())) == (16, 4)
    # 3 operations, and 20 instructions for the addresses of 4 accesses: 2 cycles each for a warp;
    # neighbours are 2 elements apart, so that a warp meets 4 times the 8 bytes that 2 banks serve
    # at once instead of twice: 2 cycles become 4.
    assert parts["computation"] == pytest.approx(16 * (2.0 * (3 + 20) + 4 * 4))
    assert parts["barriers"] == 16 + 2
    # 12 elements in and 10 out, 4 bytes each, at a quarter of 8 bytes a second.
    assert parts["elements"] == (12 + 10) * 4 / (8 / 4)
    assert parts["launches"] == 2 + 3
    assert parts["roofline"] == 0
    # The warp looks once in each wavefront, 2 cycles for each of 16 operators: whether a worker's
    # time step is one of 4, two comparisons, a minus and `&&`; and whether the front lies between
    # where two rows begin and end in that time step, four comparisons, five sums and products with
    # it, and three `&&`.
    assert parts["positions"] == 16 * 2 * (4 + 12)


def test_a_warp_alone_waits_and_several_do_not() -> None:
    """Of 5 instructions that wait for each other 4 in 27 are accesses. Here 4 warps are issued in a cycle, and 16 banks serve any of them in one."""
    wide = replace(SMALL, float_rate=128.0, banks=16)
    computation = NAMES.index("computation")
    alone = terms(planned("sor 1-d"), {"n": 12, "steps": 4}, wide, t_size=4, t_i_size=16).seconds[0, computation]
    waiting = 5 * (LATEST * 23 / 27 + SHARED_LATENCY * 4 / 27)
    assert alone == pytest.approx(16 * waiting)
    # 25 warps beside each other, for most of the time: their instructions are what takes time.
    several = terms(planned("sor 1-d"), {"n": 402, "steps": 100}, wide, t_size=100, t_i_size=512)
    widths = Counter(2 * t + i for t in range(100) for i in range(1, 401))
    warps = sum(-(-width // 4) for width in widths.values())
    issue = 0.25 * (3 + 20) + 4
    assert several.seconds[0, computation] == pytest.approx(warps * issue)


def test_rounds_follow_from_the_tiles_of_wavefronts() -> None:
    """(5.9)-(5.11): as long as all tiles of a wavefront have a multiprocessor for themselves, the time is that of the wavefronts."""
    scalars = {"n": 1202, "steps": 64}
    few, many = (replace(device("h100"), multiprocessors=number) for number in (4, 400))
    slow, fast = (terms(planned("sor 1-d"), scalars, each, t_size=[8], t_i_size=[16]) for each in (few, many))
    place = NAMES.index("barriers")
    wavefronts = plan_work(planned("sor 1-d"), scalars, {"t_size": 8, "t_i_size": 16}, Target.CUDA)
    number = int(wavefronts[0].launches[0])
    barrier = overheads_of(many).barrier[0][1]
    # 23 wavefronts of points, two barriers more, and a tile at most in each of the inter-tile
    # wavefronts.
    assert fast.seconds[0, place] == pytest.approx(number * 25 * barrier, rel=0.1)
    assert slow.seconds[0, place] > 1.5 * fast.seconds[0, place]


def test_bytes_are_a_floor() -> None:
    """gamma alone knows no bandwidth of what tiles of a wavefront move together; the roofline does."""
    starved = replace(
        device("c1060"), compute_capability=None, memories=(*device("c1060").memories[:1], GPU.memories[2])
    )
    result = terms(
        planned("sor 2-d"), {"n": 300, "m": 300, "steps": 4}, starved, t_size=[2], t_i_size=[8], t_j_size=[8]
    )
    assert result.seconds[0, NAMES.index("roofline")] > 0


@pytest.mark.parametrize("name", ["h100", "c1060"])
@pytest.mark.parametrize(
    ("kernel", "scalars", "sizes"),
    [
        ("sor 1-d", {"n": 4000, "steps": 8192}, {"t_size": 16, "t_i_size": 32}),
        ("sor 2-d", {"n": 800, "m": 700, "steps": 512}, {"t_size": 8, "t_i_size": 16, "t_j_size": 16}),
        ("jacobi 1-d diamond", {"n": 100000, "steps": 256}, {"t_i_size": 16}),
        ("jacobi 2-d skewed", {"n": 800, "m": 700, "steps": 64}, {}),
    ],
)
def test_twice_the_steps_take_about_twice_as_long(
    kernel: str, scalars: dict[str, int], sizes: dict[str, int], name: str
) -> None:
    once, twice = (
        seconds(planned(kernel), {**scalars, "steps": factor * scalars["steps"]}, device(name), **sizes)[0]
        for factor in (1, 2)
    )
    assert 1.6 < twice / once < 2.2


def test_more_multiprocessors_compute_no_longer() -> None:
    scalars = {"n": 2000, "m": 2000, "steps": 16}
    sizes = {"t_size": [4, 16, 16], "t_i_size": [16, 16, 64], "t_j_size": [16, 32, 8]}
    h100 = device("h100")
    quarter = replace(h100, multiprocessors=33, float_rate=h100.float_rate / 4)
    many, few = (
        terms(planned("sor 2-d"), scalars, each, **sizes).seconds[:, :3].sum(axis=1) for each in (h100, quarter)
    )
    # In the last one there are fewer tiles in a wavefront than multiprocessors in either.
    assert np.all(few >= many)
    assert few[0] > 2 * many[0]


def product(columns: int, rows: int) -> KernelPlan:
    return plan(f"""void f(int n, float a[n][n], float b[n][n], float c[n][n]) {{
#pragma tilek kernel num_workers[0]({columns}) num_workers[1]({rows})
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
}}""")


def test_larger_staged_tiles_are_better_until_they_have_no_room() -> None:
    """A worker has 8 x 4 elements of the product: gangs of more workers read less. 16 x 8 stage 8 +
    8 KB, all that a C1060 has; here its memory is slow.
    """
    c1060 = device("c1060")
    slow = replace(c1060, memories=(c1060.memories[0], replace(c1060.memories[1], bandwidth=10e9)))
    times = [seconds(product(*workers), {"n": 2048}, slow)[0] for workers in ((8, 2), (8, 4), (8, 8), (16, 8))]
    # Elements read for each computed one, by the edges of tiles: (1 / 32 + 1 / 16), (1 / 32 + 1 /
    # 32), (1 / 32 + 1 / 64), (1 / 64 + 1 / 64).
    assert [times[0] / each for each in times] == pytest.approx([1, 3 / 2, 2, 3], rel=0.1)
    assert seconds(product(32, 8), {"n": 2048}, device("c1060")) == [np.inf]
    assert np.isfinite(seconds(product(32, 8), {"n": 2048}, device("h100"))[0])


def test_gangs_have_no_more_workers_than_a_block() -> None:
    h100 = device("h100")
    assert np.isfinite(seconds(product(32, 16), {"n": 2048}, h100)[0])
    assert seconds(product(32, 16), {"n": 2048}, replace(h100, threads_per_block=256)) == [np.inf]
    # 1024 workers with 72 registers are more than a multiprocessor's 65536.
    assert seconds(product(64, 16), {"n": 2048}, replace(h100, shared_per_block=2**18)) == [np.inf]


def test_scratchpads_without_room_are_never_ranked() -> None:
    found, scalars = planned("jacobi 1-d overlapped"), {"n": 100000, "steps": 64}
    ranking = rank_layouts(found, scalars, Target.CUDA, device("c1060"))
    assert ranking.reason == "none that was tried has room on NVIDIA Tesla C1060"
    assert all(layout.seconds is None for layout in ranking.layouts)
    assert rank_layouts(found, scalars, Target.CUDA, device("h100")).reason == ""


@pytest.mark.parametrize(
    ("sizes", "workers"),
    [((16, 16, 16), (16, 8)), ((16, 4, 64), (4, 8)), ((8, 100, 3), (32, 8)), ((8, 1, 1), (1, 8))],
)
def test_workers_are_as_many_as_the_runtime_gives(sizes: tuple[int, ...], workers: tuple[int, int]) -> None:
    """32 x 8, halved while half of them are enough for a tile's time steps and first row: workers walk along the last."""
    names = ("t_size", "t_i_size", "t_j_size")
    place = place_of(planned("sor 2-d"), {"n": 900, "m": 900, "steps": 30}, **dict(zip(names, sizes, strict=True)))
    assert [int(each[0]) for each in gang_workers(place, (), {}, device("h100"))] == [*workers, 1]


def test_gangs_that_copy_tiles_keep_workers_though_few_compute() -> None:
    """3 time steps need 4 workers for each of a tile's 16 rows, and its copies 128."""
    sizes = {"t_size": 3, "t_i_size": 16, "t_j_size": 32}
    place = place_of(planned("sor 2-d"), {"n": 900, "m": 900, "steps": 30}, **sizes)
    alone = replace(place, launch=replace(place.launch, staged_scratchpads=()))
    assert place.launch.staged_scratchpads
    for each, rows in ((place, 8), (alone, 4)):
        assert [int(count[0]) for count in gang_workers(each, (), {}, device("h100"))] == [16, rows, 1]


def test_a_block_of_few_threads_halves_the_workers() -> None:
    place = place_of(
        planned("sor 2-d"), {"n": 900, "m": 900, "steps": 30}, t_size=8, t_i_size=[64, 4], t_j_size=[64, 64]
    )
    assert [each.tolist() for each in gang_workers(place, (), {}, replace(device("h100"), threads_per_block=64))] == [
        [8, 4],
        [8, 8],
        [1, 1],
    ]


def test_what_the_user_says_of_workers_stays() -> None:
    result = product(64, 2)
    work = plan_work(result, {"n": 100}, {}, Target.CUDA)
    assert [int(each[0]) for each in gang_workers(work[0].place, result.counts, {"n": 100}, device("h100"))] == [
        64,
        2,
        1,
    ]


def test_neighbours_in_a_wavefront_meet_elements_apart() -> None:
    """i = 2 (t + i) - front: neighbours of one row are two elements apart (thesis 4.2.2), those of two rows are in different rows of the array."""
    for name, scalars in (("sor 1-d", {"n": 900, "steps": 30}), ("sor 2-d", {"n": 900, "m": 900, "steps": 30})):
        work = plan_work(planned(name), scalars, {}, Target.CUDA)
        (launch,) = work
        (fronts,) = launch.tile.fronts
        steps = neighbour_steps(fronts.nest, launch.place)
        assert len(steps) == (4 if name == "sor 1-d" else 6)
        assert {size for _, size in steps} == {4}
        assert {step for step, _ in steps} == {2} if name == "sor 1-d" else min(step for step, _ in steps) > 1000
    # A row of 16 workers is half a warp: 2 x 128 bytes for 128 bytes of use; in different rows, 128
    # bytes for each element.
    assert wasted(((2, 4),), 32, np.array([16, 32]), 128).tolist() == [2.0, 2.0]
    assert wasted(((2**20, 4),), 32, np.array([16]), 128).tolist() == [32.0]
    assert wasted(((1, 4),), 32, np.array([32]), 128).tolist() == [1.0]


def test_boxes_of_gangs_have_banks_and_take_room() -> None:
    """33 x 33 floats where tiles are 16 x 16 x 16. Neighbours are a row less an element apart there: 32 words, all in one bank. So rows are 34 apart, as they are where tiles have a column more."""
    found, scalars = planned("sor 2-d"), {"n": 900, "m": 900, "steps": 300}
    sizes: dict[str, int | list[int]] = {"t_size": 16, "t_i_size": 16, "t_j_size": [16, 17]}
    columns = {name: np.array(value) for name, value in sizes.items()}
    work = plan_work(found, scalars, columns, Target.CUDA)
    (launch,) = work
    (fronts,) = launch.tile.fronts
    assert [each.array.name for each in launch.place.launch.staged_scratchpads] == ["a"]
    assert launch.place.batch.all(
        array_tile_bytes(launch.place.launch, launch.place.batch.evaluation.value)
    ).tolist() == [
        33 * 34 * 4,
        33 * 34 * 4,
    ]
    # gcd(34 - 1, 32), for each of the 6 accesses.
    assert array_tile_conflicts(fronts.nest, launch.place, 32, 4).tolist() == [1, 1]
    # Without room for its box a gang reads where the array is, at which each worker of a row is
    # served by itself.
    room, none = (replace(device("h100"), shared_per_block=size) for size in (4488, 4487))
    place = NAMES.index("computation")
    staged, plain = (terms(found, scalars, gpu, **sizes).seconds[1, place] for gpu in (room, none))
    assert plain > 2 * staged


def test_without_a_cache_every_access_goes_to_memory() -> None:
    scalars, sizes = {"n": 2000, "steps": 64}, {"t_size": 16, "t_i_size": 16}
    old, new = (replace(device("c1060"), compute_capability=own) for own in ((1, 3), (2, 0)))
    place = NAMES.index("elements")
    without, cached = (terms(planned("sor 1-d"), scalars, each, **sizes).seconds[0, place] for each in (old, new))
    # 256 points of a tile with 4 accesses, of which a row of 16 workers meets 128 bytes for 64; the
    # tile touches 33 + 31 elements.
    assert without / cached == pytest.approx(256 * 4 * 2 / 64)


def test_estimates_stand_in_for_calibration_alone() -> None:
    h100 = device("h100")
    assert overheads_of(SMALL) is SMALL.overheads
    estimated = overheads_of(h100)
    assert [threads for threads, _ in estimated.barrier] == [32, 1024]
    assert estimated.barrier[1][1] > estimated.barrier[0][1]
    scalars, sizes = {"n": 20000, "steps": 64}, {"t_size": 16, "t_i_size": 16}
    slow = replace(h100, overheads=replace(estimated, wavefront=((1, 100e-6),)))
    place = NAMES.index("launches")
    here, there = (terms(planned("sor 1-d"), scalars, each, **sizes).seconds[0, place] for each in (h100, slow))
    assert there > 20 * here


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            """void f(int n, int *first, float *a) {
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    float s = 0;
    for (int k = 0; k < first[i]; k++) s += k;
    a[i] = s;
  }
}""",
            "'first[i]' depends on data",
        ),
        (
            """void f(int n, const int *length, float *a) {
#pragma tilek kernel copy(a[0:length[0]])
  for (int i = 0; i < n; i++) a[i] *= 2;
}""",
            "the clause's 'length[0]' has no known value",
        ),
    ],
)
def test_without_ground_nothing_is_predicted(source: str, reason: str) -> None:
    with pytest.raises(UncountableError, match=re.escape(reason)):
        predicted_on_gpu(plan(source), {"n": 9}, {}, device("h100"))


def test_hundreds_of_layouts_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch is looked at once, however many layouts there are, and each comes out as it does among others."""
    looked = []
    launches = device_prediction._LaunchTerms.seconds
    monkeypatch.setattr(device_prediction._LaunchTerms, "seconds", lambda own: looked.append(own) or launches(own))
    generator = np.random.default_rng(5)
    sizes = {name: generator.choice([4, 8, 16, 32], 300).tolist() for name in ("t_size", "t_i_size", "t_j_size")}
    scalars = {"n": 2000, "m": 2000, "steps": 100}
    every = seconds(planned("sor 2-d"), scalars, device("h100"), **sizes)
    assert len(looked) == 1
    alone = seconds(planned("sor 2-d"), scalars, device("h100"), **{name: [own[7]] for name, own in sizes.items()})
    assert every[7] == pytest.approx(alone[0])


def test_instructions_that_were_counted_scale_the_estimated_ones() -> None:
    """Twice the estimated integer instructions take twice their time, whatever the sizes; the
    floating-point ones and the accesses of a point stay. Launches that were not counted stay.
    """
    found, scalars, sizes = planned("sor 1-d"), {"n": 12, "steps": 4}, {"t_size": 4, "t_i_size": 16}
    usual = predicted_on_gpu(found, scalars, {}, SMALL)
    (launch,) = found.device
    terms_of = device_prediction._launch_terms(found, scalars, {}, SMALL)
    warps = float(terms_of[0].model.tiles[0]) * float(terms_of[0].model.work.warps[0])
    fixed = warps * (3 + 4)

    def scaled(instructions: float) -> dict[str, float]:
        result = predicted_on_gpu(found, scalars, sizes, SMALL, {launch.name: instructions})
        return dict(zip(NAMES, result.seconds[0].tolist(), strict=True))

    once, twice = (scaled(fixed + times * _integers(terms_of[0])) for times in (1, 2))
    plain = dict(zip(NAMES, predicted_on_gpu(found, scalars, sizes, SMALL).seconds[0].tolist(), strict=True))
    assert once == pytest.approx(plain)
    assert twice["positions"] == pytest.approx(2 * plain["positions"])
    assert plain["computation"] == pytest.approx(16 * (2.0 * (3 + 20) + 4 * 4))
    assert twice["computation"] == pytest.approx(16 * (2.0 * (3 + 40) + 4 * 4))
    other = predicted_on_gpu(found, scalars, {}, SMALL, {"another": 1.0})
    assert other.seconds.tolist() == usual.seconds.tolist()


def _integers(known: device_prediction._LaunchTerms) -> float:
    """The instructions of addresses and conditions that are estimated for all tiles."""
    (fronts,) = known.work.tile.fronts
    tiles, warps = float(known.model.tiles[0]), float(known.model.work.warps[0])
    return tiles * (20 * warps + 16 * float(known._visits(fronts)[0]))
