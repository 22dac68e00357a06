from __future__ import annotations

import json
import os
import platform
import shutil
import stat
from pathlib import Path

import pytest
from frontend_text import kernel, messages, nodes, read

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import (
    CompilerAnswer,
    CompilerError,
    CompilerFlags,
    ask_compiler,
    cache_folder,
    floating_rules,
    libclang_arguments,
    vector_registers,
)
from tilepragma.ir.directives import VectorRegisters
from tilepragma.ir.expressions import IntegerLiteral

LOOP = "void f(int n, double *a) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = VALUE; }"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEK_CC", raising=False)
    return tmp_path / "cache"


def fake_compiler(folder: Path, macros: str = "", status: int = 0) -> str:
    """A compiler that says what it is told to, and counts its runs."""
    path = folder / "fakecc"
    path.write_text(
        f"""#!/bin/sh
echo run >> {folder}/runs
printf '#include <...> search starts here:\\n {folder}\\nEnd of search list.\\n' >&2
printf '{macros}'
[ {status} = 0 ] || echo "fakecc: error: no such option" >&2
exit {status}
"""
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_compiler_is_asked_once(tmp_path: Path, own_cache: Path) -> None:
    flags = CompilerFlags(("-DX",), fake_compiler(tmp_path, "#define _OPENMP 201511\\n#define OTHER 1\\n"))
    first, second = ask_compiler(flags), ask_compiler(flags)
    assert first == second == CompilerAnswer((str(tmp_path),), (("_OPENMP", "201511"), ("OTHER", "1")))
    assert (tmp_path / "runs").read_text() == "run\n"
    assert len(list((own_cache / "compiler").iterdir())) == 1


def test_other_flags_and_a_changed_compiler_are_asked_again(tmp_path: Path) -> None:
    compiler = fake_compiler(tmp_path)
    ask_compiler(CompilerFlags((), compiler))
    ask_compiler(CompilerFlags(("-O2",), compiler))
    assert (tmp_path / "runs").read_text().count("run") == 2
    os.utime(compiler, ns=(1, 1))
    ask_compiler(CompilerFlags((), compiler))
    assert (tmp_path / "runs").read_text().count("run") == 3


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"folders": ["/there/is/none"], "macros": []}', '{"folders": [1]}'])
def test_a_damaged_entry_is_asked_anew(tmp_path: Path, own_cache: Path, damage: str) -> None:
    flags = CompilerFlags((), fake_compiler(tmp_path))
    ask_compiler(flags)
    (entry,) = (own_cache / "compiler").iterdir()
    entry.write_text(damage)
    assert ask_compiler(flags).include_folders == (str(tmp_path),)
    assert json.loads(entry.read_text())["folders"] == [str(tmp_path)]


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "file"))
    assert ask_compiler(CompilerFlags((), fake_compiler(tmp_path))).include_folders == (str(tmp_path),)


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("TILEK_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "tilek"


def test_a_compiler_that_fails_or_is_missing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CompilerError, match="no such option"):
        ask_compiler(CompilerFlags((), fake_compiler(tmp_path, status=1)))
    monkeypatch.setenv("TILEK_CC", "no-such-compiler -O2")
    monkeypatch.setenv("PATH", str(tmp_path))  # a folder of the real one that we may not read would change the message
    with pytest.raises(CompilerError, match="cannot run the C compiler 'no-such-compiler'"):
        ask_compiler(CompilerFlags())
    assert messages("int x;") == ["error: cannot run the C compiler 'no-such-compiler': No such file or directory"]


@pytest.mark.parametrize(
    ("arguments", "relevant"),
    [
        (("-c", "-o", "x.o", "-Wall", "-g"), ()),
        (("-I", "a", "-Ib", "-D", "X=1", "-UY"), ()),
        (("-MMD", "-MF", "x.d", "-MT", "x", "-march=native"), ("-march=native",)),
        (("-isystem", "s", "--sysroot", "r", "-include", "h.h", "-iquote", "q"), ("--sysroot", "r")),
        (("-std=c99", "-O3", "-ffast-math", "-fopenmp", "-lm"), ("-std=c99", "-O3", "-ffast-math", "-fopenmp")),
    ],
)
def test_the_compiler_is_asked_under_flags_that_change_its_answer_only(
    arguments: tuple[str, ...], relevant: tuple[str, ...]
) -> None:
    assert CompilerFlags(arguments).for_compiler == relevant


