"""Reads a descriptor's text: checks that all fields are present, valid and consistent."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from tilepragma.base.diagnostics import Diagnostics, LocatedError, SourceError
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.located_json import LocatedJson, Path, read_located
from tilepragma.model.descriptor_fields import GPU, MEMORY, OVERHEADS, PROCESSOR, TOP, Field, Value
from tilepragma.model.device import Device, Gpu, Memory, Overheads, Processor

_LEAST_RATE = 1e6
_MOST = 2**62
_KINDS = {"gpu": GPU, "processor": PROCESSOR}


def device_of(text: str, file: str) -> Device:
    """The device that a descriptor describes; `file` is its name in errors. Raises LocatedError."""
    diagnostics = Diagnostics()
    try:
        device = _device(_Reader(read_located(text, file), diagnostics))
    except SourceError as error:
        raise LocatedError((error.diagnostic,)) from None
    if device is None or diagnostics.has_errors:
        raise LocatedError(tuple(diagnostics))
    return device


@dataclass
class _Reader:
    """Reads objects by their fields. Faults are reported and left out of the result."""

    json: LocatedJson
    diagnostics: Diagnostics
    faulty: set[Path] = field(default_factory=set)

    def error(self, path: Path, message: str, *remedies: str) -> None:
        """Report a fault of the value at `path`."""
        self.faulty.add(path)
        self.diagnostics.error(self.json.place(path), message, *remedies)

    def record(self, value: object, path: Path, fields: tuple[Field, ...]) -> dict[str, Any]:
        """The valid fields of an object; reports the others."""
        if not isinstance(value, dict):
            self.error(path, f"{_called(path)} is {_shown(value)}", f"it must be an object with {_names(fields)}")
            return {}
        known = {field_.name: field_ for field_ in fields}
        for name in value:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                remedy = f"did you mean '{near[0]}'?" if near else f"the fields are {_names(fields)}"
                self.error((*path, name), f"'{name}' is no field of {_called(path)}", remedy)
        result = {}
        for entry in fields:
            if entry.name in value:
                read = self.value(value[entry.name], (*path, entry.name), entry)
                if (*path, entry.name) not in self.faulty:
                    result[entry.name] = read
            elif entry.required:
                self.error(
                    path,
                    f"{_called(path)} has no field '{entry.name}'",
                    f'write "{entry.name}": {entry.value.value}; {entry.meaning}',
                )
        return result

    def value(self, value: object, path: Path, field_: Field) -> Any:
        """The value of a field; reports an invalid one."""
        if field_.value is Value.MEMORIES:
            return self._memories(value, path)
        if field_.value is Value.OVERHEADS:
            return None if value is None else self.record(value, path, OVERHEADS)
        if not _RULES[field_.value](value):
            self.error(
                path, f"'{field_.name}' is {_shown(value)}", f"it must be {field_.value.value}: {field_.meaning}"
            )
            return None
        if isinstance(value, list):
            return tuple(tuple(each) if isinstance(each, list) else each for each in value)
        return value

    def _memories(self, value: object, path: Path) -> tuple[Memory, ...]:
        if not isinstance(value, list) or not value:
            self.error(path, f"'memories' is {_shown(value)}", f"it must be {Value.MEMORIES.value}")
            return ()
        records = [self.record(record, (*path, number), MEMORY) for number, record in enumerate(value)]
        return tuple(Memory(**record) for record in records if len(record) == len(MEMORY))


def _device(reader: _Reader) -> Device | None:
    """The device, or None after reports."""
    whole = reader.json.value
    kind = whole.get("kind") if isinstance(whole, dict) else None
    if not isinstance(whole, dict) or not isinstance(kind, str) or kind not in _KINDS:
        problem = "there is no 'kind'" if kind is None else f"'kind' is {_shown(kind)}"
        reader.error(
            ("kind",),
            f"{problem}: what the device is, is not said",
            'write "kind": "gpu" or "kind": "processor" in an object',
        )
        return None
    values = reader.record(whole, (), TOP + _KINDS[kind])
    if reader.diagnostics.has_errors:
        return None
    for name in ("kind", "source"):
        values.pop(name, None)
    measured = values.pop("overheads", None)
    overheads = None if measured is None else Overheads(**measured)
    if kind == "processor":
        processor = Processor(**values, overheads=overheads)
        _check_memories(reader, processor.memories, processor.cores, "cores")
        return processor
    gpu = Gpu(**values, overheads=overheads)
    for name, message, remedy in _contradictions(gpu):
        reader.error((name,), message, remedy)
    _check_memories(reader, gpu.memories, gpu.multiprocessors, "multiprocessors")
    return gpu


def _contradictions(gpu: Gpu) -> Iterator[tuple[str, str, str]]:
    """Contradictions between fields: the field, what is wrong, and what would be right."""
    ordered = (
        ("warp", "threads_per_block"),
        ("threads_per_block", "threads_per_multiprocessor"),
        ("shared_per_block", "shared_per_multiprocessor"),
        ("shared_opt_in", "shared_per_multiprocessor"),
        ("shared_reserved", "shared_per_block"),
        ("registers_per_thread", "registers_per_block"),
        ("registers_per_block", "registers_per_multiprocessor"),
    )
    for less, greater in ordered:
        if getattr(gpu, less) > getattr(gpu, greater):
            yield (
                less,
                f"'{less}' is {getattr(gpu, less)}, more than '{greater}', {getattr(gpu, greater)}",
                "one of the two is wrong",
            )
    if gpu.threads_per_multiprocessor % gpu.warp:
        remedy = f"a multiprocessor holds whole warps: a multiple of {gpu.warp}"
        yield (
            "threads_per_multiprocessor",
            f"{gpu.threads_per_multiprocessor} threads are no number of warps of {gpu.warp}",
            remedy,
        )
    if 0 < gpu.shared_opt_in < gpu.shared_per_block:
        remedy = "leave it out where a block may have no more than 'shared_per_block'"
        yield (
            "shared_opt_in",
            f"a block may ask for {gpu.shared_opt_in} bytes, less than what it has without asking",
            remedy,
        )
    if gpu.shared_carve_outs and gpu.shared_carve_outs[-1] != gpu.shared_per_multiprocessor:
        remedy = f"end the list with {gpu.shared_per_multiprocessor}"
        yield "shared_carve_outs", "the largest of 'shared_carve_outs' is not 'shared_per_multiprocessor'", remedy


def _check_memories(reader: _Reader, memories: tuple[Memory, ...], units: int, word: str) -> None:
    for number, memory in enumerate(memories):
        if memory.sharers > units:
            place = ("memories", number, "sharers")
            reader.error(
                place,
                f"{memory.sharers} {word} share '{memory.name}', but there are {units}",
                f"write {units} where all share it",
            )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST


def _is_count(value: object) -> bool:
    return isinstance(value, int) and _is_whole(value) and value >= 1


def _is_power(value: object) -> bool:
    return isinstance(value, int) and _is_count(value) and value & (value - 1) == 0


def _is_number(value: object, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return (math.isfinite(value) if isinstance(value, float) else _is_whole(value)) and value >= least


def _is_capability(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == 2 and _is_count(value[0]) and _is_amount(value[1])
    )


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and _is_whole(value) and value >= 0


def _is_ascending(value: object, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(of, value)) and value == sorted(set(value))


def _is_costs(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    pairs = all(isinstance(pair, list) and len(pair) == 2 and _is_number(pair[1], 0) for pair in value)
    return pairs and _is_ascending([pair[0] for pair in value], _is_count)


_RULES: dict[Value, Callable[[object], bool]] = {
    Value.TEXT: lambda value: isinstance(value, str) and bool(value.strip()) and value.isprintable(),
    Value.COUNT: _is_count,
    Value.AMOUNT: _is_amount,
    Value.POWER: _is_power,
    Value.AMOUNTS: lambda value: _is_ascending(value, _is_count),
    Value.RATE: lambda value: _is_number(value, _LEAST_RATE),
    Value.RATE_OR_NULL: lambda value: value is None or _is_number(value, _LEAST_RATE),
    Value.SECONDS: lambda value: _is_number(value, 0),
    Value.CAPABILITY: _is_capability,
    Value.SCOPE: lambda value: value in ("warp", "block"),
    Value.COSTS: _is_costs,
}


def _names(fields: tuple[Field, ...]) -> str:
    return ", ".join(field.name for field in fields)


def _called(path: Path) -> str:
    return (
        "the descriptor" if not path else "/".join(f"{step}" if isinstance(step, str) else f"[{step}]" for step in path)
    )


def _shown(value: object) -> str:
    words = {dict: "an object", list: "a list", type(None): "null", bool: "true or false"}
    text = words.get(type(value), repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
