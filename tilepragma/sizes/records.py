"""Tuning records: the tile sizes that `tilepragma tune` stores beside the source in IN.tilek.json.

The form, whose other fields are for readers: {"version": 1, "kernels": {KERNEL: {"host": {"sizes":
{NAME: SIZE}}, "device": {…}}}}. Instead of sizes there may be {"least_bytes": BYTES, "choices":
[{"bytes": BYTES, "trips": TRIPS, "version": TEXT, "sizes": {…}}, …]}; trips are optional, so is the
version (ir/kernel_versions.py), by default the plan itself, and so are another version's sizes.
Hosts may have "tiles" besides: a value of TemporalTiles, of a plan with other time tiles.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.located_json import LocatedJson, read_located
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.directives import TemporalTiles
from tilepragma.plan.dispatch_table import around
from tilepragma.plan.kernel_plan import KernelPlan, MeasuredSizes, SizeChoice

SUFFIX = ".tilek.json"
VERSION = 1
#: The largest value of TILEK_SIZES.
MOST = 2**31 - 1
_REMEDY = "take it out, or run 'tilepragma tune' again, which replaces it"


@dataclass(frozen=True)
class SizeClass:
    """A kind of machine with its own sizes: its `name` in files, and in reports."""

    name: str
    people: str


HOST, DEVICE = SizeClass("host", "cores"), SizeClass("device", "devices")
CLASSES = (HOST, DEVICE)


@dataclass(frozen=True)
class RecordedChoice:
    """Sizes by name for launches whose arrays have at most `bytes` and whose outermost loop at most
    `trips` iterations (None: any). They belong to a `version` (ir/kernel_versions.py; empty: the
    plan itself), which may use its own (none here). `place` is the version's.
    """

    bytes: int
    trips: int | None
    sizes: Mapping[str, int]
    version: str = ""
    place: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class TuningRecord:
    """Sizes of one kernel by name, for hosts or devices, as measured on a target. There may be
    `choices` instead, for launches of `least` bytes or more; `sizes` are then empty.

    `target` and `facts`, which are for readers, are written and not read. A record without facts
    removes the target's earlier record. `place`: where it was read.
    """

    kernel: str
    size_class: SizeClass
    target: str
    sizes: Mapping[str, int]
    facts: Mapping[str, str | float] | None
    choices: tuple[RecordedChoice, ...] = ()
    least: int = 0
    tiles: TemporalTiles | None = None
    place: SourceRange = NOWHERE

    @property
    def layouts(self) -> tuple[tuple[str, Mapping[str, int]], ...]:
        """All sizes that the record names, each with its version."""
        return tuple((choice.version, choice.sizes) for choice in self.choices) or (("", self.sizes),)


def records_file(source: str) -> Path:
    """The file of the tuning records of a source, whether it exists or not."""
    return Path(source).with_suffix(SUFFIX)


# -- Reading


def parse_records(text: str, file: str, diagnostics: Diagnostics) -> tuple[TuningRecord, ...]:
    """The records in a file; warns of faulty ones, naming the `file`, and omits them."""
    try:
        located = read_located(text, file)
    except SourceError as error:
        diagnostics.warning(
            error.diagnostic.range, f"recorded tile sizes are ignored: {error.diagnostic.message}", _REMEDY
        )
        return ()
    return tuple(_entries(located, diagnostics))


def _entries(located: LocatedJson, diagnostics: Diagnostics) -> Iterator[TuningRecord]:
    whole = located.value
    kernels = kernels_in(whole)
    if kernels is None:
        has_version = isinstance(whole, dict) and "version" in whole
        problem = f"'version' is not {VERSION}" if has_version else "there is no 'version'"
        if isinstance(whole, dict) and whole.get("version") == VERSION:
            problem = "'kernels' is no object"
        diagnostics.warning(located.place(("version",)), f"recorded tile sizes are ignored: {problem}", _REMEDY)
        return
    for kernel, entry in kernels.items():
        classes = entry if isinstance(entry, dict) else {}
        if not classes or not set(classes) <= {class_.name for class_ in CLASSES}:
            problem = "it must be an object with 'host', 'device' or both"
            message = f"the record of kernel '{kernel}' is ignored: {problem}"
            diagnostics.warning(located.place(("kernels", kernel)), message, _REMEDY)
            continue
        for size_class in CLASSES:
            if size_class.name in classes:
                yield from _entry(located, kernel, size_class, classes[size_class.name], diagnostics)


def kernels_in(whole: object) -> dict[str, Any] | None:
    """The entries of a file's JSON by kernel; None if it is no file of records."""
    kernels = whole.get("kernels") if isinstance(whole, dict) and whole.get("version") == VERSION else None
    return kernels if isinstance(kernels, dict) else None


