"""Array reductions: loops that only add to elements which data choose add to copies of the array."""

from __future__ import annotations

import pytest

from tests.support.source_plans import errors, plan
from tilepragma.ir.loop_tree import FloatingRules, TileNest
from tilepragma.ir.loop_tree_text import plain_text, statement_text
from tilepragma.ir.traversal import walk
from tilepragma.normalise.array_reductions import clause_remedies
from tilepragma.plan.kernel_plan import KernelPlan

STRICT = FloatingRules(contract=False, fast=False)
PARAMETERS = "int n, int m, const int *restrict key, int *restrict h, int count[restrict m], double sums[restrict m]"


def planned(body: str, parameters: str = PARAMETERS) -> KernelPlan:
    return plan(f"static int t[8][4];\nvoid f({parameters}) {{\n#pragma tilek kernel\n{body}\n}}")


def is_parallel(made: KernelPlan) -> bool:
    return made.untransformed is None and any(
        isinstance(node, TileNest) for launch in made.host for node in walk(launch.body)
    )


def test_each_copy_has_runs_of_iterations_and_all_copies_are_combined() -> None:
    made = planned("for (int i = 3; i <= n; i++) count[key[i]] += 2;")
    summed, combined = (statement_text(statement) for statement in made.kernel.body.statements)
    assert summed.splitlines() == [
        "for (copy = 0; copy < 16; copy += 1)",
        "  for (count_0 = 0; count_0 < (long)m; count_0 += 1)",
        "    count_copies[copy][count_0] = 0;",
        "  for (i_first = (4096l * copy) + 3l; i_first < (long)n + 1l; i_first += 65536)",
        "    for (i = i_first; i < (((long)n + 1l) < (i_first + 4096l) ? (long)n + 1l : i_first + 4096l); i += 1)",
        "      count_copies[copy][key[i]] += 2;",
    ]
    assert combined.splitlines()[1].startswith(
        "  count[count_0_2] += (unsigned int)count_copies[0][count_0_2] + count_copies[1]"
    )
    assert is_parallel(made)


def test_few_iterations_run_as_written() -> None:
    reductions = planned("for (int i = 0; i < n; i++) count[key[i]]++;").kernel.reductions
    assert reductions is not None
    assert plain_text(reductions.worthwhile) == "n >= (64 * m)"


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) if (key[i] > 3) count[key[i]] = count[key[i]] - i;",
        "for (int i = 0; i < n; i++) { int k = key[i] & 7; t[k][i & 3] |= i; count[k] ^= 1; }",
        "for (int i = 0; i < n; i++) { int k = key[i] & 7; for (int j = 0; j < 4; j++) t[k][j] += j; }",
        "for (int i = 0; i < n; i++) h[key[i] & 255]++;",
        "for (int i = n; i >= 0; i--) h[key[i] & 255]++;",
        "for (int i = 0; i < n; i += 3) h[key[i] & 255]++;",
        "for (int i = 0; i < n; i++) h[key[i] % 100] *= 3;",
        "for (int i = 0; i < n; i++) { count[key[i]]++; sums[i] += key[i]; }",
        "{ for (int i = 0; i < n; i++) count[key[i]]++; for (int i = 0; i < n; i++) count[key[i] / 2]++; }",
    ],
)
def test_updates_in_any_order_run_in_parallel(body: str) -> None:
    made = planned(body)
    assert made.kernel.reductions is not None
    assert is_parallel(made)


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) sums[key[i]] += 1;",  # floating-point sums keep their order
        "for (int i = 0; i < n; i++) h[key[i]]++;",  # nobody knows how many elements there are
        "for (int i = 0; i < n; i++) count[key[i]] = i;",
        "for (int i = 0; i < n; i++) { count[key[i]]++; count[0] *= 2; }",
        "for (int i = 0; i < n; i++) { count[key[i]]++; sums[i] = count[i]; }",
        "for (int i = 0; i < n; i++) count[key[i]] += count[0];",
        "for (int i = 0; i < n; i++) count[count[i]]++;",
        "for (int i = 0; i < n; i++) { if (key[i] < 0) break; count[key[i]]++; }",
        "for (int i = 0; i < n; i++) h[key[i] & 255] &= i;",  # a narrower type could change elements beyond the array
        "for (int i = 0; i < 20; i++) count[key[i]]++;",
    ],
)
def test_other_loops_stay_as_they_are(body: str) -> None:
    assert planned(body).kernel.reductions is None


