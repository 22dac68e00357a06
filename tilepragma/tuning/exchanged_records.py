"""Measurements as JSON lines, for merging on other machines.

The first line is a header, {"tilepragma measurements": 1}; each other one an object with the fields
of a Measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from typing import Any, TypeVar

from tilepragma.tuning.database import Environment, KernelKey, Measurement, Outcome, Trial

VERSION = 1
_HEADER = "tilepragma measurements"
#: Bound of attempts and threads.
_MOST = 1 << 31
_Part = TypeVar("_Part", KernelKey, Environment, Trial, Outcome)


class SharingError(Exception):
    """A file that cannot be merged; the message is a sentence with the line at fault, if any."""


def lines_of(measurements: Iterable[Measurement]) -> Iterator[str]:
    """The lines of a file, each with its end."""
    yield json.dumps({_HEADER: VERSION}) + "\n"
    for measurement in measurements:
        yield json.dumps(asdict(measurement), ensure_ascii=False) + "\n"


def measurements_of(lines: Iterable[str]) -> Iterator[Measurement]:
    """The measurements in a file. Raises SharingError if it is of another kind or damaged."""
    numbered = enumerate(lines, 1)
    _, first = next(numbered, (1, ""))
    header = _object(first, 1)
    if header.get(_HEADER) != VERSION:
        problem = (
            f"has version {header[_HEADER]}, not {VERSION}" if _HEADER in header else "is no export of tilepragma tune"
        )
        raise SharingError(f"line 1: it {problem}")
    for number, line in numbered:
        whole = _object(line, number)
        yield Measurement(
            _part(KernelKey, whole.get("kernel"), number),
            _part(Environment, whole.get("environment"), number),
            _part(Trial, whole.get("trial"), number),
            _checked(_part(Outcome, whole.get("outcome"), number), number),
        )


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SharingError(f"line {number}: it is no JSON object, so the file is cut off or damaged")
    return value


#: The JSON types of a field, by the annotation in its class.
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "tuple[float, ...]": (list,),
}


def _part(of: type[_Part], document: object, number: int) -> _Part:
    known = {field.name: _TYPES[str(field.type)] for field in fields(of)}
    entries = document if isinstance(document, dict) else {}
    for name, types in known.items():
        entry = entries.get(name)
        is_counted = types != (int,) or (isinstance(entry, int) and 0 <= entry < _MOST)
        if not isinstance(entry, types) or isinstance(entry, bool) or not is_counted:
            raise SharingError(f"line {number}: there is no {name} as it should be")
    return of(**{name: entries[name] for name in known})


def _checked(outcome: Outcome, number: int) -> Outcome:
    if not all(
        isinstance(second, (int, float)) and 0 <= second < float("inf") for second in (*outcome.seconds, outcome.spent)
    ):
        raise SharingError(f"line {number}: there are seconds that are none")
    return Outcome(tuple(map(float, outcome.seconds)), outcome.failure, float(outcome.spent), outcome.date)
