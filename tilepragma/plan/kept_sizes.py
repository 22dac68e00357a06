"""Tile sizes that `tilepragma tune` found, kept beside the source in IN.tilek.json: how the file is read, and what a plan makes of it.

The form, whose other fields are for readers: {"version": 1, "kernels": {KERNEL: {"host": {"sizes": {NAME: SIZE}}, "device": {…}}}}.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.located_json import LocatedJson, read_located
from tilepragma.base.ranges import SourceRange
from tilepragma.plan.kernel_plan import KernelPlan, TileSize

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
class KeptSizes:
    """Sizes of one kernel by their names, for hosts or devices, and where they stand."""

    kernel: str
    size_class: SizeClass
    sizes: Mapping[str, int]
    place: SourceRange


def kept_file(source: str) -> Path:
    """Where sizes for the kernels of a source are kept, whether there are any or not."""
    return Path(source).with_suffix(SUFFIX)


# ---- Reading -----------------------------------------------------------------------------------------------------------


def read_kept(text: str, file: str, found: Diagnostics) -> tuple[KeptSizes, ...]:
    """What a file keeps; what is wrong in it is warned of, and left out. `file` is its name in warnings."""
    try:
        located = read_located(text, file)
    except SourceError as error:
        found.warning(error.diagnostic.range, f"kept tile sizes are ignored: {error.diagnostic.message}", _AGAIN)
        return ()
    return tuple(_entries(located, found))


def _entries(located: LocatedJson, found: Diagnostics) -> Iterator[KeptSizes]:
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
) -> Iterator[KeptSizes]:
    path = ("kernels", kernel, size_class.name, "sizes")
    sizes = value.get("sizes") if isinstance(value, dict) else None
    if not isinstance(sizes, dict):
        found.warning(
            located.place(path), f"what is kept of kernel '{kernel}' is ignored: there is no object 'sizes'", _AGAIN
        )
        return
    wrong = [name for name, size in sizes.items() if type(size) is not int or not 1 <= size <= MOST]
    for name in wrong:
        message = f"what is kept of kernel '{kernel}' is ignored: '{name}' is no whole number from 1 to {MOST}"
        found.warning(located.place((*path, name)), message, _AGAIN)
    if not wrong:
        yield KeptSizes(kernel, size_class, sizes, located.place(path))


# ---- Taking ------------------------------------------------------------------------------------------------------------


def fitting(plan: KernelPlan, kept: Iterable[KeptSizes], found: Diagnostics) -> tuple[KeptSizes, ...]:
    """What is kept for the plan's kernel and names just its tile sizes; the rest of its entries is warned of."""
    wanted = [size.object.name for size in plan.sizes]
    mine = [one for one in kept if one.kernel == plan.kernel.name]
    right = tuple(one for one in mine if set(one.sizes) == set(wanted))
    for one in mine:
        if one not in right:
            there = f"are {', '.join(wanted)}" if wanted else "are none"
            said = ", ".join(one.sizes) or "nothing"
            message = (
                f"what is kept of kernel '{one.kernel}' is ignored: it says {said}; the kernel's tile sizes {there}"
            )
            found.warning(one.place, message, _AGAIN)
    return right


def with_kept(plan: KernelPlan, kept: Iterable[KeptSizes]) -> KernelPlan:
    """The plan with sizes that are `fitting`. Sizes that hosts would choose at launch give way to theirs."""
    for one in kept:
        on_host = one.size_class == HOST
        sizes = tuple(_with(size, one.sizes[size.object.name], on_host) for size in plan.sizes)
        plan = replace(plan, sizes=sizes, choices=() if on_host else plan.choices)
    places = ", ".join(f"those for {one.size_class.people}" for one in kept)
    files = "".join(dict.fromkeys(Path(one.place.file).name for one in kept))
    return replace(plan, kept=f"{places} kept in {files}") if places else plan


def _with(size: TileSize, value: int, on_host: bool) -> TileSize:
    return replace(size, host=value) if on_host else replace(size, device=value)


def warn_of_unknown(kept: Iterable[KeptSizes], kernels: Iterable[str], found: Diagnostics) -> None:
    """Warn of entries of kernels that there are none of."""
    known = list(kernels)
    for one in kept:
        if one.kernel not in known:
            near = difflib.get_close_matches(one.kernel, known, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"kernels are {', '.join(known)}"
            found.warning(
                one.place, f"what is kept of kernel '{one.kernel}' is ignored: there is no such kernel", remedy
            )


# ---- Writing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Winner:
    """What is to be kept of one kernel, as measured on a target; None in the place of `facts`, which are for readers, takes out what was kept for
    that target before.
    """

    kernel: str
    size_class: SizeClass
    target: str
    sizes: Mapping[str, int]
    facts: Mapping[str, str | float] | None


def kept_text(before: str | None, winner: Winner) -> str:
    """The text of a file that kept `before` (None: there was none), with the winner in it.

    What cannot be read of it, which the translator has warned of, is lost.
    """
    kernels = _kernels(before)
    classes = kernels.get(winner.kernel)
    classes = dict(classes) if isinstance(classes, dict) else {}
    name = winner.size_class.name
    if winner.facts is not None:
        classes[name] = {"sizes": dict(winner.sizes), "target": winner.target, **winner.facts}
    elif _target(classes.get(name)) == winner.target:
        del classes[name]
    kernels[winner.kernel] = classes
    left = {name: entry for name, entry in sorted(kernels.items()) if entry}
    return json.dumps({"version": VERSION, "kernels": left}, indent=2) + "\n"


def _target(entry: object) -> object:
    return entry.get("target") if isinstance(entry, dict) else None


def _kernels(text: str | None) -> dict[str, object]:
    try:
        whole = json.loads(text or "{}")
    except ValueError:
        return {}
    kernels = whole.get("kernels") if isinstance(whole, dict) and whole.get("version") == VERSION else None
    return dict(kernels) if isinstance(kernels, dict) else {}
