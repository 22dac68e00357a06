"""The passes of a translation, in their order: each takes the state and returns it with its own
part filled in.

Heavy modules (libclang, isl, jinja2) are imported by the pass that needs them: a file without
directives costs nothing.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.c_text import line_directive
from tilepragma.base.diagnostics import Diagnostics, SourceError
from tilepragma.base.files import NoFileError, file_bytes, write_atomically
from tilepragma.base.languages import C, name_of
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.base.source_scan import directive_in_text, scan_source
from tilepragma.driver.state import TARGET_NAMES, State, TranslateRequest
from tilepragma.driver.target_device import calibrated_device, calibration_file

if TYPE_CHECKING:
    from tilepragma.ir.directives import Target, TemporalTiles
    from tilepragma.ir.loop_tree import Kernel, TranslationUnit
    from tilepragma.model.device import Gpu
    from tilepragma.plan.defaults import PlanDefaults
    from tilepragma.plan.kernel_plan import KernelPlan, PlanVersion, RegisterCounts
    from tilepragma.planner.assembly import Planned

#: Tiles of time steps, where a request says nothing of them: a value of TemporalTiles.
TEMPORAL_VARIABLE = "TILEK_TILES"


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


def read_records(state: State) -> State:
    """Read the tile sizes that `tilepragma tune` has kept beside the source, or, in a build of a
    tuning run, the versions that are tried. Raises OSError where these cannot be read.
    """
    request = state.request
    if state.unit is None or not state.unit.kernels or not request.kept:
        return state
    from tilepragma.planner.multi_versions import candidates_for
    from tilepragma.sizes.records import parse_records, records_file

    trials = candidates_for(request.source, os.environ)
    if trials is not None or request.text is not None:
        return replace(state, trials=trials)
    path = records_file(request.source)
    try:
        text = file_bytes(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return state
    except NoFileError as error:
        place = Position(str(path), 1, 1, 0)
        state.diagnostics.warning(SourceRange(place, place), f"kept tile sizes are ignored: {error.strerror}")
        return state
    records = parse_records(text, str(path), state.diagnostics)
    return replace(state, records=records, measured=(*state.measured, str(path)))


def plan(state: State) -> State:
    """Decide launches, mapping and data of every region; the errors of all regions are collected."""
    if state.unit is None or not state.unit.kernels:
        return state
    from tilepragma.ir.directives import TemporalTiles
    from tilepragma.planner.planner import make_plan
    from tilepragma.planner.region_splitting import plan_region
    from tilepragma.sizes.records import recorded_tiles

    defaults = plan_defaults(state, state.unit)
    floating = state.unit.floating

    def made(kernel: Kernel, diagnostics: Diagnostics) -> Planned | None:
        said = defaults
        if defaults.temporal is TemporalTiles.AUTOMATIC:  # what the user says goes before what was measured
            said = replace(defaults, host_temporal=recorded_tiles(kernel.name, state.records))
        return make_plan(kernel, floating, diagnostics, said)

    regions = []
    for kernel in state.unit.kernels:
        try:  # so that the other regions are checked too
            regions.append(plan_region(kernel, made, state.diagnostics))
        except SourceError as error:
            state.diagnostics.add(error.diagnostic)
    return replace(
        state,
        unit=replace(state.unit, kernels=tuple(kernel for region in regions for kernel in region.kernels)),
        defaults=defaults,
        planned=tuple(planned for region in regions for planned in region.planned),
        held=tuple(held for region in regions for held in region.held),
    )


def apply_records(state: State) -> State:
    """Give each plan the versions and tile sizes that were measured for it, or those that are tried."""
    if state.unit is None or state.defaults is None:
        return state
    from tilepragma.planner.applied_records import with_kept_sizes
    from tilepragma.planner.multi_versions import with_candidates
    from tilepragma.sizes.records import warn_of_unknown

    kernels = {kernel.name: kernel for kernel in state.unit.kernels}
    warn_of_unknown(state.records, list(kernels), state.diagnostics)
    applied = []
    for planned in state.planned:
        make = partial(plan_version, state.unit, kernels[planned.plan.kernel.name], planned.plan, state.defaults)
        if state.trials is None:
            applied.append(with_kept_sizes(planned, state.records, state.diagnostics, make))
        else:
            applied.append(with_candidates(planned, state.trials, state.diagnostics, make))
    return replace(state, planned=tuple(applied))


def measure_registers(state: State) -> State:
    """Ask NVRTC's ptxas what a thread takes of the GPU that is planned for, and coarsen threads accordingly."""
    from tilepragma.model.device import Gpu

    gpu = state.request.device
    if not isinstance(gpu, Gpu):
        return state
    from tilepragma.planner.thread_coarsening import with_measured_points

    measured = tuple(with_measured_points(each, gpu, lambda plan: _registers(plan, gpu)) for each in state.planned)
    return replace(state, planned=measured)


