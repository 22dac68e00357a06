"""Ragged arrays in a flat layout: row after row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def members(lengths: Numbers) -> tuple[Numbers, Numbers]:
    """For rows with so many members: the row of each member, and its index there."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    return row, np.arange(len(row)) - (np.cumsum(lengths) - lengths)[row]
