"""Parts a CUDA program, as text, into what the host's C++ compiler takes and what NVRTC takes.

In the host's text a launch `kernel<<<grid, block>>>(arguments)` becomes
`(simulated::configure(grid, block), kernel)(arguments)`, and a kernel becomes a function with its
parameters that calls `simulated::launch`, both of cuda_runtime.h. The device's text keeps kernels,
device functions, types, constants and macros; GNU's statement expressions, which NVRTC does not
take, become lambdas that are called. Programs of ordinary form only: kernels that are
templates, variables in device memory and `extern` shared memory are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_CODE = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_DIRECTIVE = r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*"
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"][^\n]*$", re.MULTILINE)
_LAUNCH = re.compile(r"([A-Za-z_]\w*)\s*<<<(.*?)>>>", re.DOTALL)
_TRANSPARENT = re.compile(r"\s*(?:extern|namespace(?:\s+\w+)?)\s*$")
_BODY = re.compile(r"\)\s*(?:const\s*)?$")
_KERNEL = re.compile(r"([A-Za-z_]\w*)\s*$")
_DEVICE_WORDS = re.compile(r"\b__(?:device|constant|managed)__")
_STATEMENT_EXPRESSION = re.compile(r"\(\{((?:[^{};]*;)*)([^{};]*);\s*\}\)")
_SHARED_TYPE = re.compile(
    r"\s*(?:typedef|using|struct|union|enum|class)\b|\s*(?:static\s+)?(?:const|constexpr)\b[^*\[(]*$"
)


class CudaTextError(Exception):
    """The program has a form that is not taken; the message says which."""


@dataclass(frozen=True)
class Parts:
    """A program for the host's compiler and for NVRTC."""

    host: str
    device: str


@dataclass(frozen=True)
class _Item:
    """A declaration at file scope: `text`, the same with what is opaque blanked, and where its body's
    brace is, or -1.
    """

    text: str
    structure: str
    body: int

    @property
    def is_function(self) -> bool:
        return self.body >= 0 and _BODY.search(self.structure[: self.body]) is not None

    @property
    def head(self) -> str:
        return self.structure[: self.body] if self.body >= 0 else self.structure


def expanded(path: Path, seen: set[Path] | None = None) -> str:
    """The text of a file with the program's own headers in their places, each once, and without
    those of CUDA.
    """
    seen = set() if seen is None else seen
    seen.add(path.resolve())

    def put(directive: re.Match[str]) -> str:
        kind, name = directive.groups()
        if re.match(r"cuda\w*\.h$|device_launch_parameters\.h$", name):
            return ""
        header = (path.parent / name).resolve()
        if kind == "<" or not header.is_file():
            return directive[0]
        return "" if header in seen else expanded(header, seen)

    return _INCLUDE.sub(put, path.read_text(errors="replace"))


def parted(text: str) -> Parts:
    """Raises CudaTextError."""
    host, device = [], []
    for item in _items(text):
        for_host, for_device = _of_item(item)
        host.append(for_host)
        device.append(_INCLUDE.sub("", for_device))
    return Parts(_with_launches("".join(host)), _with_lambdas("".join(device)))


def _blanked(text: str, pattern: str) -> str:
    """The text with blanks in the place of what the pattern matches."""
    blank = re.compile(pattern, re.DOTALL | re.MULTILINE)
    return blank.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _items(text: str) -> Iterator[_Item]:
    """The declarations of a text, in order; together they are the text. Directives between
    declarations, and the braces of `extern "C"` and of namespaces, are items of their own.
    """
    code = _blanked(text, _NO_CODE)
    structure = _blanked(text, f"{_NO_CODE}|{_DIRECTIVE}")
    directives = {match.start(): match.end() for match in re.finditer(_DIRECTIVE, code, re.MULTILINE)}
    begin, depth, body, outer, place = 0, 0, -1, 0, 0
    while place < len(text):
        letter, before, end = structure[place], structure[begin:place], place + 1
        ended = False
        if place in directives and not before.strip():
            ended, end = True, directives[place]
        elif letter == "{" and depth == 0 and _TRANSPARENT.match(before):
            ended, outer = True, outer + 1
        elif letter == "}" and depth == 0 and outer > 0:
            ended, outer = True, outer - 1
        elif letter in "([{":
            body = place - begin if letter == "{" and depth == 0 and body < 0 else body
            depth += 1
        elif letter in ")]}":
            depth -= 1
            ended = letter == "}" and depth == 0 and _BODY.search(before[:body]) is not None
        else:
            ended = letter == ";" and depth == 0
        if ended:
            yield _Item(text[begin:end], structure[begin:end], body)
            begin, body = end, -1
        place = end
    if depth != 0:
        raise CudaTextError("braces or parentheses do not match")
    yield _Item(text[begin:], structure[begin:], -1)


def _of_item(item: _Item) -> tuple[str, str]:
    """The item for the host and for the device."""
    head = item.head
    if re.search(r"\bextern\b[^;]*\b__shared__\b", item.structure):
        raise CudaTextError("extern shared memory is not taken")
    if "__global__" in head:
        if re.search(r"\btemplate\b", head):
            raise CudaTextError("kernels that are templates are not taken")
        if not item.is_function:
            return item.text, ""
        kernel = re.sub(r"\b__global__", 'extern "C" __global__', item.text, count=1)
        return item.text[: item.body] + _stub(head), re.sub(r'extern "C"\s+extern "C"', 'extern "C"', kernel)
    if _DEVICE_WORDS.search(head):
        if not item.is_function and "(" not in head:
            raise CudaTextError(f"variables in device memory are not taken: {' '.join(head.split())}")
        return item.text if "__host__" in head else "", item.text
    is_shared = not item.is_function and _SHARED_TYPE.match(head) is not None
    is_structure = item.structure.strip() in ("", "}") or _TRANSPARENT.match(item.structure.rstrip().removesuffix("{"))
    return item.text, item.text if is_shared or is_structure else ""


def _stub(head: str) -> str:
    """The body of a kernel's function on the host."""
    close = head.rindex(")")
    opened = next(
        place
        for place in range(close, -1, -1)
        if head[place : close + 1].count("(") == head[place : close + 1].count(")")
    )
    name = _KERNEL.search(head[:opened])
    if name is None:
        raise CudaTextError(f"a kernel has no name: {head.strip()}")
    names = []
    for parameter in head[opened + 1 : close].split(","):
        declared = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^]]*\]\s*)*$", parameter)
        if declared is not None and declared[1] != "void":
            names.append(declared[1])
    values = "".join(f"(void *)&{parameter}, " for parameter in names)
    return f'{{ void *values[] = {{{values}nullptr}}; simulated::launch("{name[1]}", values); }}'


def _with_lambdas(text: str) -> str:
    lambdas = _STATEMENT_EXPRESSION.sub(r"([&] {\1 return \2; }())", text)
    return re.sub(r"\b__typeof__\s*\([^()]*\)\s*(?=\w+\s*=)", "auto ", lambdas)


def _with_launches(text: str) -> str:
    code = _blanked(text, _NO_CODE)
    launches, result, last = list(_LAUNCH.finditer(code)), [], 0
    if len(launches) != code.count("<<<"):
        raise CudaTextError("a launch has another form than name<<<grid, block>>>")
    for launch in launches:
        configuration = text[launch.start(2) : launch.end(2)]
        result += [text[last : launch.start()], f"(simulated::configure({configuration}), {launch[1]})"]
        last = launch.end()
    return "".join([*result, text[last:]])
