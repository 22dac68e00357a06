"""The case files of tests/run/cases: each built once for all tests of a worker that run it (`pytest --dist loadgroup`)."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.support.cases import CaseFile, read_cases
from tests.support.programs import FLAGS, ROOT, Suite, Workshop

FOLDER = ROOT / "tests" / "run" / "cases"
FILES = tuple(read_cases(path) for path in sorted(FOLDER.glob("*.c")))


def file_named(stem: str) -> CaseFile:
    """One of FILES by its name without `.c`."""
    return next(file for file in FILES if Path(file.path).stem == stem)


def with_file(file: CaseFile, *values: object, id: str | None = None) -> object:
    """A pytest parameter of a case file and more values, that runs where others on this file run."""
    mark = pytest.mark.xdist_group(f"cases {file.path}")
    return pytest.param(file, *values, id=id or Path(file.path).stem, marks=mark)


@functools.cache
def case_suite(workshop: Workshop, file: CaseFile) -> Suite:
    """The file's programs with FLAGS; `kernel_folder` holds their device programs, `kept_source`
    the translated source of all cases, once they are built.
    """
    folder = workshop.folder / "cases"
    kernels = kernel_folder(workshop, file)
    kernels.mkdir(parents=True, exist_ok=True)
    options = (f"--tilek-emit-kernels={kernels}", "--tilek-keep")
    return Suite(Workshop(folder, workshop.cache), file, flags=FLAGS, options=options)


def kernel_folder(workshop: Workshop, file: CaseFile) -> Path:
    """Where the device programs of a case file lie."""
    return workshop.folder / "cases" / Path(file.path).stem / "kernels"


def kept_source(workshop: Workshop, file: CaseFile) -> Path:
    """Where the translated source of all cases of a file lies."""
    return kernel_folder(workshop, file).with_name("all.tilek.c")
