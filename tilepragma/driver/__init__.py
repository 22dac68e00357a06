"""The pipeline: a C file in, a C file with launches out. `PASSES` is the whole of it, in order.

Heavy modules (libclang, jinja2) are imported by the pass that needs them, so that a file without directives costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.c_text import line_directive
from tilepragma.base.deep_recursion import is_too_deep, on_deep_stack
from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity, SourceError
from tilepragma.base.files import NoFileError, file_bytes, write_atomically
from tilepragma.base.languages import C, name_of
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.base.source_scan import directive_in_text, scan_source
from tilepragma.driver.texts import as_written
from tilepragma.driver.texts import calling_program as calling_program
from tilepragma.driver.texts import kernel_digest as kernel_digest
from tilepragma.driver.texts import outermost_iterators as outermost_iterators
from tilepragma.driver.texts import recounted as recounted
from tilepragma.driver.texts import retiled as retiled
from tilepragma.driver.texts import source_text as source_text
from tilepragma.driver.texts import too_deep as too_deep
from tilepragma.driver.texts import trying_environment as trying_environment
from tilepragma.driver.texts import unrolled as unrolled

if TYPE_CHECKING:
    from tilepragma.codegen.calling_program import CallingProgram as CallingProgram
    from tilepragma.ir.directives import Target as Target
    from tilepragma.ir.directives import TemporalTiles
    from tilepragma.ir.loop_tree import Kernel, TranslationUnit
    from tilepragma.model import device
    from tilepragma.model.descriptor_files import KnownDevice
    from tilepragma.model.device import Device as Device
    from tilepragma.plan.defaults import PlanDefaults
    from tilepragma.plan.kernel_plan import HeldRegion, RegisterCounts
    from tilepragma.plan.kernel_plan import KernelPlan as KernelPlan
    from tilepragma.plan.kernel_plan import PlanVersion as PlanVersion
    from tilepragma.planner.planner import Planned
    from tilepragma.report.explain_page import ExplainPage
    from tilepragma.report.facts import KernelFacts
    from tilepragma.report.size_values import Sizes
    from tilepragma.sizes.records import KeptSizes
    from tilepragma.verify.rules import Proven

#: Tiles of time steps, where a request says nothing of them: a value of TemporalTiles.
TEMPORAL_VARIABLE = "TILEK_TILES"

#: What `targets` of a request may name.
TARGET_NAMES = ("serial", "threads", "opencl", "cuda")


@dataclass(frozen=True)
class TranslateRequest:
    """What to translate.

    `source` is the path as the user names it (diagnostics and `#line` use it); `text` its content where it is not
    to be read from there. `output_name` is how the output is named in its own `#line`s (empty: its generated lines
    are the directives'). `language` is the source's: only C may hold directives. `options` are the compiler's
    options, raw; `quote_folders` and `folders` those of -iquote and -I among them. `targets` are those to build for
    (empty: all). `temporal` is a value of TemporalTiles (empty: what TILEK_TILES says). `device` is the one to plan
    for (`device_named`). `kernel_folder` receives the readable kernels. `kept`: whether tile sizes that are kept
    beside the source are taken. `last` is the pass after which to stop; `dump` names passes whose result is handed
    to the caller as text.
    """

    source: str
    output_name: str = "<translated>"
    text: bytes | None = None
    options: tuple[str, ...] = ()
    quote_folders: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    temporal: str = ""
    device: Device | None = None
    kernel_folder: Path | None = None
    kept: bool = True
    last: str = "emit"
    dump: frozenset[str] = frozenset()
    language: str = C


@dataclass(frozen=True)
class TranslateResult:
    """What came of it. `output` is None where there are errors, or where the request stopped earlier.

    `dependencies` are the files that the output depends on, the source first; `system_dependencies` the headers of the
    system, known where a region was parsed; `inlined` those that compilers of the output do not see any more: headers whose text
    stands in it, and `measured`: tile sizes that were kept, and this machine's calibration where it was asked. The output can be made without these.
    `unit` and `plans` are for explaining. `dumps` are (pass, text).
    """

    diagnostics: tuple[Diagnostic, ...]
    output: bytes | None
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...]
    inlined: tuple[str, ...]
    measured: tuple[str, ...]
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
    planned: tuple[Planned, ...] = ()
    held: tuple[HeldRegion, ...] = ()
    measured: tuple[str, ...] = ()
    proven: tuple[Proven, ...] = ()
    output: bytes | None = None

    @property
    def plans(self) -> tuple[KernelPlan, ...]:
        """The plans of all regions, proven or not."""
        return tuple(one.plan for one in self.planned)


def scan(state: State) -> State:
    """Read the source; a source that nowhere mentions tilek is passed through as it is. Raises OSError."""
    request = state.request
    text = request.text if request.text is not None else Path(request.source).read_bytes()
    if request.text is None and not Path(request.source).is_file():
        request = replace(request, text=text)  # a pipe or a device can be read only once
    if request.language != C:
        return _other_language(state, request, text)
    found = scan_source(request.source, request.quote_folders, request.folders, text)
    marked = any("tilek" in option for option in request.options)
    return replace(state, request=request, text=text, scanned=found.files, plain=not found.mentions and not marked)


def _other_language(state: State, request: TranslateRequest, text: bytes) -> State:
    """A source that is not C may go through, but holds no directive: that is one error, where nobody tries to read it as C."""
    found = directive_in_text(request.source, text)
    if found is not None:
        place = Position(request.source, found.line, found.column, 0)
        language = name_of(request.language) or request.language
        state.diagnostics.error(
            SourceRange(place, place),
            f"{language} is not supported: tilek directives stand in C sources alone",
            "move the function with the kernel to a C source, and call it from here",
        )
    return replace(state, request=request, text=text, scanned=(request.source,), plain=True)


def parse(state: State) -> State:
    """Bind directives to statements and build the LoopTree of every region."""
    if state.plain:
        return state
    from tilepragma.frontend.clang.compiler import CompilerFlags
    from tilepragma.frontend.translation_unit import parse_translation_unit

    request = state.request
    flags = CompilerFlags(arguments=request.options)
    return replace(state, unit=parse_translation_unit(request.source, request.text, flags, state.diagnostics))


def plan(state: State) -> State:
    """Decide launches, mapping and data of every region; the errors of all regions are collected."""
    if state.unit is None:
        return state
    if not state.unit.kernels:
        return state
    from tilepragma.ir.directives import TemporalTiles
    from tilepragma.plan.defaults import PlanDefaults
    from tilepragma.planner.applied_records import with_kept_sizes
    from tilepragma.planner.multi_versions import candidates_for, with_candidates
    from tilepragma.planner.planner import make_plan
    from tilepragma.planner.region_splitting import plan_region
    from tilepragma.sizes.records import kept_tiles, warn_of_unknown
    from tilepragma.verify.rules import PlanFault

    request = state.request
    defaults = PlanDefaults(_targets(request.targets), _temporal(state), request.device, state.unit.vectors)
    tried = candidates_for(request.source, os.environ) if request.kept else None
    kept, files = _kept_sizes(state) if tried is None else ((), ())
    floating = state.unit.floating

    def made(kernel: Kernel, diagnostics: Diagnostics) -> Planned | None:
        said = defaults
        if defaults.temporal is TemporalTiles.AUTOMATIC:  # what the user says goes before what was measured
            said = replace(defaults, host_temporal=kept_tiles(kernel.name, kept))
        return make_plan(kernel, floating, diagnostics, said)

    regions = []
    refused = state.diagnostics.has_errors
    for kernel in state.unit.kernels:
        try:  # so that the other regions are checked too
            regions.append(plan_region(kernel, made, state.diagnostics))
        except SourceError as error:
            state.diagnostics.add(error.diagnostic)
        except PlanFault:
            if not refused:  # a region that was refused already need not make a sound plan
                raise
    kernels = tuple(kernel for region in regions for kernel in region.kernels)
    warn_of_unknown(kept, [kernel.name for kernel in kernels], state.diagnostics)
    by_name = {kernel.name: kernel for kernel in kernels}
    planned = []
    for one in (each for region in regions for each in region.planned):
        make = partial(_version, state.unit, by_name[one.plan.kernel.name], one.plan, defaults)
        if tried is None:
            planned.append(with_kept_sizes(one, kept, state.diagnostics, make))
        else:
            planned.append(with_candidates(one, tried, state.diagnostics, make))
    chosen, asked = _with_choices(_with_registers(planned, request.device), request.device)
    return replace(
        state,
        unit=replace(state.unit, kernels=kernels),
        planned=chosen,
        held=tuple(one for region in regions for one in region.held),
        measured=(*files, *asked),
    )


def _version(
    unit: TranslationUnit,
    kernel: Kernel,
    usual: KernelPlan,
    defaults: PlanDefaults,
    text: str,
    place: SourceRange,
    number: int,
) -> PlanVersion:
    """The version of a kernel that a text at some place names. Raises RefusalError."""
    from tilepragma.frontend.pragma.version_text import parse_version
    from tilepragma.planner.versions import plan_version

    name, known = f"{kernel.name}_version{number}", {one.name for one in unit.kernels}
    while name in known:
        name += "_"
    return plan_version(usual, kernel, parse_version(text, place), name, unit.floating, defaults)


def _with_registers(planned: Sequence[Planned], device: Device | None) -> Sequence[Planned]:
    """With what NVRTC's ptxas says of registers on the GPU that is planned for, and the points of workers that follow."""
    from tilepragma.model.device import Gpu

    if not isinstance(device, Gpu):
        return planned
    from tilepragma.planner.thread_coarsening import with_measured_points

    gpu = device
    return [with_measured_points(one, gpu, lambda plan: _registers(plan, gpu)) for one in planned]


def _registers(plan: KernelPlan, gpu: device.Gpu) -> RegisterCounts:
    """What NVRTC makes of a plan's CUDA program, or why it does not."""
    from tilepragma.codegen.device_program import cuda_program
    from tilepragma.codegen.likely_numbers import likely_definitions
    from tilepragma.codegen.numbering import number
    from tilepragma.plan.kernel_plan import RegisterCounts, RegisterUse
    from tilepragma.pyruntime.nvrtc import NvrtcError, open_nvrtc

    if gpu.compute_capability is None:
        return RegisterCounts(f"estimated: {gpu.name} has no compute capability")
    numbering = number(plan)
    program = cuda_program(plan, numbering)
    fused = plan.floating.contract or plan.floating.fast
    options = (f"--fmad={str(fused).lower()}", *(("--use_fast_math",) if plan.floating.fast else ()))
    major, minor = gpu.compute_capability
    try:
        compiler = open_nvrtc()
        definitions = likely_definitions(plan, numbering, program, gpu.threads_per_block)
        found = compiler.compiled(program.text, 10 * major + minor, (*options, *definitions))
    except NvrtcError as error:
        return RegisterCounts(f"estimated: {error}")
    uses = (RegisterUse(name, one.registers, one.spilled) for name, one in found.items())
    return RegisterCounts(f"ptxas of NVRTC {compiler.version} for sm_{major}{minor}", tuple(uses))


def _with_choices(planned: Sequence[Planned], device: Device | None) -> tuple[tuple[Planned, ...], tuple[str, ...]]:
    """With what the model chooses for cores: those that are planned for, or this machine's where it is calibrated, and then the file that says so.
    What is proven of a plan is so whatever its sizes are. OpenCL processors have what the plan says of them.
    """
    from tilepragma.model.device import Processor

    if not any(one.plan.sizes for one in planned):
        return tuple(planned), ()
    named = isinstance(device, Processor) and not device.is_opencl
    processor = device if named else calibrated_device()
    if not isinstance(processor, Processor):
        return tuple(planned), ()
    from tilepragma.sizes.model_pick import with_model_choices  # where nothing is calibrated it is never needed

    chosen = tuple(replace(one, plan=with_model_choices(one.plan, processor)) for one in planned)
    return chosen, () if named else (str(_calibration("threads")),)


def _kept_sizes(state: State) -> tuple[tuple[KeptSizes, ...], tuple[str, ...]]:
    """What `tilepragma tune` has kept beside the source, and the file where it is. Raises OSError where it cannot be read."""
    from tilepragma.sizes.records import kept_file, read_kept

    request = state.request
    path = kept_file(request.source)
    if request.text is not None or not request.kept or state.unit is None:
        return (), ()
    try:
        text = file_bytes(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return (), ()
    except NoFileError as error:
        place = Position(str(path), 1, 1, 0)
        state.diagnostics.warning(SourceRange(place, place), f"kept tile sizes are ignored: {error.strerror}")
        return (), ()
    found = read_kept(text, str(path), state.diagnostics)
    return found, (str(path),)


def verify(state: State) -> State:
    """Check every plan by rules of their own; none that breaks one is emitted. Raises PlanFault, a fault of ours."""
    if not state.planned:
        return state
    from tilepragma.verify.rules import verify as verify_plan

    return replace(state, proven=tuple(verify_plan(one.plan, one.proof) for one in state.planned))


def emit(state: State) -> State:
    """Write the readable kernels where they are asked for: FILE.KERNEL.cl, FILE.KERNEL.cpu.cl and FILE.KERNEL.cu, and those of versions."""
    folder = state.request.kernel_folder
    if folder is None or not state.proven:
        return state
    from tilepragma.codegen.device_program import cuda_program, opencl_program
    from tilepragma.codegen.numbering import number
    from tilepragma.codegen.processor_program import processor_program

    programs = (
        ("opencl", "cl", opencl_program),
        ("opencl", "cpu.cl", processor_program),
        ("cuda", "cu", cuda_program),
    )
    folder.mkdir(parents=True, exist_ok=True)
    stem = Path(state.request.source).stem
    plans = [(each.plan, True) for each in state.proven]
    versions = [(one.plan, one.on_devices) for each in state.proven for one in each.plan.versions]
    for one, on_devices in (*plans, *versions):
        for target, suffix, program in programs:
            is_taken = on_devices or program is processor_program
            if is_taken and one.device and target in {allowed.value for allowed in one.targets}:
                text = program(one, number(one)).text
                write_atomically(folder / f"{stem}.{one.kernel.name}.{suffix}", text.encode())
    return state


def rewrite(state: State) -> State:
    """The user's source with each region replaced by its launch, kernels embedded."""
    request = state.request
    if state.unit is None:
        return replace(
            state, output=f"{line_directive(1, request.source)}\n".encode() + state.text if state.plain else None
        )
    from tilepragma.host.rewriter import rewrite as rewrite_unit

    plans = [one.plan for one in state.proven]
    return replace(
        state, output=rewrite_unit(state.unit, plans, request.output_name, _targets(request.targets), state.held)
    )


def _targets(names: tuple[str, ...]) -> tuple[Target, ...]:
    from tilepragma.ir.directives import Target

    return tuple(Target(name) for name in names or TARGET_NAMES)


def _temporal(state: State) -> TemporalTiles:
    """What the request says, else the environment; a value that is none of those meant is warned of and ignored."""
    from tilepragma.ir.directives import TemporalTiles

    said = state.request.temporal or os.environ.get(TEMPORAL_VARIABLE, "")
    names = [one.value for one in TemporalTiles]
    if said and said not in names and state.unit is not None:
        place = state.unit.kernels[0].directive.range
        state.diagnostics.warning(place, f"{TEMPORAL_VARIABLE}={said} is ignored: it is none of {', '.join(names)}")
    return TemporalTiles(said) if said in names else TemporalTiles.AUTOMATIC


def device_named(name: str) -> Device:
    """The device of a name, or of the path of its descriptor (docs/DEVICES.md).

    Raises LookupError for an unknown name, with those that are known; OSError where a file cannot be read; LocatedError where it is no
    descriptor.
    """
    from tilepragma.model.descriptor_files import named_device

    return named_device(name)


def known_devices() -> Iterable[KnownDevice]:
    """Every descriptor that can be named. Raises OSError where one cannot be read."""
    from tilepragma.model.descriptor_files import known_devices as known

    return known()


@dataclass(frozen=True)
class Pass:
    """One step of the pipeline: `show` prints its result for a dump. A step that `collects` errors runs in spite of
    earlier ones, so that all errors of a file come in one run.
    """

    name: str
    run: Callable[[State], State]
    show: Callable[[State], str]
    collects: bool = False


def _show_unit(state: State) -> str:
    from tilepragma.ir.loop_tree_text import statement_text

    kernels = state.unit.kernels if state.unit is not None else ()
    return "\n".join(f"kernel {kernel.name}\n{statement_text(kernel.body)}" for kernel in kernels)


def _show_plans(state: State) -> str:
    from tilepragma.planner.plan_text import plan_text

    return "\n".join(plan_text(one) for one in state.plans)


PASSES = (
    Pass("scan", scan, lambda state: "plain\n" if state.plain else "mentions tilek\n"),
    Pass("parse", parse, _show_unit, collects=True),
    Pass("plan", plan, _show_plans, collects=True),
    Pass("verify", verify, _show_plans),
    Pass("rewrite", rewrite, lambda state: (state.output or b"").decode("utf-8", "replace")),
    Pass("emit", emit, lambda state: str(state.request.kernel_folder or "")),
)


def translate(request: TranslateRequest) -> TranslateResult:
    """Run the passes up to `request.last`; where there are errors, only the passes that collect more.

    Raises OSError where the source cannot be read or a kernel not be written. Errors in the source are in the result.
    """
    try:
        return _translated(request, PASSES)
    except Exception as error:
        if not is_too_deep(error):
            raise
    # Python 3.12 counts calls through C by a limit that no program can raise.
    return _translated(replace(request, last=""), (PASSES[0], Pass("depth", _too_deep, lambda state: "")))


def _too_deep(state: State) -> State:
    state.diagnostics.add(too_deep(state.request.source, state.text))
    return state


@on_deep_stack
def _translated(request: TranslateRequest, passes: Sequence[Pass]) -> TranslateResult:
    """What the passes make of a request."""
    state = State(request)
    dumps: list[tuple[str, str]] = []
    for step in passes:
        if state.diagnostics.has_errors and not step.collects:
            break
        try:
            state = step.run(state)
        except SourceError as error:
            state.diagnostics.add(error.diagnostic)
        if step.name in request.dump:
            dumps.append((step.name, step.show(state)))
        if step.name == request.last:
            break
    failed = state.diagnostics.has_errors
    unit = state.unit
    return TranslateResult(
        diagnostics=tuple(state.diagnostics),
        output=None if failed else state.output,
        dependencies=_as_make_names((*(unit.dependencies if unit is not None else state.scanned), *state.measured)),
        system_dependencies=unit.system_dependencies if unit is not None else (),
        inlined=_as_make_names(
            [*(file.path for file in (unit.files[1:] if unit is not None else ())), *state.measured]
        ),
        measured=_as_make_names(state.measured),
        unit=unit,
        plans=state.plans,
        dumps=tuple(dumps),
        succeeded=not failed,
    )


def _as_make_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Without a leading `./`, as C compilers name them: to make, `./k.h` and `k.h` are two files."""
    return tuple(path.removeprefix("./") for path in paths)


@on_deep_stack
def explain(reports: Sequence[KernelFacts]) -> str:
    """What became of each kernel, in words, and what the engine knows of its loops."""
    from tilepragma.report.text import report_text

    return report_text(reports) or "No kernel regions: the program runs as it was written.\n"


def calibrated_device(key: str = "threads") -> Device | None:
    """What is here as `tilepragma devices --calibrate` has measured it, by the name of its descriptor; None where it has not, or its file was
    broken since.
    """
    from tilepragma.base.diagnostics import LocatedError
    from tilepragma.model.descriptor_files import read_descriptor

    try:
        return read_descriptor(_calibration(key))
    except (OSError, LocatedError):
        return None


def _calibration(key: str) -> Path:
    """Where `tilepragma devices --calibrate` keeps what it has measured."""
    from tilepragma.model.descriptor_files import users_descriptors

    return users_descriptors() / f"{key}.json"


@on_deep_stack
def kernel_reports(
    result: TranslateResult, sizes: Sizes | None = None, device: Device | None = None
) -> tuple[KernelFacts, ...]:
    """What a report says of each kernel; `sizes` are numbers for the kernels' parameters, and times are predicted for the device.

    Raises SizeError where they name no parameter of any kernel.
    """
    from tilepragma.report.facts import kernel_facts
    from tilepragma.report.size_values import Sizes, check_sizes
    from tilepragma.report.source_text import source_text

    numbers = Sizes() if sizes is None else sizes
    check_sizes(numbers, [plan.kernel for plan in result.plans])
    source = source_text(result.unit.files if result.unit is not None else ())
    return tuple(kernel_facts(plan, source, numbers, device) for plan in result.plans)


@on_deep_stack
def planned_version(request: TranslateRequest, result: TranslateResult, plan: KernelPlan, text: str) -> PlanVersion:
    """The version of a kernel that a text names, as a translation takes it that has it kept beside the source. Raises RefusalError."""
    from tilepragma.base.source_ranges import NOWHERE
    from tilepragma.plan.defaults import PlanDefaults

    assert result.unit is not None, "what has plans has a unit"
    state = State(request, unit=result.unit)
    defaults = PlanDefaults(_targets(request.targets), _temporal(state), request.device, result.unit.vectors)
    return _version(result.unit, as_written(result, plan), plan, defaults, text, NOWHERE, 1)


@on_deep_stack
def advice(result: TranslateResult, loops: bool) -> tuple[Diagnostic, ...]:
    """Notes that `check` adds: the kernels that run as written, methods that might be asked for and, with `loops`, what every loop is."""
    from tilepragma.report.advice import as_written_notes, device_notes, loop_notes, order_notes

    found = [
        *as_written_notes(result.plans, result.diagnostics),
        *device_notes(result.plans, result.diagnostics),
        *order_notes(result.plans),
    ]
    return (*found, *(loop_notes(kernel_reports(result)) if loops else ()))


@on_deep_stack
def serial_warnings(result: TranslateResult) -> tuple[Diagnostic, ...]:
    """Warnings of the kernels that run as written, on one core, each with a hint."""
    from tilepragma.report.advice import as_written_notes

    hint = "'tilepragma check' says what would change that; -Wno-tilek-serial turns this warning off"
    notes = as_written_notes(result.plans, result.diagnostics)
    return tuple(
        replace(one, severity=Severity.WARNING, notes=(Diagnostic(Severity.NOTE, one.range, hint),)) for one in notes
    )


@on_deep_stack
def explain_page(result: TranslateResult, reports: Sequence[KernelFacts], sizes: Sizes, source: str) -> ExplainPage:
    """Draw every nest of every kernel; `reports` are the kernels' of `result`, in order."""
    from tilepragma import __version__
    from tilepragma.report.explain_page import explain_page as page

    return page(result.plans, reports, sizes, source, __version__)
