"""Emitted text of hand-built plans: the golden files, gcc's and NVRTC's opinion of it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import convolution, dot, elimination, jacobi, listing3, product, triangle, wavefronts

from tests.support.golden_texts import check_golden
from tilepragma.base.resources import resource_folder
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA, OPENCL, PROCESSOR
from tilepragma.codegen.host_functions import host_functions
from tilepragma.codegen.manifest import describe, kernel_constants, pieces
from tilepragma.codegen.step_functions import step_functions
from tilepragma.codegen.writer import GENERATED_LINE
from tilepragma.ir.directives import Target
from tilepragma.ir.types import DOUBLE
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "emission"
PLANS: dict[str, KernelPlan] = {
    "listing1": listing3("static4 dynamic", "static2 dynamic", order="0.0 1.0 0.1 1.1"),
    "listing2": listing3("thread dynamic", "dynamic"),
    "listing3": listing3(counts="gang0:2 gang1:2 worker0:4 worker1:4"),
    "conv2d": convolution(),
    "jacobi_apart": replace(jacobi(), assumes_disjoint=True),
    "dot": dot(),
    "triangle": triangle("gang0 worker0 dynamic", "gang1 static3 dynamic"),
    "jacobi": jacobi(),
    "elimination": elimination(),
    "wavefronts": wavefronts(),
    "product": product(),
}
MORE: dict[str, KernelPlan] = {
    "all tiles distributed": listing3("gang0 worker0", "gang1 worker1"),
    "point loop outside": listing3("static4 dynamic", "dynamic static8", order="0.1 1.0 1.1 0.0"),
    "three gang dimensions": listing3("gang2 gang0 dynamic", "gang1 worker2 dynamic"),
    "size": listing3("size32 dynamic", "gang0 size32 worker0"),
    "worker is the point loop": listing3("gang0 worker0", "dynamic worker1"),
    "reduction on threads": dot("thread dynamic"),
    "reduction in one instance": dot("dynamic"),
    "reduction by workers": dot("worker0 worker1 dynamic", "max", DOUBLE),
    "reduction over three dimensions": dot("gang1 gang0 worker2 worker0 dynamic"),
    "triangle as written": triangle("dynamic", "dynamic"),
    "triangle with sizes": triangle("static4 dynamic", "size8 static2 dynamic"),
    "triangle distributed": triangle("gang0", "worker0"),
    "choices of tile sizes": replace(wavefronts(), choices=(SizeChoice(100, None, (2,)), SizeChoice(None, 3, (4,)))),
}
ALL = PLANS | MORE


def host_text(plan: KernelPlan) -> str:
    steps = step_functions(plan, on_device=True).text
    return host_functions(plan) + (f"\n{steps}" if steps else "")


@pytest.mark.parametrize("name", PLANS)
def test_golden(name: str) -> None:
    """The emitted text, to the letter."""
    manifest = describe(PLANS[name], list(Target))
    texts = {program.suffix: program.text for program in manifest.programs.values()}
    assert set(texts) == {"cl", "cpu.cl", "cu"}
    for ending, text in (texts | {"host.c": host_text(PLANS[name])}).items():
        check_golden(GOLDEN / f"{name}.{ending}", text)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("standard", ["c99", "gnu11"])
def test_host_text_gives_no_warning(name: str, standard: str, tmp_path: Path) -> None:
    text = host_text(ALL[name]).replace(GENERATED_LINE, "") + kernel_constants(describe(ALL[name], list(Target)))
    symbol = f"tilek_{ALL[name].kernel.name}_kernel"
    use = f"int use(tilek_call *call);\nint use(tilek_call *call) {{ return tilek_launch(&{symbol}, call); }}\n"
    (tmp_path / "t.c").write_text(f'#include "tilek.h"\n{text}{use}')
    include = str(resource_folder("runtime") / "include")
    command = ["gcc", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", f"-std={standard}", "-fsyntax-only", "-I", include]
    result = subprocess.run([*command, "t.c"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.stderr == ""


def nvrtc() -> ctypes.CDLL | None:
    try:
        files = metadata.files("nvidia-cuda-nvrtc-cu12") or []
    except metadata.PackageNotFoundError:
        return None
    results = [file for file in files if file.name.startswith("libnvrtc.so")]
    return ctypes.CDLL(str(results[0].locate())) if results else None


def nvrtc_log(library: ctypes.CDLL, text: str, *options: str) -> str:
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"t.cu", 0, None, None) == 0
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = library.nvrtcCompileProgram(program, len(options), arguments)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() if status == 0 else f"failed: {log.value.decode()}"


@pytest.mark.parametrize("name", ALL)
def test_cuda_compiles_parametric_and_specialised(name: str) -> None:
    library = nvrtc()
    if library is None:
        pytest.skip("the NVRTC wheel is not installed")
    program = device_program(ALL[name], CUDA)
    constants = [p.constant for parameters in program.parameters for p in parameters if p.constant]
    assert nvrtc_log(library, program.text, "--gpu-architecture=compute_75") == ""
    options = ["-DTILEK_SPECIALIZED", *(f"-D{constant}=4ll" for constant in constants)]
    assert nvrtc_log(library, program.text, "--gpu-architecture=compute_75", *options) == ""


def test_opencl_compiles(tmp_path: Path) -> None:
    """One program with everything in it: a clang with OpenCL's builtin functions reads it."""
    cindex = pytest.importorskip("clang.cindex")
    base = tmp_path / "opencl-c-base.h"  # what clang's own header says of types; libclang's wheel has no headers
    names = (("uchar", "char"), ("ushort", "short"), ("uint", "int"), ("ulong", "long"))
    fences = "#define CLK_LOCAL_MEM_FENCE 1\n#define CLK_GLOBAL_MEM_FENCE 2\n"
    size = "typedef __SIZE_TYPE__ size_t;\ntypedef uint cl_mem_fence_flags;\n"
    size += "".join(f"typedef float float{n} __attribute__((ext_vector_type({n})));\n" for n in (2, 4))
    base.write_text("".join(f"typedef unsigned {full} {short};\n" for short, full in names) + fences + size)
    declared = ["-Xclang", "-fdeclare-opencl-builtins", f"-I{tmp_path}"]
    for name, plan in ALL.items():
        arguments = ["-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-Wall", *declared]
        for dialect in (OPENCL, PROCESSOR):
            text = device_program(plan, dialect).text
            unit = cindex.Index.create().parse("t.cl", arguments, [("t.cl", text)])
            assert [str(message) for message in unit.diagnostics] == [], name


def test_parameters_stand_in_the_order_of_the_signature() -> None:
    (parameters,) = device_program(convolution(), OPENCL).parameters
    kinds = [parameter.kind for parameter in parameters[:6]]
    assert kinds == ["ARRAY", "LENGTH", "ARRAY", "LOWER",
                     "LOWER", "LENGTH"]  # fmt: skip
    assert [parameter.constant for parameter in parameters[6:8]] == ["i_trip", "j_trip"]


def test_long_programs_come_in_pieces_of_bounded_length() -> None:
    text = "".join(f'line "{number}" \\ of a long program\n' for number in range(1000)) + "x" * 5000
    groups = pieces(text)
    assert all(sum(len(part) for part in group) < 4000 for group in groups)
    joined = "".join(part[1:-1] for group in groups for part in group)
    assert joined.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\") == text
