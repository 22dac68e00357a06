"""The case files of tests/run/cases, built once a worker (`pytest --dist loadgroup`)."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import CaseFile, read_cases
from tests.support.programs import FLAGS, ROOT, Suite, Workshop

FOLDER = ROOT / "tests" / "run" / "cases"
FILES = tuple(read_cases(path) for path in sorted(FOLDER.glob("*.c")))


def file_named(stem: str) -> CaseFile:
    """A case file by its name without `.c`."""
    return next(file for file in FILES if Path(file.path).stem == stem)


def with_file(file: CaseFile, *values: object, id: str | None = None) -> object:
    """A pytest parameter of a case file and further values, in the group of this file's tests."""
    mark = pytest.mark.xdist_group(f"cases {file.path}")
    return pytest.param(file, *values, id=id or Path(file.path).stem, marks=mark)


@functools.cache
def case_suite(workshop: Workshop, file: CaseFile) -> Suite:
    """The file's programs. Builds fill `kernel_folder` and `kept_source` (translated source)."""
    folder = workshop.folder / "cases"
    kernels = kernel_folder(workshop, file)
    kernels.mkdir(parents=True, exist_ok=True)
    options = (f"--tilek-emit-kernels={kernels}", "--tilek-keep")
    return Suite(Workshop(folder, workshop.cache), file, flags=FLAGS, options=options)


def kernel_folder(workshop: Workshop, file: CaseFile) -> Path:
    """The folder of a case file's device programs."""
    return workshop.folder / "cases" / Path(file.path).stem / "kernels"


def kept_source(workshop: Workshop, file: CaseFile) -> Path:
    """The translated source of all cases of a file."""
    return kernel_folder(workshop, file).with_name("all.tilek.c")
