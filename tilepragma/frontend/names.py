"""Names of data objects that may stand in every target's source: unique in a region, never a keyword."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_VECTORS = {
    f"{base}{width}"
    for base in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float")
    for width in ("1", "2", "3", "4", "8", "16")
} | {f"{base}{width}" for base in ("double", "half", "bool", "dim") for width in ("1", "2", "3", "4", "8", "16")}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words of OpenCL C, CUDA C++ and their runtime headers that a C program may use as names.
RESERVED = frozenset(
    _VECTORS
    | _words(
        # OpenCL C
        "kernel global local constant private generic read_only write_only read_write pipe uniform half quad bool uchar ushort "
        "uint ulong size_t ptrdiff_t intptr_t uintptr_t image1d_t image2d_t image3d_t sampler_t event_t vec_step as_type "
        "get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups barrier mem_fence "
        "convert_int M_E M_PI INFINITY NAN HUGE_VAL HUGE_VALF MAXFLOAT printf select mix step clamp dot cross length distance "
        "normalize sign radians degrees smoothstep any all bitselect shuffle popcount clz rotate hadd mad mad24 mul24 "
        # CUDA C++
        "threadIdx blockIdx blockDim gridDim warpSize asm catch class const_cast delete dynamic_cast explicit export false friend "
        "mutable namespace new operator protected public reinterpret_cast static_assert static_cast template this throw true try "
        "typeid typename using virtual wchar_t char8_t char16_t char32_t alignas alignof and and_eq bitand bitor compl concept "
        "constexpr consteval constinit decltype co_await co_return co_yield noexcept not not_eq nullptr or or_eq requires "
        "thread_local xor xor_eq complex imaginary "
        # math functions that a variable may hide in kernels
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor fma fmax "
        "fmin fmod frexp hypot ilogb ldexp lgamma log log10 log1p log2 logb max min modf nextafter pow remainder remquo rint "
        "round rsqrt sin sinh sqrt tan tanh tgamma trunc abs "
        # other
        "in out inout unix linux register"
    )
)


@dataclass
class NameTable:
    """Hands out names; every name once."""

    taken: set[str] = field(default_factory=set)

    def unique(self, wanted: str) -> str:
        """`wanted` made an identifier: `_` behind a reserved word, `_2`, `_3`, … behind one that is taken."""
        base = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_") or "object"
        if base[0].isdigit():
            base = f"_{base}"
        if wanted.isascii() and wanted.isidentifier():
            base = wanted
        if base in RESERVED or base.startswith(("tilek_", "__")):
            base = f"{base.lstrip('_')}_"
        name, number = base, 2
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name
