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
from tilepragma.base.refusals import CommandError
from tilepragma.cli.command_options import check_output, chosen_device, targets_of
from tilepragma.cli.compiler_arguments import read_command
from tilepragma.cli.dependency_files import make_rule
from tilepragma.cli.output import as_json, print_diagnostics, print_report, report_fault
from tilepragma.driver import PASSES, translate
from tilepragma.driver.reports import advice, explain
from tilepragma.driver.state import TranslateRequest, TranslateResult

if TYPE_CHECKING:
    from tilepragma.report.page import ExplainPage


def run_source_command(options: argparse.Namespace, compiler_options: tuple[str, ...], arguments: Sequence[str]) -> int:
    """Run `options.command` on `options.input`; `arguments` is the command line for faults. Raises
    CommandError, OSError.
    """
    source, text = options.input, None
    try:
        request = _request(options, compiler_options)
        source, text = request.source, request.text
        return _finish(options, request, translate(request))
    except (CommandError, OSError):
        raise
    except Exception as fault:
        return report_fault("tilepragma", arguments, source, text, fault)


def _request(options: argparse.Namespace, compiler_options: tuple[str, ...]) -> TranslateRequest:
    if options.command in ("tune", "bench", "report"):
        from tilepragma.cli import bench, explore, measurement_report, tune

        checks = {"bench": bench.check_usage, "report": measurement_report.check_usage, "tune": explore.check_usage}
        check = tune.check_usage if options.command == "tune" and options.quick else checks[options.command]
        check(options)
    command = read_command([*compiler_options, options.input])
    language = command.inputs[-1].language
    passes = [step.name for step in PASSES]
    unknown = [name for name in options.dump_after if name not in passes]
    if unknown:
        raise CommandError(f"--dump-after: no pass is called '{unknown[0]}'; passes are {', '.join(passes)}")
    request = TranslateRequest(
        source="<stdin>" if options.input == "-" else options.input,
        text=sys.stdin.buffer.read() if options.input == "-" else None,
        language=C if language in ("", "c-header", "cpp-output") else language,
        options=command.options,
        quote_folders=tuple(command.values("-iquote")),
        folders=tuple(command.values("-I", "-isystem", "-idirafter")),
        device=chosen_device("--device", options.device),
        openmp=options.openmp or command.driver.openmp,
        use_records=options.command not in ("tune", "report"),  # what was measured is what launches take without
        last="verify",
        dump=frozenset(options.dump_after),
    )
    if options.command == "explain":
        from tilepragma.cli.measure import check_usage

        check_usage(options)
        if options.html and options.html != "-":
            check_output("--html", options.html, options.input)
    if options.command != "translate":
        return request
    if options.output != "-":
        folder = options.emit_kernels
        is_made = folder is not None and Path(options.output).parent.absolute() == folder.absolute()
        check_output("-o", options.output, options.input, is_made)
    elif options.depfile and not (options.depfile_name and options.depfile_target):
        raise CommandError("a depfile of a translation to standard output needs -MF FILE and -MT TARGET")
    return replace(
        request,
        output_name="<stdout>" if options.output == "-" else options.output,
        targets=targets_of(options.target),
        kernel_folder=options.emit_kernels,
        last=PASSES[-1].name,
    )


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
    elif options.command == "bench":
        from tilepragma.cli.bench import bench

        return bench(options, request, result)
    elif options.command == "tune":
        from tilepragma.cli.explore import explore
        from tilepragma.cli.tune import tune

        return (tune if options.quick else explore)(options, request, result)
    elif options.command == "report":
        return _report(options, request, result)
    return 0


def _report(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Report on this source and the further ones; returns the exit status."""
    from tilepragma.cli.measurement_report import report

    sources = [(request, result)]
    for name in options.more:
        further = replace(request, source=name)
        sources.append((further, translate(further)))
        print_diagnostics(sources[-1][1].diagnostics, name, None)
    return report(options, sources) if all(translated.succeeded for _, translated in sources) else 1


def _explain(options: argparse.Namespace, request: TranslateRequest, result: TranslateResult) -> int:
    """Print the report, write it as a page and as figures, and measure; returns the exit status.
    Raises CommandError for invalid sizes.
    """
    from tilepragma.driver.reports import explain_page, kernel_reports
    from tilepragma.model.descriptor_files import calibrated_device
    from tilepragma.report.size_values import parse_sizes

    sizes = parse_sizes(options.size)
    reports = kernel_reports(result, sizes, request.device or calibrated_device())
    if options.html != "-":
        print_report(explain(reports))
    if options.html or options.figures:
        page = explain_page(result, reports, sizes, "<stdin>" if options.input == "-" else options.input)
        _write_page(options, page)
    if not options.measure:
        return 0
    from tilepragma.cli import runtime_library
    from tilepragma.cli.measure import measure

    try:
        measure(options, request, result, sizes)
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        return runtime_library.report(error)
    return 0


def _write_page(options: argparse.Namespace, page: ExplainPage) -> None:
    if options.figures:
        folder = Path(options.figures)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in page.figures:
            write_atomically(folder / name, text.encode(errors="replace"))
    if options.html == "-":
        sys.stdout.write(page.html)
    elif options.html:
        write_atomically(Path(options.html), page.html.encode(errors="replace"))


def _write(options: argparse.Namespace, result: TranslateResult) -> None:
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
