"""Writes and reads the tuning records beside the source (sizes/records.py)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.located_json import read_located
from tilepragma.sizes.records import HOST, VERSION, SizeClass, fitting, parse_records, records_text
from tilepragma.sizes.records import TunedVersion as TunedVersion
from tilepragma.sizes.records import records_file as records_file

if TYPE_CHECKING:
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.sizes.search import Sizes
    from tilepragma.tuning.kernel_tuning import KernelTuning


def set_aside(source: str) -> Path | None:
    """Copy an unreadable file beside the source (such as after a merge with conflicts), since
    `keep` starts a new one. Returns the copy's path, None if the file is fine. Raises OSError.
    """
    path = records_file(source)
    if not path.is_file():
        return None
    content = file_bytes(path)
    try:
        document = read_located(content.decode(errors="replace"), str(path)).value
        is_read = (
            isinstance(document, dict)
            and document.get("version") == VERSION
            and isinstance(document.get("kernels"), dict)
        )
    except SourceError:
        is_read = False
    if is_read:
        return None
    copy = path.with_name(f"{path.name}.damaged")
    write_atomically(copy, content)
    return copy


def keep(source: str, winner: TunedVersion) -> Path | None:
    """Put the winner into the file beside the source, atomically; returns its path, None without a
    change.

    An empty file stays: depfiles name it. Raises OSError if it cannot be written; it is then
    unchanged.
    """
    path = records_file(source)
    before = file_bytes(path).decode("utf-8", "replace") if path.exists() else None
    text = records_text(before, winner)
    if text == before or (before is None and winner.facts is None):
        return None
    write_atomically(path, text.encode())
    return path


def recorded_layouts(source: str, plan: KernelPlan) -> Mapping[SizeClass, Sizes]:
    """The layouts recorded beside the source that fit a kernel; the translator warns of others.
    Raises OSError if the file cannot be read.
    """
    path = records_file(source)
    if not path.is_file():
        return {}
    text, unheard = file_bytes(path).decode("utf-8", "replace"), Diagnostics()
    records = fitting(plan, parse_records(text, str(path), unheard), unheard)
    return {
        record.size_class: tuple(record.sizes[size.object.name] for size in plan.sizes)
        for record in records
        if not record.choices
    }


def winner_of(tuning: KernelTuning, machine: str, now: datetime) -> TunedVersion | None:
    """The record of a search, without facts if a build takes this anyway; None for no change."""
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