def _entry(
    located: LocatedJson, kernel: str, size_class: SizeClass, value: object, diagnostics: Diagnostics
) -> Iterator[TuningRecord]:
    path: _Path = ("kernels", kernel, size_class.name)
    entry = value if isinstance(value, dict) else {}
    try:
        if "choices" in entry:
            choices = tuple(_choices(located, entry["choices"], (*path, "choices")))
            least = _number(entry.get("least_bytes"), (*path, "least_bytes"), 0, _LARGEST)
            tiles = _tiles(entry.get("tiles"), (*path, "tiles")) if size_class == HOST else None
            position = located.place((*path, "choices"))
            yield TuningRecord(kernel, size_class, "", {}, {}, choices, least, tiles, position)
        else:
            sizes = _sizes(entry.get("sizes"), (*path, "sizes"))
            yield TuningRecord(kernel, size_class, "", sizes, {}, place=located.place((*path, "sizes")))
    except _FaultyEntryError as faulty:
        for place, what in faulty.faults:
            diagnostics.warning(located.place(place), f"the record of kernel '{kernel}' is ignored: {what}", _REMEDY)


_Path = tuple[str | int, ...]
_LARGEST = 2**62


class _FaultyEntryError(Exception):
    """The faults of an entry, each with its path."""

    def __init__(self, *faults: tuple[_Path, str]) -> None:
        super().__init__(*faults)
        self.faults = faults


def _tiles(value: object, path: _Path) -> TemporalTiles | None:
    if value is None:
        return None
    known = [mode.value for mode in TemporalTiles]
    if value not in known:
        raise _FaultyEntryError((path, f"'tiles' is none of {', '.join(known)}"))
    return TemporalTiles(value)


def _choices(located: LocatedJson, value: object, path: _Path) -> Iterator[RecordedChoice]:
    if not isinstance(value, list) or not value:
        raise _FaultyEntryError((path, "'choices' must be a list that is not empty"))
    for place, choice in enumerate(value):
        choice_path = (*path, place)
        if not isinstance(choice, dict):
            raise _FaultyEntryError((choice_path, "a choice must be an object"))
        trips = None if choice.get("trips") is None else _number(choice["trips"], (*choice_path, "trips"), 0, _LARGEST)
        length = _number(choice.get("bytes"), (*choice_path, "bytes"), 0, _LARGEST)
        version = choice.get("version", "")
        if not isinstance(version, str):
            raise _FaultyEntryError(((*choice_path, "version"), "'version' must be a text"))
        sizes = {} if version and "sizes" not in choice else _sizes(choice.get("sizes"), (*choice_path, "sizes"))
        yield RecordedChoice(length, trips, sizes, version, located.place((*choice_path, "version")))


def _sizes(value: object, path: _Path) -> dict[str, int]:
    if not isinstance(value, dict):
        raise _FaultyEntryError((path, "there is no object 'sizes'"))
    wrong = [name for name, size in value.items() if not _is_number(size, 1, MOST)]
    if wrong:
        raise _FaultyEntryError(
            *(((*path, name), f"'{name}' must be a whole number from 1 to {MOST}") for name in wrong)
        )
    return value


def _number(value: object, path: _Path, least: int, most: int) -> int:
    if type(value) is not int or not _is_number(value, least, most):
        raise _FaultyEntryError((path, f"'{path[-1]}' must be a whole number from {least} to {most}"))
    return value


