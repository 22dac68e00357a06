"""Processor time that control groups allow, read from folders that look like the system's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.programs import COMPILER, ROOT

VERSION_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
VERSION_1 = "33 24 0:28 {shown} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
OTHERS = "24 0 8:1 / / rw - ext4 /dev/sda1 rw\n31 24 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("quota") / "quota"
    runtime = ROOT / "runtime"
    sources = [ROOT / "tests" / "runtime" / "quota.c", runtime / "host" / "cpu_quota.c"]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined"]
    subprocess.run([COMPILER, *flags, f"-I{runtime}", f"-I{runtime / 'include'}", *sources, "-o", made], check=True)
    return made


def cores(program: Path, root: Path, files: dict[str, str]) -> int:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return int(subprocess.run([program, root], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"a/b": "150000 100000"}, 2),
        ({"a/b": "max 100000", "a": "300000 100000"}, 3),
        ({"a/b": "400000 100000", "a": "100000 100000"}, 1),
        ({"a/b": "max 100000"}, 0),
        ({}, 0),
        ({"a/b": "nonsense"}, 0),
        ({"a/c": "100000 100000"}, 0),
    ],
)
def test_version_2(program: Path, tmp_path: Path, limits: dict[str, str], expected: int) -> None:
    system = {"proc/self/mountinfo": OTHERS + VERSION_2, "proc/self/cgroup": "1:name=x:/\n0::/a/b\n"}
    files = {f"sys/fs/cgroup/{group}/cpu.max": text + "\n" for group, text in limits.items()}
    assert cores(program, tmp_path, system | files) == expected


@pytest.mark.parametrize(("shown", "inside"), [("/", "/a/b"), ("/a", "/b"), ("/a/b", ""), ("/elsewhere", "")])
def test_version_1(program: Path, tmp_path: Path, shown: str, inside: str) -> None:
    """A container may see its own group as the mount's root."""
    system = {
        "proc/self/mountinfo": OTHERS + VERSION_1.format(shown=shown),
        "proc/self/cgroup": "5:cpuset:/x\n4:cpu,cpuacct:/a/b\n",
    }
    folder = f"sys/fs/cgroup/cpu{inside}"
    files = {f"{folder}/cpu.cfs_quota_us": "250000\n", f"{folder}/cpu.cfs_period_us": "100000\n"}
    assert cores(program, tmp_path, system | files) == 3
    unlimited = {f"{folder}/cpu.cfs_quota_us": "-1\n"}
    assert cores(program, tmp_path, system | unlimited) == 0


def test_no_control_groups(program: Path, tmp_path: Path) -> None:
    assert cores(program, tmp_path, {}) == 0
