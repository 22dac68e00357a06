"""How much is measured: everything, or little and quickly."""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass

_MIB = 1 << 20
#: Threads of a block for which barriers are measured, and blocks of a wavefront per unit of the
#: device.
_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024)
_QUICK_BLOCK_SIZES = (32, 256)
_BLOCKS_A_UNIT = (1, 2, 4, 16, 64, 256)
_QUICK_BLOCKS_A_UNIT = (1, 16)


@dataclass(frozen=True)
class Effort:
    """How much is measured: `seconds` for all devices without repetitions; `copy` and `stream` (in
    a GPU's memory) in bytes.
    """

    seconds: float
    block_sizes: tuple[int, ...]
    blocks_a_unit: tuple[int, ...]
    copy: int
    stream: int
    caches_beyond: int
    """a stream from the host's memory is so many times as large as its last caches"""


FULL = Effort(22.0, _BLOCK_SIZES, _BLOCKS_A_UNIT, 16 * _MIB, 512 * _MIB, 4)
QUICK = Effort(2.0, _QUICK_BLOCK_SIZES, _QUICK_BLOCKS_A_UNIT, _MIB, 128 * _MIB, 2)

#: The longest and the shortest measurement of a number in milliseconds; the program's time with
#: warm-up relative to that without.
_LONGEST, _SHORTEST, _WARM_UP = 500.0, 2.0, 1.4


def milliseconds_a_number(effort: Effort, count: int) -> float:
    """Milliseconds for each of `count` numbers."""
    return max(min(effort.seconds * 1e3 / (max(count, 1) * _WARM_UP), _LONGEST), _SHORTEST)
