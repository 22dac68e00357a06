"""Translates the corpus in separate processes, and runs the programs that record results."""

from __future__ import annotations

import hashlib
import multiprocessing
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.progress import track

from tests.corpus.programs import CorpusProgram
from tests.corpus.records import Corpus, TranslationRecord, code_hash, text_hash
from tests.support.cases import ALL, FAILING
from tests.support.programs import COMPILER
from tests.support.targets import program_environment, target_environment
from tilepragma.base.diagnostics import Severity
from tilepragma.cli.runtime_library import compile_flags, link_flags
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest

RUN_SECONDS = 600


def translated(program: CorpusProgram, scratch: Path, targets: tuple[str, ...]) -> TranslationRecord:
    """The record of one program, made in `scratch`; run on `targets` if it records results."""
    source = scratch / "program.c"
    source.write_text(program.text)
    options = (*program.options, f"-I{program.folder}")
    kernels = scratch / "kernels"
    before = _processor_seconds()
    result = translate(TranslateRequest(str(source), options=options, kernel_folder=kernels, use_records=False))
    seconds = _processor_seconds() - before
    if result.output is None:
        errors = tuple(diagnostic.message for diagnostic in result.diagnostics if diagnostic.severity is Severity.ERROR)
        return TranslationRecord({}, {}, seconds, errors)
    emitted = {path.name: path.read_text() for path in kernels.rglob("*") if path.is_file()}
    emitted["host"] = result.output.decode(errors="replace")
    files = {name: text.replace(str(scratch), "") for name, text in sorted(emitted.items())}
    texts = {name: text_hash(text) for name, text in files.items()}
    codes = {name: code_hash(text) for name, text in files.items()}
    if not program.runs or not targets:
        return TranslationRecord(texts, codes, seconds)
    output = scratch / "translated.c"
    output.write_bytes(result.output)
    results = _results(output, options, scratch, targets)
    return TranslationRecord(texts, codes, seconds, results=results)


def _results(source: Path, options: tuple[str, ...], scratch: Path, targets: tuple[str, ...]) -> dict[str, str]:
    """A hash of a case file's records on each target, or how it failed."""
    program = scratch / "program"
    command = (COMPILER, *options, *compile_flags(), str(source), "-o", str(program), *link_flags(), "-lm")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return dict.fromkeys(targets, f"does not compile: {done.stderr[:300]}")
    return {name: _result(program, scratch, name) for name in targets}


def _result(program: Path, scratch: Path, name: str) -> str:
    target = target_environment(name, scratch)
    if target.absent is not None:
        return "absent"
    digest = hashlib.sha256()
    for group in (ALL, FAILING):
        dump = scratch / f"{name}.{group}.dump"
        environment = program_environment(target, scratch / "cache", TILEK_STRICT="0")
        command = (str(program), str(dump), group)
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=RUN_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"takes more than {RUN_SECONDS} s"
        if done.returncode != 0:
            return f"ends with status {done.returncode}: {done.stderr[-300:].decode(errors='replace')}"
        digest.update(dump.read_bytes())
    return digest.hexdigest()[:16]


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _work(task: tuple[CorpusProgram, tuple[str, ...]]) -> tuple[str, TranslationRecord]:
    program, targets = task
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "cache").mkdir(mode=0o700)
        try:
            return program.name, translated(program, Path(scratch), targets)
        except Exception as fault:  # an internal fault is a record too, and must not end the others
            return program.name, TranslationRecord({}, {}, 0.0, (f"internal fault: {fault!r}",))


def translate_corpus(programs: list[CorpusProgram], targets: tuple[str, ...], jobs: int) -> Corpus:
    """The records of all programs, made in `jobs` parallel processes."""
    tasks = [(program, targets) for program in programs]
    # A fresh process for each program: earlier programs' caches must not speed it up.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=8) as pool:
        made = pool.imap_unordered(_work, tasks)
        return dict(track(made, "translating", total=len(tasks), disable=not sys.stderr.isatty()))
