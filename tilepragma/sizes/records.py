"""Tile sizes that `tilepragma tune` found, kept beside the source in IN.tilek.json: how the file is
read, and what a plan makes of it.

The form, whose other fields are for readers: {"version": 1, "kernels": {KERNEL: {"host": {"sizes":
{NAME: SIZE}}, "device": {…}}}}. In the place of sizes there may be {"least_bytes": BYTES,
"choices": [{"bytes": BYTES, "trips": TRIPS, "version": TEXT, "sizes": {…}}, …]}, where trips may be
missing, and the version (ir/kernel_versions.py) where it is the plan itself; of another version,
sizes may be missing. Hosts may have with these "tiles": a value of TemporalTiles, of a plan with
other tiles of time steps.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.located_json import LocatedJson, read_located
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.directives import TemporalTiles
from tilepragma.plan.dispatch_table import around
from tilepragma.plan.kernel_plan import KernelPlan, MeasuredSizes, SizeChoice, TileSize

SUFFIX = ".tilek.json"
VERSION = 1
#: What TILEK_SIZES takes at most.
MOST = 2**31 - 1
_AGAIN = "take it out, or run 'tilepragma tune' again, which writes it anew"


@dataclass(frozen=True)
class SizeClass:
    """A kind of machine that has sizes of its own: its `name` in files, and what reports call it."""

    name: str
    people: str


HOST, DEVICE = SizeClass("host", "cores"), SizeClass("device", "devices")
CLASSES = (HOST, DEVICE)


@dataclass(frozen=True)
class RecordedChoice:
    """Sizes by their names for launches whose arrays have so many bytes at most, and whose
    outermost loop so many iterations (None: however many). They are those of a `version`
    (ir/kernel_versions.py; empty: the plan itself), which may take its own (none here). `place` is
    the version's.
    """

    bytes: int
    trips: int | None
    sizes: Mapping[str, int]
    version: str = ""
    place: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class TuningRecord:
    """Sizes of one kernel by their names, for hosts or devices, and where they stand. There may be
    `choices` in their place, for launches of `least` bytes or more; `sizes` are then empty.
    """

    kernel: str
    size_class: SizeClass
    sizes: Mapping[str, int]
    place: SourceRange
    choices: tuple[RecordedChoice, ...] = ()
    least: int = 0
    tiles: TemporalTiles | None = None

    @property
    def layouts(self) -> tuple[tuple[str, Mapping[str, int]], ...]:
        """All sizes that it names, each with its version."""
        return tuple((choice.version, choice.sizes) for choice in self.choices) or (("", self.sizes),)


def kept_file(source: str) -> Path:
    """Where sizes for the kernels of a source are kept, whether there are any or not."""
    return Path(source).with_suffix(SUFFIX)


# -- Reading


def read_kept(text: str, file: str, found: Diagnostics) -> tuple[TuningRecord, ...]:
    """What a file keeps; what is wrong in it is warned of, and left out. `file` is its name in warnings."""
    try:
        located = read_located(text, file)
    except SourceError as error:
        found.warning(error.diagnostic.range, f"kept tile sizes are ignored: {error.diagnostic.message}", _AGAIN)
        return ()
    return tuple(_entries(located, found))


def _entries(located: LocatedJson, found: Diagnostics) -> Iterator[TuningRecord]:
    whole = located.value
    if not isinstance(whole, dict) or whole.get("version") != VERSION or not isinstance(whole.get("kernels"), dict):
        said = (
            f"'version' is not {VERSION}" if isinstance(whole, dict) and "version" in whole else "there is no 'version'"
        )
        if isinstance(whole, dict) and whole.get("version") == VERSION:
            said = "'kernels' is no object"
        found.warning(located.place(("version",)), f"kept tile sizes are ignored: {said}", _AGAIN)
        return
    for kernel, entry in whole["kernels"].items():
        classes = entry if isinstance(entry, dict) else {}
        if not classes or not set(classes) <= {one.name for one in CLASSES}:
            message = (
                f"what is kept of kernel '{kernel}' is ignored: it must be an object with 'host', 'device' or both"
            )
            found.warning(located.place(("kernels", kernel)), message, _AGAIN)
            continue
        for one in CLASSES:
            if one.name in classes:
                yield from _entry(located, kernel, one, classes[one.name], found)


def _entry(
    located: LocatedJson, kernel: str, size_class: SizeClass, value: object, found: Diagnostics
) -> Iterator[TuningRecord]:
    path: _Path = ("kernels", kernel, size_class.name)
    said = value if isinstance(value, dict) else {}
    try:
        if "choices" in said:
            choices = tuple(_choices(located, said["choices"], (*path, "choices")))
            least = _number(said.get("least_bytes"), (*path, "least_bytes"), 0, _LARGEST)
            tiles = _tiles(said.get("tiles"), (*path, "tiles")) if size_class == HOST else None
            yield TuningRecord(kernel, size_class, {}, located.place((*path, "choices")), choices, least, tiles)
        else:
            sizes = _sizes(said.get("sizes"), (*path, "sizes"))
            yield TuningRecord(kernel, size_class, sizes, located.place((*path, "sizes")))
    except _WrongError as wrong:
        for place, what in wrong.faults:
            found.warning(located.place(place), f"what is kept of kernel '{kernel}' is ignored: {what}", _AGAIN)


_Path = tuple[str | int, ...]
_LARGEST = 2**62


class _WrongError(Exception):
    """What is wrong in an entry, each with its place."""

    def __init__(self, *faults: tuple[_Path, str]) -> None:
        super().__init__(*faults)
        self.faults = faults


def _tiles(value: object, path: _Path) -> TemporalTiles | None:
    if value is None:
        return None
    known = [mode.value for mode in TemporalTiles]
    if value not in known:
        raise _WrongError((path, f"'tiles' is none of {', '.join(known)}"))
    return TemporalTiles(value)


def _choices(located: LocatedJson, value: object, path: _Path) -> Iterator[RecordedChoice]:
    if not isinstance(value, list) or not value:
        raise _WrongError((path, "'choices' is no list with anything in it"))
    for place, one in enumerate(value):
        own = (*path, place)
        if not isinstance(one, dict):
            raise _WrongError((own, "a choice is no object"))
        trips = None if one.get("trips") is None else _number(one["trips"], (*own, "trips"), 0, _LARGEST)
        length = _number(one.get("bytes"), (*own, "bytes"), 0, _LARGEST)
        version = one.get("version", "")
        if not isinstance(version, str):
            raise _WrongError(((*own, "version"), "'version' is no text"))
        sizes = {} if version and "sizes" not in one else _sizes(one.get("sizes"), (*own, "sizes"))
        yield RecordedChoice(length, trips, sizes, version, located.place((*own, "version")))


def _sizes(value: object, path: _Path) -> dict[str, int]:
    if not isinstance(value, dict):
        raise _WrongError((path, "there is no object 'sizes'"))
    wrong = [name for name, size in value.items() if not _is_number(size, 1, MOST)]
    if wrong:
        raise _WrongError(*(((*path, name), f"'{name}' is no whole number from 1 to {MOST}") for name in wrong))
    return value


def _number(value: object, path: _Path, least: int, most: int) -> int:
    if type(value) is not int or not _is_number(value, least, most):
        raise _WrongError((path, f"'{path[-1]}' is no whole number from {least} to {most}"))
    return value


def _is_number(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def kept_tiles(kernel: str, kept: Iterable[TuningRecord]) -> TemporalTiles | None:
    """The tiles of time steps on cores that are kept for a kernel; None where none are."""
    return next((one.tiles for one in kept if one.kernel == kernel and one.tiles is not None), None)


# -- Taking


def fitting(plan: KernelPlan, kept: Iterable[TuningRecord], found: Diagnostics) -> tuple[TuningRecord, ...]:
    """What is kept for the plan's kernel and names just its tile sizes, or those of its versions; the rest of its entries is warned of."""
    names = {"": _names(plan)} | {version.text: _names(version.plan) for version in plan.versions}
    mine = [one for one in kept if one.kernel == plan.kernel.name]
    right = []
    for one in mine:
        wrong = [(text, sizes) for text, sizes in one.layouts if not _fits(sizes, text, names)]
        if not wrong:
            right.append(one)
            continue
        text = wrong[0][0]
        there = f"are {', '.join(names[text])}" if names.get(text) else "are none"
        said = ", ".join(dict.fromkeys(name for _, sizes in wrong for name in sizes)) or "nothing"
        of = f"tile sizes of version '{text}'" if text else "kernel's tile sizes"
        message = f"what is kept of kernel '{one.kernel}' is ignored: it says {said}; the {of} {there}"
        found.warning(one.place, message, _AGAIN)
    return tuple(right)


