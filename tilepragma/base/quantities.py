"""Numbers with units, for people."""

from __future__ import annotations


def seconds(value: float) -> str:
    """`3.1 us`."""
    for unit, length in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= length:
            return f"{value / length:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