def test_an_option_without_its_word_is_passed_over() -> None:
    assert CompilerFlags(("-I",)).for_libclang == ()


FMA = (("__FP_FAST_FMA", "1"),)
FAST = (("__FAST_MATH__", "1"),)


@pytest.mark.parametrize(
    ("arguments", "macros", "contract", "fast"),
    [
        ((), (), False, False),
        ((), FMA, True, False),
        (("-std=gnu11",), FMA, True, False),
        (("-std=c99",), FMA, False, False),
        (("-ansi",), FMA, False, False),
        (("-ffp-contract=off",), FMA, False, False),
        (("-ffp-contract=fast",), (), True, False),
        (("-ffp-contract=fast", "-ffp-contract=off"), FMA, False, False),
        (("-std=c99", "-ffp-contract=on"), (), True, False),
        (("-ffast-math",), FAST, False, True),
        (("-ffast-math",), FAST + FMA, True, True),
    ],
)
def test_floating_rules(
    arguments: tuple[str, ...], macros: tuple[tuple[str, str], ...], contract: bool, fast: bool
) -> None:
    rules = floating_rules(CompilerFlags(arguments), CompilerAnswer((), macros))
    assert (rules.contract, rules.fast) == (contract, fast)


def test_options_in_the_compilers_name_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_CC", "ccache gcc -std=c99 -DX")
    flags = CompilerFlags(("-DY",))
    assert flags.command == ("ccache", "gcc", "-std=c99", "-DX")
    assert flags.for_libclang == ("-std=c99", "-DX", "-DY")
    assert not floating_rules(flags, CompilerAnswer((), FMA)).contract


def test_the_users_compiler_decides_on_fast_math() -> None:
    assert read("int x;", "-ffast-math").floating.fast
    assert not read("int x;").floating.fast


def test_libclang_gets_the_compilers_folders_and_no_option_it_does_not_know() -> None:
    flags = CompilerFlags(("-fopenmp", "-O3", "-DX", "-fno-strange-gcc-thing"))
    arguments = libclang_arguments(
        flags, CompilerAnswer(("/inc",), (("_OPENMP", "201511"), ("__CHAR_UNSIGNED__", "1")))
    )
    assert "-DX" in arguments
    assert "-O3" not in arguments
    assert "-D_TILEK=1" in arguments
    assert "-D_OPENMP=201511" in arguments
    assert "-funsigned-char" in arguments
    assert "-fno-strange-gcc-thing" not in arguments
    assert "-fopenmp" not in arguments
    assert arguments[arguments.index("/inc") - 1] == "-isystem"


@pytest.mark.parametrize(
    "flags",
    [
        ("-DVALUE=7",),
        ("-D", "VALUE=7"),
        ("-include", "value.h"),
        ("-I", "sub", "-DFROM_HEADER"),
        ("-isystem", "sub", "-DFROM_HEADER"),
    ],
)
def test_macros_and_headers_are_found_as_the_compiler_finds_them(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "value.h").write_text("#define VALUE 7\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "seven.h").write_text("#define VALUE 7\n")
    result = kernel("#ifdef FROM_HEADER\n#include <seven.h>\n#endif\n" + LOOP, *flags)
    assert [n.value for n in nodes(result.body, IntegerLiteral)][-1] == 7


def test_the_directive_macro_is_defined() -> None:
    assert len(read(f"#ifdef _TILEK\n#define VALUE 1\n{LOOP}\n#endif").kernels) == 1


@pytest.mark.parametrize(
    "standard", ["-std=c99", "-std=gnu99", "-std=c11", "-std=gnu11", "-std=gnu17", "-O3", "-march=native", "-fopenmp"]
)
def test_common_headers_are_read_under_every_standard(standard: str) -> None:
    headers = "stdio math stdlib string stdint stdbool limits float time assert errno complex stddef stdarg"
    source = "".join(f"#include <{name}.h>\n" for name in headers.split())
    assert len(read(source + "#define VALUE DBL_MAX\n" + LOOP, standard).kernels) == 1


@pytest.mark.parametrize("option", ["-mveclibabi=svml", "-march=none-that-libclang-knows", "-std=gnu9z"])
def test_options_that_libclang_does_not_know_do_no_harm(option: str, tmp_path: Path) -> None:
    compiler = fake_compiler(tmp_path)
    diagnostics = Diagnostics()
    source = ("#define VALUE 1\n" + LOOP).encode()
    unit = parse_translation_unit("test.c", source, CompilerFlags((option, "-DY"), compiler), diagnostics)
    assert [item.message for item in diagnostics] == []
    assert unit is not None
    assert len(unit.kernels) == 1


def test_code_that_only_gcc_accepts_with_a_warning_is_accepted() -> None:
    source = "int g() { return undeclared(3); }\n#define VALUE 1\n" + LOOP
    assert len(read(source).kernels) == 1


def test_folders_of_the_user_are_not_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "seven.h").write_text("#define VALUE 7\n")
    (tmp_path / "forced.h").write_text("")
    unit = read("#include <seven.h>\n" + LOOP, "-Isub", "-include", "forced.h")
    assert {os.path.normpath(path) for path in unit.dependencies} == {"test.c", "sub/seven.h", "forced.h"}
    (tmp_path / "sub" / "fatal.h").write_text("#include <no-such-header.h>\n")
    (tmp_path / "sub" / "strange.h").write_text("int gcc_only(;\n")
    assert messages("#include <fatal.h>\n", "-isystem", "sub") == ["error: 'no-such-header.h' file not found"]
    assert messages("#include <strange.h>\n", "-isystem", "sub") == []
    broken = messages("#include <seven.h>\nint x = ;\n", "-isystem", "sub")
    assert broken == ["error: expected expression"]


