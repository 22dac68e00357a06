"""The pipeline: a C file in, a C file with launches out. `PASSES` is the whole of it, in order.

Heavy modules (libclang, jinja2) are imported by the pass that needs them, so that a file without directives costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, SourceError
from tilepragma.base.source_scan import scan_source

if TYPE_CHECKING:
    from tilepragma.ir.directives import Target
    from tilepragma.ir.looptree import Kernel, TranslationUnit
    from tilepragma.plan.kernel_plan import KernelPlan

#: What `targets` of a request may name.
TARGET_NAMES = ("serial", "threads", "opencl", "cuda")


@dataclass(frozen=True)
class TranslateRequest:
    """What to translate.

    `source` is the path as the user names it (diagnostics and `#line` use it); `text` its content where it is not to be
    read from there. `output_name` is how the output is named in its own `#line`s. `options` are the compiler's options,
    raw; `quote_folders` and `folders` those of -iquote and -I among them. `targets` are those to build for (empty: all).
    `kernel_folder` receives the readable kernels. `last` is the pass after which to stop; `dump` names passes whose result
    is handed to the caller as text.
    """

    source: str
    output_name: str = "<translated>"
    text: bytes | None = None
    options: tuple[str, ...] = ()
    quote_folders: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    kernel_folder: Path | None = None
    last: str = "emit"
    dump: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TranslateResult:
    """What came of it. `output` is None where there are errors, or where the request stopped earlier.

    `dependencies` are the files that the output depends on, the source first; `inlined` those of them whose text stands in
    the output. `units` and `plans` are for explaining. `dumps` are (pass, text).
    """

    diagnostics: tuple[Diagnostic, ...]
    output: bytes | None
    dependencies: tuple[str, ...]
    inlined: tuple[str, ...]
    unit: TranslationUnit | None
    plans: tuple[KernelPlan, ...]
    dumps: tuple[tuple[str, str], ...]
    succeeded: bool


@dataclass(frozen=True)
class State:
    """What the passes have made so far; each returns it with its own part filled in. Only `diagnostics` collects."""

    request: TranslateRequest
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    text: bytes = b""
    scanned: tuple[str, ...] = ()
    plain: bool = False
    unit: TranslationUnit | None = None
    plans: tuple[KernelPlan, ...] = ()
    output: bytes | None = None


def scan(state: State) -> State:
    """Read the source; a source that nowhere mentions tilek is passed through as it is. Raises OSError."""
    request = state.request
    text = request.text if request.text is not None else Path(request.source).read_bytes()
    found = scan_source(request.source, request.quote_folders, request.folders, text)
    marked = any("tilek" in option for option in request.options)
    return replace(state, text=text, scanned=found.files, plain=not found.mentions and not marked)


def parse(state: State) -> State:
    """Bind directives to statements and build the LoopTree of every region."""
    from tilepragma.frontend.compiler import CompilerFlags
    from tilepragma.frontend.translation_unit import parse_translation_unit

    if state.plain:
        return state
    request = state.request
    flags = CompilerFlags(arguments=request.options)
    return replace(state, unit=parse_translation_unit(request.source, state.text, flags, state.diagnostics))


def plan(state: State) -> State:
    """Decide launches, mapping and data of every region; the errors of all regions are collected."""
    if state.unit is None:
        return state
    made = [_plan_of(kernel, state.unit, state.diagnostics) for kernel in state.unit.kernels]
    return replace(state, plans=tuple(one for one in made if one is not None))


def _plan_of(kernel: Kernel, unit: TranslationUnit, diagnostics: Diagnostics) -> KernelPlan | None:
    from tilepragma.plan.planner import make_plan

    try:  # so that the other regions are checked too
        return make_plan(kernel, unit.floating, diagnostics)
    except SourceError as error:
        diagnostics.add(error.diagnostic)
        return None


def verify(state: State) -> State:
    """Prove every plan; none that fails is emitted."""
    if state.plans:
        from tilepragma.plan.verifier import verify_plan

        for one in state.plans:
            verify_plan(one)
    return state


def emit(state: State) -> State:
    """Write the readable kernels where they are asked for."""
    folder = state.request.kernel_folder
    if folder is not None and state.plans:
        from tilepragma.codegen.program import emit_kernels

        folder.mkdir(parents=True, exist_ok=True)
        for one in state.plans:
            emit_kernels(one, folder)
    return state


def rewrite(state: State) -> State:
    """The user's source with each region replaced by its launch, kernels embedded."""
    request = state.request
    if state.unit is None:
        return replace(state, output=_line_directive(request.source) + state.text if state.plain else None)
    from tilepragma.host.rewriter import rewrite as rewrite_unit

    return replace(state, output=rewrite_unit(state.unit, state.plans, request.output_name, _targets(request.targets)))


def _line_directive(source: str) -> bytes:
    quoted = source.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{quoted}"\n'.encode("utf-8", "surrogateescape")


def _targets(names: tuple[str, ...]) -> tuple[Target, ...]:
    from tilepragma.ir.directives import Target

    return tuple(Target(name) for name in names or TARGET_NAMES)


@dataclass(frozen=True)
class Pass:
    """One step of the pipeline: `show` prints its result for a dump."""

    name: str
    run: Callable[[State], State]
    show: Callable[[State], str]


def _show_unit(state: State) -> str:
    from tilepragma.ir.dump import dump_kernel

    return "\n".join(dump_kernel(kernel) for kernel in state.unit.kernels) if state.unit else ""


def _show_plans(state: State) -> str:
    from pprint import pformat

    return "\n".join(pformat(one, width=140) for one in state.plans)


PASSES = (
    Pass("scan", scan, lambda state: "plain\n" if state.plain else "mentions tilek\n"),
    Pass("parse", parse, _show_unit),
    Pass("plan", plan, _show_plans),
    Pass("verify", verify, _show_plans),
    Pass("rewrite", rewrite, lambda state: (state.output or b"").decode("utf-8", "replace")),
    Pass("emit", emit, lambda state: str(state.request.kernel_folder or "")),
)


def translate(request: TranslateRequest) -> TranslateResult:
    """Run the passes up to `request.last`; stops after the first pass that leaves errors.

    Raises OSError where the source cannot be read or a kernel not be written. Errors in the source are in the result.
    """
    state = State(request)
    dumps: list[tuple[str, str]] = []
    for step in PASSES:
        try:
            state = step.run(state)
        except SourceError as error:
            state.diagnostics.add(error.diagnostic)
        if step.name in request.dump:
            dumps.append((step.name, step.show(state)))
        if state.diagnostics.has_errors or step.name == request.last:
            break
    failed = state.diagnostics.has_errors
    unit = state.unit
    return TranslateResult(
        diagnostics=tuple(state.diagnostics),
        output=None if failed else state.output,
        dependencies=unit.dependencies if unit is not None else state.scanned,
        inlined=tuple(file.path for file in unit.files[1:]) if unit is not None else (),
        unit=unit,
        plans=state.plans,
        dumps=tuple(dumps),
        succeeded=not failed,
    )


def explain(result: TranslateResult) -> str:
    """What became of each kernel, in words."""
    if not result.plans:
        return "No kernel regions: the program runs as it was written.\n"
    from tilepragma.plan.description import describe

    return "\n".join(describe(one) for one in result.plans)
