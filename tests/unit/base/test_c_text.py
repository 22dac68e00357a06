"""Text of anyone's in C: a compiler reads literals back as they were, and comments hold what stands in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import COMPILER
from tilepragma.base.c_text import in_comment, line_directive, quote

NAMES = (
    *(
        b"*/ int evil; /*",
        b"*",
        b"/*/",
        b'q"uote',
        b"back\\slash\\",
        b"two\nlines\r\x0b\x0c",
        b"what??)??/??'",
        b"\xff\xfe7",
    ),
    *("é".encode(), "\u2028\u202e\x85".encode(), b"%d%n", b"\x01\x7f", b"tab\t", b"'"),
)


@pytest.mark.parametrize("dialect", ["-std=c89", "-std=c99", "-std=gnu17"])
def test_a_compiler_reads_back_what_was_meant(tmp_path: Path, dialect: str) -> None:
    """Literals have the bytes, `#line` the name, and comments neither end early nor draw warnings."""
    texts = [os.fsdecode(name) for name in NAMES]
    lines = "\n".join(
        f"    fwrite({quote(text)}, 1, sizeof {quote(text)}, stdout); /* {in_comment(text)} */" for text in texts
    )
    lined = [
        text for text in texts if not {"\n", "\u202e"} & set(text)
    ]  # gcc 12 fails at a __FILE__ of two lines, and warns of the mark
    files = "\n".join(f"{line_directive(7, text)}\n    fwrite(__FILE__, 1, sizeof __FILE__, stdout);" for text in lined)
    (tmp_path / "p.c").write_text(f"#include <stdio.h>\nint main(void)\n{{\n{lines}\n{files}\n    return 0;\n}}\n")
    subprocess.run([COMPILER, dialect, "-Wall", "-Wextra", "-Werror", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./p"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert printed == b"".join(os.fsencode(text) + b"\0" for text in (*texts, *lined))
