"""Words that a target's language or headers reserve, but C programs may use as names."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


#: `float4` and the like, of OpenCL C and CUDA's headers.
VECTOR_TYPES = frozenset(
    f"{base}{width}"
    for base in words("char uchar short ushort int uint long ulong float double half bool longlong ulonglong dim")
    for width in (1, 2, 3, 4, 8, 16)
)
#: OpenCL C: keywords, types and macros.
OPENCL_WORDS = VECTOR_TYPES | words(
    "kernel global local constant private generic read_only write_only read_write half quad complex "
    "imaginary uchar ushort uint ulong bool true false image1d_t image2d_t image3d_t sampler_t event_t queue_t "
    "pipe vec_step as_type uniform M_PI M_E FLT_MAX DBL_MAX INFINITY NAN HUGE_VAL HUGE_VALF MAXFLOAT"
)
#: CUDA C++: keywords and built-in variables.
CUDA_WORDS = VECTOR_TYPES | words(
    "alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl concept "
    "consteval constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast "
    "explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq "
    "private protected public reinterpret_cast requires static_assert static_cast template this "
    "thread_local throw true try typeid typename using virtual wchar_t xor xor_eq threadIdx blockIdx "
    "blockDim gridDim warpSize"
)
#: Functions of OpenCL C and math.h, which a variable of the same name would hide, and other names
#: that headers may define.
LIBRARY_NAMES = words(
    "size_t ptrdiff_t intptr_t uintptr_t get_global_id get_local_id get_group_id get_global_size get_local_size "
    "get_num_groups barrier mem_fence convert_int printf select mix step clamp dot cross length distance "
    "normalize sign radians degrees smoothstep any all bitselect shuffle popcount clz rotate hadd mad mad24 mul24 "
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim "
    "floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma log log10 log1p log2 logb max min modf nextafter pow "
    "remainder remquo rint round rsqrt sin sinh sqrt tan tanh tgamma trunc abs in out inout unix linux register"
)
#: Names that some target reserves.
RESERVED = OPENCL_WORDS | CUDA_WORDS | LIBRARY_NAMES