def _fits(sizes: Mapping[str, int], version: str, names: Mapping[str, list[str]]) -> bool:
    """Whether they are all sizes of a version, or none are said of another one than the plan itself."""
    return version in names and (set(sizes) == set(names[version]) or bool(version and not sizes))


def _names(plan: KernelPlan) -> list[str]:
    return [size.object.name for size in plan.sizes]


def with_kept(plan: KernelPlan, kept: Iterable[TuningRecord]) -> KernelPlan:
    """The plan with sizes that are `fitting`. Sizes that hosts, and OpenCL processors, would choose at launch give way to theirs."""
    for one in kept:
        on_host = one.size_class == HOST
        if one.choices:
            plan = _with_choices(plan, one, on_host)
            continue
        sizes = tuple(_with(size, one.sizes[size.object.name], on_host) for size in plan.sizes)
        plan = replace(plan, sizes=sizes)
        if on_host:
            plan = replace(plan, choices=(), processor_choices=())
    places = ", ".join(
        f"those for {one.size_class.people}{f' with {one.tiles.value} tiles' if one.tiles else ''}" for one in kept
    )
    files = "".join(dict.fromkeys(Path(one.place.file).name for one in kept))
    return replace(plan, kept=f"{places} kept in {files}") if places else plan


def _with_choices(plan: KernelPlan, kept: TuningRecord, on_host: bool) -> KernelPlan:
    plans = {"": plan} | {version.text: version.plan for version in plan.versions}
    places = list(plans)
    choices = tuple(
        SizeChoice(
            choice.bytes,
            choice.trips,
            tuple(choice.sizes[name] for name in _names(plans[choice.version])) if choice.sizes else (),
            places.index(choice.version),
        )
        for choice in kept.choices
    )
    measured = MeasuredSizes(kept.least, choices)
    if not on_host:
        default = tuple(size.device for size in plan.sizes)
        return replace(plan, device_choices=around(measured, (), default))
    default = tuple(size.host for size in plan.sizes)
    return replace(plan, measured=measured, choices=around(measured, (), default), processor_choices=())


