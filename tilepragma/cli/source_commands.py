"""The commands on one source file: translate, check, explain, tune, bench, report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.files import write_atomically
from tilepragma.base.languages import C
from tilepragma.cli.compiler_arguments import read_command
from tilepragma.cli.dependency_files import make_rule
from tilepragma.cli.device_option import DeviceOptionError, chosen_device
from tilepragma.cli.report import as_json, print_diagnostics, print_error, print_report, report_fault
from tilepragma.cli.tune_options import listed, target_problem
from tilepragma.driver import PASSES, translate
from tilepragma.driver.reports import advice, explain
from tilepragma.driver.state import TranslateRequest, TranslateResult

if TYPE_CHECKING:
    from tilepragma.report.explain_page import ExplainPage
    from tilepragma.report.size_values import Sizes


class WrongUsageError(Exception):
    """A wrong command line; the message says why."""


def run_source_command(options: argparse.Namespace, compiler_options: tuple[str, ...], arguments: Sequence[str]) -> int:
    """Run `options.command` on `options.input`; `arguments` is the command line for faults."""
    source, text = options.input, None
    try:
        request = _request(options, compiler_options)
        source, text = request.source, request.text
        result = translate(request)
        return _finish(options, request, result)
    except WrongUsageError as error:
        print_error("tilepragma", str(error))
        return 2
    except DeviceOptionError as error:
        if str(error):
            print_error("tilepragma", str(error))
        return error.status
    except BrokenPipeError:
        raise
    except OSError as error:
        print_error("tilepragma", f"{error.filename or options.input}: {error.strerror}")
        return 2
    except Exception as fault:
        return report_fault("tilepragma", arguments, source, text, fault)


def _request(options: argparse.Namespace, compiler_options: tuple[str, ...]) -> TranslateRequest:
    if options.command == "tune":
        from tilepragma.cli import explore, tune

        problem = tune.usage_problem(options) if options.quick else explore.usage_problem(options)
        if problem:
            raise WrongUsageError(problem)
    if options.command in ("bench", "report"):
        from tilepragma.cli import bench, measurement_report

        problem = (bench if options.command == "bench" else measurement_report).usage_problem(options)
        if problem:
            raise WrongUsageError(problem)
    command = read_command([*compiler_options, options.input])
    language = command.inputs[-1].language
    unknown = [name for name in options.dump_after if name not in {step.name for step in PASSES}]
    if unknown:
        raise WrongUsageError(
            f"--dump-after: no pass is called '{unknown[0]}'; passes are {', '.join(step.name for step in PASSES)}"
        )
    request = TranslateRequest(
        source="<stdin>" if options.input == "-" else options.input,
        text=sys.stdin.buffer.read() if options.input == "-" else None,
        language=C if language in ("", "c-header", "cpp-output") else language,
        options=command.options,
        quote_folders=tuple(command.values("-iquote")),
        folders=tuple(command.values("-I", "-isystem", "-idirafter")),
        device=chosen_device("--device", options.device),
        use_records=options.command not in ("tune", "report"),  # what was measured is what launches take without
        last="verify",
        dump=frozenset(options.dump_after),
    )
    if options.command == "explain":
        _check_explain(options)
    if options.command != "translate":
        return request
    _check_output(options)
    return replace(
        request,
        output_name="<stdout>" if options.output == "-" else options.output,
        targets=_targets(options.target),
        kernel_folder=options.emit_kernels,
        last=PASSES[-1].name,
    )


def _check_output(options: argparse.Namespace) -> None:
    """The output must not be the source, and its folder must exist; a depfile needs names."""
    if options.output == "-":
        if options.depfile and not (options.depfile_name and options.depfile_target):
            raise WrongUsageError("a depfile of a translation to standard output needs -MF FILE and -MT TARGET")
        return
    output = Path(options.output)
    _check_file("-o", output, options.input)
    made = options.emit_kernels is not None and output.parent.absolute() == options.emit_kernels.absolute()
    if not made and not output.parent.is_dir():
        raise WrongUsageError(f"-o {options.output}: there is no such folder")


def _check_explain(options: argparse.Namespace) -> None:
    from tilepragma.cli.measure import options_problem

    problem = options_problem(options)
    if problem:
        raise WrongUsageError(problem)
    if options.html and options.html != "-":
        page = Path(options.html)
        _check_file("--html", page, options.input)
        if not page.parent.is_dir():
            raise WrongUsageError(f"--html {options.html}: there is no such folder")


def _check_file(option: str, output: Path, source: str) -> None:
    if output.exists() and Path(source).exists() and output.samefile(source):
        raise WrongUsageError(f"{option} {output}: that is the source itself")
    if output.is_dir():
        raise WrongUsageError(f"{option} {output}: that is a folder")


def _targets(text: str) -> tuple[str, ...]:
    if wrong := target_problem(text):
        raise WrongUsageError(f"--target: {wrong}")
    return listed(text)


def _finish(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    for name, text in result.dumps:
        sys.stderr.write(f"--- {name}\n{text}\n")
    diagnostics = result.diagnostics
    if options.command == "check":
        diagnostics += advice(result, options.loops)
    if options.command == "check" and options.format == "json":
        print(as_json(diagnostics))
    else:
        print_diagnostics(diagnostics, request.source, request.text)
    if not result.succeeded:
        return 1
    if options.command == "explain":
        return _explain(options, request, result)
    if options.command == "translate":
        _write(options, result)
    elif options.command in ("tune", "bench"):
        return _measured(options, request, result)
    elif options.command == "report":
        return _report(options, request, result)
    return 0


def _report(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Report on this source and the further ones; returns the exit status."""
    from tilepragma.cli.measurement_report import Source, report

    sources = [Source(request, result)]
    for name in options.more:
        further = replace(request, source=name)
        sources.append(Source(further, translate(further)))
        print_diagnostics(sources[-1].result.diagnostics, name, None)
    return report(options, sources) if all(source.result.succeeded for source in sources) else 1


