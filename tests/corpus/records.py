"""The hashes of a translation's results, and the differences between two translations."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
#: Lines that tell where text comes from: paths, and numbers that any added line above moves.
_PLACE = re.compile(r"^\s*#\s*line .*\n", re.MULTILINE)
#: The end of one literal and the start of the next. Compilers limit their lengths, so text moves
#: between them.
_SPLIT_LITERAL = re.compile(r'",?\n\s*"')


@dataclass(frozen=True)
class TranslationRecord:
    """One program. `texts` and `codes` hash each emitted file with comments and without. `results`
    hash the program's records on each target. `seconds` are the translator's processor time.
    `refusals` are the errors of a program that is not translated.
    """

    texts: Mapping[str, str]
    codes: Mapping[str, str]
    seconds: float
    refusals: tuple[str, ...] = ()
    results: Mapping[str, str] | None = None


Corpus = dict[str, TranslationRecord]


def text_hash(text: str) -> str:
    """A hash of an emitted file without the places that it names."""
    return _hash(_PLACE.sub("", text))


def code_hash(text: str) -> str:
    """The same without comments and layout."""
    code = _COMMENT.sub(" ", _SPLIT_LITERAL.sub("", _PLACE.sub("", text)))
    return _hash(" ".join(code.split()))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_corpus(path: Path, corpus: Corpus) -> None:
    """Save a corpus; on failure the old file stays."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps({name: asdict(record) for name, record in sorted(corpus.items())}, indent=1))
    partial.replace(path)


def read_corpus(path: Path) -> Corpus:
    """A corpus saved by `write_corpus`. Raises OSError, or ValueError for other files."""
    try:
        return {
            name: TranslationRecord(**{**fields, "refusals": tuple(fields["refusals"])})
            for name, fields in json.loads(path.read_text()).items()
        }
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not what 'python -m tests.corpus --save' writes: {error}") from error


@dataclass(frozen=True)
class Difference:
    """One difference of a program; `is_code`: in more than comments."""

    program: str
    what: str
    is_code: bool = True


def differences(before: Corpus, after: Corpus) -> Iterator[Difference]:
    """The differences, program by program. Results are compared where both have them."""
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield Difference(name, "is not in the corpus any more")
        elif name not in before:
            yield Difference(name, "is new")
        else:
            yield from _program_differences(name, before[name], after[name])


def _program_differences(name: str, before: TranslationRecord, after: TranslationRecord) -> Iterator[Difference]:
    if before.refusals != after.refusals:
        yield Difference(name, f"errors: {_quoted(before.refusals)}, now {_quoted(after.refusals)}")
    in_comments = []
    for file in sorted(before.texts.keys() | after.texts.keys()):
        if before.codes.get(file) != after.codes.get(file):
            change = (
                "is new" if file not in before.texts else "is gone" if file not in after.texts else "has other code"
            )
            yield Difference(name, f"{file} {change}")
        elif before.texts[file] != after.texts[file]:
            in_comments.append(file)
    if in_comments:
        yield Difference(name, f"other comments or layout alone in {', '.join(in_comments)}", is_code=False)
    for target, result in sorted((after.results or {}).items()):
        if (before.results or {}).get(target, result) != result:
            yield Difference(name, f"has other results on {target}")


def _quoted(messages: tuple[str, ...]) -> str:
    return "; ".join(messages) or "none"


def time_ratio(before: Corpus, after: Corpus) -> float:
    """The ratio of the new to the old time of all programs in both; 1 without any."""
    common = before.keys() & after.keys()
    seconds = [sum(corpus[name].seconds for name in common) for corpus in (before, after)]
    return seconds[0] / seconds[1] if seconds[1] > 0 else 1.0


def slower_programs(before: Corpus, after: Corpus, least: float, factor: float) -> list[tuple[str, float, float]]:
    """The programs that take `least` seconds and `factor` times their old time, with both."""
    rows = [
        (name, before[name].seconds, record.seconds)
        for name, record in after.items()
        if name in before and record.seconds >= least and record.seconds >= factor * before[name].seconds
    ]
    return sorted(rows, key=lambda row: row[1] / row[2])
