"""What ptxas says of programs, through NVRTC: kept on disk, asked again where what is kept is damaged, and reasons where there is no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.nvrtc import nvrtc_library
from tests.support.source_plans import CHAINED_SUMS
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.model.descriptor_files import named_device
from tilepragma.plan.summary import points_of
from tilepragma.pyruntime.nvrtc import Nvrtc, NvrtcError, open_nvrtc

PROGRAM = """
extern "C" __global__ void one(float *a) { a[threadIdx.x] += 1; }
extern "C" __global__ void two(double *a, double *b) { a[threadIdx.x] = b[threadIdx.x] / a[0]; }
"""

present = pytest.mark.skipif(nvrtc_library() is None, reason="NVRTC is not installed: install the extra [nvrtc]")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEK_NVRTC_LIBRARY", raising=False)
    return tmp_path / "cache"


def refuse(self: Nvrtc, text: str, words: tuple[str, ...], result: str) -> str:
    raise AssertionError("compiled again")


@present
def test_what_was_compiled_once_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = open_nvrtc().compiled(PROGRAM, 80)
    assert set(result) == {"one", "two"}
    assert 0 < result["one"].registers < result["two"].registers < 256
    assert {value.spilled for value in result.values()} == {0}
    (kept,) = cache.iterdir()
    with monkeypatch.context() as context:
        context.setattr(Nvrtc, "_compiled", refuse)
        assert open_nvrtc().compiled(PROGRAM, 80) == result
        with pytest.raises(AssertionError, match="again"):
            open_nvrtc().compiled(PROGRAM, 80, ("--fmad=false",))
    for damage in (b"", b"[]", b'{"one": {"registers": 1}}'):
        kept.write_bytes(damage)
        assert open_nvrtc().compiled(PROGRAM, 80) == result


@present
def test_what_has_no_register_is_spilled() -> None:
    text = """extern "C" __global__ void f(int n, double *a) {
        double s[40];
#pragma unroll
        for (int k = 0; k < 40; k++) s[k] = a[k * n];
        for (int t = 0; t < n; t++)
#pragma unroll
            for (int k = 0; k < 40; k++) s[k] = s[k] * a[t] + s[(k + 7) % 40];
#pragma unroll
        for (int k = 0; k < 40; k++) a[k * n] = s[k];
    }"""
    plain, short = (open_nvrtc().compiled(text, 80, options)["f"] for options in ((), ("--maxrregcount=32",)))
    assert plain.spilled == 0 and plain.registers > 80
    assert short.spilled > 0 and short.registers <= 32


@present
def test_reasons_why_nothing_was_compiled() -> None:
    with pytest.raises(NvrtcError, match="does not compile for sm_13"):
        open_nvrtc().compiled(PROGRAM, 13)
    with pytest.raises(NvrtcError, match=r"does not take the program: .*error.*undefined"):
        open_nvrtc().compiled('extern "C" __global__ void f(int *a) { a[0] = b; }', 80)


@pytest.mark.parametrize("library", ["/nowhere/libnvrtc.so", "libc.so.6"])
def test_what_is_named_and_is_no_nvrtc(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_NVRTC_LIBRARY", library)
    with pytest.raises(NvrtcError, match=f"TILEK_NVRTC_LIBRARY names {library}, which is no NVRTC"):
        open_nvrtc()


def test_explain_says_that_registers_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_NVRTC_LIBRARY", "/nowhere")
    device = named_device("h100")
    result = translate(TranslateRequest("t.c", text=CHAINED_SUMS.encode(), device=device, last="choose_sizes"))
    text = " ".join(explain(kernel_reports(result, None, device)).split())
    assert (
        "registers f: 168 a worker, none spilled; gangs of 256 at most: up to 1 at once on a multiprocessor, 12% of its warps, limited by "
        "registers (estimated: TILEK_NVRTC_LIBRARY names /nowhere, which is no NVRTC)"
    ) in text
    assert "\n  registers " not in explain(
        kernel_reports(translate(TranslateRequest("t.c", text=CHAINED_SUMS.encode(), last="choose_sizes")))
    )


@present
def test_sums_that_ptxas_spills_get_fewer_points() -> None:
    (plan,) = translate(
        TranslateRequest("t.c", text=CHAINED_SUMS.encode(), device=named_device("a100"), last="verify")
    ).plans
    assert plan.registers is not None and plan.registers.by.startswith("ptxas of NVRTC ")
    assert plan.registers.by.endswith(" for sm_80")
    (use,) = plan.registers.launches
    assert (use.launch, use.spilled) == ("f", 0)
    (launch,) = plan.device
    assert 1 < sum(points_of(launch).values()) < 4 + 8