def test_loops_that_are_parallel_need_no_copies() -> None:
    made = planned(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][key[j]]++;",
        "int n, int m, const int *restrict key, int a[restrict n][m]",
    )
    assert made.kernel.reductions is None
    assert is_parallel(made)


def test_elements_beyond_an_array_of_unknown_length_are_not_touched() -> None:
    (_, combined) = planned("for (int i = 0; i < n; i++) h[key[i] % 100] += 2;").kernel.body.statements
    lines = statement_text(combined).splitlines()
    assert lines[0] == "for (h_0_2 = 0; h_0_2 < 199l; h_0_2 += 1)"
    assert lines[1].startswith("  if (((unsigned int)h_copies[0][h_0_2] + h_copies[1][h_0_2]") and lines[1].endswith(
        ") != 0)"
    )
    assert lines[2].startswith("    h[h_0_2 - 99l] += (unsigned int)h_copies[0][h_0_2]")


@pytest.mark.parametrize(
    "body",
    [
        "#pragma tilek kernel reduction(+: sums)\nfor (int i = 0; i < n; i++) sums[key[i]] += 1;",
        "#pragma tilek kernel reduction(+: x[0:m + 2])\nfor (int i = 0; i < n; i++) x[key[i]] += i;",
        "#pragma tilek kernel\n#pragma tilek loop reduction(*: x[0:BINS])\nfor (int i = 0; i < n; i++) x[key[i]] *= i;",
        "#pragma tilek kernel reduction(+: h[:m])\nfor (int i = 0; i < n; i++) for (int j = 0; j < m; j++) h[j] += i;",
        "#pragma tilek kernel reduction(+: sums) independent\nfor (int i = 0; i < n; i++) sums[key[i]] += i;",
    ],
)
def test_clauses_allow_any_order_and_tell_lengths(body: str) -> None:
    made = plan(f"#define BINS 40\nvoid f({PARAMETERS}, double *x) {{\n{body}\n}}")
    assert made.kernel.reductions is not None
    assert is_parallel(made)


def test_copies_of_sums_begin_with_a_zero_that_changes_none() -> None:
    made = plan(f"""void f({PARAMETERS}) {{
    #pragma tilek kernel reduction(+: sums)
        for (int i = 0; i < n; i++) sums[key[i]] += 1;
    }}""")
    assert "sums_copies[copy][sums_0] = -0.0;" in statement_text(made.kernel.body.statements[0])


@pytest.mark.parametrize(
    ("clause", "loop", "expected"),
    [
        ("reduction(+: x)", "", "'x' cannot be reduced: it is an array of unknown length"),
        ("reduction(+: x[2:m])", "", "the section of 'x' needs a length and begins at element 0"),
        ("reduction(+: x[0:m][0:2])", "", "the section of 'x' has 2 dimensions, the array 1"),
        ("reduction(+: r[0:m][0:2])", "", "'r' cannot be reduced: its rows lie anywhere in memory"),
        ("reduction(*: x[0:m])", "", "'x' is reduced with '*', but this is not an update with that operator"),
        ("reduction(+: x[0:m])", "tile(thread)", "the array 'x' cannot be reduced in loops with tiles of your own"),
    ],
)
def test_clauses_that_cannot_hold_are_errors(clause: str, loop: str, expected: str) -> None:
    line = f"#pragma tilek loop {loop}\n" if loop else ""
    body = "for (int i = 0; i < n; i++) { x[key[i]] += 1; r[key[i]][0] = 1; }"
    source = f"void f({PARAMETERS}, double *x, double **r) {{\n#pragma tilek kernel {clause}\n{line}{body}\n}}"
    assert expected in errors(source)


def test_a_clause_that_would_help_is_named() -> None:
    (note,) = clause_remedies(planned("for (int i = 0; i < n; i++) h[key[i]]++;").kernel, STRICT)
    assert note.message == (
        "write reduction(+: h[0:N]) at the kernel, with the first length of 'h' for N: iterations of the loop over 'i' "
        "then update copies of 'h'"
    )
    (again,) = clause_remedies(planned("for (int i = 3; i < n; i += 2) h[key[i]]--;").kernel, STRICT)
    assert again.message == note.message
    (note,) = clause_remedies(planned("for (int i = 0; i < n; i++) sums[key[i]] += i;").kernel, STRICT)
    assert note.message == (
        "write reduction(+: sums) at the kernel: iterations of the loop over 'i' then update copies of 'sums', "
        "in any order"
    )
