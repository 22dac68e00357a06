"""OUT.c: compiles without a warning, keeps every line where it was, and each construct stays one statement."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))
sys.path.insert(0, str(Path(__file__).parent))

import hand_built as build
import marked_source as source

from tilepragma.codegen.manifest import describe
from tilepragma.host.rewriter import check_user_text, region_start
from tilepragma.host.rewriter import rewrite as rewrite_unit
from tilepragma.ir.directives import (
    ClauseExpression,
    Construct,
    DataClause,
    DataDirective,
    KernelDirective,
    Section,
    SectionDimension,
    Target,
)
from tilepragma.ir.loop_tree import (
    DataRegion,
    Enclosing,
    FloatingRules,
    Inclusion,
    SourceFile,
    TranslationUnit,
)
from tilepragma.plan.kernel_plan import KernelPlan

TARGETS = (Target.SERIAL, Target.THREADS, Target.OPENCL, Target.CUDA)
HEAD = """#define _POSIX_C_SOURCE 199309L
#include <time.h>
HERE
"""
REGION = """#pragma tilek kernel \\
        num_gangs(2)
/*[*/for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            HERE A[i][j] += b; }
/*]*/"""
FUNCTION = f"""/*^*/void f(int n, int m, float A[n][m], float b);
/*^*/void f(int n, int m, float A[n][m], float b)
{{
    if (n > 2)
        {REGION}
    else
        HERE
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    HERE
}}
HERE
"""


def plan_at(file: SourceFile, which: int = 0, name: str = "scale", insertion: int | None = None) -> KernelPlan:
    made = build.listing3()
    region = source.enclosed(file, which=which)
    pragma = [range_ for range_ in file.pragmas if range_.end.offset <= region.start.offset][-1]
    kernel = replace(
        made.kernel,
        directive=KernelDirective(pragma),
        name=name,
        range=region,
        enclosing=Enclosing("f", file.path, source.insertion(file, which if insertion is None else insertion)),
    )
    launches = tuple(replace(launch, name=name) for launch in made.host)
    return replace(made, kernel=kernel, host_steps=launches, device_steps=launches)


def rewrite(
    whole: TranslationUnit, plans: list[KernelPlan], output: str, targets: tuple[Target, ...] = TARGETS
) -> bytes:
    return rewrite_unit(whole, [describe(plan, targets) for plan in plans], output)


def unit(
    files: list[SourceFile], inclusions: tuple[Inclusion, ...] = (), regions: tuple[DataRegion, ...] = ()
) -> TranslationUnit:
    return TranslationUnit(tuple(files), inclusions, (), regions, FloatingRules(False, False), ())


@pytest.mark.parametrize("options", [("-std=c11", "-Wpedantic"), ("-std=gnu11",)])
def test_a_region_in_an_if_without_braces(tmp_path: Path, options: tuple[str, ...]) -> None:
    main = source.file("example.c", HEAD + FUNCTION.replace("else\n        HERE", "else\n        (void)0; HERE"))
    text = rewrite(unit([main]), [plan_at(main)], "OUT.c")
    assert source.compiles(tmp_path, text, *options) == ""
    assert b"pragma tilek" not in text
    assert b"A[i][j] += b; }" in text


def test_generated_lines_are_numbered_as_they_stand(tmp_path: Path) -> None:
    main = source.file("example.c", HEAD + FUNCTION.replace("else\n        HERE", "else\n        (void)0; HERE"))
    lines = rewrite(unit([main]), [plan_at(main)], "OUT.c").decode().splitlines()
    marks = [(number, line) for number, line in enumerate(lines, 1) if line.endswith(' "OUT.c"')]
    assert len(marks) > 3
    assert all(line == f'#line {number + 1} "OUT.c"' for number, line in marks)
    assert not any(line.startswith("#line GENERATED") for line in lines)


def test_two_regions_of_one_function(tmp_path: Path) -> None:
    body = FUNCTION.split("    if (n > 2)")[0]
    text = HEAD + body + f"    {REGION}\n    HERE {REGION} HERE\n}}\nHERE\n"
    main = source.file("example.c", text)
    plans = [plan_at(main, 0, "first", 0), plan_at(main, 1, "second", 0)]
    assert source.compiles(tmp_path, rewrite(unit([main]), plans, "OUT.c"), "-std=c11", "-Wpedantic") == ""


def test_a_header_with_a_region_stands_in_the_main_file(tmp_path: Path) -> None:
    header = source.file(
        "work.h",
        "#pragma once\n"
        + HEAD.replace("#define _POSIX_C_SOURCE 199309L\n", "")
        + FUNCTION.replace("else\n        HERE", "else\n        (void)0; HERE"),
    )
    main = source.file(
        "example.c", '#define _POSIX_C_SOURCE 199309L\nHERE\n  #include "work.h" /* twice */\n#include "work.h"\nHERE\n'
    )
    inclusions = tuple(
        Inclusion(source.span("example.c", main.text, start, start + len(b'#include "work.h"')), "work.h")
        for start in (main.text.index(b"#include"), main.text.rindex(b"#include"))
    )
    text = rewrite(unit([main, header], inclusions), [plan_at(header)], "OUT.c")
    assert source.compiles(tmp_path, text, "-std=c11", "-Wpedantic") == ""
    assert b"#pragma once" not in text


def test_as_written_keeps_the_users_text_and_the_data_in_step(tmp_path: Path) -> None:
    main = source.file("example.c", HEAD + FUNCTION.replace("else\n        HERE", "else\n        (void)0; HERE"))
    plan = replace(plan_at(main), untransformed="the user gave no tiles", host_steps=(), device_steps=())
    text = rewrite(unit([main]), [plan], "OUT.c")
    assert source.compiles(tmp_path, text, "-std=c11", "-Wpedantic") == ""
    assert b"tilek_launch(" in text
    assert b"_host(" not in text
    bare = rewrite(unit([main]), [replace(plan, arrays=())], "OUT.c")
    assert b"tilek_" not in bare
    assert source.compiles(tmp_path, bare, "-std=c11") == ""


def clause(name: str, path: str, *lengths: str) -> DataClause:
    dimensions = tuple(SectionDimension(None, ClauseExpression(length, build.place(1))) for length in lengths)
    return DataClause(name, (Section(path, dimensions, build.place(1)),), None, None, False, build.place(1))


DATA = """/*^*/void f(int n, int m, float A[n][m], float b);
/*^*/void f(int n, int m, float A[n][m], float b)
{
    #pragma tilek data copy(A[0:n][0:m])
    /*{*/while (n--)
        HERE
        REGION /*}*/
    HERE
    if (n)
        /*<*/#pragma tilek update self(A[0:n][0:m])
    else
        /*<*/#pragma tilek wait(3)
    HERE
    /*<*/#pragma tilek wait
    HERE
}
"""


def test_data_directives(tmp_path: Path) -> None:
    text = DATA.replace("while (n--)\n        HERE", "while (n-- > 0)").replace("REGION", REGION)
    main = source.file("example.c", HEAD + text)
    plan = plan_at(main)
    array = plan.arrays[0].object
    enclosing = plan.kernel.enclosing
    standalone = [match for match in range(len(main.text)) if main.text.startswith(b"/*<*/", match)]
    points = [source.span("example.c", main.text, start + 5, start + 5) for start in standalone]
    at = main.text.index(b"#pragma tilek data")
    pragma = source.span("example.c", main.text, at, main.text.index(b"\n", at))
    directive = DataDirective(Construct.DATA, (clause("copy", "A", "n", "m"),), pragma)
    update = DataDirective(Construct.UPDATE, (clause("self", "A", "n", "m"),), points[0])
    wait = DataDirective(Construct.WAIT, (), points[2])
    regions = (
        DataRegion(directive, (("A", array),), enclosing, source.enclosed(main, "/*{*/", "/*}*/")),
        DataRegion(update, (("A", array),), enclosing, points[0]),
        DataRegion(replace(wait, waits=(ClauseExpression("3", points[1]),), range=points[1]), (), enclosing, points[1]),
        DataRegion(wait, (), enclosing, points[2]),
    )
    out = rewrite(unit([main], (), regions), [plan], "OUT.c")
    assert source.compiles(tmp_path, out, "-std=c11", "-Wpedantic") == ""
    order = [
        out.index(b"tilek_data_enter("),
        out.index(b"tilek_launch("),
        out.index(b"tilek_complete("),
        out.index(b"tilek_data_exit("),
    ]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("between", "with_foreign"),
    [
        ("\n/* c */ ", False),
        ("\n#pragma tilek loop tile(gang)\n// c\n", False),
        ("\n#ifdef OPENMP\n#pragma omp parallel for\n#endif\n", True),
        ("\n#pragma GCC ivdep\n", True),
        ("\nPARALLEL_FOR\n", True),
        ('\n_Pragma("omp simd") ', True),
    ],
)
def test_pragmas_of_others_stay_with_their_loop(between: str, with_foreign: bool) -> None:
    directive = "#pragma tilek kernel"
    text = f"{directive}{between}for (;;) ;".encode()
    end, start = len(directive), text.index(b"for (;;)")
    begins = region_start(text, source.span("a.c", text, start, len(text)), source.span("a.c", text, 0, end))
    assert begins == (end if with_foreign else start)


def test_a_translation_without_some_of_the_text_is_never_written() -> None:
    main = source.file("example.c", HEAD + FUNCTION)
    user = main.text
    for range_ in reversed(main.pragmas):
        user = user[: range_.start.offset] + user[range_.end.offset :]
    check_user_text(user.replace(b" ", b"\n"), unit([main]))
    for kept in (user[: user.rindex(b"}")], user + b"}", user.replace(b"{", b"", 1), main.text):
        with pytest.raises(AssertionError):
            check_user_text(kept, unit([main]))


def test_only_wanted_targets_are_embedded() -> None:
    main = source.file("example.c", HEAD + FUNCTION)
    text = rewrite(unit([main]), [plan_at(main)], "OUT.c", (Target.THREADS, Target.CUDA))
    assert b"__global__" in text
    assert b"__kernel" not in text
    assert b"1u << TILEK_THREADS | 1u << TILEK_CUDA," in text


def test_includes_beside_an_inlined_header_are_found_from_the_main_file(tmp_path: Path) -> None:
    folder = tmp_path / "inc"
    folder.mkdir()
    (folder / "helper.h").write_text("static inline float helper(float v) { return v; }\n")
    body = FUNCTION.replace("else\n        HERE", "else\n        (void)helper(1.0f); HERE")
    header = source.file(str(folder / "work.h"), '#pragma once\n#include <time.h>\n#include "helper.h"\nHERE\n' + body)
    text = '#define _POSIX_C_SOURCE 199309L\n#include "inc/work.h"\nHERE\n#include "inc/work.h"\nHERE\n'
    main = source.file(str(tmp_path / "example.c"), text)
    name = b'#include "inc/work.h"'
    start = main.text.index(name)
    inclusion = Inclusion(source.span(main.path, main.text, start, start + len(name)), header.path)
    out = rewrite(unit([main, header], (inclusion,)), [plan_at(header)], "OUT.c")
    assert b'#include "inc/work.h"' not in out
    assert b'#include "inc/helper.h"' in out
    assert source.compiles(tmp_path, out, "-std=c11", "-Wpedantic") == ""


def test_a_byte_order_mark_goes_where_other_text_comes_first(tmp_path: Path) -> None:
    text = HEAD + FUNCTION.replace("else\n        HERE", "else\n        (void)0; HERE")
    main = source.file("example.c", "\ufeff" + text)
    out = rewrite(unit([main]), [plan_at(main)], "OUT.c")
    assert "\ufeff".encode() not in out
    assert source.compiles(tmp_path, out, "-std=c11") == ""


def test_a_region_in_a_static_inline_function_of_c99(tmp_path: Path) -> None:
    body = FUNCTION.split("    if (n > 2)")[0].split("/*^*/")[2]
    text = f"/*^*/static inline {body}    {REGION}\n    HERE\n}}\nvoid g(void);\nvoid g(void) {{ float a[2][2] = {{{{0}}}}; f(2, 2, a, 1); }}\n"
    main = source.file("example.c", text)
    out = rewrite(unit([main]), [plan_at(main)], "OUT.c")
    assert source.compiles(tmp_path, out, "-std=c11", "-Wpedantic") == ""


def test_generated_code_keeps_out_of_the_users_warnings(tmp_path: Path) -> None:
    main = source.file("example.c", HEAD + FUNCTION.replace("else\n        HERE", "else\n        (void)0; HERE"))
    out = rewrite(unit([main]), [plan_at(main)], "OUT.c")
    strict = ("-Wconversion", "-Wsign-conversion", "-Wcast-qual", "-Wshadow", "-Wvla")
    said = source.compiles(tmp_path, out, "-std=c11", *strict)
    assert "OUT.c" not in said
    assert "ISO C90 forbids" in said  # the user's own variable-length parameter is still warned of