def _with(size: TileSize, value: int, on_host: bool) -> TileSize:
    # What was measured is taken as it is: threads have as even blocks as they had then.
    return replace(size, host=value, unit=0) if on_host else replace(size, device=value)


def warn_of_unknown(kept: Iterable[TuningRecord], kernels: Iterable[str], found: Diagnostics) -> None:
    """Warn of entries of kernels that there are none of."""
    known = list(kernels)
    for one in kept:
        if one.kernel not in known:
            near = difflib.get_close_matches(one.kernel, known, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"kernels are {', '.join(known)}"
            found.warning(
                one.place, f"what is kept of kernel '{one.kernel}' is ignored: there is no such kernel", remedy
            )


# -- Writing


@dataclass(frozen=True)
class TunedVersion:
    """What is to be kept of one kernel, as measured on a target: sizes, or `choices` from `least`
    bytes on where there are any; None in the place of `facts`, which are for readers, takes out
    what was kept for that target before.
    """

    kernel: str
    size_class: SizeClass
    target: str
    sizes: Mapping[str, int]
    facts: Mapping[str, str | float] | None
    choices: tuple[RecordedChoice, ...] = ()
    least: int = 0
    tiles: str | None = None


def kept_text(before: str | None, winner: TunedVersion) -> str:
    """The text of a file that kept `before` (None: there was none), with the winner in it.

    What cannot be read of it, which the translator has warned of, is lost.
    """
    kernels = _kernels(before)
    classes = kernels.get(winner.kernel)
    classes = dict(classes) if isinstance(classes, dict) else {}
    name = winner.size_class.name
    if winner.facts is not None:
        classes[name] = {**_what(winner), "target": winner.target, **winner.facts}
    elif _target(classes.get(name)) == winner.target:
        del classes[name]
    kernels[winner.kernel] = classes
    left = {name: entry for name, entry in sorted(kernels.items()) if entry}
    return json.dumps({"version": VERSION, "kernels": left}, indent=2) + "\n"


def _what(winner: TunedVersion) -> dict[str, object]:
    """Its sizes, or its choices."""
    if not winner.choices:
        return {"sizes": dict(winner.sizes)}
    choices = [
        {
            "bytes": choice.bytes,
            **({} if choice.trips is None else {"trips": choice.trips}),
            **({"version": choice.version} if choice.version else {}),
            **({"sizes": dict(choice.sizes)} if choice.sizes or not choice.version else {}),
        }
        for choice in winner.choices
    ]
    tiles = {} if winner.tiles is None else {"tiles": winner.tiles}
    return {**tiles, "least_bytes": winner.least, "choices": choices}


def _target(entry: object) -> object:
    return entry.get("target") if isinstance(entry, dict) else None


def _kernels(text: str | None) -> dict[str, object]:
    try:
        whole = json.loads(text or "{}")
    except ValueError:
        return {}
    kernels = whole.get("kernels") if isinstance(whole, dict) and whole.get("version") == VERSION else None
    return dict(kernels) if isinstance(kernels, dict) else {}
