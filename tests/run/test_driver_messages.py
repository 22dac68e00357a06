"""What tilecc says of itself and of sources: help, languages that are not C, kernels that run on one core."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.programs import BUILD_SECONDS, COMPILER, TILECC, TILEPRAGMA, Workshop, tool_environment

CPLUSPLUS = """\
#include <cstdio>
// #pragma tilek kernel
const char *text = R"(
#pragma tilek kernel
)";
template <class T> T twice(T x) { return 2 * x; }
int main()
{
    double a[10];
    @
    for (int i = 0; i < 10; i++)
        a[i] = twice(i);
    std::printf("%g %d\\n", a[3], text[0]);
}
"""
SERIAL = """\
int chase(int n, int *p, const int *q)
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        p[q[i]] = p[q[i - 1]] + 1;
    return p[0];
}
"""


def run(workshop: Workshop, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**tool_environment(workshop.cache), **variables}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        *((*TILECC, "-c", f"p{suffix}") for suffix in (".cc", ".cpp", ".cxx", ".C", ".c++", ".cu")),
        (*TILECC, "-x", "c++", "-c", "p.c"),
        *((*TILEPRAGMA, command, "p.cpp") for command in ("check", "explain")),
        (*TILEPRAGMA, "translate", "p.cpp", "-o", "p.tk.cpp"),
        (*TILEPRAGMA, "check", "-xc++", "p.c"),
    ],
    ids=lambda words: " ".join(words[3:]),
)
@pytest.mark.parametrize("directive", ["#pragma tilek kernel", '_Pragma("tilek kernel")'])
def test_directives_in_other_languages_are_one_error(
    workshop: Workshop, tmp_path: Path, words: tuple[str, ...], directive: str
) -> None:
    name = next(word for word in words if word.startswith("p."))
    (tmp_path / name).write_text(CPLUSPLUS.replace("@", directive))
    done = run(workshop, tmp_path, *words)
    assert done.returncode == 1
    language = "CUDA C++" if name.endswith(".cu") else "C++"
    first, _, _, note = done.stderr.splitlines()
    assert first == f"{name}:10:5: error: {language} is not supported: tilek directives stand in C sources alone"
    assert note.startswith(f"{name}:10:5: note: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_c_that_is_compiled_as_cplusplus(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SERIAL)
    done = run(workshop, tmp_path, *TILECC, "-c", "p.c", TILEK_CC="g++")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        "p.c:3:1: error: C++ is not supported: tilek directives stand in C sources alone",
    )


def test_other_languages_without_directives_pass(workshop: Workshop, tmp_path: Path) -> None:
    """A header with a kernel, which C sources may include too, draws a warning."""
    (tmp_path / "p.cpp").write_text(CPLUSPLUS.replace("@", ""))
    (tmp_path / "start.s").write_text('# tilek\n.section .note.GNU-stack,"",@progbits\n')
    done = run(workshop, tmp_path, *TILECC, "p.cpp", "start.s", "-lstdc++", "-o", "p")
    assert (done.returncode, done.stderr) == (0, "")
    assert run(workshop, tmp_path, "./p").stdout == "6 10\n"
    (tmp_path / "p.h").write_text(SERIAL.replace("int chase", "static inline int chase"))
    (tmp_path / "q.cpp").write_text('#include "p.h"\nint f(int *p) { return chase(1, p, p); }\n')
    done = run(workshop, tmp_path, *TILECC, "-c", "q.cpp")
    assert (done.returncode, done.stderr) == (0, "p.h:3:1: warning: tilek directives are ignored in C++: q.cpp\n")


def test_kernels_on_one_core_are_warned_of(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SERIAL)
    for options in ((), ("-Wall", "-Werror", "-Wno-unknown-pragmas")):
        done = run(workshop, tmp_path, *TILECC, *options, "-c", "p.c")
        assert done.returncode == 0
        first, *_, note = done.stderr.splitlines()
        assert first.startswith(
            "p.c:3:1: warning: kernel 'chase' runs the original loops, on one core: the loop over 'i' may"
        )
        assert "say 'independent' only where you know that there are none" in done.stderr
        assert note == "p.c:3:1: note: --tilek-no-remarks turns these warnings off"
    refused = run(workshop, tmp_path, *TILECC, "--tilek-require-parallel", "-w", "-c", "p.c", "-o", "refused.o")
    assert refused.returncode == 1 and refused.stderr.startswith("p.c:3:1: error: kernel 'chase' runs the original")
    assert not (tmp_path / "refused.o").exists()
    for silent in ("--tilek-no-remarks", "-w"):
        done = run(workshop, tmp_path, *TILECC, "-Wall", "-Werror", "-Wno-unknown-pragmas", silent, "-c", "p.c")
        assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "p.c").write_text(
        SERIAL.replace("p[q[i]] = p[q[i - 1]] + 1", "p[i] = q[i]").replace("*p,", "*restrict p,")
    )
    assert run(workshop, tmp_path, *TILECC, "-c", "p.c").stderr == ""


def test_help_shows_our_options_first(workshop: Workshop, tmp_path: Path) -> None:
    ours = run(workshop, tmp_path, *TILECC, "--tilek-help")
    assert (ours.returncode, ours.stderr) == (0, "")
    for option in ("-target=", "-device=", "-emit-kernels=", "-explain", "-keep", "-no-remarks", "-help"):
        assert f"\n  --tilek{option}" in ours.stdout
    both = run(workshop, tmp_path, *TILECC, "--help")
    compilers = run(workshop, tmp_path, COMPILER, "--help")
    assert both.returncode == 0
    assert both.stdout.startswith(ours.stdout.partition("Options of the C compiler")[0])
    assert both.stdout.endswith(compilers.stdout)
