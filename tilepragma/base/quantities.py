"""Numbers with units, for people."""

from __future__ import annotations

_SIZES = (("", 1.0), (" thousand", 1e3), (" million", 1e6), (" billion", 1e9), (" trillion", 1e12))


def seconds(value: float) -> str:
    """`3.1 us`."""
    for unit, length in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= length:
            return f"{value / length:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def amount(value: float) -> str:
    """`12`, `1.3 million`"""
    if value < 1e4:
        return f"{value:.0f}"
    word, size = next((word, size) for word, size in reversed(_SIZES) if value >= size)
    return f"{value / size:.3g}{word}"
