"""What a cubin says of its entry points: registers, local and shared memory, instructions, loops.

NVIDIA's nvdisasm (a wheel of that name) prints the instructions.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import BenchmarkError, checked_output

#: Attributes of .nv.info that have a symbol and a number, and the form of such (EIFMT_SVAL).
_REGISTERS, _FRAME, _WITH_VALUE = 0x2F, 0x11, 0x04
_BYTES = 16  # of an instruction, from compute capability 7.0 on
_ADDRESS = re.compile(r"0x[0-9a-f]+$")


@dataclass(frozen=True)
class Instruction:
    """`target`: the place of the instruction whose address it names, or None. `predicate` decides
    whether it is executed; empty where it always is.
    """

    opcode: str
    operands: str = ""
    target: int | None = None
    predicate: str = ""

    def __str__(self) -> str:
        return f"{self.predicate:>5} {self.opcode:<18} {self.operands}"


@dataclass(frozen=True)
class Loop:
    """A natural loop: the places of its instructions, of which `header` is entered first."""

    header: int
    body: frozenset[int]


@dataclass(frozen=True)
class EntryPoint:
    """Registers and bytes of local memory of a thread, bytes of shared memory of a block, and the
    instructions, without what fills the end of the section.
    """

    registers: int
    local: int
    shared: int
    instructions: tuple[Instruction, ...]


def entry_points(cubins: Sequence[Path], architecture: int) -> Mapping[Path, Mapping[str, EntryPoint]]:
    """The entry points of files for compute capability `architecture` (90 means 9.0). Raises
    BenchmarkError where nvdisasm is missing or refuses them.
    """
    images = {cubin: cubin.read_bytes() for cubin in cubins}
    code = {
        (cubin, name.removeprefix(".text.")): _part(image, place)
        for cubin, image in images.items()
        for name, place in _sections(image)
        if name.startswith(".text.")
    }
    # nvdisasm needs a second to start: it gets the code of all files at once.
    instructions = dict(zip(code, _disassembled(list(code.values()), architecture), strict=True))
    return {
        cubin: {
            name: EntryPoint(registers, local, shared, instructions[cubin, name])
            for name, registers, local, shared in _resources(image)
            if (cubin, name) in instructions
        }
        for cubin, image in images.items()
    }


def nvdisasm() -> tuple[Path, str]:
    """The wheel's command and its version. Raises BenchmarkError without it."""
    return wheel_file("nvidia-cuda-nvdisasm", "nvdisasm", "nvdisasm.exe")


def wheel_file(wheel: str, *names: str) -> tuple[Path, str]:
    """The file of one of the names in a wheel, and the wheel's version. Raises BenchmarkError without it."""
    try:
        installed = importlib.metadata.distribution(wheel)
    except importlib.metadata.PackageNotFoundError:
        raise BenchmarkError(f"the wheel {wheel} is not installed: install the extra [sass]") from None
    for file in installed.files or ():
        if file.name in names:
            return Path(str(installed.locate_file(file))), installed.version
    raise BenchmarkError(f"the wheel {wheel} holds no {names[0]}")


def _disassembled(sections: Sequence[bytes], architecture: int) -> Iterator[tuple[Instruction, ...]]:
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(b"".join(sections))
        file.flush()
        command = [str(nvdisasm()[0]), "--emit-json", "--binary", f"SM{architecture}", file.name]
        printed_code = checked_output(command, os.environ)
    _, functions = json.loads(printed_code)
    printed = [instruction for function in functions for instruction in function["sass-instructions"]]
    first = 0
    for section in sections:
        end = first + len(section) // _BYTES
        if end > len(printed):
            raise BenchmarkError(f"nvdisasm prints {len(printed)} instructions of {sum(map(len, sections)) // _BYTES}")
        yield without_filling(tuple(_instruction(each, first) for each in printed[first:end]))
        first = end


def _instruction(printed: dict[str, str], first: int) -> Instruction:
    operands = printed.get("operands", "")
    address = _ADDRESS.search(operands) if printed["opcode"].startswith(("BRA", "BSSY")) else None
    target = int(address[0], 16) // _BYTES - first if address is not None else None
    return Instruction(printed["opcode"], operands, target, printed.get("predicate", ""))


# ---- The file ------------------------------------------------------------------------------------


