"""The spellings of the targets' languages, as data for one printer: C, OpenCL C, CUDA C++."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import CUDA_WORDS, OPENCL_WORDS
from tilepragma.ir.directives import Target
from tilepragma.ir.types import INDEX, ScalarKind, ScalarType


@dataclass(frozen=True)
class Dialect:
    """What differs between targets.

    `wide` is the 64-bit signed type of loop and tile numbers. `index` is the type of array
    positions, which is shorter in 32-bit programs. `gang`, `gangs` and `worker` have an entry for
    each dimension: index of the group, number of groups, index in the group. `narrowing`: braces
    refuse conversions that C makes silently. `hints`: innermost loops get hints for the compiler.
    `contracts`: compilers may fuse multiply-adds. `unroll` stands before loops whose local arrays
    become registers only if the compiler unrolls them. `template` is the file below `templates/`
    around a program's entry points. `has_booleans`: assignments to booleans convert as in C.
    `has_strict_choices`: `?` takes integers alone. `has_overloaded_math`: one name serves all
    types. `has_async_copies`: threads copy to shared memory without registers. `vector_names`:
    elements' names in vector types, where they differ.
    """

    name: str
    target: Target
    device: bool
    template: str
    wide: str
    index: str
    minimum: str
    kernel: str
    function: str
    global_space: str
    local_space: str
    constant_space: str
    barrier: str
    gang: tuple[str, ...]
    gangs: tuple[str, ...]
    worker: tuple[str, ...]
    scalar_names: tuple[tuple[tuple[str, int, bool], str], ...]
    literal_suffixes: tuple[str, str]
    restrict: str
    reserved: frozenset[str]
    narrowing: bool
    hints: bool = False
    contracts: bool = False
    unroll: str = "#pragma unroll"
    has_booleans: bool = True
    has_strict_choices: bool = False
    has_overloaded_math: bool = False
    has_async_copies: bool = False
    vector_names: tuple[tuple[str, str], ...] = ()

    def scalar(self, type_: ScalarType) -> str:
        """The spelling of a scalar type; in C, the user's spelling."""
        if type_ == INDEX:
            return self.index
        key = (type_.kind.value, type_.bits, type_.signed)
        for candidate, name in self.scalar_names:
            if candidate == key:
                return name
        return type_.spelling

    @property
    def pointed_local_space(self) -> str:
        """The address space of pointers into shared memory; empty for CUDA."""
        return self.local_space if self.global_space else ""

    def identifier(self, name: str) -> str:
        """`name`, changed where the target's language reserves it."""
        return f"{name}_" if name in self.reserved else name


def _names(
    eight: tuple[str, str], sixteen: tuple[str, str], wide: tuple[str, str], boolean: str
) -> tuple[tuple[tuple[str, int, bool], str], ...]:
    integer = ScalarKind.INTEGER.value
    table: list[tuple[tuple[str, int, bool], str]] = []
    unsigned = "uint" if wide[0] == "long" else "unsigned int"
    for bits, (plain, unsigned_name) in ((8, eight), (16, sixteen), (32, ("int", unsigned)), (64, wide)):
        table += [((integer, bits, True), plain), ((integer, bits, False), unsigned_name)]
    table += [((ScalarKind.BOOLEAN.value, 8, signed), boolean) for signed in (True, False)]
    floating = ScalarKind.FLOATING.value
    return (*table, ((floating, 32, True), "float"), ((floating, 64, True), "double"))


C = Dialect(
    name="c",
    target=Target.SERIAL,
    device=False,
    template="",
    wide="int64_t",
    index="int64_t",
    minimum="tilek_minimum",
    kernel="static void",
    function="static",
    global_space="",
    local_space="",
    constant_space="",
    barrier="",
    gang=(),
    gangs=(),
    worker=(),
    scalar_names=(),
    literal_suffixes=("l", "ul"),
    restrict="restrict",
    reserved=frozenset(),
    narrowing=False,
)

OPENCL = Dialect(
    name="opencl",
    target=Target.OPENCL,
    device=True,
    template="opencl/program.j2",
    wide="long",
    index="tilek_index",
    minimum="tilek_minimum",
    kernel="__kernel void",
    function="static",
    global_space="__global ",
    local_space="__local ",
    constant_space="__constant ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    gang=("(long)get_group_id(0)", "(long)get_group_id(1)", "(long)get_group_id(2)"),
    gangs=("(long)get_num_groups(0)", "(long)get_num_groups(1)", "(long)get_num_groups(2)"),
    worker=("(long)get_local_id(0)", "(long)get_local_id(1)", "(long)get_local_id(2)"),
    scalar_names=_names(("char", "uchar"), ("short", "ushort"), ("long", "ulong"), "uchar"),
    literal_suffixes=("l", "ul"),
    restrict="restrict",
    reserved=OPENCL_WORDS,
    narrowing=False,
    unroll="TILEK_UNROLL",
    has_booleans=False,
    has_strict_choices=True,
    has_overloaded_math=True,
)

#: OpenCL C for processors. A group is one work-item, so it needs no barrier; vectors may be widest.
PROCESSOR = replace(
    OPENCL,
    index="long",
    kernel="__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void",
    barrier="",
    hints=True,
)

CUDA = Dialect(
    name="cuda",
    target=Target.CUDA,
    device=True,
    template="cuda/program.j2",
    wide="long long",
    index="tilek_index",
    minimum="tilek_minimum",
    kernel='extern "C" __global__ void',
    function="static __device__",
    global_space="",
    local_space="__shared__ ",
    constant_space="static __constant__ ",
    barrier="__syncthreads();",
    gang=("(long long)blockIdx.x", "(long long)blockIdx.y", "(long long)blockIdx.z"),
    gangs=("(long long)gridDim.x", "(long long)gridDim.y", "(long long)gridDim.z"),
    worker=("(long long)threadIdx.x", "(long long)threadIdx.y", "(long long)threadIdx.z"),
    scalar_names=_names(
        ("signed char", "unsigned char"), ("short", "unsigned short"), ("long long", "unsigned long long"), "bool"
    ),
    literal_suffixes=("ll", "ull"),
    restrict="__restrict__",
    reserved=CUDA_WORDS,
    narrowing=True,
    has_async_copies=True,
    vector_names=(("unsigned int", "uint"), ("long long", "longlong"), ("unsigned long long", "ulonglong")),
)