def _measured(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """`tune` or `bench`; returns the exit status. Raises WrongUsageError for invalid sizes."""
    from tilepragma.cli.bench import bench
    from tilepragma.cli.explore import explore
    from tilepragma.cli.tune import tune
    from tilepragma.report.size_values import SizeError

    try:
        command = bench if options.command == "bench" else tune if options.quick else explore
        return command(options, request, result)
    except SizeError as error:
        raise WrongUsageError(str(error)) from None


def _explain(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Print the report, write it as a page and as figures, and measure; returns the exit status.
    Raises WrongUsageError for invalid sizes.
    """
    from tilepragma.driver.reports import explain_page, kernel_reports
    from tilepragma.model.descriptor_files import calibrated_device
    from tilepragma.report.size_values import SizeError, parse_sizes

    try:
        sizes = parse_sizes(options.size)
        reports = kernel_reports(result, sizes, request.device or calibrated_device())
    except SizeError as error:
        raise WrongUsageError(str(error)) from None
    if options.html != "-":
        print_report(explain(reports))
    if options.html or options.figures:
        page = explain_page(result, reports, sizes, "<stdin>" if options.input == "-" else options.input)
        _write_page(options, page)
    return _measure(options, request, result, sizes) if options.measure else 0


def _measure(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult, sizes: Sizes) -> int:
    """Returns the exit status. Raises WrongUsageError."""
    from tilepragma.cli import runtime_library
    from tilepragma.cli.measure import MeasureError, measure

    try:
        measure(options, request, result, sizes)
    except MeasureError as error:
        raise WrongUsageError(str(error)) from None
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        runtime_library.report(error)
        return 1
    return 0


def _write_page(options: argparse.Namespace, page: ExplainPage) -> None:
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
        for name, text in page.figures:
            write_atomically(options.figures / name, text.encode(errors="replace"))
    if options.html == "-":
        sys.stdout.write(page.html)
    elif options.html:
        write_atomically(Path(options.html), page.html.encode(errors="replace"))


def _write(options: argparse.Namespace, result: TranslateResult) -> None:
    """Write OUT.c and its depfile, each atomically."""
    output = result.output or b""
    if options.depfile or options.depfile_name:
        name = options.depfile_name or str(Path(options.output).with_suffix(".d"))
        dependencies = result.dependencies + (result.system_dependencies if options.depfile == "all" else ())
        phony = dependencies[1:] if options.phony else result.measured
        rule = make_rule(options.depfile_target or options.output, dependencies, phony)
        write_atomically(Path(name), rule.encode("utf-8", "surrogateescape"))
    if options.output == "-":
        sys.stdout.buffer.write(output)
    else:
        write_atomically(Path(options.output), output)
