"""Regions that run as written, and loops that a `continue` keeps from nothing."""

from __future__ import annotations

import re

import pytest

from tests.support.source_plans import errors, plan, text
from tilepragma.ir.loop_tree import Continue, While
from tilepragma.ir.traversal import walk


def test_a_region_that_runs_as_written_names_its_arrays() -> None:
    result = plan("""
        void f(int n, int m, double *a, const double *b, double A[n][m], const int *k)
        {
        #pragma tilek kernel
            for (int i = 1; i < n; i++)
                if (b[i] > 0)
                    A[i][0] = a[i] += a[i - 1] + a[k[i]];
        }
        """)
    assert result.untransformed is not None
    shown = {item.object.name: (len(item.section), item.reads, item.writes) for item in result.arrays}
    # What no section is known of is kept in step whole.
    assert shown == {"b": (1, True, False), "A": (2, False, True), "a": (0, True, True), "k": (0, True, False)}


def test_a_continue_ends_the_iteration_of_a_tiled_or_independent_loop() -> None:
    source = """
        void f(int n, double *a)
        {{
        #pragma tilek kernel {}
            for (int i = 0; i < n; i++) {{
                if (i % 3)
                    continue;
                a[i] = 1;
            }}
        }}
        """
    result = plan(source.format("loop data(a[0:n]) tile(gang) tile(dynamic)"))
    assert [node.test_last for node in walk(result.device[0].body) if isinstance(node, While)] == [True]
    assert "gang" in text(source.format("data(a[0:n]) independent"))


def test_what_follows_a_continue_is_under_the_opposite_condition_where_the_user_said_nothing() -> None:
    result = plan("""
        void f(int n, const int *restrict masked, double (*restrict a)[4])
        {
        #pragma tilek kernel data(a[0:n][0:4])
            for (int i = 0; i < n; i++) {
                if (masked[i]) {
                    a[i][0] = 0;
                    continue;
                }
                for (int j = 0; j < 4; j++) {
                    if (j == 2)
                        continue;
                    a[i][j] *= 2;
                }
            }
        }
        """)
    assert result.untransformed is None
    assert not [node for node in walk(result.device[0].body) if isinstance(node, Continue)]


def test_what_leaves_a_loop_is_named() -> None:
    source = """
        void f(int n, const int *k, double *a)
        {{
        #pragma tilek kernel data(a[0:n])
            for (int i = 0; i < n; i++) {{
                double v = a[i];
                switch (k[i]) {{
                case 1: {};
                default: v = 1;
                }}
                a[i] = v;
            }}
        }}
        """
    assert plan(source.format("break")).untransformed is None
    assert plan(source.format("continue")).untransformed == (
        "the loop over 'i' runs in order, since a break, or a continue in a switch, stands in it"
    )


def test_a_sum_without_reduction_is_refused_although_the_user_vouches() -> None:
    source = """
        int f(int n, const double *a)
        {
            int count = 0, found = 0;
        #pragma tilek kernel independent data(a[0:n])
            for (int i = 0; i < n; i++) {
                if (a[i] > 0)
                    found = 1;
                count += a[i] < 0;
            }
            return count + found;
        }
        """
    (message,) = errors(source)
    assert message.startswith("'count' is written by distributed iterations")


def test_loops_of_few_iterations_are_said_to_be_too_short() -> None:
    result = plan("""
        void f(const double a[3][3], const double b[3][3], double c[3][3])
        {
        #pragma tilek kernel
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    for (int k = 0; k < 3; k++)
                        c[i][j] += a[i][k] * b[k][j];
        }
        """)
    assert result.untransformed == "none of its loops has 8 iterations, and fewer are not worth a launch"


def test_few_time_steps_are_said_not_to_be_tiled() -> None:
    source = """
        void f(int n, double a[n], double b[n])
        {
        #pragma tilek kernel
            for (int t = 0; t < %d; t++) {
                for (int i = 1; i < n - 1; i++)
                    b[i] = 0.5 * (a[i - 1] + a[i + 1]);
                for (int i = 1; i < n - 1; i++)
                    a[i] = b[i];
            }
        }
        """
    note = "tiles of iterations of the loop over 't', on cores: it has 2, and fewer than 8 are no gain"
    assert note in plan(source % 2).rejected
    assert not [each for each in plan(source % 8).rejected if "are no gain" in each]


def test_the_only_loop_is_said_to_be_one_that_cannot_be_counted() -> None:
    result = plan("""
        void f(int n, int *a)
        {
        #pragma tilek kernel
            for (int i = 0; i < n; i++) {
                if (a[i] % 3 == 0)
                    i++;
                a[i] = 0;
            }
        }
        """)
    assert result.untransformed is not None
    assert re.fullmatch(
        r"the iterations of the loop on line 5 cannot be counted \(.+\), and there is no other loop",
        result.untransformed,
    )


@pytest.mark.parametrize(
    ("start", "written"),
    [("14914566399556683430ull", True), ("9223372036854775807ull", True), ("4611686018427387904ull", False)],
)
def test_numbers_that_no_long_has_keep_the_original_loops(start: str, written: bool) -> None:
    result = plan(
        f"""void f(unsigned long long low, int *a) {{
#pragma tilek kernel
for (unsigned long long i = low - {start}; i < 112; i++) a[i] += 1;
}}"""
    )
    assert (result.untransformed == "a number in it does not fit in 64 bits") == written
    assert all(bool(array.section) != written for array in result.arrays)
