"""ICS'08: bank-conflict degrees, their cost, and Algorithm 2."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from tests.thesis.padding import AccessCost, Banks, Padding, StagedAccess, best_padding, element_conflicts, stride
from tilepragma.model.bank_conflicts import conflict_degree, odd_rows, padded_row

GEFORCE_8800 = Banks(16, 4)
TODAY = Banks(32, 4)


def requests(apart: int, width: int, banks: Banks) -> float:
    """Counted: the most words that a bank is asked for, for each of the rounds that accesses without conflicts take too."""
    threads = range(banks.number if width <= banks.width else banks.number * banks.width // width)
    words = {(thread * apart * width + byte) // banks.width for thread in threads for byte in range(width)}
    return max(Counter(word % banks.number for word in words).values())


def test_ics08_figure_2_strides_0_to_16() -> None:
    """Section 3.2: stride 2 is a two-way conflict, odd strides and the broadcast of stride 0 have none, 16 serialises a half-warp."""
    results = [conflict_degree(apart, 16) for apart in range(17)]
    assert results == [1, 1, 2, 1, 4, 1, 2, 1, 8, 1, 2, 1, 4, 1, 2, 1, 16]
    assert conflict_degree(-2, 16) == 2


def test_ics08_equation_3() -> None:
    """C(n) = t_start + t_request * n."""
    assert [AccessCost(5.0, 0.5).of(degree) for degree in (1, 2, 16)] == [5.5, 6.0, 13.0]


@pytest.mark.parametrize("banks", [GEFORCE_8800, TODAY, Banks(32, 8)])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_conflicts_are_what_counting_words_gives(banks: Banks, width: int) -> None:
    for apart in range(-70, 150):
        assert element_conflicts(apart, width, banks) == requests(apart, width, banks), apart


def test_ics08_algorithm_2_pads_a_tile_of_16_columns_by_one() -> None:
    """Section 7.1, mv: threads read down the columns of the staged tile of `a`; without padding all ask one bank."""
    down = [StagedAccess(within=0, rows=1)]
    assert best_padding(down, 16, 4, GEFORCE_8800) == Padding(1, AccessCost().of(1), (1,))
    assert element_conflicts(16, 4, GEFORCE_8800) == 16
    assert best_padding(down, 17, 4, GEFORCE_8800).elements == 0


def test_ics08_algorithm_2_weighs_all_references() -> None:
    """Section 5: padding for one reference may have a negative impact on another."""
    row, column, diagonal = StagedAccess(1, 0), StagedAccess(0, 1), StagedAccess(1, 1)
    assert best_padding([row, column], 16, 4, GEFORCE_8800).elements == 1
    assert best_padding([row], 16, 4, GEFORCE_8800).elements == 0
    assert best_padding([diagonal], 16, 4, GEFORCE_8800).elements == 0
    # With rows of 17 a diagonal steps by 18, a column by 17; no pitch is good for both, and one of
    # the two has 2 at least.
    both = best_padding([column, diagonal], 16, 4, GEFORCE_8800)
    assert sorted(both.conflicts) == [1, 2]
    assert both.elements == 1
    often = best_padding([column, StagedAccess(1, 1, times=40)], 17, 4, GEFORCE_8800)
    assert often.conflicts == (2, 1)
    assert often.elements == 1


def test_algorithm_2_is_the_least_of_all_paddings() -> None:
    random_ = random.Random(8)
    for _ in range(200):
        references = [
            StagedAccess(random_.randrange(-4, 9), random_.randrange(-2, 5), random_.randrange(1, 5))
            for _ in range(random_.randrange(1, 5))
        ]
        row, width = random_.randrange(1, 100), random_.choice((1, 2, 4, 8))
        result = best_padding(references, row, width, TODAY)
        every = [
            sum(
                reference.times * (1 + requests(stride(reference, row + pad), width, TODAY)) for reference in references
            )
            for pad in range(32)
        ]
        assert result.cost == min(every)
        assert result.elements == every.index(min(every))


def test_the_choice_hangs_on_neither_cost() -> None:
    """The cost is linear and has as many terms for each padding: any t_start and t_request > 0 choose the same."""
    references = [StagedAccess(0, 1), StagedAccess(1, 1, 3), StagedAccess(2, 3)]
    costs = (AccessCost(0, 1), AccessCost(20, 0.25), AccessCost(1, 1))
    assert len({best_padding(references, 24, 4, TODAY, each).elements for each in costs}) == 1


def test_doubles_take_two_banks_each() -> None:
    assert element_conflicts(1, 8, TODAY) == 1
    assert element_conflicts(16, 8, TODAY) == 16
    assert element_conflicts(32, 8, TODAY) == 16
    assert best_padding([StagedAccess(0, 1)], 32, 8, TODAY).elements == 1


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("banks", [GEFORCE_8800, TODAY])
def test_parity_is_algorithm_2_for_lengths_that_are_not_known(width: int, banks: Banks) -> None:
    for within, rows, row in itertools.product(
        range(-9, 20), (-6, -2, -1, 0, 1, 2, 3, 4, 5, 8, 32), (1, 2, 7, 16, 31, 32, 33, 64)
    ):
        one = StagedAccess(within, rows)
        if rows and any(stride(one, row + padding) == 0 for padding in range(banks.number)):
            continue  # elements of rows that overlap
        result = best_padding([one], row, width, banks)
        pitch = padded_row(row, odd_rows(within, rows))
        assert pitch - row in (0, 1)
        assert element_conflicts(stride(one, pitch), width, banks) == result.conflicts[0]
        assert pitch - row >= result.elements


def test_parities() -> None:
    assert odd_rows(1, 0) is None
    assert odd_rows(0, 1) is True
    assert odd_rows(0, 6) is True
    assert odd_rows(1, 1) is False
    assert odd_rows(1, 2) is None
    assert odd_rows(6, 2) is False
    assert [padded_row(row, odd=True) for row in (4, 5)] == [5, 5]
    assert [padded_row(row, odd=False) for row in (4, 5)] == [4, 6]
    assert [padded_row(row, odd=None) for row in (4, 5)] == [4, 5]
