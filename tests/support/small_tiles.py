"""Tiles for the kernels of tests/run/cases/strategies.c, in the form of TILEK_SIZES."""

from __future__ import annotations

#: Smaller than the arrays and no divisors of their extents, for every tile size of the kernels.
TILES = {
    "t_size": 3,
    "t_i_size": 5,
    "t_j_size": 7,
    "i_size": 7,
    "i_size_2": 9,
    "i_j_size": 11,
    "j_size": 13,
    "j_2_size": 5,
    "k_size": 9,
}
SMALL_TILES = ",".join(f"{name}={size}" for name, size in TILES.items())
