"""Every CUDA kernel that samples and tests emit compiles under NVRTC for three generations of GPUs; no GPU is needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.run import test_facts, test_order
from tests.support.case_suites import FILES, case_suite, file_named, kernel_folder, with_file
from tests.support.cases import CaseFile
from tests.support.nvrtc import ARCHITECTURES, compile_error, nvrtc_library, ptx
from tests.support.paper_kernels import PAPER_KERNELS, all_tilings
from tests.support.programs import BUILD_SECONDS, ROOT, TILEPRAGMA, Workshop, run_command, tool_environment

pytestmark = pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")

OTHERS: tuple[CaseFile, ...] = (
    test_facts.FILE,
    test_order.FILE,
    *(kernel.case_file(all_tilings()) for kernel in PAPER_KERNELS),
)
#: Functions of the workers that run in step.
OF_A_WARP = re.compile(r"__(shfl|ballot|syncwarp|activemask|any|all|match|reduce)\w*\(|\bwarpSize\b|\bsub_group_")
SAMPLES = tuple(path for path in sorted((ROOT / "samples").glob("*/*.c")) if "#pragma tilek kernel" in path.read_text())


def kernels(workshop: Workshop, source: Path, folder: Path, **variables: str) -> list[Path]:
    """The .cu files of one source, translated with these variables in the environment."""
    folder.mkdir()
    command = (*TILEPRAGMA, "translate", str(source), "-o", str(folder / "out.tk.c"), "--emit-kernels", str(folder))
    include = (f"-I{ROOT / 'tests' / 'support'}", f"-I{source.parent}", "-std=c99")
    run_command((*command, *include), tool_environment(workshop.cache) | variables, ROOT, BUILD_SECONDS)
    return sorted(folder.rglob("*.cu"))


def complaints(paths: list[Path], architectures: tuple[str, ...] = ARCHITECTURES, options: tuple[str, ...] = ()) -> str:
    """What NVRTC says of each kernel and architecture; empty where all is well.

    Text that does not ask for the architecture needs only the ends of the range: the oldest lacks
    what came later, the newest what was dropped.
    """
    results = []
    for path in paths:
        text = path.read_text()
        ends = dict.fromkeys((architectures[0], architectures[-1]))
        for architecture in architectures if "__CUDA_ARCH__" in text else ends:
            error = compile_error(text, architecture, options)
            if error is not None:
                results.append(f"{path.name} for {architecture}: {error[:800]}")
    return "\n".join(results[:20])


@pytest.mark.parametrize("file", [with_file(file) for file in FILES])
def test_kernels_of_the_cases_compile(workshop: Workshop, file: CaseFile) -> None:
    case_suite(workshop, file).build()
    paths = sorted(kernel_folder(workshop, file).rglob("*.cu"))
    assert len(paths) >= sum("as written" not in case.title for case in file.cases)
    assert complaints(paths) == ""
    # Nothing depends on how many workers run in step: 32, or 64 on other devices.
    assert not [path.name for path in paths if OF_A_WARP.search(path.read_text())]


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: Path(file.path).stem)
def test_kernels_of_the_tests_compile(workshop: Workshop, tmp_path: Path, file: CaseFile) -> None:
    source = tmp_path / file.path
    source.write_text(file.program(file.cases))
    paths = kernels(workshop, source, tmp_path / "kernels")
    assert len(paths) >= sum("as written" not in case.title for case in file.cases)
    assert complaints(paths) == ""


@pytest.mark.parametrize("source", SAMPLES, ids=lambda path: path.stem)
def test_kernels_of_the_samples_compile(workshop: Workshop, tmp_path: Path, source: Path) -> None:
    paths = kernels(workshop, source, tmp_path / "kernels")
    assert paths
    assert complaints(paths) == ""


@pytest.mark.parametrize("tiles", ["diamond", "boxes"])
def test_tiles_of_time_compile(workshop: Workshop, tmp_path: Path, tiles: str) -> None:
    file = file_named("strategies")
    (case,) = (case for case in file.cases if case.name == "launches")
    source = tmp_path / file.path
    source.write_text(file.program((case,)))
    (path,) = kernels(workshop, source, tmp_path / "kernels", TILEK_TILES=tiles)
    assert complaints([path]) == ""


def test_streamed_tiles_stay_in_registers(workshop: Workshop, tmp_path: Path) -> None:
    source = ROOT / "tests" / "run" / "overlapped.c"
    paths = kernels(workshop, source, tmp_path / "kernels", TILEK_TILES="streamed")
    assert paths
    warnings = tuple(f"--ptxas-options={each}" for each in ("--warn-on-spills", "--warn-on-local-memory-usage"))
    assert complaints(paths, ARCHITECTURES[-1:], warnings) == ""
    columns = [path for path in paths if "_COLUMNS" in path.read_text()]
    # What neighbours read of cube_box's planes lies too far back for registers.
    names = {path.stem.removeprefix("overlapped.") for path in columns}
    assert names == {"box_order_2", "cube", "cube_order_4", "quotients", "star_order_1", "star_order_3"}
    for path in columns:
        options = (*warnings, *specialised(path.read_text(), 32))
        assert complaints([path], ARCHITECTURES[-1:], options) == ""
    # What is read by who wrote it alone has no ring in the gang's memory: b, which is copied to a.
    (copied,) = (path.read_text() for path in paths if "star_order_3" in path.name)
    rings = [
        len(re.findall(r"\.shared .*\[\d+\]", ptx(copied, "compute_90", options)))
        for options in ((), specialised(copied, 32))
    ]
    assert rings == [4, 2]


FIVE_POINTS = """\
void five(int steps, int n, float a[n][n], float b[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.2f * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2f * (b[i][j] + b[i][j - 1] + b[i][j + 1] + b[i + 1][j] + b[i - 1][j]);
    }
}
"""


def test_streamed_stars_read_neighbours_alone_in_shared_memory(workshop: Workshop, tmp_path: Path) -> None:
    source = tmp_path / "five.c"
    source.write_text(FIVE_POINTS)
    (path,) = kernels(workshop, source, tmp_path / "kernels", TILEK_TILES="streamed")
    text = path.read_text()
    degree = re.search(r"tilek_minimum\(t_degree, (\d+)ll\)", text)
    assert degree is not None
    code = ptx(text, "compute_90", specialised(text, 32))
    # Two launches, two statements a time step; one barrier for a position, one for a tile. What is
    # stored comes from registers. A position is there once for each register of a column: two for a
    # time step, and four.
    turns = 2 * int(degree[1]) + 4
    assert len(re.findall(r"\bld\.shared", code)) == turns * 2 * 2 * 2 * int(degree[1])
    assert len(re.findall(r"\bst\.shared", code)) == turns * 2 * 2 * int(degree[1])
    assert len(re.findall(r"\bbar\.sync", code)) == 2 * (turns + 1)


SUBDOMAINS = """\
void five(int sweeps, int n, float w, float u[n + 2][n + 2], float f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 16, subdomain: 32)
    for (int t = 0; t < sweeps; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}
