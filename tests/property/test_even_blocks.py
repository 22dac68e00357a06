"""Blocks of rows that are distributed over threads: the size that a launch takes gives the busiest thread less to do, and C agrees with Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilepragma.plan.balanced_chunking import (
    BLOCK_COST,
    FEW_ROWS,
    LEAST_OPERATIONS,
    MOST_TIMES,
    OTHER_COST,
    OTHER_TIMES,
    even_blocks,
    even_columns,
)

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"


def most_rows(size: int, rows: int, threads: int) -> int:
    """Of the thread that has most, by going through the blocks."""
    result = [0] * threads
    for block, first in enumerate(range(0, rows, size)):
        result[block % threads] += min(size, rows - first)
    return max(result)


@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 1500), st.integers(1, 40), st.sampled_from([0.0, 1e12]))
def test_no_thread_has_more_than_before(unit: int, units: int, rows: int, threads: int, operations: float) -> None:
    usual = unit * units
    result = even_blocks(usual, (0, rows - 1), unit, threads, operations)
    most, part = OTHER_TIMES * usual, OTHER_COST
    if operations:
        most, part = max(MOST_TIMES * usual, FEW_ROWS), BLOCK_COST
    assert result >= 1 and (result == usual or result <= most) and result % unit == 0
    before, after = (most_rows(size, rows, threads) for size in (usual, result))
    # Larger blocks are cheaper: a part of the usual size for each that a thread has.
    assert after <= before + (-(-rows // usual // threads) + 1) * usual / part


@pytest.mark.parametrize(
    ("rows", "threads", "size"),
    [(96, 2, 96), (400, 2, 200), (500, 2, 256), (1000, 2, 256), (1000, 16, 64), (100, 4, 32)],
)
def test_sizes_of_products(rows: int, threads: int, size: int) -> None:
    assert even_blocks(96, (0, rows - 1), 8, threads, 2.0 * rows**3) == size


@pytest.mark.parametrize(("rows", "threads", "size"), [(400, 2, 104), (500, 2, 128), (1000, 2, 168), (1000, 16, 64)])
def test_blocks_are_smaller_where_rows_may_be_of_unlike_length(rows: int, threads: int, size: int) -> None:
    assert even_blocks(96, (0, rows - 1), 8, threads) == size


@pytest.mark.parametrize(
    ("rows", "threads", "worth", "size"),
    [(80, 4, 100.0, 24), (80, 4, 3.5, 32), (80, 4, 1.9, 96), (80, 1, 100.0, 96), (96, 2, 2.0, 48), (5, 4, 100.0, 8)],
)
def test_few_rows_are_distributed_where_they_are_much_work(rows: int, threads: int, worth: float, size: int) -> None:
    assert even_blocks(96, (0, rows - 1), 8, threads, worth * LEAST_OPERATIONS) == size
    assert even_blocks(96, (rows, rows - 1), 8, threads, worth * LEAST_OPERATIONS) == 96


@pytest.mark.parametrize(("rows", "threads", "size"), [(10, 2, 5), (10, 4, 3), (40, 2, 20), (100, 2, 17)])
def test_threads_have_as_many_products_of_a_batch(rows: int, threads: int, size: int) -> None:
    assert even_blocks(4, (0, rows - 1), 1, threads, 320e3) == size


def test_rows_that_do_not_begin_in_the_first_block_keep_the_size() -> None:
    assert even_blocks(96, (1, 499), 8, 2) == 128
    assert even_blocks(96, (96, 499), 8, 2) == even_blocks(96, (-1, 499), 8, 2) == 96


@pytest.mark.parametrize(
    ("usual", "steps", "threads", "width"),
    [
        (3, 5, 2, 2),
        (3, 6, 2, 3),
        (3, 20, 2, 3),
        (3, 10, 8, 1),
        (3, 1, 8, 3),
        (256, 250, 2, 125),
        (256, 20, 2, 256),
        (256, 250, 1, 256),
    ],
)
def test_columns_of_time_steps(usual: int, steps: int, threads: int, width: int) -> None:
    """No column is much longer than a thread's share, and none is cut for nothing."""
    assert even_columns(usual, steps - 1, 1, threads) == width


@given(st.integers(1, 300), st.integers(1, 2000), st.integers(2, 40))
def test_columns_are_no_wider_and_work_is_no_less_even(usual: int, rows: int, threads: int) -> None:
    result = even_columns(usual, rows - 1, 1, threads)
    assert 1 <= result <= usual
    assert max(min(result, rows) * threads, rows) <= max(min(usual, rows) * threads, rows)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    output = tmp_path_factory.mktemp("even") / "libeven.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-ftrapv", "-shared", "-fPIC"]
    sources = [f"-I{RUNTIME}", f"-I{RUNTIME / 'include'}", str(RUNTIME / "launch" / "balanced_chunking.c")]
    subprocess.run([compiler, *flags, *sources, "-o", str(output)], check=True)
    result = ctypes.CDLL(str(output))
    result.tilek_balanced_blocks.restype = ctypes.c_int64
    result.tilek_balanced_blocks.argtypes = [*[ctypes.c_int64] * 5, ctypes.c_double]
    result.tilek_balanced_columns.restype = ctypes.c_int64
    result.tilek_balanced_columns.argtypes = [ctypes.c_int64] * 4
    return result


rows_of = st.one_of(st.integers(-3, 5000), st.sampled_from([2**40, 2**63 - 1, -(2**63)]))


operations_of = st.sampled_from([0.0, 1e6, 5e6, 1e8, 1e30])


@given(st.integers(1, 600), rows_of, rows_of, st.integers(0, 64), st.integers(0, 300), operations_of)
@settings(max_examples=300)
def test_c_does_as_python_does(
    library: ctypes.CDLL, usual: int, lower: int, upper: int, unit: int, threads: int, operations: float
) -> None:
    assert library.tilek_balanced_blocks(usual, lower, upper, unit, threads, operations) == even_blocks(
        usual, (lower, upper), unit, threads, operations
    )
    assert library.tilek_balanced_columns(usual, upper, unit, threads) == even_columns(usual, upper, unit, threads)
