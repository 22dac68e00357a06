"""The languages of a compiler driver's inputs, under the names of -x."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

C = "c"
_SUFFIXES = {
    ".c": C,
    ".i": "cpp-output",
    ".h": "c-header",
    **dict.fromkeys((".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C"), "c++"),
    ".ii": "c++-cpp-output",
    **dict.fromkeys((".hh", ".H", ".hp", ".hxx", ".hpp", ".HPP", ".h++", ".tcc"), "c++-header"),
    ".m": "objective-c",
    **dict.fromkeys((".mm", ".M"), "objective-c++"),
    ".cu": "cuda",
    ".cl": "cl",
    ".s": "assembler",
    **dict.fromkeys((".S", ".sx"), "assembler-with-cpp"),
    **dict.fromkeys(
        (".f", ".for", ".ftn", ".f90", ".f95", ".f03", ".f08", ".F", ".F90", ".F95", ".F03", ".F08"), "f95"
    ),
}
_NAMES = {
    "cpp-output": "preprocessed C",
    "c++": "C++",
    "c++-cpp-output": "preprocessed C++",
    "objective-c": "Objective-C",
    "objective-c++": "Objective-C++",
    "cuda": "CUDA C++",
    "cl": "OpenCL C",
    "assembler": "assembler",
    "assembler-with-cpp": "assembler",
    **dict.fromkeys(("f77", "f77-cpp-input", "f95", "f95-cpp-input"), "Fortran"),
}
_CPLUSPLUS_COMPILER = re.compile(r"(.*(\+\+|cxx|CC)|(.*-)?icp[cx])(-[\d.]+)?$")


def language_of(path: str, chosen: str, command: Sequence[str]) -> str:
    """The language by `-x` (`chosen`), else by suffix and compiler; "" for inputs of linkers."""
    if chosen:
        return chosen
    language = _SUFFIXES.get(os.path.splitext(path)[1], "")
    programs = (os.path.basename(word) for word in command if not word.startswith("-") and "=" not in word)
    return "c++" if language == C and any(map(_CPLUSPLUS_COMPILER.match, programs)) else language


def name_of(language: str) -> str:
    """The readable name of a language other than C; "" if its files never have directives."""
    return _NAMES.get(language, "")