def _resources(image: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Names of entry points, registers, bytes of local and of shared memory."""
    sections = dict(_sections(image))
    names = sections[".strtab"][0]
    symbols = [
        _string(image, names + name) for (name,) in struct.iter_unpack("<I20x", _part(image, sections[".symtab"]))
    ]
    numbers = {
        (attribute, symbols[symbol]): value
        for attribute, symbol, value in _attributes(_part(image, sections[".nv.info"]))
    }
    for attribute, name in numbers:
        if attribute == _REGISTERS:
            shared = sections.get(f".nv.shared.{name}", (0, 0))[1]
            yield name, numbers[attribute, name], numbers.get((_FRAME, name), 0), shared


def _sections(image: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names, and where the sections of an ELF64 file lie: offsets and sizes."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    count, names = struct.unpack_from("<HH", image, 0x3C)
    headers = [struct.unpack_from("<I20xQQ", image, table + 64 * number) for number in range(count)]
    for name, offset, size in headers:
        yield _string(image, headers[names][1] + name), (offset, size)


def _part(image: bytes, place: tuple[int, int]) -> bytes:
    return image[place[0] : place[0] + place[1]]


def _string(image: bytes, offset: int) -> str:
    return image[offset : image.index(b"\0", offset)].decode()


def _attributes(part: bytes) -> Iterator[tuple[int, int, int]]:
    """Attribute, symbol and value, of those attributes that have both."""
    position = 0
    while position < len(part):
        form, attribute, size = struct.unpack_from("<BBH", part, position)
        position += 4
        if form == _WITH_VALUE:
            if size == 8:
                yield attribute, *struct.unpack_from("<II", part, position)
            position += size


# ---- Loops ---------------------------------------------------------------------------------------


def without_filling(code: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """The instructions up to the branch to itself with which the compiler ends a section."""
    end = len(code)
    while end > 0 and code[end - 1].opcode == "NOP":
        end -= 1
    last = code[end - 1] if end > 0 else None
    return code[: end - 1] if last is not None and last.opcode == "BRA" and last.target == end - 1 else code[:end]


def loops(code: tuple[Instruction, ...]) -> tuple[Loop, ...]:
    """The natural loops of a function, those of one header as one."""
    after = _successors(code)
    before: dict[int, set[int]] = {}
    for place, following in enumerate(after):
        for each in following:
            before.setdefault(each, set()).add(place)
    bodies: dict[int, set[int]] = {}
    for header, sources in sorted(before.items()):
        back = [source for source in sources if source >= header]
        if not back:
            continue
        # Whoever comes here without the header is no part of a loop that the header dominates.
        besides = _reached(after, 0, header)
        ends = {source for source in back if source not in besides}
        if ends:
            bodies.setdefault(header, set()).update(_reaching(before, ends, header))
    return tuple(Loop(header, frozenset(body)) for header, body in bodies.items())


def reachable(code: tuple[Instruction, ...]) -> frozenset[int]:
    """The places that are reached from the first one, called subroutines left out."""
    return frozenset(_reached(_successors(code), 0, -1))


def _reached(after: list[set[int]], start: int, without: int) -> set[int]:
    seen: set[int] = set()
    waiting = [start] if start != without else []
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting += [each for each in after[place] if each != without]
    return seen


def _reaching(before: Mapping[int, set[int]], ends: set[int], header: int) -> set[int]:
    seen = {header}
    waiting = list(ends)
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting += before.get(place, ())
    return seen


def _successors(code: tuple[Instruction, ...]) -> list[set[int]]:
    joins: dict[str, set[int]] = {}
    for instruction in code:
        if instruction.opcode.startswith("BSSY") and instruction.target is not None:
            joins.setdefault(instruction.operands.split(",")[0], set()).add(instruction.target)
    result = []
    for place, instruction in enumerate(code):
        kind, target = instruction.opcode.split(".")[0], instruction.target
        following = {place + 1}
        if kind == "BRA" and target is not None:
            # A predicate may also stand among the operands.
            falls = instruction.predicate != "" or "," in instruction.operands
            following = {target, place + 1} if falls else {target}
        elif kind == "BSYNC" and place + 1 not in joins.get(instruction.operands, ()):
            following = joins.get(instruction.operands, following)
        elif kind in ("EXIT", "RET") and not instruction.predicate:
            following = set()
        result.append({each for each in following if each < len(code)})
    return result
