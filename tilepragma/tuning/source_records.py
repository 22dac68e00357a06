"""What tuning found, kept beside the source for the translator (sizes/records.py)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.located_json import read_located
from tilepragma.sizes.records import HOST, VERSION, SizeClass, fitting, kept_text, read_kept
from tilepragma.sizes.records import TunedVersion as TunedVersion
from tilepragma.sizes.records import kept_file as kept_file

if TYPE_CHECKING:
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.sizes.search import Sizes
    from tilepragma.tuning.kernel_tuning import KernelTuning


def set_aside(source: str) -> Path | None:
    """Copy what stands beside the source for its user to mend, where nobody can read it, such as
    after a merge with conflicts: `keep` begins it anew. Returns the copy's path, None where there
    is no need. Raises OSError.
    """
    path = kept_file(source)
    if not path.is_file():
        return None
    content = file_bytes(path)
    try:
        found = read_located(content.decode(errors="replace"), str(path)).value
        is_read = isinstance(found, dict) and found.get("version") == VERSION and isinstance(found.get("kernels"), dict)
    except SourceError:
        is_read = False
    if is_read:
        return None
    copy = path.with_name(f"{path.name}.damaged")
    write_atomically(copy, content)
    return copy


def keep(source: str, winner: TunedVersion) -> Path | None:
    """Put the winner into the file beside the source, in one step; returns its path, None where
    nothing changes.

    A file that keeps nothing any more stays: depfiles name it. Raises OSError where it cannot be
    written; it is then as it was.
    """
    path = kept_file(source)
    before = file_bytes(path).decode("utf-8", "replace") if path.exists() else None
    text = kept_text(before, winner)
    if text == before or (before is None and winner.facts is None):
        return None
    write_atomically(path, text.encode())
    return path


def kept_layouts(source: str, plan: KernelPlan) -> Mapping[SizeClass, Sizes]:
    """What stands beside the source for a kernel, where it fits; what is wrong there the translator
    warns of.

    Raises OSError where the file cannot be read.
    """
    path = kept_file(source)
    if not path.is_file():
        return {}
    text, unheard = file_bytes(path).decode("utf-8", "replace"), Diagnostics()
    found = fitting(plan, read_kept(text, str(path), unheard), unheard)
    return {
        one.size_class: tuple(one.sizes[size.object.name] for size in plan.sizes) for one in found if not one.choices
    }


def winner_of(tuning: KernelTuning, machine: str, now: datetime) -> TunedVersion | None:
    """What is to be kept of a search, nothing beside the source where a build takes the fastest by itself; None where all stays as it is."""
    layouts = tuning.layouts
    best, default = layouts.winner, layouts.default
    sizes = best.layout.sizes
    is_default = best is default
    if is_default and not layouts.is_mixed and sizes == tuning.kept:
        return None
    if is_default:
        by_itself = layouts.is_mixed or tuning.built in (None, sizes)
    else:
        by_itself = sizes == tuning.built and not (tuning.size_class == HOST and tuning.plan.choices)
    facts: dict[str, str | float] | None = None
    if not by_itself and best.median is not None and default.median is not None:
        facts = {
            "machine": machine,
            "date": f"{now:%Y-%m-%d}",
            "seconds": float(f"{best.median:.4g}"),
            "default_seconds": float(f"{default.median:.4g}"),
        }
    named = dict(zip(layouts.ranking.names, sizes, strict=True))
    return TunedVersion(tuning.name, tuning.size_class, tuning.target, named, facts)
