"""tilecc as a compiler: outputs, depfiles, names, several inputs, failures."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Tilecc, word_translator
from tilepragma.cli import tilecc_translation
from tilepragma.driver.state import TranslateRequest, TranslateResult

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """\
/* tilek */
#include <stdio.h>
int main(void) { printf("%d %s\\n", KERNEL, __FILE__); return 0; }
"""


def output_of(program: str) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_compile_and_link(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("a.c", "-o", "prog") == 0
    assert output_of("./prog") == "2 a.c\n"


def test_object_is_named_after_the_source(run_tilecc: Tilecc) -> None:
    Path("src").mkdir()
    Path("src/a.c").write_text(PROGRAM)
    assert run_tilecc("-c", "src/a.c") == 0
    assert sorted(path.name for path in Path().iterdir()) == ["a.o", "src"]
    assert run_tilecc("a.o") == 0
    assert output_of("./a.out") == "2 src/a.c\n"


def test_plain_sources_pass_through(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text("int main(void) { return 0; }\n")
    assert run_tilecc("-c", "a.c", "-o", "b.o") == 0
    assert Path("b.o").is_file()


def test_several_sources_in_several_folders(run_tilecc: Tilecc) -> None:
    for name in ("x", "y"):
        Path(name).mkdir()
        Path(name, "config.h").write_text(f'#define TEXT "{name}"\n')
        body = '#include "config.h"\n/* tilek */\n' + f"const char *{name}(void) {{ return KERNEL ? TEXT : 0; }}\n"
        Path(name, f"{name}.c").write_text("#include <tilek.h>\n" + body)
    Path("main.c").write_text(
        "#include <stdio.h>\nconst char *x(void), *y(void);\nint main(void) { puts(x()); puts(y()); return 0; }\n"
    )
    assert run_tilecc("-MMD", "x/x.c", "main.c", "y/y.c", "-o", "prog") == 0
    assert output_of("./prog") == "x\ny\n"
    assert "x/config.h" in Path("prog-x.d").read_text()
    assert "tilecc-" not in Path("prog-x.d").read_text()
    assert run_tilecc("-c", "x/x.c", "y/y.c") == 0
    assert Path("x.o").is_file() and Path("y.o").is_file()


@pytest.mark.parametrize(
    ("options", "depfile", "target"),
    [
        (["-MMD"], "a.d", "a.o"),
        (["-MMD", "-MP", "-o", "out.o"], "out.d", "out.o"),
        (["-MD", "-MF", "deps", "-MT", "it"], "deps", "it"),
        (["-Wp,-MMD,.a.dep"], ".a.dep", "a.o"),
    ],
)
def test_depfile_names_the_users_files(run_tilecc: Tilecc, options: list[str], depfile: str, target: str) -> None:
    Path("own.h").write_text("#define OWN 1\n")
    Path("inlined.h").write_text("")
    Path("a.c").write_text('#include "own.h"\n#include "inlined.h"\n' + PROGRAM)
    assert run_tilecc(*options, "-c", "a.c") == 0
    words = Path(depfile).read_text().replace("\\\n", " ").split()
    assert words[0] == f"{target}:"
    assert words[1:3] == ["a.c", "inlined.h"]
    assert "own.h" in words
    assert not any("tilecc-" in word for word in words)
    assert ("inlined.h:" in words) is ("-MP" in options)


def test_dependencies_only(run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("-MM", "a.c") == 0
    assert capfd.readouterr().out == "a.o: a.c\n"


def test_preprocessed_output_is_translated(run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("-E", "a.c") == 0
    assert "1 + tilek_one()" in capfd.readouterr().out


def test_assembly(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("-S", "-g", "a.c") == 0
    text = Path("a.s").read_text()
    assert "tilek_one" in text
    assert "tilecc-" not in text, "debug information names the temporary file"


def test_standard_input(run_tilecc: Tilecc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert run_tilecc("-x", "c", "-", "-o", "prog") == 0
    assert output_of("./prog") == "2 <stdin>\n"


def test_plain_standard_input(run_tilecc: Tilecc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"int main(void) { return 0; }\n")))
    assert run_tilecc("-x", "c", "-", "-o", "prog") == 0
    assert output_of("./prog") == ""


def test_response_file(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text(PROGRAM)
    Path("arguments").write_text("-o prog\na.c --tilek-target=serial\n")
    assert run_tilecc("@arguments") == 0
    assert output_of("./prog") == "2 a.c\n"


def test_shared_library(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text("/* tilek */\nint one(void) { return KERNEL; }\n")
    assert run_tilecc("-shared", "-fPIC", "a.c", "-o", "libone.so") == 0
    assert Path("libone.so").is_file()


def test_static_program(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("-static", "a.c", "-o", "prog") == 0
    assert output_of("./prog") == "2 a.c\n"


def test_relocatable_link_leaves_the_runtime_out(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("-r", "-nostdlib", "a.c", "-o", "all.o") == 0
    assert run_tilecc("all.o", "-o", "prog") == 0
    assert output_of("./prog") == "2 a.c\n"


def test_refused_source(run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.c").write_text("REFUSE tilek\n")
    Path("a.o").write_text("old")
    assert run_tilecc("-c", "a.c") == 1
    assert capfd.readouterr().err == (
        "a.c:1:1: error: This is refused.\n REFUSE tilek\n ^\na.c:1:1: note: Leave it out.\n"
    )
    assert Path("a.o").read_text() == "old"


def test_compilers_exit_status_is_passed_on(run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.c").write_text("/* tilek */\nint x = y;\n")
    assert run_tilecc("-c", "a.c") == 1
    assert "a.c:2:9: error:" in capfd.readouterr().err


def test_fault_of_ours_writes_a_reproducer(run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.c").write_text("CRASH tilek\n")
    assert run_tilecc("-c", "a.c") == 3
    said = capfd.readouterr().err
    assert "internal fault: RuntimeError: the translator broke" in said
    folder = Path(said.split("the files in ")[1].split(" (")[0])
    assert (folder / "a.c").read_text() == "CRASH tilek\n"
    assert "RuntimeError" in (folder / "traceback.txt").read_text()
    assert (folder / "command.txt").is_file()


def test_keep(run_tilecc: Tilecc) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("--tilek-keep", "-c", "a.c") == 0
    assert "tilek_one" in Path("a.tilek.c").read_text()


def test_missing_compiler(
    run_tilecc: Tilecc, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("a.c").write_text(PROGRAM)
    monkeypatch.setenv("TILEK_CC", "no-such-compiler")
    assert run_tilecc("-c", "a.c") == 127
    assert "TILEK_CC" in capfd.readouterr().err


def test_compiler_that_is_tilecc(
    run_tilecc: Tilecc, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEK_CC", "/usr/bin/tilecc -O2")
    assert run_tilecc("-c", "a.c") == 2
    assert "TILEK_CC names tilecc itself" in capfd.readouterr().err


def test_unknown_target(run_tilecc: Tilecc, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("--tilek-target=gpu", "a.c") == 2
    assert "targets are serial, threads, opencl, cuda" in capfd.readouterr().err


def test_header_that_mentions_tilek(run_tilecc: Tilecc) -> None:
    Path("k.h").write_text("/* tilek */\n")
    Path("a.c").write_text('#include "k.h"\n' + PROGRAM.replace("tilek", ""))
    assert run_tilecc("a.c", "-o", "prog") == 0
    assert output_of("./prog") == "2 a.c\n"


def test_long_command_goes_through_a_response_file(run_tilecc: Tilecc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilepragma.cli.tilecc_translation._RESPONSE_FILE_THRESHOLD", 10)
    Path("a.c").write_text(PROGRAM + "const char *text = TEXT;\n")
    assert run_tilecc("a.c", "-o", "prog", "-DTEXT=\"two words \\\\ 'x'\"") == 0
    assert output_of("./prog") == "2 a.c\n"


def test_temporary_files_are_gone_after_a_signal(tmp_path: Path, tiny_runtime: Path) -> None:
    (tmp_path / "a.c").write_text("/* tilek */\nint x;\n")
    (tmp_path / "slow").write_text("#!/bin/sh\ntouch started\nexec sleep 60\n")
    (tmp_path / "slow").chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = (
        "import sys\nfrom tests.unit.cli.conftest import word_translator\n"
        "from tilepragma.cli import tilecc, tilecc_translation\ntilecc_translation.translate = word_translator\n"
        "sys.exit(tilecc.run(['-c', 'a.c']))\n"
    )
    variables = {"TMPDIR": str(temporary), "TILEK_CC": "./slow", "PYTHONPATH": ":".join([str(ROOT), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | variables)
    deadline = time.monotonic() + 30
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(temporary.iterdir()) != []
    process.terminate()
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []


def test_a_signal_in_the_translation_is_no_fault(
    run_tilecc: Tilecc, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(request: TranslateRequest) -> TranslateResult:
        signal.raise_signal(signal.SIGINT)
        return word_translator(request)

    monkeypatch.setattr(tilecc_translation, "translate", interrupted)
    Path("a.c").write_text(PROGRAM)
    assert run_tilecc("-c", "a.c") == 128 + signal.SIGINT
    assert capfd.readouterr().err == ""
    assert not Path("a.o").exists()


def test_pass_through_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x;\n")
    code = (
        "import os, sys\n"
        "from tilepragma.cli import tilecc\n"
        "os.execvp = lambda *words: print(*sorted(sys.modules))\n"
        f"tilecc.run(['-c', {str(tmp_path / 'a.c')!r}])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"subprocess", "tempfile", "dataclasses", "argparse", "clang", "tilepragma.driver"} & set(
        done.stdout.split()
    )
