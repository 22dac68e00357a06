"""The fields of device descriptors: meaning, unit and valid values (as in docs/DEVICES.md). Reads a
descriptor's text, and checks that all fields are present, valid and consistent.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from dataclasses import field
from enum import Enum
from typing import Any

from tilepragma.base.diagnostics import Diagnostics, LocatedError, SourceError
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.located_json import LocatedJson, Path, read_located
from tilepragma.model.device import Device, Gpu, Memory, Overheads, Processor


class Value(Enum):
    """What a field may hold, in words for its errors."""

    TEXT = "a text that is not empty"
    COUNT = "a whole number from 1"
    AMOUNT = "a whole number from 0"
    POWER = "a power of two"
    RATE = "a number a second, from 1e6 (not in thousands or millions)"
    RATE_OR_NULL = "a number a second, from 1e6 (not in thousands or millions), or null where it was not measured"
    SECONDS = "a number of seconds from 0"
    CAPABILITY = "two whole numbers, [major, minor], or null where it is no NVIDIA device"
    SCOPE = '"warp" or "block"'
    MEMORIES = "a list of memories, the nearest first"
    COSTS = "a list of pairs [number, seconds], the numbers from 1 and ascending"
    OVERHEADS = "null, or an object with what was measured"


@dataclass(frozen=True)
class Field:
    """One field: its unit and meaning in words. It may be left out unless it is `required`."""

    name: str
    value: Value
    meaning: str
    required: bool = True


GPU = (
    Field("name", Value.TEXT, "what its maker calls it"),
    Field("compute_capability", Value.CAPABILITY, "of NVIDIA's devices; it chooses the rules of occupancy"),
    Field("multiprocessors", Value.COUNT, "streaming multiprocessors; of OpenCL, compute units"),
    Field("warp", Value.POWER, "threads that run in step (AMD: wavefront)"),
    Field("threads_per_multiprocessor", Value.COUNT, "threads, at most, of all blocks on a multiprocessor"),
    Field("threads_per_block", Value.COUNT, "threads of a block (work-items of a group), at most"),
    Field("blocks_per_multiprocessor", Value.COUNT, "blocks on a multiprocessor, at most"),
    Field("shared_per_multiprocessor", Value.COUNT, "bytes of shared (local) memory"),
    Field("shared_per_block", Value.COUNT, "bytes of it that a block may have without asking for more"),
    Field("shared_opt_in", Value.AMOUNT, "bytes of it that a block may ask for; 0: no more", required=False),
    Field("shared_reserved", Value.AMOUNT, "bytes of it that the system takes for each block"),
    Field("shared_unit", Value.POWER, "bytes: shared memory is allocated in multiples of this"),
    Field("registers_per_multiprocessor", Value.COUNT, "registers of 32 bits"),
    Field("registers_per_block", Value.COUNT, "registers of 32 bits, at most"),
    Field("registers_per_thread", Value.COUNT, "registers of 32 bits, at most"),
    Field("register_unit", Value.POWER, "registers: they are allocated in multiples of this"),
    Field("register_scope", Value.SCOPE, "what registers are allocated to"),
    Field(
        "warps_unit",
        Value.POWER,
        "warps: where registers go to warps, the partitions of a multiprocessor that warps are mapped to; "
        "where they go to blocks, a block's warps are rounded up to a multiple of it",
    ),
    Field("transaction", Value.POWER, "bytes that an access to global memory moves at least"),
    Field("banks", Value.POWER, "banks of shared memory"),
    Field("bank_width", Value.POWER, "bytes that a bank serves at once"),
    Field("clock", Value.RATE, "cycles a second of the cores"),
    Field(
        "float_rate",
        Value.RATE,
        "operations on floats a second, of all multiprocessors, a fused multiply-add being two",
    ),
    Field("double_rate", Value.RATE, "the same for doubles"),
    Field("memories", Value.MEMORIES, "shared memory, L2 and further caches where there are any, DRAM"),
    Field("overheads", Value.OVERHEADS, "what `tilepragma devices --calibrate` measured", required=False),
)
PROCESSOR = (
    Field("name", Value.TEXT, "what its maker calls it"),
    Field("cores", Value.COUNT, "cores, without hyper-threads"),
    Field("vector", Value.POWER, "bytes that a core computes at once"),
    Field("line", Value.POWER, "bytes of a cache line"),
    Field("clock", Value.RATE, "cycles a second with all cores at work"),
    Field("float_rate", Value.RATE, "operations on floats a second, of all cores, a fused multiply-add being two"),
    Field("double_rate", Value.RATE, "the same for doubles"),
    Field("memories", Value.MEMORIES, "L1, L2, L3 where there is one, DRAM"),
    Field("overheads", Value.OVERHEADS, "what `tilepragma devices --calibrate` measured", required=False),
)
MEMORY = (
    Field("name", Value.TEXT, "what it is called"),
    Field("size", Value.COUNT, "bytes of one such memory"),
    Field("sharers", Value.COUNT, "multiprocessors, or cores, that share one such memory"),
    Field(
        "bandwidth",
        Value.RATE_OR_NULL,
        "bytes a second that all multiprocessors, or cores, get from all of them together",
    ),
)
OVERHEADS = (
    Field("kernel", Value.SECONDS, "a launch that does nothing (thesis 5.3.3.1: sigma_ker)"),
    Field("barrier", Value.COSTS, "one barrier of a block, by its threads (sigma_thd)"),
    Field("wavefront", Value.COSTS, "from one wavefront of tiles to the next, by the number of blocks (sigma_blk)"),
    Field("copy", Value.SECONDS, "a copy of no bytes to or from the device"),
    Field("copy_in", Value.RATE_OR_NULL, "bytes a second of long copies to the device", required=False),
    Field("copy_out", Value.RATE_OR_NULL, "bytes a second of long copies from the device", required=False),
)
#: Further fields at the top of a file.
TOP = (
    Field("kind", Value.TEXT, "`gpu` or `processor`"),
    Field("source", Value.TEXT, "where the figures are from, for people", required=False),
)

#: Fields of earlier descriptors, which are ignored.
_RETIRED = ("shared_carve_outs",)
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
        self.faulty.add(path)
        self.diagnostics.error(self.json.place(path), message, *remedies)

    def record(self, value: object, path: Path, fields: tuple[Field, ...]) -> dict[str, Any]:
        """The valid fields of an object; reports the others."""
        if not isinstance(value, dict):
            self.error(path, f"{_called(path)} is {_shown(value)}", f"it must be an object with {_names(fields)}")
            return {}
        known = {field_.name: field_ for field_ in fields}
        for name in value:
            if name not in known and name not in _RETIRED:
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
                remedy = f'write "{entry.name}": {entry.value.value}; {entry.meaning}'
                self.error(path, f"{_called(path)} has no field '{entry.name}'", remedy)
        return result

    def value(self, value: object, path: Path, field_: Field) -> Any:
        """The value of a field; reports an invalid one."""
        if field_.value is Value.MEMORIES:
            return self._memories(value, path)
        if field_.value is Value.OVERHEADS:
            return None if value is None else self.record(value, path, OVERHEADS)
        if not _RULES[field_.value](value):
            remedy = f"it must be {field_.value.value}: {field_.meaning}"
            self.error(path, f"'{field_.name}' is {_shown(value)}", remedy)
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
        problem = "there is no 'kind'" if kind is None else f"'kind' is {_shown(kind)}, which is unknown"
        remedy = 'write "kind": "gpu" or "kind": "processor" in an object'
        reader.error(("kind",), problem, remedy)
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
            message = f"'{less}' is {getattr(gpu, less)}, more than '{greater}', {getattr(gpu, greater)}"
            yield less, message, "one of the two is wrong"
    if gpu.threads_per_multiprocessor % gpu.warp:
        message = f"{gpu.threads_per_multiprocessor} threads are no whole number of warps of {gpu.warp}"
        remedy = f"a multiprocessor holds whole warps: a multiple of {gpu.warp}"
        yield "threads_per_multiprocessor", message, remedy
    if 0 < gpu.shared_opt_in < gpu.shared_per_block:
        message = f"a block may ask for {gpu.shared_opt_in} bytes, less than what it has without asking"
        yield "shared_opt_in", message, "leave it out where a block may have no more than 'shared_per_block'"


def _check_memories(reader: _Reader, memories: tuple[Memory, ...], units: int, word: str) -> None:
    for number, memory in enumerate(memories):
        if memory.sharers > units:
            message = f"{memory.sharers} {word} share '{memory.name}', but there are {units}"
            reader.error(("memories", number, "sharers"), message, f"write {units} where all share it")


def _is_whole(value: object, least: int = 1) -> bool:
    return type(value) is int and least <= value <= _MOST


def _is_number(value: object, least: float) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and value >= least
    return type(value) is int and least <= value <= _MOST


def _is_costs(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(pair, list) and len(pair) == 2 and _is_number(pair[1], 0) for pair in value):
        return False
    numbers = [number for number, _ in value]
    return all(map(_is_whole, numbers)) and numbers == sorted(set(numbers))


_RULES: dict[Value, Callable[[object], bool]] = {
    Value.TEXT: lambda value: isinstance(value, str) and bool(value.strip()) and value.isprintable(),
    Value.COUNT: _is_whole,
    Value.AMOUNT: lambda value: _is_whole(value, 0),
    Value.POWER: lambda value: isinstance(value, int) and _is_whole(value) and value & (value - 1) == 0,
    Value.RATE: lambda value: _is_number(value, _LEAST_RATE),
    Value.RATE_OR_NULL: lambda value: value is None or _is_number(value, _LEAST_RATE),
    Value.SECONDS: lambda value: _is_number(value, 0),
    Value.CAPABILITY: lambda value: (
        value is None
        or (isinstance(value, list) and len(value) == 2 and _is_whole(value[0]) and _is_whole(value[1], 0))
    ),
    Value.SCOPE: lambda value: value in ("warp", "block"),
    Value.COSTS: _is_costs,
}


def _names(fields: tuple[Field, ...]) -> str:
    return ", ".join(field.name for field in fields)


def _called(path: Path) -> str:
    steps = (step if isinstance(step, str) else f"[{step}]" for step in path)
    return "/".join(steps) if path else "the descriptor"


def _shown(value: object) -> str:
    words = {dict: "an object", list: "a list", type(None): "null", bool: "true or false"}
    text = words.get(type(value), repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
