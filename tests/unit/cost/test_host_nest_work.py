"""What the loops of tiles make caches move, against a cache that forgets what was used least recently, and prices of work on cores."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.support.plan_runs import StepsRun
from tests.support.source_plans import plan
from tests.unit.cost.test_launch_work import planned
from tilepragma.cost.host_nest_work import Groups, NestCounter, launch_nest
from tilepragma.cost.host_prediction import JOINING, TILE_SECONDS, predicted_terms
from tilepragma.cost.launch_work import plan_work
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import Target
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.loop_tree import FloatingRules, Statement
from tilepragma.model.device import Memory, Overheads, Processor
from tilepragma.model.execution_time import Numbers
from tilepragma.model.linear_model import Terms
from tilepragma.plan.array_bytes import element_bytes

LINE = 16


@dataclass
class Cache(StepsRun):
    """A cache of so many `lines`; counts those that come in, and those that go back since they were written."""

    lines: int = 0
    extents: dict[str, int] = field(default_factory=dict)
    held: OrderedDict[tuple[object, ...], bool] = field(default_factory=OrderedDict)
    moved: int = 0

    def _touch(self, statement: Statement) -> None:
        for use in uses(statement):
            if not is_of_memory(use):
                continue
            *outer, last = (self.value(each) for each in use.subscripts)
            line = (use.object.name, *outer, last * element_bytes(use.object) // LINE)
            written = self.held.pop(line, None)
            self.moved += written is None
            self.held[line] = bool(written) or use.writes
            if len(self.held) > self.lines:
                self.moved += self.held.popitem(last=False)[1]

    def flushed(self) -> int:
        """Bytes moved in all, when everything written has gone back."""
        return (self.moved + sum(self.held.values())) * LINE


#: Sizes of the nests and of tiles, and how many times the cache's bytes may be counted: tiles of
#: different launches are not seen to share anything, and a cache that just misses an iteration
#: holds most of it.
SIZES = {
    "sor 1-d": ({"n": 1501, "steps": 32}, 40, 2.0),
    "sor 2-d": ({"n": 37, "m": 35, "steps": 5}, 8, 1.7),
    "jacobi 1-d diamond": ({"n": 203, "steps": 13}, 8, 1.2),
    "jacobi 2-d diamond": ({"n": 31, "m": 29, "steps": 3}, 8, 1.4),
    "lu": ({"n": 37}, 8, 3.0),
    "sgemm": ({"n": 43, "m": 41, "p": 33}, 8, 1.2),
    "convolution": ({"n": 31, "m": 29, "q": 3}, 8, 1.3),
}


@pytest.mark.parametrize("cache", [256, 768])
@pytest.mark.parametrize("name", SIZES)
def test_bytes_are_those_of_a_cache(name: str, cache: int) -> None:
    scalars, extent, most = SIZES[name]
    sizes = {size.object.name: np.array([extent]) for size in planned(name).sizes}
    work = plan_work(planned(name), scalars, sizes, Target.THREADS)
    counter = NestCounter((cache,), LINE)
    moved = sum(float(launch_nest(each, counter).moved[0, 0]) for each in work)
    run = Cache({**scalars, **{key: int(value[0]) for key, value in sizes.items()}}, lines=cache // LINE)
    run.steps(planned(name).host_steps)
    assert 0.75 < moved / run.flushed() < most


PROCESSOR = Processor(
    name="four cores",
    cores=4,
    vector=32,
    line=64,
    clock=3e9,
    float_rate=384e9,
    double_rate=192e9,
    memories=(
        Memory("L1", 32768, 1, 800e9),
        Memory("L2", 1 << 20, 1, 400e9),
        Memory("L3", 1 << 24, 4, 160e9),
        Memory("DRAM", 1 << 35, 4, 40e9),
    ),
    overheads=Overheads(kernel=1e-6, barrier=(), wavefront=((1, 1e-6), (4, 3e-6)), copy=0.0),
)


def terms_of(name: str, scalars: dict[str, int], sizes: list[list[int]], processor: Processor = PROCESSOR) -> Terms:
    columns = {one.object.name: own for one, own in zip(planned(name).sizes, np.array(sizes).T, strict=True)}
    found = predicted_terms(planned(name), scalars, columns, processor)
    assert isinstance(found, Terms), found
    return found


def test_rows_and_points_are_those_of_the_loops() -> None:
    text = """void f(int n, int m, double a[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) a[i][j] = 2 * a[i][j] + 1;
}"""
    work = plan_work(plan(text), {"n": 101, "m": 53}, {}, Target.THREADS)
    (launch,) = work
    found = launch_nest(launch, NestCounter((1024,), 64))
    assert found.points[0] == 101 * 53
    assert found.rows[0] == 101
    assert found.moved[0, 0] == pytest.approx(2 * 101 * (53 * 8 + 56))


def test_panels_are_packed_for_each_block_of_rows() -> None:
    """A block packs what it reads of B by 40 rows for each of two tiles of 32 columns; all else is the same in blocks of 24 and of 48 rows."""
    scalars, [size] = {"n": 96, "m": 64, "p": 40}, planned("sgemm").sizes
    work = plan_work(planned("sgemm"), scalars, {size.object.name: np.array([24, 48])}, Target.THREADS)
    found = launch_nest(work[-1], NestCounter((1024,), 64))
    assert found.rows[0] - found.rows[1] == (96 / 24 - 96 / 48) * 40 * 2


def test_columns_of_register_tiles_beyond_the_last_are_computed_without_conditions() -> None:
    """Of 68 columns 4 are in a third tile of 32, whose other 28 take time; no condition is evaluated for each of its points."""
    [size] = planned("sgemm").sizes
    found = {}
    for columns in (64, 68):
        scalars = {"n": 96, "m": columns, "p": 40}
        work = plan_work(planned("sgemm"), scalars, {size.object.name: np.array([48])}, Target.THREADS)
        found[columns] = launch_nest(work[-1], NestCounter((1024,), 64))
    assert found[64].padding[0] == 0
    assert found[68].points[0] == pytest.approx(96 * 40 * 68, rel=0.02)
    assert found[68].padding[0] == pytest.approx(96 * 40 * 28, rel=0.2)  # five of 32 columns stand for all
    assert found[68].control[0] < 2 * found[64].control[0]


def test_products_that_may_not_be_fused_with_sums_take_twice_as_long() -> None:
    """Calibration counts two operations of a fused multiply-add; what comes from the first cache is no slower without."""
    points = []
    for contract in (True, False):
        found = replace(planned("sgemm"), floating=FloatingRules(contract=contract, fast=False))
        terms = predicted_terms(found, {"n": 96, "m": 64, "p": 40}, {}, PROCESSOR)
        assert isinstance(terms, Terms)
        points.append(terms.seconds[0, terms.names.index("points")])
    assert points[1] == pytest.approx(2 * points[0], rel=0.1)


@pytest.mark.parametrize(
    ("index", "count", "least"),
    [
        ([0, 0, 2, 2, 2], 4, [3, 9, 1, 9]),
        ([0, 0, 1, 1], 2, [3, 1]),  # as many in each case
        ([0, 2, 2], 3, [5, 9, 3]),  # as many as there were if each case had one
        ([], 2, [9, 9]),
    ],
)
def test_the_least_of_each_case(index: list[int], count: int, least: list[int]) -> None:
    groups = Groups(np.array(index, dtype=np.int64), count)
    values = np.array([5, 3, 4, 1, 2][: len(index)])
    assert groups.least(np.array([values, -values]), 9)[0].tolist() == least


def test_cases_that_a_launch_cannot_tell_apart_are_what_they_are_alone() -> None:
    found = plan("""void f(int n, double a[n][n], double s[n], double t[n], double x[n]) {
#pragma tilek kernel
  {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) s[i] += a[i][j] * x[j];
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) t[i] += a[j][i] * x[j];
  }
}""")
    names = [size.object.name for size in found.sizes]
    default = [size.host for size in found.sizes]
    layouts = [default, [3, *default[1:]], [*default[:-1], 5]]

    def seconds(*wanted: list[int]) -> Numbers:
        terms = predicted_terms(found, {"n": 701}, dict(zip(names, np.array(wanted).T, strict=True)), PROCESSOR)
        assert isinstance(terms, Terms), terms
        return terms.seconds

    together = seconds(*layouts)
    assert len(found.host) == 2
    assert together.tolist() == [seconds(layout)[0].tolist() for layout in layouts]
    assert len({tuple(each) for each in together.tolist()}) == len(layouts)


def test_chains_of_short_rows_go_on_beside_each_other() -> None:
    terms = terms_of("sor 1-d", {"n": 65536, "steps": 300}, [[64, 16], [64, 256], [64, 4096]], PROCESSOR.with_cores(1))
    waiting = terms.seconds[:, terms.names.index("waiting")]
    assert waiting[0] < waiting[1] / 2
    # The end of each row goes on beside the next one's begin, whatever its length.
    assert waiting[1] < waiting[2] < 1.3 * waiting[1]


def test_tiles_of_overlapping_wavefronts_are_handed_on_one_by_one() -> None:
    scalars = {"n": 65536, "steps": 320}
    terms = terms_of("sor 1-d", scalars, [[32, 4], [32, 16]], PROCESSOR)
    between = terms.seconds[:, terms.names.index("launches")]
    # Ten columns, in each of them a tile for every 4 or 16 points and some more at the slanted
    # ends.
    tiles = [10 * 65536 / width for width in (4, 16)]
    assert between == pytest.approx([TILE_SECONDS * tile / PROCESSOR.cores for tile in tiles], rel=0.2)


def test_under_opencl_each_wavefront_is_a_launch() -> None:
    overheads = Overheads(
        kernel=5e-5, barrier=(), wavefront=((1, 2e-6), (4, 4e-6)), copy=1e-5, copy_in=1e10, copy_out=1e10
    )
    opencl = replace(PROCESSOR, overheads=overheads)
    scalars, sizes = {"n": 65536, "steps": 320}, [[160, 4], [160, 8192]]
    terms = terms_of("sor 1-d", scalars, sizes, opencl)
    between = terms.seconds[:, terms.names.index("launches")]
    # Short tiles run one after the other on whatever core is awake; of long ones several cores take
    # part, which takes until they are.
    waves = [-(-(65536 + 320) // width) + 1 for width in (4, 8192)]
    assert between == pytest.approx([waves[0] * 2e-6, waves[1] * (4e-6 + JOINING)])
    short, whole = (each.seconds[0, each.names.index("rows")] for each in (terms, terms_of("sor 1-d", scalars, sizes)))
    assert short > 1.9 * whole, "two columns, which one core has or two"


def test_what_fits_no_cache_comes_from_memory() -> None:
    sizes = [[1, 4096], [64, 256]]
    terms = terms_of("jacobi 2-d diamond", {"n": 5000, "m": 5000, "steps": 40}, sizes)
    memory = terms.seconds[:, terms.names.index("DRAM")]
    assert memory[1] < memory[0] / 4
    small = terms_of("jacobi 2-d diamond", {"n": 300, "m": 300, "steps": 40}, sizes)
    assert not small.seconds[:, small.names.index("DRAM")].any()


@pytest.mark.filterwarnings("error")
def test_layouts_of_which_no_point_was_seen_are_never_the_fastest() -> None:
    # Every second wavefront of diamonds of one step is empty: of eight steps just such ones are
    # looked at.
    terms = terms_of("jacobi 2-d diamond", {"n": 300, "m": 300, "steps": 8}, [[1, 64], [8, 64]])
    assert np.isinf(terms.estimate[0])
    assert 0 < terms.estimate[1] < 1


def test_a_core_that_works_alone_takes_longer() -> None:
    arguments = "sgemm", {"n": 512, "m": 512, "p": 512}, [[64] * len(planned("sgemm").sizes)]
    assert terms_of(*arguments, PROCESSOR.with_cores(1)).estimate > 3 * terms_of(*arguments).estimate


def test_data_that_say_how_long_a_loop_is_are_a_reason() -> None:
    with pytest.raises(UncountableError, match="'p' has no known value"):
        predicted_terms(planned("sgemm"), {"n": 5, "m": 5}, {}, PROCESSOR)


def test_others_hear_of_a_launch_while_the_first_core_is_at_work() -> None:
    # 64 rows on two cores: in halves both wait for the second, of 48 and 16 the first has more to
    # do than the others wait.
    sizes = [[32] * len(planned("sgemm").sizes), [48] * len(planned("sgemm").sizes)]
    two = replace(PROCESSOR.with_cores(2), overheads=Overheads(1e-6, (), ((1, 1e-6), (2, 3e-6)), 0.0))
    terms = terms_of("sgemm", {"n": 64, "m": 512, "p": 512}, sizes, two)
    launches = terms.seconds[:, terms.names.index("launches")]
    assert launches.tolist() == [pytest.approx(3e-6), 0.0]
