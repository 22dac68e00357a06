"""Ragged arrays laid out flat: the members of a row one after the other, row after row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def members(lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Of rows with so many members: the row of each member, and its place there."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    return row, np.arange(len(row)) - (np.cumsum(lengths) - lengths)[row]