def choose_sizes(state: State) -> State:
    """Choose tile sizes on cores by the model: for the processor that is planned for, else for this
    machine where it is calibrated; its calibration is then among what was measured. A plan's proof
    holds for all tile sizes.
    """
    if not any(each.plan.sizes for each in state.planned):
        return state
    from tilepragma.model.device import Processor

    device = state.request.device
    named = isinstance(device, Processor) and not device.is_opencl
    processor = device if named else calibrated_device()
    if not isinstance(processor, Processor):
        return state
    from tilepragma.sizes.model_pick import with_model_choices

    chosen = tuple(replace(each, plan=with_model_choices(each.plan, processor)) for each in state.planned)
    measured = state.measured if named else (*state.measured, str(calibration_file("threads")))
    return replace(state, planned=chosen, measured=measured)


def verify(state: State) -> State:
    """Check every plan by rules of their own; none that breaks one is emitted. Raises PlanFault, a fault of ours."""
    if not state.planned:
        return state
    from tilepragma.verify.rules import verify as verify_plan

    return replace(state, proven=tuple(verify_plan(one.plan, one.proof) for one in state.planned))


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


def write_kernels(state: State) -> State:
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
    versions = [(version.plan, version.on_devices) for each in state.proven for version in each.plan.versions]
    for one, on_devices in (*plans, *versions):
        for target, suffix, program in programs:
            is_taken = on_devices or program is processor_program
            if is_taken and one.device and target in {allowed.value for allowed in one.targets}:
                text = program(one, number(one)).text
                write_atomically(folder / f"{stem}.{one.kernel.name}.{suffix}", text.encode())
    return state


def plan_defaults(state: State, unit: TranslationUnit) -> PlanDefaults:
    """What the command line and the environment say to the planner."""
    from tilepragma.plan.defaults import PlanDefaults

    return PlanDefaults(_targets(state.request.targets), _temporal(state), state.request.device, unit.vectors)


def plan_version(
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
    from tilepragma.planner import versions

    name, known = f"{kernel.name}_version{number}", {kernel.name for kernel in unit.kernels}
    while name in known:
        name += "_"
    return versions.plan_version(usual, kernel, parse_version(text, place), name, unit.floating, defaults)


def _registers(plan: KernelPlan, gpu: Gpu) -> RegisterCounts:
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


def _targets(names: tuple[str, ...]) -> tuple[Target, ...]:
    from tilepragma.ir.directives import Target

    return tuple(Target(name) for name in names or TARGET_NAMES)


def _temporal(state: State) -> TemporalTiles:
    """What the request says, else the environment; a value that is none of those meant is warned of and ignored."""
    from tilepragma.ir.directives import TemporalTiles

    said = state.request.temporal or os.environ.get(TEMPORAL_VARIABLE, "")
    names = [mode.value for mode in TemporalTiles]
    if said and said not in names and state.unit is not None:
        place = state.unit.kernels[0].directive.range
        state.diagnostics.warning(place, f"{TEMPORAL_VARIABLE}={said} is ignored: it is none of {', '.join(names)}")
    return TemporalTiles(said) if said in names else TemporalTiles.AUTOMATIC


def unit_text(state: State) -> str:
    """The regions as loop trees."""
    from tilepragma.ir.loop_tree_text import statement_text

    kernels = state.unit.kernels if state.unit is not None else ()
    return "\n".join(f"kernel {kernel.name}\n{statement_text(kernel.body)}" for kernel in kernels)


def plans_text(state: State) -> str:
    """The plans, as far as the passes have made them."""
    from tilepragma.planner.plan_text import plan_text

    return "\n".join(plan_text(plan) for plan in state.plans)
