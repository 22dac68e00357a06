"""What threads execute of a compiled CUDA program: its PTX, walked for some of a launch's gangs.

Only what decides about branches and addresses is computed, for all threads together: floating-point
numbers and data are not. Threads that part at a branch are walked one after the other, the one that
is behind first, so that they meet again. Gangs between the first and the last of an axis stand for
those beside them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.evaluation import UncountableError
from tilepragma.model.execution_time import Integers, Numbers

WARP = 32
#: Bytes of a sector, in which caches and memory serve warps.
SECTOR = 32
#: Arrays begin at multiples of this, so that no two touch.
ARRAY = 2**32
#: Bytes that each of WARP banks of shared memory serves in a cycle.
BANK = 4
_WORDS = SECTOR // BANK
#: A launch with so many threads is walked in full; of a larger one so many gangs along each axis,
#: by the number of its axes.
THREADS, GANGS = 2**18, {1: 33, 2: 6, 3: 4}
#: Stretches without a branch that are walked at most in a launch, which takes a minute.
BUDGET = 2**17
#: Where threads are that have ended.
_DONE = 2**31 - 1

_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*\((?P<parameters>[^)]*)\)[^{]*\{(?P<body>.*?)\n\}", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\s[^%\w]*)?([\w$]+)")
_INSTRUCTION = re.compile(r"(?:@(?P<negated>!?)(?P<predicate>%\w+)\s+)?(?P<operation>[a-z][\w.:]*)(?P<operands>[^;]*)")
_SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\]")
_ADDRESS = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]")


@dataclass(frozen=True)
class Instruction:
    """`operation` and its types; `operands` in the order of the text. `predicate`: the register
    without which it does nothing; `negated`: with which.
    """

    operation: str
    types: tuple[str, ...]
    operands: tuple[str, ...]
    predicate: str | None
    negated: bool

    @cached_property
    def accesses(self) -> tuple[tuple[str, str], ...]:
        """The accesses to global and shared memory: the space, and the operand with an address."""
        if self.operation not in ("ld", "st", "atom", "red", "cp"):
            return ()
        spaces = [kind for kind in self.types if kind in ("global", "shared")]
        addresses = [operand for operand in self.operands if operand.startswith("[")]
        return tuple(zip(spaces, addresses, strict=False))

    @cached_property
    def bytes(self) -> int:
        """What a thread moves in an access."""
        if self.operation == "cp":
            return int(self.operands[2])
        return _width(self.types[-1]) // 8 * next((int(kind[1]) for kind in self.types if kind in ("v2", "v4")), 1)

    @cached_property
    def writes(self) -> tuple[str, ...]:
        """The registers that it sets."""
        if self.operation in ("st", "red", "cp", "bra", "bar", "ret", "exit", "membar", "fence"):
            return ()
        return _registers(self.operands[:1])

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The registers that it reads."""
        predicates = () if self.predicate is None else (self.predicate,)
        return (*predicates, *_registers(self.operands if not self.writes else self.operands[1:]))


