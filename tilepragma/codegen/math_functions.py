"""How devices spell calls of math.h and of stdlib.h's abs family, with C's results.

C's `sqrt(x)` computes in double for every type of x. The overloads of OpenCL C and CUDA C++ follow
their arguments. So every floating argument is cast to the type that the C name stands for.
"""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass

_INTEGER_SECOND = frozenset({"ldexp", "scalbn", "scalbln"})
_INTEGER_BITS = {"abs": 32, "labs": 64, "llabs": 64}
#: C functions that round to an integer type, by the floating function that OpenCL has instead.
_ROUNDING = {"lround": "round", "llround": "round", "lrint": "rint", "llrint": "rint"}
_OPENCL_NAMES = {"scalbn": "ldexp", "scalbln": "ldexp", "finite": "isfinite"}
#: Classification macros take the type of their argument.
_GENERIC = frozenset({"isnan", "isinf", "isfinite", "isnormal", "signbit"})
_DOUBLE_NAMES_IN_F = frozenset({"erf", "modf"})


@dataclass(frozen=True)
class MathCall:
    """A call on a device, by its `name`. `arguments` are the bits that each argument is cast to (0:
    no cast; negative: to an integer). `result` is the bits of an integer type that the call's value
    is cast to (0: no cast).
    """

    name: str
    arguments: tuple[int, ...]
    result: int


def device_call(function: str, count: int, overloaded: bool) -> MathCall:
    """The device's call of C's `function` with `count` arguments; `overloaded`: one name serves all
    types.
    """
    if function in _INTEGER_BITS:
        bits = _INTEGER_BITS[function]
        return MathCall("abs" if overloaded else function, (-bits,) * count, bits if overloaded else 0)
    if function in _GENERIC:
        return MathCall(function, (0,) * count, 0)
    base, bits = _base(function)
    arguments = (bits,) + ((-32,) if base in _INTEGER_SECOND else (bits,)) * (count - 1)
    if not overloaded:
        return MathCall(function, arguments, 0)
    if base in _ROUNDING:
        return MathCall(_ROUNDING[base], arguments, 64)
    return MathCall(_OPENCL_NAMES.get(base, base), arguments, 0)


def _base(function: str) -> tuple[str, int]:
    if function.endswith("f") and function not in _DOUBLE_NAMES_IN_F:
        return function[:-1], 32
    return function, 64
