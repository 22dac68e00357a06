"""Descriptors: ours are read and say what data sheets and the thesis say, faulty ones are refused by line and field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tilepragma.base.diagnostics import LocatedError
from tilepragma.model.descriptor_checks import GPU, MEMORY, OVERHEADS, PROCESSOR, TOP, device_of
from tilepragma.model.descriptor_files import (
    descriptor_text,
    known_devices,
    named_device,
    our_descriptors,
    users_descriptors,
    write_descriptor,
)
from tilepragma.model.device import Gpu, Memory, Overheads, Processor

ROOT = Path(__file__).resolve().parents[3]
OURS = [
    *("a100", "c1060", "c2050", "h100", "h200", "mi250", "mi300x", "opencl-gpu", "processor", "rtx3090", "rtx4090"),
    "v100",
]
KB = 1024


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_DATA_DIR", str(tmp_path / "data"))


def gpu(name: str) -> Gpu:
    device = named_device(name)
    assert isinstance(device, Gpu)
    return device


def test_ours_can_all_be_read() -> None:
    assert [each.name for each in known_devices()] == OURS
    assert all(each.device is not None and not each.is_users for each in known_devices())


#: FACTS of the devices: multiprocessors; threads of a multiprocessor and a block; blocks; shared KB
#: of a multiprocessor and, opted in, a block; registers in thousands; DRAM in GB/s; TFLOP/s of
#: floats.
FACTS = {
    "c1060": (30, 1024, 512, 8, 16, 16, 16, 102, 0.936),
    "c2050": (14, 1536, 1024, 8, 48, 48, 32, 144, 1.03),
    "v100": (80, 2048, 1024, 32, 96, 96, 64, 900, 15.7),
    "a100": (108, 2048, 1024, 32, 164, 163, 64, 1555, 19.5),
    "h100": (132, 2048, 1024, 32, 228, 227, 64, 3352, 67),
    "h200": (132, 2048, 1024, 32, 228, 227, 64, 4800, 67),
    "rtx3090": (82, 1536, 1024, 16, 100, 99, 64, 936, 35.58),
    "rtx4090": (128, 1536, 1024, 24, 100, 99, 64, 1008, 82.58),
    "mi250": (104, 2048, 256, 16, 64, 64, 128, 1638, 22.63),
    "mi300x": (304, 2048, 256, 16, 64, 64, 128, 5300, 163.4),
}


@pytest.mark.parametrize("name", FACTS)
def test_figures_of_data_sheets(name: str) -> None:
    """Thesis Tables 5.1 and 6.1 for C1060 and C2050."""
    one = gpu(name)
    assert FACTS[name] == (
        one.multiprocessors,
        one.threads_per_multiprocessor,
        one.threads_per_block,
        one.blocks_per_multiprocessor,
        one.shared_per_multiprocessor // KB,
        max(one.shared_per_block, one.shared_opt_in) // KB,
        one.registers_per_multiprocessor // KB,
        round((one.memories[-1].bandwidth or 0) / 1e9),
        one.float_rate / 1e12,
    )


def text_of(name: str) -> str:
    return (our_descriptors() / f"{name}.json").read_text()


def refused(text: str) -> list[tuple[int, str, str]]:
    """Line, message and remedy of every error of a descriptor."""
    with pytest.raises(LocatedError) as raised:
        device_of(text, "mine.json")
    assert all(diagnostic.range.file == "mine.json" for diagnostic in raised.value.diagnostics)
    return [
        (diagnostic.range.start.line, diagnostic.message, diagnostic.notes[0].message)
        for diagnostic in raised.value.diagnostics
    ]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("shared_per_multiprocessor", 0, "'shared_per_multiprocessor' is 0"),
        ("multiprocessors", -3, "'multiprocessors' is -3"),
        ("multiprocessors", True, "'multiprocessors' is true or false"),
        ("multiprocessors", 80.0, "'multiprocessors' is 80.0"),
        ("warp", 33, "'warp' is 33"),
        ("banks", 12, "'banks' is 12"),
        ("clock", 1.53, "'clock' is 1.53"),
        ("float_rate", -1e12, "'float_rate' is -1000000000000.0"),
        ("float_rate", 10**400, "'float_rate' is 1"),
        ("name", "  ", "'name' is '  '"),
        ("compute_capability", [7], "'compute_capability' is a list"),
        ("register_scope", "thread", "'register_scope' is 'thread'"),
        ("threads_per_block", 4096, "'threads_per_block' is 4096, more than 'threads_per_multiprocessor', 2048"),
        ("threads_per_multiprocessor", 2047, "2047 threads are no whole number of warps of 32"),
        ("shared_opt_in", 1024, "a block may ask for 1024 bytes, less than what it has without asking"),
        ("shared_opt_in", 98305, "'shared_opt_in' is 98305, more than 'shared_per_multiprocessor', 98304"),
        ("registers_per_thread", 70000, "'registers_per_thread' is 70000, more than 'registers_per_block', 65536"),
        ("memories", [], "'memories' is a list"),
        ("memories", {}, "'memories' is an object"),
        ("overheads", 1, "overheads is 1"),
    ],
)
def test_nonsense_is_refused_by_line_and_field(field: str, value: object, message: str) -> None:
    described = json.loads(text_of("v100"))
    text = json.dumps(described | {field: value}, indent=1)
    (found,) = refused(text)
    assert found[0] == line_of(text, f'"{field}"')
    assert found[1].startswith(message)
    assert found[2]


def test_missing_and_unknown_fields_are_all_named() -> None:
    text = (
        text_of("v100")
        .replace('"banks"', '"bancs"')
        .replace('"size": 6291456, ', "")
        .replace('"clock"', '"speed_of_it"')
    )
    result = refused(text)
    assert [message for _, message, _ in result] == [
        "'bancs' is no field of the descriptor",
        "'speed_of_it' is no field of the descriptor",
        "the descriptor has no field 'banks'",
        "the descriptor has no field 'clock'",
        "memories/[1] has no field 'size'",
    ]
    assert result[0][0] == line_of(text, "bancs")
    assert result[0][2] == "did you mean 'banks'?"
    assert result[1][2].startswith("the fields are kind, source, name")
    assert result[3][2].startswith('write "clock": a number a second')
    assert result[4][0] == line_of(text, '"L2"')


def test_more_share_a_memory_than_there_are() -> None:
    text = text_of("processor").replace('"sharers": 8, "bandwidth": 40e9', '"sharers": 9, "bandwidth": 40e9')
    assert refused(text) == [
        (line_of(text, '"DRAM"'), "9 cores share 'DRAM', but there are 8", "write 8 where all share it")
    ]


@pytest.mark.parametrize("text", ["[]", "{}", '{"kind": "tpu"}', '{"kind": 1}', "null"])
def test_what_says_no_kind_is_refused(text: str) -> None:
    (found,) = refused(text)
    assert "'kind'" in found[1]


def test_fields_of_earlier_descriptors_are_ignored() -> None:
    text = text_of("h100")
    earlier = text.replace("{", '{"shared_carve_outs": [8192],', 1)
    assert device_of(earlier, "h100.json") == device_of(text, "h100.json")


def measured() -> Overheads:
    return Overheads(kernel=5e-6, barrier=((32, 1e-8), (1024, 4e-8)), wavefront=((80, 2e-6),), copy=1e-5)


def test_costs_must_be_ascending_by_number() -> None:
    device = replace(gpu("v100"), overheads=replace(measured(), barrier=((64, 1e-8), (32, 2e-8))))
    text = descriptor_text(device, "a test")
    assert [message for _, message, _ in refused(text)] == ["'barrier' is a list"]


def test_what_is_written_is_read_back_and_hides_ours() -> None:
    device = replace(gpu("v100"), overheads=measured())
    path = write_descriptor(device, "V100", "a test")
    assert path.parent == users_descriptors()
    assert named_device("v100") == device
    kept = {each.name: each for each in known_devices()}
    assert kept["v100"].is_users
    assert not kept["a100"].is_users
    processor = named_device("processor")
    assert isinstance(processor, Processor)
    assert device_of(descriptor_text(processor, "a test"), "x") == processor


def test_a_faulty_one_of_the_users_is_listed_with_its_faults_and_refused_by_name() -> None:
    users_descriptors().mkdir(parents=True)
    (users_descriptors() / "mine.json").write_text('{"kind": "gpu"}')
    one = next(each for each in known_devices() if each.name == "mine")
    assert one.device is None
    assert "the descriptor has no field 'multiprocessors'" in [fault.message for fault in one.faults]
    assert one.figures == f"faulty: {one.path}"
    with pytest.raises(LocatedError):
        named_device("mine")


def test_an_unknown_name_is_told_the_nearest_and_all_that_are_known() -> None:
    with pytest.raises(LookupError) as raised:
        named_device("h10O")
    assert str(raised.value) == (
        "no device is called 'h10O' (did you mean 'h100'?); known are "
        + ", ".join(OURS)
        + ", or the path of a descriptor, FILE.json"
    )
    with pytest.raises(LookupError, match="no device is called 'zzz'; known are"):
        named_device("zzz")


def test_names_are_found_however_they_are_written_and_paths_are_files(tmp_path: Path) -> None:
    assert named_device(" H200 ") == named_device("h200")
    path = tmp_path / "card.json"
    path.write_text(text_of("c2050"))
    assert named_device(str(path)) == named_device("c2050")
    with pytest.raises(FileNotFoundError):
        named_device(str(tmp_path / "none.json"))


def test_figures_stand_in_one_line() -> None:
    lines = {each.name: each.figures for each in known_devices()}
    assert (
        lines["c1060"]
        == "GPU  NVIDIA Tesla C1060  (30 multiprocessors, 16 KiB shared, 0.936 TFLOP/s, 102 GB/s)  not calibrated"
    )
    assert lines["processor"] == "CPU  a processor  (8 cores, 256-bit vectors, 0.768 TFLOP/s, 40 GB/s)  not calibrated"


def test_fields_are_those_of_the_dataclasses() -> None:
    for fields, kind in ((GPU, Gpu), (PROCESSOR, Processor), (MEMORY, Memory), (OVERHEADS, Overheads)):
        assert {field.name for field in fields} == set(kind.__dataclass_fields__)


def test_the_documentation_lists_every_field_and_device() -> None:
    text = (ROOT / "docs" / "DEVICES.md").read_text()
    for each in (*TOP, *GPU, *PROCESSOR, *MEMORY, *OVERHEADS):
        assert f"| `{each.name}` |" in text, each.name
    for name in OURS:
        assert f"`{name}`" in text
