"""Case files: C sources of many small cases, each of which can also be built alone.

A case file begins with a prelude. Every case begins with a line `// case NAME: what it shows` and
ends where the next begins. A case defines its kernels and, by CASE(NAME), the function that runs
and records them. `// case NAME (a check fails): …` is a case with a launch whose check fails, so
that the original loop runs: an error under TILEK_STRICT=1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_HEADING = re.compile(r"^// case (\w+)( \(a check fails\))?: (.+)$", re.MULTILINE)

#: Arguments in place of a case's name: all cases without a failing check, and those with one.
ALL, FAILING = "all", "failing"

_MAIN = """
#line 1 "main"
const char *check_current;
FILE *check_file;
int check_sizes[4];

int main(int argc, char **argv)
{{
    static const struct {{ const char *name, *group; void (*run)(void); }} cases[] = {{{table}}};
    if (argc < 3 || (check_file = fopen(argv[1], "wb")) == NULL)
        return 2;
    for (int a = 3; a < argc && a < 7; ++a)
        check_sizes[a - 3] = atoi(argv[a]);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {{
        if (strcmp(argv[2], cases[c].group) != 0 && strcmp(argv[2], cases[c].name) != 0)
            continue;
        check_current = cases[c].name;
        cases[c].run();
        fflush(check_file);
    }}
    return fclose(check_file) != 0;
}}
"""


@dataclass(frozen=True)
class Case:
    """One case; `line` is that of its heading in its file (1 for generated cases)."""

    name: str
    title: str
    text: str
    line: int = 1
    group: str = ALL


@dataclass(frozen=True)
class CaseFile:
    """A prelude and the cases that share it. Compilers' messages name `path`."""

    path: str
    prelude: str
    cases: tuple[Case, ...]

    def program(self, cases: tuple[Case, ...]) -> str:
        """A whole C program of some cases: `PROGRAM DUMP CASE|all|failing [SIZE…]`."""
        parts = [f'#line 1 "{self.path}"\n', self.prelude]
        for case in cases:
            parts.append(f'#line {case.line} "{self.path}"\n{case.text}')
        table = ", ".join(f'{{"{case.name}", "{case.group}", case_{case.name}}}' for case in cases)
        return "".join(parts) + _MAIN.format(table=table)


def read_cases(path: Path) -> CaseFile:
    """The case file at `path`. Raises ValueError where it holds no case, or two of one name."""
    text = path.read_text()
    headings = list(_HEADING.finditer(text))
    names = [heading[1] for heading in headings]
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{path}: case names {names}")
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    cases = tuple(
        Case(
            heading[1],
            heading[3],
            text[heading.start() : end],
            text.count("\n", 0, heading.start()) + 1,
            FAILING if heading[2] else ALL,
        )
        for heading, end in zip(headings, ends, strict=True)
    )
    return CaseFile(path.name, text[: headings[0].start()], cases)
