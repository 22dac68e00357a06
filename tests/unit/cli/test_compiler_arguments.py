"""tilecc reads a command line as gcc's driver does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.base.refusals import CommandError
from tilepragma.cli.compiler_arguments import (
    ASSEMBLE,
    COMPILE,
    DEPENDENCIES,
    LINK,
    OBJECT,
    PREPROCESS,
    DriverOptions,
    read_command,
)


def paths(arguments: str) -> list[str]:
    return [each.path for each in read_command(arguments.split()).inputs]


@pytest.mark.parametrize(
    ("arguments", "stage"),
    [
        ("a.c", LINK),
        ("-c a.c", OBJECT),
        ("-S a.c -c", ASSEMBLE),
        ("-c -E a.c", PREPROCESS),
        ("-fsyntax-only a.c", COMPILE),
        ("-MM a.c", DEPENDENCIES),
        ("-M -E a.c", DEPENDENCIES),
        ("-MMD -c a.c", OBJECT),
        ("-shared a.o -o liba.so", LINK),
    ],
)
def test_stage(arguments: str, stage: str) -> None:
    assert read_command(arguments.split()).stage == stage


@pytest.mark.parametrize(
    ("arguments", "inputs"),
    [
        ("-o a.c b.c", ["b.c"]),
        ("-oa.c b.c", ["b.c"]),
        ("-I a.c -D b.c -U c.c d.c", ["d.c"]),
        ("-include x.c -isystem y.c -iquote z.c -imacros w.c a.c", ["a.c"]),
        ("-MF a.c -MT b.c -MQ c.c -MMD d.c", ["d.c"]),
        ("-L a.c -Xlinker b.c -T c.c -u d.c -z e.c -arch f.c --param g.c h.c", ["h.c"]),
        ("a.o -lm libx.a b.c", ["a.o", "-lm", "libx.a", "b.c"]),
        ("-x c - -x none a.o", ["-", "a.o"]),
        ("-std=c99 -Wl,a.c -Wp,-MD,b.c -march=native", []),
        ("--version", []),
    ],
)
def test_inputs(arguments: str, inputs: list[str]) -> None:
    assert paths(arguments) == inputs


def test_language_of_inputs() -> None:
    command = read_command(
        ["-x", "c", "kernel.tk", "-", "-x", "none", "main.c", "lib.o", "pre.i", "-xassembler", "start.S"]
    )
    assert [each.language for each in command.inputs] == ["c", "c", "c", "", "cpp-output", "assembler"]


@pytest.mark.parametrize(
    ("arguments", "languages"),
    [
        ("a.cc b.cpp c.cxx d.C e.c++ f.CPP g.ii", ["c++"] * 6 + ["c++-cpp-output"]),
        (
            "a.cu b.m c.mm d.f90 e.F g.s h.S i.o",
            ["cuda", "objective-c", "objective-c++", "f95", "f95", "assembler", "assembler-with-cpp", ""],
        ),
    ],
)
def test_other_languages(arguments: str, languages: list[str]) -> None:
    assert [each.language for each in read_command(arguments.split()).inputs] == languages


@pytest.mark.parametrize(
    ("compiler", "language"),
    [
        *(
            (name, "c++")
            for name in (
                "g++",
                "/usr/bin/g++-12",
                "clang++",
                "x86_64-linux-gnu-g++-12.2",
                "ccache c++",
                "mpicxx",
                "mpiCC",
                "icpx",
            )
        ),
        *((name, "c") for name in ("gcc", "cc", "clang-16", "mpicc", "ccache gcc -m64", "env CC=g++ gcc", "tcc")),
    ],
)
def test_compilers_that_read_c_as_cplusplus(monkeypatch: pytest.MonkeyPatch, compiler: str, language: str) -> None:
    monkeypatch.setenv("TILEK_CC", compiler)
    command = read_command(["a.c", "-x", "c", "b.tk"])
    assert [each.language for each in command.inputs] == [language, "c"]


def test_options_for_the_translator() -> None:
    command = read_command(
        [
            "-c",
            "-O3",
            "-Ifolder",
            "-D",
            "A=1",
            "-UB",
            "-std=gnu11",
            "-Lx",
            "-lm",
            "-o",
            "out.o",
            "-MMD",
            "-MF",
            "out.d",
            "-undef",
            "a.c",
            "-Wl,-s",
        ]
    )
    assert command.options == ("-O3", "-Ifolder", "-D", "A=1", "-UB", "-std=gnu11", "-undef")


def test_values_attached_and_separate() -> None:
    command = read_command(
        ["-Ia", "-I", "b", "-isystem", "c", "-isystemd", "-include", "e.h", "-MFx.d", "-iquoteq", "a.c"]
    )
    assert command.values("-I") == ["a", "b"]
    assert command.values("-isystem") == ["c", "d"]
    assert command.values("-include") == ["e.h"]
    assert command.values("-MF") == ["x.d"]
    assert command.values("-iquote") == ["q"]


def test_own_options() -> None:
    command = read_command(
        ["--tilek-target=opencl,threads", "--tilek-keep", "--tilek-explain", "--tilek-emit-kernels=k", "-c", "a.c"]
    )
    assert command.driver == DriverOptions(target="opencl,threads", emit_kernels="k", explain=True, keep=True)
    assert command.arguments == ("-c", "a.c")
    assert not command.plain


@pytest.mark.parametrize("option", ["--tilek-targets=serial", "--tilek-target", "--tilek-target=", "--tilek"])
def test_misspelled_own_option(option: str) -> None:
    with pytest.raises(CommandError, match="--tilek-target"):
        read_command([option, "a.c"])


def test_the_remarks_on_serial_kernels_are_ours() -> None:
    command = read_command(["-Wall", "--tilek-no-remarks", "--tilek-require-parallel", "-c", "a.c"])
    assert command.arguments == ("-Wall", "-c", "a.c")
    assert command.driver == DriverOptions(no_remarks=True, require_parallel=True)


def test_own_option_as_a_value_is_a_value() -> None:
    assert read_command(["-o", "--tilek-x", "a.c"]).output == "--tilek-x"


def test_response_files(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_text("b.c '-DNAME=two words'")
    outer = tmp_path / "outer"
    outer.write_text(f'-c "a.c"\n@{inner}\n')
    command = read_command([f"@{outer}", "@missing"])
    assert command.arguments == ("-c", "a.c", "b.c", "-DNAME=two words", "@missing")
    assert [each.path for each in command.inputs] == ["a.c", "b.c", "@missing"]
    assert not command.plain


def test_response_file_that_names_itself(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.write_text(f"a.c @{loop}")
    assert "a.c" in read_command([f"@{loop}"]).arguments


def test_plain_command_is_kept_as_it_is() -> None:
    assert read_command(["-c", "a.c"]).plain
