"""Findings as rows for people: what, how much, and the spread of the samples."""

from __future__ import annotations

from collections.abc import Mapping

from tilepragma.base.quantities import seconds
from tilepragma.tuning.calibration_samples import WIDE_SPREAD, Findings, Series

_WORDS = {
    "clock": "clock",
    "vector": "vector",
    "rate:4": "floats",
    "rate:8": "doubles",
}
_COUNTS = {"launch": "block", "wavefront": "block", "barrier": "thread"}
_DATA = {
    "stream": "stream of {}",
    "cached": "reads of {} again and again",
    "copy_in": "copy of {} to the device",
    "copy_out": "copy of {} from the device",
}
_RATES = {"rate": "FLOP/s", "clock": "Hz", "stream": "B/s", "cached": "B/s", "shared": "B/s"}


def rows(findings: Findings, labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """One row a measurement without attributes; `labels` name those whose words say too little."""
    return [
        (labels.get(series.word) or _label(series.word), _amount(series), _spread(series))
        for series in findings.series
        if not series.word.startswith("attribute:")
    ]


def _label(word: str) -> str:
    measure, _, argument = word.partition(":")
    if word in _WORDS:
        return _WORDS[word]
    if measure in _COUNTS:
        return f"{measure} of {argument} {_COUNTS[measure]}" + "s" * (argument != "1")
    if measure in _DATA:
        return _DATA[measure].format(size(int(argument)))
    return "shared memory" if measure == "shared" else word


def _amount(series: Series) -> str:
    if series.failure:
        return f"not measured: {series.failure}"
    measure = series.word.partition(":")[0]
    if measure == "vector":
        return f"{series.typical:.0f} bytes"
    if measure in _RATES:
        return scaled(series.typical, _RATES[measure])
    return seconds(series.typical)


def _spread(series: Series) -> str:
    if len(series.samples) < 2:
        return ""
    return f"{series.spread:.0%}" + (" !" if series.spread > WIDE_SPREAD else "")


def scaled(value: float, unit: str) -> str:
    """`1.25 TB/s`."""
    for prefix, power in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= power:
            return (
                f"{value / power:.3g} {prefix}{unit}" if value < 1e3 * power else f"{value / power:.0f} {prefix}{unit}"
            )
    return f"{value:.3g} {unit}"


def size(count: int) -> str:
    """`24 KiB`."""
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= length:
            return f"{count / length:.4g} {unit}"
    return f"{count} bytes"