@dataclass(frozen=True)
class EntryPoint:
    """An entry point's text: `parameters` by name, with their types; `labels` with the instruction
    that each stands before; `shared` variables with their addresses.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    shared: Mapping[str, int]

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Where instructions run one after the other: first, and behind the last."""
        starts = {0, len(self.instructions), *self.labels.values()}
        starts |= {
            place + 1 for place, each in enumerate(self.instructions) if each.operation in ("bra", "ret", "exit")
        }
        return tuple(itertools.pairwise(sorted(starts)))

    @cached_property
    def data(self) -> frozenset[str]:
        """Registers that hold data, and what depends on data."""
        data: set[str] = set()
        while True:
            before = len(data)
            for each in self.instructions:
                loads = each.operation in ("ld", "atom") and "param" not in each.types
                floats = any(re.fullmatch(r"f(16|32|64)", kind) for kind in each.types)
                if (
                    loads
                    or floats
                    or not data.isdisjoint(each.reads)
                    or each.operation in ("vote", "shfl", "activemask")
                ):
                    data.update(each.writes)
            if len(data) == before:
                return frozenset(data)

    @cached_property
    def needed(self) -> frozenset[str]:
        """Registers that decide about branches and addresses."""
        needed: set[str] = set()
        for each in self.instructions:
            if each.predicate is not None:
                needed.add(each.predicate)
            needed.update(_registers(operand for _, operand in each.accesses))
        while True:
            before = len(needed)
            for each in self.instructions:
                if not needed.isdisjoint(each.writes):
                    needed.update(each.reads)
            if len(needed) == before:
                return frozenset(needed)

    @cached_property
    def deciding(self) -> Mapping[int, tuple[Instruction, ...]]:
        """Of each block, by its first instruction: branches, accesses, and what decides about
        them.
        """
        return {first: tuple(filter(self._decides, self.instructions[first:last])) for first, last in self.blocks}

    def _decides(self, each: Instruction) -> bool:
        if each.operation in ("bra", "ret", "exit") or each.accesses:
            return True
        return not self.needed.isdisjoint(each.writes) and self.data.isdisjoint(each.writes)


def entry_points(text: str) -> Mapping[str, EntryPoint]:
    """The entry points of a program in PTX."""
    names = _shared_addresses(text)
    return {match["name"]: _entry(match, names) for match in _ENTRY.finditer(text)}


