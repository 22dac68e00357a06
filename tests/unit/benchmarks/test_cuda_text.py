"""CUDA programs as text: what the host compiles of them, what NVRTC compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gpu.simulated.cuda_text import CudaTextError, expanded, parted


def test_a_launch_configures_and_calls() -> None:
    text = 'void run(int n) { puts("k<<<1, 2>>>"); /* <<< */ k<<<dim3(n, 2), 64>>> (n); }\n'
    expected = 'void run(int n) { puts("k<<<1, 2>>>"); /* <<< */ (simulated::configure(dim3(n, 2), 64), k) (n); }\n'
    assert parted(text).host == expected


def test_a_kernel_becomes_a_function_that_launches_it() -> None:
    kernel = (
        "__global__ void __launch_bounds__(64) k(int n, const float *a, float b[2][3])\n{\n    b[0][0] = a[n];\n}\n"
    )
    parts = parted(kernel)
    values = '{ void *values[] = {(void *)&n, (void *)&a, (void *)&b, nullptr}; simulated::launch("k", values); }'
    assert parts.host == kernel[: kernel.index("{")] + values + "\n"
    assert parts.device == 'extern "C" ' + kernel


def test_a_kernel_may_have_no_parameters_and_c_linkage() -> None:
    parts = parted('extern "C" __global__ void k(void) { }')
    assert (
        parts.host
        == 'extern "C" __global__ void k(void) { void *values[] = {nullptr}; simulated::launch("k", values); }'
    )
    assert parts.device == 'extern "C" __global__ void k(void) { }'


def test_each_side_keeps_what_it_needs() -> None:
    text = (
        "#include <stdio.h>\n"
        "#define WIDTH 16 // a macro {\n"
        "typedef struct pair { int low, high; } pair;\n"
        "static const int most = 3;\n"
        "float data[WIDTH];\n"
        "__global__ void k(int n);\n"
        "__device__ int twice(int n) { return 2 * n; }\n"
        "__host__ __device__ int thrice(int n) { return 3 * n; }\n"
        'extern "C" {\n'
        "int main(void) { return 0; }\n"
        "}\n"
    )
    parts = parted(text)
    assert parts.host == text.replace("__device__ int twice(int n) { return 2 * n; }\n", "\n", 1).replace(
        "\n\n", "\n", 1
    )
    for kept in ("#define WIDTH 16", "pair;", "most = 3;", "int twice", "int thrice", 'extern "C" {\n', "}\n"):
        assert kept in parts.device
    for dropped in ("stdio.h", "data[", "void k", "main"):
        assert dropped not in parts.device


def test_statement_expressions_become_lambdas_on_the_device() -> None:
    macro = "#define least(x, y) ({ __typeof__(x) _x = (x); __typeof__(y) _y = (y); _x < _y ? _x : _y; })\n"
    parts = parted(macro)
    assert parts.host == macro
    lambdas = "#define least(x, y) ([&] { auto _x = (x); auto _y = (y); return  _x < _y ? _x : _y; }())\n"
    assert parts.device == lambdas


def test_headers_of_the_program_are_put_in_once(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('#include "cuda.h"\n#include <math.h>\n#include "b.hu"\n#include "b.hu"\nint a;\n')
    (tmp_path / "b.hu").write_text('#include "a.cu"\nint b;\n')
    assert expanded(tmp_path / "a.cu") == "\n#include <math.h>\n\nint b;\n\n\nint a;\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("template <class T> __global__ void k(T a) { }", "templates"),
        ("__constant__ float weights[3];", "variables in device memory"),
        ("__global__ void k(void) { extern __shared__ float s[]; }", "extern shared memory"),
        ("void run(void) { k<float><<<1, 2>>>(); }", "another form"),
        ("void run(void) { ", "do not match"),
    ],
)
def test_other_forms_are_refused(text: str, message: str) -> None:
    with pytest.raises(CudaTextError, match=message):
        parted(text)