def _is_number(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def recorded_tiles(kernel: str, kept: Iterable[TuningRecord]) -> TemporalTiles | None:
    """The recorded time tiles of a kernel on cores; None without any."""
    return next((record.tiles for record in kept if record.kernel == kernel and record.tiles is not None), None)


# -- Applying


def fitting(plan: KernelPlan, kept: Iterable[TuningRecord], diagnostics: Diagnostics) -> tuple[TuningRecord, ...]:
    """The records that name the tile sizes of the plan, or of its versions; warns of others."""
    names = {"": _names(plan)} | {version.text: _names(version.plan) for version in plan.versions}
    records = [record_ for record_ in kept if record_.kernel == plan.kernel.name]
    right: list[TuningRecord] = []
    for record in records:
        # All sizes of a version, or none of another version than the plan itself.
        wrong = [
            (text, sizes)
            for text, sizes in record.layouts
            if text not in names or (set(sizes) != set(names[text]) and not (text and not sizes))
        ]
        if not wrong:
            right.append(record)
            continue
        text = wrong[0][0]
        there = f"are {', '.join(names[text])}" if names.get(text) else "are none"
        named = ", ".join(dict.fromkeys(name for _, sizes in wrong for name in sizes)) or "nothing"
        of = f"tile sizes of version '{text}'" if text else "kernel's tile sizes"
        message = f"the record of kernel '{record.kernel}' is ignored: it names {named}; the {of} {there}"
        diagnostics.warning(record.place, message, _REMEDY)
    return tuple(right)


def _names(plan: KernelPlan) -> list[str]:
    return [size.object.name for size in plan.sizes]


def with_records(plan: KernelPlan, kept: Iterable[TuningRecord]) -> KernelPlan:
    """The plan with `fitting` sizes, which replace those that hosts would choose at launch."""
    for record in kept:
        on_host = record.size_class == HOST
        if record.choices:
            plan = _with_choices(plan, record, on_host)
            continue
        pairs = [(size, record.sizes[size.object.name]) for size in plan.sizes]
        if on_host:
            # Measured sizes are taken unchanged: threads have as balanced chunks as they had then.
            sizes = tuple(replace(size, host=value, unit=0) for size, value in pairs)
            plan = replace(plan, sizes=sizes, choices=(), processor_choices=())
        else:
            plan = replace(plan, sizes=tuple(replace(size, device=value) for size, value in pairs))
    places = ", ".join(
        f"those for {record_.size_class.people}{f' with {record_.tiles.value} tiles' if record_.tiles else ''}"
        for record_ in kept
    )
    files = "".join(dict.fromkeys(Path(record_.place.file).name for record_ in kept))
    return replace(plan, recorded_sizes=f"{places} from {files}") if places else plan


def _with_choices(plan: KernelPlan, kept: TuningRecord, on_host: bool) -> KernelPlan:
    plans = {"": plan} | {version.text: version.plan for version in plan.versions}
    places = list(plans)
    choices = []
    for choice in kept.choices:
        sizes = tuple(choice.sizes[name] for name in _names(plans[choice.version])) if choice.sizes else ()
        choices.append(SizeChoice(choice.bytes, choice.trips, sizes, places.index(choice.version)))
    measured = MeasuredSizes(kept.least, tuple(choices))
    if not on_host:
        default = tuple(size.device for size in plan.sizes)
        return replace(plan, device_choices=around(measured, (), default))
    default = tuple(size.host for size in plan.sizes)
    return replace(plan, measured=measured, choices=around(measured, (), default), processor_choices=())


def warn_of_unknown(kept: Iterable[TuningRecord], kernels: Iterable[str], diagnostics: Diagnostics) -> None:
    """Warn of records of kernels that do not exist."""
    known = list(kernels)
    for record in kept:
        if record.kernel not in known:
            near = difflib.get_close_matches(record.kernel, known, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"kernels are {', '.join(known)}"
            message = f"the record of kernel '{record.kernel}' is ignored: there is no such kernel"
            diagnostics.warning(record.place, message, remedy)


# -- Writing


def records_text(before: str | None, record: TuningRecord) -> str:
    """The text of a file that had the text `before` (None: no file), with the record in it.
    Unreadable parts, of which the translator has warned, are lost.
    """
    try:
        kernels = dict(kernels_in(json.loads(before or "{}")) or {})
    except ValueError:
        kernels = {}
    entry = kernels.get(record.kernel)
    classes = dict(entry) if isinstance(entry, dict) else {}
    name = record.size_class.name
    earlier = classes.get(name)
    if record.facts is not None:
        classes[name] = {**_what(record), "target": record.target, **record.facts}
    elif isinstance(earlier, dict) and earlier.get("target") == record.target:
        del classes[name]
    kernels[record.kernel] = classes
    left = {name: entry for name, entry in sorted(kernels.items()) if entry}
    return json.dumps({"version": VERSION, "kernels": left}, indent=2) + "\n"


def _what(record: TuningRecord) -> dict[str, object]:
    """The record's sizes or choices as JSON."""
    if not record.choices:
        return {"sizes": dict(record.sizes)}
    choices = [
        {
            "bytes": choice.bytes,
            **({} if choice.trips is None else {"trips": choice.trips}),
            **({"version": choice.version} if choice.version else {}),
            **({"sizes": dict(choice.sizes)} if choice.sizes or not choice.version else {}),
        }
        for choice in record.choices
    ]
    tiles = {} if record.tiles is None else {"tiles": record.tiles.value}
    return {**tiles, "least_bytes": record.least, "choices": choices}