"""


def test_subdomains_stay_in_shared_memory(workshop: Workshop, tmp_path: Path) -> None:
    """All eight tiles of a group: the mesh and its right-hand side, and nothing on the stack."""
    source = tmp_path / "five.c"
    source.write_text(SUBDOMAINS)
    (path,) = kernels(workshop, source, tmp_path / "kernels")
    warnings = tuple(f"--ptxas-options={each}" for each in ("--warn-on-spills", "--warn-on-local-memory-usage"))
    text = path.read_text()
    for options in ((), specialised(text, 32)):
        assert complaints([path], ARCHITECTURES[-1:], (*warnings, *options)) == ""
    code = ptx(text, "compute_90", specialised(text, 32))
    shared = [int(match) for match in re.findall(r"\.shared .*\[(\d+)\]", code)]
    # 33 places of u and 31 of f along either half of a subdomain of 32 x 32 with 16 layers, in rows
    # of an even number of elements.
    assert shared == 8 * [4 * 33 * 34, 4 * 31 * 32]


def specialised(text: str, bits: int) -> tuple[str, ...]:
    """Options that build a program for workers of one round each, and for numbers of 256 otherwise."""
    macros = re.findall(r"#define \w+_TILES ,(.*?)#endif", text, re.DOTALL)
    names = dict.fromkeys(name for macro in macros for name in re.findall(r"long long (\w+)", macro))
    numbers = {name: 1 if "count" in name or "rounds" in name else 256 for name in names} | {"tilek_index_bits": bits}
    values = (f"-D{name}={value}{'' if 'length' in name else 'LL'}" for name, value in numbers.items())
    return ("-DTILEK_SPECIALIZED", *values)


SEVEN_POINTS = """\
void seven(int n, int m, int p, float a[n][m][p], float b[n][m][p])
{
#pragma tilek kernel
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 1; k < p - 1; k++)
                b[i][j][k] = a[i][j][k] + a[i][j][k - 1] + a[i][j][k + 1] + a[i][j - 1][k] + a[i][j + 1][k]
                    + a[i - 1][j][k] + a[i + 1][j][k];
}
"""


def test_specialised_programs_find_positions_without_wide_products(workshop: Workshop, tmp_path: Path) -> None:
    source = tmp_path / "seven.c"
    source.write_text(SEVEN_POINTS)
    (path,) = kernels(workshop, source, tmp_path / "kernels")
    text = path.read_text()
    lengths = ("a_length1", "a_length2", "b_length1", "b_length2")
    assert {f"-D{name}=256" for name in lengths} | {"-Dtilek_index_bits=32LL"} <= set(specialised(text, 32))

    def products(bits: int) -> int:
        code = ptx(text, "compute_90", specialised(text, bits))
        return len(re.findall(r"\b(?:mul|mad)\.lo\.[su]64|\b(?:shl|add)\.[bsu]64", code))

    assert products(32) < products(64)
