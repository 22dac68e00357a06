"""Translation units for tests of passes behind the front end."""

from __future__ import annotations

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.frontend.translation_unit import lower_source, parse_source
from tilepragma.ir.loop_tree import TranslationUnit


def parse_translation_unit(
    path: str, source: bytes | None, flags: CompilerFlags, diagnostics: Diagnostics
) -> TranslationUnit | None:
    """Parse the C file `path`, or `source` under this name, and lower its directives."""
    parsed = parse_source(path, source, flags, diagnostics)
    return None if parsed is None else lower_source(parsed, diagnostics)
