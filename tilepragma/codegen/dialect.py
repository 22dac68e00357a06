"""The spellings of the targets' languages, as data for one printer: C, OpenCL C, CUDA C++.

A new target is a `Dialect` here and a folder in runtime/device/. The rest registers it:
ir/directives.py (`Target`), base/reserved_words.py (words that kernels cannot use), plan/targets.py
(what it cannot say), codegen/device_program.py (`PROGRAMS`), templates/NAME/program.j2,
runtime/include/tilek.h (`tilek_target`, `tilek_kernel`), runtime/device/open_devices.c and
runtime/kernel/targets.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import CUDA_WORDS, OPENCL_WORDS
from tilepragma.ir.directives import Target
from tilepragma.ir.types import INDEX, ScalarKind, ScalarType

_ScalarNames = Mapping[tuple[ScalarKind, int, bool], str]


@dataclass(frozen=True)
class Dialect:
    """What differs between targets.

    `name` is that of a program in the manifest, `suffix` that of the file for readers, `template`
    the file below `templates/` around its entry points. `for_hosts`: it runs the launches of hosts.

    `wide` is the 64-bit signed type of loop and tile numbers. `index` is the type of array
    positions, which is shorter in 32-bit programs. `gang`, `gangs` and `worker` have an entry for
    each dimension: index of the group, number of groups, index in the group. `narrowing`: braces
    refuse conversions that C makes silently. `hints`: innermost loops get hints for the compiler.
    `contracts`: compilers may fuse multiply-adds. `unroll` stands before loops whose local arrays
    become registers only if the compiler unrolls them. `has_booleans`: assignments to booleans
    convert as in C. `has_strict_choices`: `?` takes integers alone. `has_overloaded_math`: one name
    serves all types. `has_async_copies`: threads copy to shared memory without registers.
    `has_persistent_launches`: all gangs of a launch may run at once. `vector_names`: elements'
    names in vector types, where they differ.
    """

    name: str
    target: Target
    wide: str
    index: str
    literal_suffixes: tuple[str, str] = ("l", "ul")
    device: bool = True
    for_hosts: bool = False
    template: str = ""
    suffix: str = ""
    kernel: str = ""
    function: str = "static"
    global_space: str = ""
    local_space: str = ""
    constant_space: str = ""
    barrier: str = ""
    gang: tuple[str, ...] = ()
    gangs: tuple[str, ...] = ()
    worker: tuple[str, ...] = ()
    scalar_names: _ScalarNames = field(default_factory=dict)
    restrict: str = "restrict"
    reserved: frozenset[str] = frozenset()
    narrowing: bool = False
    hints: bool = False
    contracts: bool = False
    unroll: str = "#pragma unroll"
    has_booleans: bool = True
    has_strict_choices: bool = False
    has_overloaded_math: bool = False
    has_async_copies: bool = False
    has_persistent_launches: bool = False
    vector_names: Mapping[str, str] = field(default_factory=dict)

    def scalar(self, type_: ScalarType) -> str:
        """The spelling of a scalar type; in C, the user's spelling."""
        if type_ == INDEX:
            return self.index
        return self.scalar_names.get((type_.kind, type_.bits, type_.signed), type_.spelling)

    @property
    def pointed_local_space(self) -> str:
        """The address space of pointers into shared memory; empty for CUDA."""
        return self.local_space if self.global_space else ""

    def identifier(self, name: str) -> str:
        """`name`, changed where the target's language reserves it."""
        return f"{name}_" if name in self.reserved else name


def _scalar_names(*integers: tuple[str, str], boolean: str) -> _ScalarNames:
    """The names of all scalar types; `integers` are signed and unsigned, of 8 to 64 bits."""
    names = {(ScalarKind.FLOATING, 32, True): "float", (ScalarKind.FLOATING, 64, True): "double"}
    for bits, (signed, unsigned) in zip((8, 16, 32, 64), integers, strict=True):
        names[ScalarKind.INTEGER, bits, True] = signed
        names[ScalarKind.INTEGER, bits, False] = unsigned
    return names | {(ScalarKind.BOOLEAN, 8, signed): boolean for signed in (True, False)}


C = Dialect(name="c", target=Target.SERIAL, device=False, wide="int64_t", index="int64_t")

OPENCL = Dialect(
    name="opencl",
    target=Target.OPENCL,
    template="opencl/program.j2",
    suffix="cl",
    wide="long",
    index="tilek_index",
    kernel="__kernel void",
    global_space="__global ",
    local_space="__local ",
    constant_space="__constant ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    gang=("(long)get_group_id(0)", "(long)get_group_id(1)", "(long)get_group_id(2)"),
    gangs=("(long)get_num_groups(0)", "(long)get_num_groups(1)", "(long)get_num_groups(2)"),
    worker=("(long)get_local_id(0)", "(long)get_local_id(1)", "(long)get_local_id(2)"),
    scalar_names=_scalar_names(
        ("char", "uchar"), ("short", "ushort"), ("int", "uint"), ("long", "ulong"), boolean="uchar"
    ),
    reserved=OPENCL_WORDS,
    unroll="TILEK_UNROLL",
    has_booleans=False,
    has_strict_choices=True,
    has_overloaded_math=True,
)

#: OpenCL C for processors. A group is one work-item, so it needs no barrier; vectors may be widest.
PROCESSOR = replace(
    OPENCL,
    name="processors",
    for_hosts=True,
    suffix="cpu.cl",
    index="long",
    kernel="__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void",
    barrier="",
    hints=True,
)

CUDA = Dialect(
    name="cuda",
    target=Target.CUDA,
    template="cuda/program.j2",
    suffix="cu",
    wide="long long",
    index="tilek_index",
    kernel='extern "C" __global__ void',
    function="static __device__",
    local_space="__shared__ ",
    constant_space="static __constant__ ",
    barrier="__syncthreads();",
    gang=("(long long)blockIdx.x", "(long long)blockIdx.y", "(long long)blockIdx.z"),
    gangs=("(long long)gridDim.x", "(long long)gridDim.y", "(long long)gridDim.z"),
    worker=("(long long)threadIdx.x", "(long long)threadIdx.y", "(long long)threadIdx.z"),
    scalar_names=_scalar_names(
        ("signed char", "unsigned char"),
        ("short", "unsigned short"),
        ("int", "unsigned int"),
        ("long long", "unsigned long long"),
        boolean="bool",
    ),
    literal_suffixes=("ll", "ull"),
    restrict="__restrict__",
    reserved=CUDA_WORDS,
    narrowing=True,
    has_async_copies=True,
    has_persistent_launches=True,
    vector_names={"unsigned int": "uint", "long long": "longlong", "unsigned long long": "ulonglong"},
)