def _shared_addresses(text: str) -> dict[str, int]:
    addresses: dict[str, int] = {}
    place = 0
    for align, name, size in _SHARED.findall(text):
        place = -(-place // int(align)) * int(align)
        addresses[name] = place
        place += int(size)
    return addresses


def _entry(match: re.Match[str], shared: Mapping[str, int]) -> EntryPoint:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    body = re.sub(r"//[^\n]*", "", match["body"])
    for statement in re.split(r"[;\n]", body):
        words = statement.strip()
        while label := re.match(r"([$\w]+):\s*", words):
            labels[label[1]] = len(instructions)
            words = words[label.end() :]
        if not words or words[0] in ".{}":
            continue
        parsed = _INSTRUCTION.match(words)
        if parsed is None:
            raise UncountableError(f"'{words}' is not known")
        operation, *types = parsed["operation"].split(".")
        operands = tuple(
            operand.strip() for operand in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,{\[]+", parsed["operands"])
        )
        given = tuple(operand for operand in operands if operand)
        instructions.append(Instruction(operation, tuple(types), given, parsed["predicate"], parsed["negated"] == "!"))
    parameters = tuple((name, kind) for kind, name in _PARAMETER.findall(match["parameters"]))
    return EntryPoint(match["name"], parameters, tuple(instructions), labels, shared)


def _registers(operands: Sequence[str] | Iterator[str]) -> tuple[str, ...]:
    return tuple(name for operand in operands for name in re.findall(r"%[\w]+(?:\.[xyz])?", operand))


# -- Walking


@dataclass(frozen=True)
class LaunchCounts:
    """What a launch executes: instructions of its threads, of its warps, sectors of the accesses of
    warps to global memory, and the cycles in which shared memory serves accesses beyond the first.
    """

    instructions: float = 0.0
    warps: float = 0.0
    sectors: float = 0.0
    conflicts: float = 0.0

    def __add__(self, other: LaunchCounts) -> LaunchCounts:
        return LaunchCounts(
            self.instructions + other.instructions,
            self.warps + other.warps,
            self.sectors + other.sectors,
            self.conflicts + other.conflicts,
        )

    def times(self, repeats: float) -> LaunchCounts:
        """Of so many launches."""
        return LaunchCounts(
            self.instructions * repeats, self.warps * repeats, self.sectors * repeats, self.conflicts * repeats
        )


class Traffic:
    """Which words of arrays launches have stored, and which sectors they loaded before all words of
    the sector were stored: these come from memory. `complete`: all threads of all launches are
    walked. Arrays begin at multiples of ARRAY.
    """

    def __init__(self, complete: bool = True) -> None:
        self.complete = complete
        self._stored: dict[int, npt.NDArray[np.bool_]] = {}
        self._fetched: dict[int, npt.NDArray[np.bool_]] = {}

    @property
    def sectors(self) -> int:
        """Sectors that memory delivers, each once."""
        return sum(int(fetched.sum()) for fetched in self._fetched.values())

    def access(self, each: Instruction, address: Integers) -> None:
        """An access to global memory, by a thread at each of the addresses."""
        first = address // BANK
        words = (first[:, None] + np.arange(max(each.bytes // BANK, 1))).ravel()
        for array in np.unique(words // (ARRAY // BANK)).tolist():
            inside = words[words // (ARRAY // BANK) == array] % (ARRAY // BANK)
            stored = self._room(self._stored, array, int(inside.max()) + 1)
            if each.operation in ("st", "red"):
                stored[inside] = True
                continue
            sectors = np.unique(inside // _WORDS)
            partly = sectors[~stored.reshape(-1, _WORDS)[sectors].all(axis=1)]
            self._room(self._fetched, array, int(sectors[-1]) + 1)[partly] = True

    def _room(self, flags: dict[int, npt.NDArray[np.bool_]], array: int, size: int) -> npt.NDArray[np.bool_]:
        known = flags.get(array, np.zeros(0, dtype=np.bool_))
        if len(known) < size:
            more = -(-size // _WORDS) * _WORDS + len(known)
            flags[array] = known = np.concatenate((known, np.zeros(more, dtype=np.bool_)))
        return known


@dataclass(frozen=True)
class PlanCounts:
    """What a plan's device launches execute: how often each is launched and the counts of all its
    runs, by name. `by` names the compiler. `memory`: sectors that device memory delivers and takes,
    all caches empty before; None where a section's length is not known.
    """

    by: str
    launches: Mapping[str, tuple[int, LaunchCounts]]
    memory: float | None

    @property
    def warp_instructions(self) -> Mapping[str, float]:
        """Instructions of warps in all runs of each launch, by its name."""
        return {name: counts.warps for name, (_, counts) in self.launches.items()}

    @property
    def total(self) -> LaunchCounts:
        """Of all launches."""
        return sum((counts for _, counts in self.launches.values()), LaunchCounts())


Three = tuple[int, int, int]


def walk_launch(
    entry: EntryPoint, grid: Three, block: Three, arguments: Sequence[int | None], traffic: Traffic | None = None
) -> LaunchCounts:
    """The counts of a launch; `arguments` in the order of the entry point's parameters, None for
    data. `traffic` gets its accesses. Of branches that data decide every other thread takes each.
    Raises UncountableError where addresses are not known, and where walking takes too long.
    """
    return _Walk(entry, grid, block, arguments, traffic).run()


def _sampled(count: int, most: int) -> tuple[Integers, Numbers]:
    """The gangs of an axis that are walked, and how many each stands for: the first, the last, and
    the middles of equal parts between.
    """
    if count <= most:
        return np.arange(count), np.ones(count)
    edges = np.linspace(1, count - 1, most - 1)
    middles = np.floor((edges[:-1] + edges[1:]) / 2).astype(np.int64)
    return np.concatenate(([0], middles, [count - 1])), np.concatenate(([1.0], np.diff(edges), [1.0]))


class _Walk:
    """The threads of all walked gangs, a lane each; the lanes of a gang fill its last warp."""

    def __init__(
        self,
        entry: EntryPoint,
        grid: Three,
        block: Three,
        arguments: Sequence[int | None],
        traffic: Traffic | None,
    ) -> None:
        self.entry = entry
        whole = math.prod(grid) * math.prod(block) <= THREADS
        axes = sum(count > 1 for count in grid)
        sampled = [_sampled(count, count if whole else GANGS[axes]) for count in grid]
        self.traffic = traffic
        if traffic is not None and any(len(index) < count for (index, _), count in zip(sampled, grid, strict=True)):
            traffic.complete = False
        places = np.meshgrid(*(index for index, _ in sampled), indexing="ij")
        weights = np.meshgrid(*(weight for _, weight in sampled), indexing="ij")
        threads = block[0] * block[1] * block[2]
        lanes = -(-threads // WARP) * WARP
        gangs = places[0].size
        number = np.tile(np.arange(lanes), gangs)
        self.lanes = gangs * lanes
        self.weight = np.repeat(np.prod([each.ravel() for each in weights], axis=0), lanes)
        self.warp = np.arange(self.lanes) // WARP
        self.place = np.where(number < threads, 0, _DONE).astype(np.int64)
        self.values: dict[str, Integers] = {}
        thread = (number % block[0], number // block[0] % block[1], number // (block[0] * block[1]))
        for axis, letter in enumerate("xyz"):
            self.values[f"%tid.{letter}"] = thread[axis].astype(np.int64)
            self.values[f"%ctaid.{letter}"] = np.repeat(places[axis].ravel(), lanes).astype(np.int64)
            self.values[f"%ntid.{letter}"] = np.full(self.lanes, block[axis], dtype=np.int64)
            self.values[f"%nctaid.{letter}"] = np.full(self.lanes, grid[axis], dtype=np.int64)
        self.arguments = {
            name: value for (name, _), value in zip(entry.parameters, arguments, strict=True) if value is not None
        }
        self.counts = LaunchCounts()
        self.blocks = dict(entry.blocks)
        self.skipped = entry.data

    def run(self) -> LaunchCounts:
        for _ in range(BUDGET):
            first = int(self.place.min())
            if first == _DONE:
                return self.counts
            active = np.flatnonzero(self.place == first)
            last = self.blocks.get(first)
            if last is None:
                raise UncountableError("the end of a program is not known")
            self._block(first, last, active)
        raise UncountableError("walking it takes too long")

    def _block(self, first: int, last: int, active: Integers) -> None:
        weight, warp = self.weight[active], self.warp[active]
        firsts = np.flatnonzero(np.diff(warp, prepend=-1))
        self.counts += LaunchCounts(
            instructions=(last - first) * float(weight.sum()), warps=(last - first) * float(weight[firsts].sum())
        )
        self.place[active] = last if last < len(self.entry.instructions) else _DONE
        for each in self.entry.deciding[first]:
            if each.operation == "bra":
                self._branch(each, active)
            elif each.operation in ("ret", "exit"):
                self.place[self._taken(each, active)] = _DONE
            elif each.accesses:
                for space, operand in each.accesses:
                    self._access(each, space, operand, self._taken(each, active))
            else:
                self._compute(each, active)

    def _taken(self, each: Instruction, active: Integers) -> Integers:
        """The lanes in which the instruction's predicate holds."""
        if each.predicate is None:
            return active
        if each.predicate in self.skipped:
            return np.asarray(active[active % 2 == 1])
        holds = self.values[each.predicate][active] != 0
        return np.asarray(active[holds != each.negated])

    def _branch(self, each: Instruction, active: Integers) -> None:
        self.place[self._taken(each, active)] = self.entry.labels[each.operands[0]]

    def _access(self, each: Instruction, space: str, operand: str, active: Integers) -> None:
        match = _ADDRESS.match(operand)
        if match is None:
            raise UncountableError(f"the address {operand} is not known")
        weight = self.weight[active]
        if match[1] in self.skipped:
            # Anywhere: no two threads meet.
            if self.traffic is not None:
                self.traffic.complete = False
            self.counts += LaunchCounts(sectors=float(weight.sum()) if space == "global" else 0.0)
            return
        address = self._operand(match[1], active) + int(match[2] or 0)
        if space == "global":
            first = np.unique(self.warp[active] * 2**44 + address // SECTOR, return_index=True)[1]
            self.counts += LaunchCounts(sectors=float(weight[first].sum()))
            if self.traffic is not None and self.traffic.complete:
                self.traffic.access(each, address)
        elif len(active):
            self.counts += LaunchCounts(conflicts=self._conflicts(address // BANK, active))

    def _conflicts(self, words: Integers, active: Integers) -> float:
        """Cycles beyond the first of warps' accesses to words of shared memory."""
        keys = np.unique(self.warp[active] * 2**32 + words)
        banks, times = np.unique(keys // 2**32 * WARP + keys % WARP, return_counts=True)
        warps, starts = np.unique(banks // WARP, return_index=True)
        return float(((np.maximum.reduceat(times, starts) - 1) * self.weight[warps * WARP]).sum())

    def _operand(self, text: str, active: Integers) -> Integers:
        if text in self.values:
            return self.values[text][active]
        if text in self.entry.shared:
            return np.full(len(active), self.entry.shared[text], dtype=np.int64)
        try:
            return np.full(len(active), _wrapped(int(text, 0), 64), dtype=np.int64)
        except ValueError:
            raise UncountableError(f"'{text}' is not known") from None

    def _compute(self, each: Instruction, active: Integers) -> None:
        lanes = self._taken(each, active)
        for name, value in self._results(each, lanes):
            if len(lanes) == self.lanes:
                self.values[name] = value
            else:
                self.values.setdefault(name, np.zeros(self.lanes, dtype=np.int64))[lanes] = value

    def _results(self, each: Instruction, lanes: Integers) -> Iterator[tuple[str, Integers]]:
        target, *sources = each.operands
        kind = each.types[-1] if each.types else ""
        if each.operation == "ld":  # of a parameter
            match = _ADDRESS.match(sources[0])
            name = match[1] if match is not None else ""
            if name not in self.arguments:
                raise UncountableError(f"the argument {name} is not known")
            yield target, np.full(len(lanes), _wrapped(self.arguments[name], _width(kind)), dtype=np.int64)
            return
        if each.operation == "mov" and target.startswith("{"):
            low, high = _registers((target,))
            value = self._operand(sources[0], lanes)
            yield low, _narrowed(value, 32)
            yield high, value >> 32
            return
        if each.operation == "mov" and sources[0].startswith("{"):
            low_name, high_name = (name.strip() for name in sources[0].strip("{}").split(","))
            yield target, (self._operand(low_name, lanes) & 0xFFFFFFFF) | (self._operand(high_name, lanes) << 32)
            return
        if each.operation == "setp":
            yield from self._compared(each, lanes)
            return
        values = [self._operand(source, lanes) for source in sources]
        yield target, _computed(each, kind, values)

    def _compared(self, each: Instruction, lanes: Integers) -> Iterator[tuple[str, Integers]]:
        comparison, kind = each.types[0], each.types[-1]
        target, left, right, *others = each.operands
        values = [_as(self._operand(operand, lanes), kind) for operand in (left, right)]
        unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
        holds = _COMPARISONS[unsigned.get(comparison, comparison)](*values)
        if others:
            other = self._operand(others[0].lstrip("!"), lanes) != 0
            other = ~other if others[0].startswith("!") else other
            combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[each.types[1]]
            holds = combine(holds, other)
        names = target.split("|")
        yield names[0], holds.astype(np.int64)
        if len(names) > 1:
            yield names[1], (~holds).astype(np.int64)


_COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_Any = npt.NDArray[np.int64] | npt.NDArray[np.uint64]


@cache
def _width(kind: str) -> int:
    return 1 if kind == "pred" else int(re.sub(r"\D", "", kind) or 64)


def _wrapped(value: int, bits: int) -> int:
    """The number's lower bits, as a signed one: what registers hold."""
    value &= 2**bits - 1
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def _narrowed(value: Integers, bits: int) -> Integers:
    return value if bits >= 64 else (value << (64 - bits)) >> (64 - bits)


def _as(value: Integers, kind: str) -> _Any:
    """A register's number as one of a type."""
    bits = _width(kind)
    if kind.startswith("u"):
        return value.astype(np.uint64) if bits == 64 else value & (2**bits - 1)
    return _narrowed(value, bits)


def _computed(each: Instruction, kind: str, values: list[Integers]) -> Integers:
    """The result of an instruction of integers. Raises UncountableError for others."""
    bits = _width(kind)
    operation, types = each.operation, each.types
    if operation in ("mov", "cvta"):
        return values[0]
    if operation == "cvt":
        return _narrowed(np.asarray(_as(values[0], kind)).astype(np.int64), _width(types[-2]))
    if operation == "selp":
        return np.where(values[2] != 0, values[0], values[1])
    if operation in ("shl", "shr"):
        count = np.clip(values[1] & 0xFFFFFFFF, 0, 63)
        source = _as(values[0], kind)
        shift = np.left_shift if operation == "shl" else np.right_shift
        return _narrowed(np.asarray(shift(source, count.astype(source.dtype))).astype(np.int64), bits)
    if operation in ("and", "or", "xor"):
        combine = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[operation]
        return np.asarray(combine(values[0], values[1]))
    if operation == "not":
        return (values[0] == 0).astype(np.int64) if kind == "pred" else ~values[0]
    sources = [_as(value, kind) for value in values]
    if operation in ("add", "sub", "neg", "abs", "min", "max", "div", "rem"):
        return _narrowed(np.asarray(_ARITHMETIC[operation](*sources)).astype(np.int64), bits)
    if operation in ("mul", "mad"):
        wide, high = "wide" in types, "hi" in types
        if high and bits == 64:
            product = np.array([_wrapped(int(a) * int(b) >> 64, 64) for a, b in zip(*sources[:2], strict=True)])
        else:
            product = np.asarray(sources[0] * sources[1]).astype(np.int64)
            product = product >> 32 if high else product
        added = product + values[2] if operation == "mad" else product
        return added if wide else _narrowed(added, bits)
    if operation == "bfe":
        start, length = values[1] & 0xFF, values[2] & 0xFF
        field = (sources[0].astype(np.int64) >> start) & ((1 << length) - 1)
        return field if kind.startswith("u") else _signed_field(field, length)
    if operation == "bfi":
        start, length = values[2] & 0xFF, values[3] & 0xFF
        mask = ((1 << np.minimum(length, 62)) - 1) << start
        return _narrowed(((values[0] << start) & mask) | (values[1] & ~mask), bits)
    if operation == "prmt" and types == ("b32",):
        return _narrowed(_permuted(*values), bits)
    raise UncountableError(f"the instruction {operation}.{'.'.join(types)} is not known")


def _permuted(low: Integers, high: Integers, selection: Integers) -> Integers:
    """PTX's prmt: each byte of the result is one of eight, or eight copies of its sign bit."""
    result = np.zeros_like(low)
    for place in range(4):
        chosen = (selection >> (4 * place)) & 0xF
        source = np.where(chosen & 4, high, low)
        byte = (source >> (8 * (chosen & 3))) & 0xFF
        byte = np.where(chosen & 8, np.where(byte & 0x80, 0xFF, 0), byte)
        result |= byte << (8 * place)
    return result


def _signed_field(field: Integers, length: Integers) -> Integers:
    shift = 64 - length
    return np.asarray((field << shift) >> shift)


def _quotient(left: _Any, right: _Any) -> _Any:
    safe = np.where(right == 0, 1, right).astype(left.dtype)
    if left.dtype == np.uint64:
        return left // safe
    size = np.abs(left) // np.abs(safe)
    return np.where((left < 0) != (safe < 0), -size, size)


_ARITHMETIC: Mapping[str, Callable[..., _Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "neg": np.negative,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "div": _quotient,
    "rem": lambda left, right: left - _quotient(left, right) * right,
}