def test_directives_of_a_forced_header_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forced.h").write_text("#define VALUE 1\n" + LOOP)
    (reported,) = messages("int x;", "-include", "forced.h")
    assert reported.endswith("forced.h' has directives but is brought in by the option -include")


@pytest.mark.parametrize(
    ("macros", "bits", "count"),
    [((), 128, 16), (("__AVX__",), 256, 16), (("__AVX512F__", "__AVX__"), 512, 32), (("__aarch64__",), 128, 32)],
)
def test_vector_registers_are_those_of_the_processor_that_flags_name(
    macros: tuple[str, ...], bits: int, count: int
) -> None:
    result = vector_registers(CompilerAnswer((), tuple((name, "1") for name in macros)))
    assert (result.bits, result.count) == (bits, count)


@pytest.mark.parametrize(
    "condition",
    [
        "defined __clang__",
        "defined __clang_major__",
        "defined __llvm__",
        "__GNUC__ < 9",
        "__GNUC__ == 4 && __GNUC_MINOR__ == 2",
        "!__GNUC_PREREQ(9, 0)",
        "!defined __OPTIMIZE__",
        "defined __has_feature",
        "!defined __STDC_IEC_559__",
    ],
)
def test_what_sources_ask_of_their_compiler_is_answered_as_it_answers(condition: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc, whose macros differ from libclang's")
    source = f"""#include <features.h>
#if {condition}
#define N 5
#else
#define N 7
#endif
int a[9];
void f(void)
{{
#pragma tilek kernel
    for (int i = 0; i < N; i++)
        a[i] = i;
}}"""
    diagnostics = Diagnostics()
    unit = parse_translation_unit("test.c", source.encode(), CompilerFlags(("-O2",), "gcc"), diagnostics)
    assert not diagnostics.has_errors, [item.message for item in diagnostics]
    assert unit is not None
    assert {5, 7} & {node.value for node in nodes(unit.kernels[0], IntegerLiteral)} == {7}


def test_types_and_intrinsics_that_clang_alone_does_not_know_are_read() -> None:
    source = (
        "_Float64x root; _Float32 x[9];\nvoid f(void) {\n#pragma tilek kernel\nfor (int i = 0; i < 9; i++) x[i] = i;\n}"
    )
    diagnostics = Diagnostics()
    unit = parse_translation_unit("test.c", source.encode(), CompilerFlags((), "gcc"), diagnostics)
    assert unit is not None and not diagnostics.has_errors


def test_no_macros_of_the_compilers_where_the_user_wants_none() -> None:
    answer = CompilerAnswer((), (("__GNUC__", "12"),))
    assert "-D__GNUC__=12" in libclang_arguments(CompilerFlags(), answer, clang_macros=False)
    assert "-D__GNUC__=12" not in libclang_arguments(CompilerFlags(("-undef",)), answer, clang_macros=False)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="-march=x86-64-v3 is x86's")
def test_the_compiler_is_asked_about_vectors_under_the_users_flags() -> None:
    asked = vector_registers(ask_compiler(CompilerFlags(("-march=x86-64-v3",))))
    assert asked == VectorRegisters(256, 16)
