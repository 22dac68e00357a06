"""Kernel versions as text: `num_threads(16); i: tile(thread); unroll(4); TILEK_TILES=diamond`.

Semicolons separate the parts: counts as in the kernel's directive, a loop's tiles after its
iterator's name, the unrolling of innermost loops, time tiles. All numbers are literals.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.grammar import parse_directive
from tilepragma.frontend.pragma.spliced_source import DirectiveText, SplicedSource, tokenize
from tilepragma.ir.directives import Directive, KernelDirective, LoopDirective, TemporalTiles
from tilepragma.ir.kernel_versions import KernelVersion

_TEMPORAL = re.compile(r"TILEK_TILES=(\w+)")
_UNROLL = re.compile(r"unroll\(([1-9]\d{0,4})\)")
_LOOP = re.compile(r"([A-Za-z_]\w*)\s*:(.*)", re.DOTALL)


def parse_version(text: str, place: SourceRange) -> KernelVersion:
    """The version that a text spells, with messages at `place`. Raises RefusalError."""
    version = KernelVersion(" ".join(text.split()))
    for part in filter(None, map(str.strip, text.split(";"))):
        version = _with_part(version, part, place)
    if version == KernelVersion(version.text):
        raise RefusalError("says nothing")
    return version


def _with_part(version: KernelVersion, part: str, place: SourceRange) -> KernelVersion:
    if match := _TEMPORAL.fullmatch(part):
        known = [mode.value for mode in TemporalTiles]
        if match[1] not in known:
            raise RefusalError(f"has '{part}', and tiles of time steps are {', '.join(known)}")
        return replace(version, temporal=TemporalTiles(match[1]))
    if match := _UNROLL.fullmatch(part):
        return replace(version, unroll=int(match[1]))
    if match := _LOOP.fullmatch(part):
        directive = _parsed(f"loop {match[2]}", part, place)
        if not isinstance(directive, LoopDirective) or replace(directive, tiles=()) != LoopDirective(directive.range):
            raise RefusalError(f"has '{part}', but a loop takes only tiles")
        if not directive.tiles:
            raise RefusalError(f"has '{part}' without tiles")
        if any(name == match[1] for name, _ in version.tiles):
            raise RefusalError(f"says twice what tiles '{match[1]}' has")
        if any(tile.argument is not None and tile.argument.literal is None for tile in directive.tiles):
            raise RefusalError(f"has '{part}', where an argument is no number")
        return replace(version, tiles=(*version.tiles, (match[1], directive.tiles)))
    directive = _parsed(f"kernel {part}", part, place)
    if not isinstance(directive, KernelDirective) or replace(directive, counts=()) != KernelDirective(directive.range):
        raise RefusalError(f"has '{part}', but the kernel takes only counts")
    if any(count.count.literal is None or count.count.literal < 1 for count in directive.counts):
        raise RefusalError(f"has '{part}', where a count is no number from 1")
    return replace(version, counts=(*version.counts, *directive.counts))


def _parsed(text: str, part: str, place: SourceRange) -> Directive | None:
    """The directive of a text with offsets in that text. Raises RefusalError."""
    faults = Diagnostics()
    content = text.encode()
    source = SplicedSource(place.file, content)
    directive = parse_directive(tokenize(DirectiveText(source, content, range(len(content)))), place, faults)
    for fault in faults:
        raise RefusalError(f"has '{part}': {fault.message}")
    return directive
