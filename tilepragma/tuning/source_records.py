"""Writes and reads the tuning records beside the source (sizes/records.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.located_json import read_located
from tilepragma.sizes.records import SizeClass, fitting, kernels_in, parse_records, records_text
from tilepragma.sizes.records import TuningRecord as TuningRecord
from tilepragma.sizes.records import records_file as records_file

if TYPE_CHECKING:
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.sizes.ranked_layouts import Sizes


def keep(source: str, record: TuningRecord) -> Path | None:
    """Put the record into the file beside the source, atomically; returns its path, None without a
    change.

    An empty file stays: depfiles name it. Raises OSError if it cannot be written; it is then
    unchanged.
    """
    path = records_file(source)
    before = file_bytes(path).decode("utf-8", "replace") if path.exists() else None
    text = records_text(before, record)
    if text == before or (before is None and record.facts is None):
        return None
    write_atomically(path, text.encode())
    return path


def set_aside(source: str) -> Path | None:
    """Copy an unreadable file beside the source (such as after a merge with conflicts), since
    `keep` starts a new one. Returns the copy's path, None if the file is fine. Raises OSError.
    """
    path = records_file(source)
    if not path.is_file():
        return None
    content = file_bytes(path)
    try:
        if kernels_in(read_located(content.decode(errors="replace"), str(path)).value) is not None:
            return None
    except SourceError:
        pass
    copy = path.with_name(f"{path.name}.damaged")
    write_atomically(copy, content)
    return copy


def recorded_layouts(source: str, plan: KernelPlan) -> Mapping[SizeClass, Sizes]:
    """The layouts recorded beside the source that fit a kernel; the translator warns of others.
    Raises OSError if the file cannot be read.
    """
    path = records_file(source)
    if not path.is_file():
        return {}
    text, ignored = file_bytes(path).decode("utf-8", "replace"), Diagnostics()
    return {
        record.size_class: tuple(record.sizes[size.object.name] for size in plan.sizes)
        for record in fitting(plan, parse_records(text, str(path), ignored), ignored)
        if not record.choices
    }
