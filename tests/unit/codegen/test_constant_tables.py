"""Constant arrays of the file: host functions name them, so that the compiler knows their elements; devices have copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest

KERNEL = """
void f(int n, const float *a, float *b) {
#pragma tilek kernel independent data(a[0:n]) data(b[0:n])
  for (int i = 0; i < n; i++)
    b[i] = a[i] * weight[i % 3];
}
"""


def host_function(folder: Path, before: str, kernel: str = KERNEL) -> str:
    (folder / "t.c").write_text(before + kernel)
    result = translate(TranslateRequest(str(folder / "t.c")))
    assert result.output is not None, result.diagnostics
    text = result.output.decode()
    return text[text.index("static void tilek_f_host") : text.index("static const char *const tilek_f_opencl")]


def test_a_table_is_no_argument(tmp_path: Path) -> None:
    text = host_function(tmp_path, "static const float weight[3] = {1, 2, 4};")
    assert "weight[i % 3]" in text
    assert "*const weight" not in text


@pytest.mark.parametrize("storage", ["static const", "const"])
def test_a_small_constant_array_of_the_function_is_written_out(tmp_path: Path, storage: str) -> None:
    kernel = KERNEL.replace("#pragma", f"{storage} float weight[3] = {{1, -0.1f}};\n#pragma")
    text = host_function(tmp_path, "", kernel)
    assert "static const float weight[3] = {1.0f, -0.1f, 0.0f};" in text
    assert "*const weight" not in text


def test_a_large_constant_array_of_the_function_is_an_argument(tmp_path: Path) -> None:
    kernel = KERNEL.replace("#pragma", "static const float weight[257] = {1};\n#pragma")
    assert "const weight = call->arrays[" in host_function(tmp_path, "", kernel)


@pytest.mark.parametrize(
    ("before", "kernel"),
    [
        ("static float weight[3] = {1, 2, 4};", KERNEL),
        ("", KERNEL.replace("#pragma", "const float weight[3] = {1, n, 4};\n#pragma")),
        ("", KERNEL.replace("float *b)", "float *b, const float weight[3])")),
    ],
    ids=["may change", "of the function", "a parameter"],
)
def test_other_arrays_are(tmp_path: Path, before: str, kernel: str) -> None:
    assert "const weight = call->arrays[" in host_function(tmp_path, before, kernel)
