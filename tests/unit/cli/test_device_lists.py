"""`--device` and the descriptors that `tilepragma devices` lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import word_translator
from tilepragma.cli import source_commands, tilecc_translation, tilepragma
from tilepragma.cli.devices import print_descriptors
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.model.descriptor_files import named_device


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TranslateRequest]:
    """What the commands ask of the translator; in an empty folder, with a data folder of its own."""
    requests: list[TranslateRequest] = []

    def translate(request: TranslateRequest) -> TranslateResult:
        requests.append(request)
        return word_translator(request)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(source_commands, "translate", translate)
    monkeypatch.setattr(tilecc_translation, "translate", translate)
    Path("in.c").write_text("/* tilek */\nint x = KERNEL;\n")
    return requests


FAULTY = '{\n "kind": "gpu",\n "name": ""\n}\n'


def test_the_device_is_carried_to_the_translator(asked: list[TranslateRequest]) -> None:
    assert tilepragma.run(["translate", "in.c", "-o", "out.c", "--device", "V100"]) == 0
    assert tilepragma.run(["check", "in.c"]) == 0
    assert [request.device for request in asked] == [named_device("v100"), None]


def test_tilecc_takes_it_too(asked: list[TranslateRequest], capfd: pytest.CaptureFixture[str]) -> None:
    from tilepragma.cli import tilecc

    assert tilecc.run(["--tilek-device=a1oo", "-c", "in.c"]) == 2
    assert "tilecc: error: --tilek-device: no device is called 'a1oo' (did you mean 'a100'?)" in capfd.readouterr().err
    assert asked == []
    tilecc.run(["--tilek-device=a100", "-E", "in.c"])
    assert [request.device for request in asked] == [named_device("a100")]


def test_a_faulty_file_is_told_by_line(asked: list[TranslateRequest], capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.json").write_text(FAULTY)
    assert tilepragma.run(["check", "in.c", "--device", "mine.json"]) == 1
    said = capsys.readouterr().err
    assert "mine.json:3:2: error: 'name' is ''\n  \"name\": \"\"\n  ^~~~~~\n" in said
    assert "mine.json:1:1: error: the descriptor has no field 'multiprocessors'" in said
    assert asked == []


def test_descriptors_are_listed(asked: list[TranslateRequest], capsys: pytest.CaptureFixture[str]) -> None:
    assert print_descriptors() == 0
    said = capsys.readouterr().out
    assert (
        "  h200        GPU  NVIDIA H200-SXM5-141GB  (132 multiprocessors, 228 KiB shared, 67 TFLOP/s, 4800 GB/s)  not calibrated\n"
        in said
    )
    assert "  processor   CPU  a processor  (8 cores" in said


def test_those_of_the_user_say_so_and_faulty_ones_why(
    asked: list[TranslateRequest], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data" / "devices"
    folder.mkdir(parents=True)
    (folder / "mine.json").write_text(FAULTY)
    assert print_descriptors() == 1
    said = capsys.readouterr()
    assert f"  mine        faulty: {folder / 'mine.json'}; your own\n" in said.out
    assert f"{folder / 'mine.json'}:3:2: error: 'name' is ''" in said.err


def test_descriptors_are_listed_where_the_runtime_cannot_be_asked(
    asked: list[TranslateRequest], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEK_CC", "no-such-compiler")
    monkeypatch.setenv("TILEK_CACHE_DIR", "empty")
    assert tilepragma.run(["devices"]) == 1
    said = capsys.readouterr()
    assert "  v100        GPU" in said.out
    assert "no-such-compiler" in said.err
