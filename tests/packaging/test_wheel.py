"""The wheel, in an environment that has nothing else: a user's first minute."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(command: Sequence[str | Path], folder: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by way of the source distribution, as `pip install` of one does, in a copy, so that the checkout stays as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    archive = folder / "source.tar"
    names = ["setup.cfg", "pyproject.toml", "README.md", "LICENSE", "tilepragma", "templates", "runtime"]
    with tarfile.open(archive, "w") as packed:
        for name in names:
            packed.add(ROOT / name, name, filter=lambda entry: None if entry.name.endswith("__pycache__") else entry)
    source = folder / "source"
    with tarfile.open(archive) as packed:
        packed.extractall(source)
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist"], source)
    return next((folder / "dist").glob("*.whl"))


def test_wheel_holds_the_package_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        held = set(packed.namelist())
    kept = {".c", ".h", ".list", ".jinja", ".j2", ".mk", ".cmake", ".cl", ".cu"}
    expected = {
        f"tilepragma/{path.relative_to(ROOT)}"
        for folder in ("templates", "runtime")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in kept and "tests" not in path.parts
    }
    within = (path for suffix in ("py", "json") for path in (ROOT / "tilepragma").rglob(f"*.{suffix}"))
    expected |= {str(path.relative_to(ROOT)) for path in within}
    assert expected - held == set()
    assert not {name for name in held if name.startswith(("templates/", "runtime/", "tests/", "samples/"))}


def test_every_template_file_has_a_suffix_that_ships() -> None:
    kept = {".py", ".c", ".h", ".jinja", ".j2", ".mk", ".cmake", ".cl", ".cu"}
    others = {path for path in (ROOT / "templates").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.name for path in others if path.suffix not in kept} == set()


def test_tilecc_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    run([sys.executable, "-m", "venv", "--without-pip", environment], tmp_path)
    python = environment / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "-q", "--retries", "5", wheel], tmp_path)
    cache = {"TILEK_CACHE_DIR": str(tmp_path / "cache"), "TILEK_TARGET": "threads"}
    tools = environment / "bin"
    assert run([tools / "tilepragma", "--version"], tmp_path).startswith("tilepragma ")
    include = run([tools / "tilepragma", "--cflags"], tmp_path, **cache).split()[-1]
    assert str(environment) in include
    sample = ROOT / "samples" / "listing3" / "listing3.c"
    flags = ["-O2", "-ffp-contract=off"]
    run(["cc", *flags, "-Wno-unknown-pragmas", sample, "-o", "plain", "-lm"], tmp_path)
    run([tools / "tilecc", *flags, sample, "-o", "translated"], tmp_path, **cache)
    expected = run(["./plain"], tmp_path).splitlines()[-1]
    assert run(["./translated"], tmp_path, **cache).splitlines()[-1] == expected
    assert expected.startswith("checksum ")
