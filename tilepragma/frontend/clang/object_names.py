"""Names of data objects that every target accepts: unique in a region, never a keyword."""

from __future__ import annotations

import re
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import RESERVED


@dataclass
class NameTable:
    """Hands out names, each name once."""

    taken: set[str] = field(default_factory=set)

    def unique(self, wanted: str) -> str:
        """`wanted` as an identifier; `_` follows a reserved word, `_2`, `_3`, … a taken name."""
        base = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_") or "object"
        if base[0].isdigit():
            base = f"_{base}"
        if wanted.isascii() and wanted.isidentifier():
            base = wanted
        if base in RESERVED or base.startswith(("tilek_", "__")):
            base = f"{base.lstrip('_')}_"
        name, number = base, 2
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name
