"""The passes of a translation, in order: each returns the state with its own part added.

A pass imports its heavy modules (libclang, isl, jinja2): a file without directives costs nothing.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.c_text import line_directive
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.files import NoFileError, file_bytes, write_atomically
from tilepragma.base.languages import C, name_of
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.base.source_scan import directive_in_text, scan_source
from tilepragma.driver.state import TARGET_NAMES, RegionPlans, State, TranslateRequest

if TYPE_CHECKING:
    from tilepragma.ir.directives import Target, TemporalTiles
    from tilepragma.ir.loop_tree import Kernel, TranslationUnit
    from tilepragma.model.device import Gpu
    from tilepragma.plan.command_line import PlanOptions
    from tilepragma.plan.kernel_plan import KernelPlan, PlanVersion, RegisterCounts
    from tilepragma.planner.assembly import Planned

#: The default for tiles of time steps: a value of TemporalTiles.
TEMPORAL_VARIABLE = "TILEK_TILES"


def scan(state: State) -> State:
    """Read the source; a source that does not mention tilek passes unchanged. Raises OSError."""
    request = state.request
    text = request.text if request.text is not None else Path(request.source).read_bytes()
    if request.text is None and not Path(request.source).is_file():
        request = replace(request, text=text)  # a pipe or a device can be read only once
    if request.language != C:
        return _other_language(state, request, text)
    scanned = scan_source(request.source, request.quote_folders, request.folders, text, request.openmp)
    marked = any("tilek" in option for option in request.options)
    return replace(state, request=request, text=text, scanned=scanned.files, plain=not scanned.mentions and not marked)


def _other_language(state: State, request: TranslateRequest, text: bytes) -> State:
    """A source that is not C passes, but a directive in it is one error, without parsing."""
    directive = directive_in_text(request.source, text)
    if directive is not None:
        language = name_of(request.language) or request.language
        state.diagnostics.error(
            SourceRange(directive, directive),
            f"{language} is not supported: tilek directives stand in C sources alone",
            "move the function with the kernel to a C source, and call it from here",
        )
    return replace(state, request=request, text=text, scanned=(request.source,), plain=True)


def parse(state: State) -> State:
    """Bind directives to statements and build the LoopTree of every region."""
    if state.plain:
        return state
    from tilepragma.frontend.clang.compiler import CompilerFlags
    from tilepragma.frontend.translation_unit import lower_source, parse_source

    request, parsed = state.request, state.parsed
    if parsed is None:
        flags = CompilerFlags(arguments=request.options)
        parsed = parse_source(request.source, request.text, flags, state.diagnostics)
    unit = None if parsed is None else lower_source(parsed, state.diagnostics, state.openmp)
    return replace(state, parsed=parsed, unit=unit)


def read_records(state: State) -> State:
    """Read the tuning records beside the source, or a tuning run's versions. Raises OSError."""
    request = state.request
    if state.unit is None or not state.unit.kernels or not request.use_records:
        return state
    from tilepragma.planner.versions import candidates_for
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
        state.diagnostics.warning(SourceRange(place, place), f"recorded tile sizes are ignored: {error.strerror}")
        return state
    records = parse_records(text, str(path), state.diagnostics)
    return replace(state, records=records, measured=(*state.measured, str(path)))


def plan(state: State) -> State:
    """Decide launches, mapping and data of every region; collect the errors of all regions."""
    if state.unit is None or not state.unit.kernels:
        return state
    from tilepragma.ir.directives import TemporalTiles
    from tilepragma.planner.planner import make_plan
    from tilepragma.planner.region_splitting import plan_region
    from tilepragma.sizes.records import recorded_tiles

    defaults = plan_options(state, state.unit)
    floating = state.unit.floating

    def made(kernel: Kernel, diagnostics: Diagnostics) -> Planned | None:
        region_defaults = defaults
        if defaults.temporal is TemporalTiles.AUTOMATIC:  # what the user says goes before what was measured
            region_defaults = replace(defaults, host_temporal=recorded_tiles(kernel.name, state.records))
        return make_plan(kernel, floating, diagnostics, region_defaults, state.searches)

    made_plans = []
    for kernel in state.unit.kernels:
        plans = state.region_plans.get(kernel.range)
        if plans is None or plans.kernel != kernel:
            said, region = Diagnostics(), None
            with said.reporting():  # so that the other regions are checked too
                region = plan_region(kernel, made, said)
            plans = RegionPlans(kernel, region, tuple(said))
        with state.diagnostics.about(kernel.directive.openmp_line):
            state.diagnostics.add_all(plans.said)
        made_plans.append(plans)
    regions = [plans.region for plans in made_plans if plans.region is not None]
    return replace(
        state,
        region_plans={plans.kernel.range: plans for plans in made_plans},
        unit=replace(state.unit, kernels=tuple(kernel for region in regions for kernel in region.kernels)),
        defaults=defaults,
        planned=tuple(planned for region in regions for planned in region.planned),
        resident=tuple(resident for region in regions for resident in region.resident),
    )


def apply_records(state: State) -> State:
    """Give each plan its measured versions and tile sizes, or those that are tried."""
    if state.unit is None or state.defaults is None:
        return state
    from tilepragma.planner.versions import with_candidates, with_kept_sizes
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
    """Ask NVRTC's ptxas for the threads' registers on the planned GPU, and coarsen threads."""
    from tilepragma.model.device import Gpu

    gpu = state.request.device
    if not isinstance(gpu, Gpu):
        return state
    from tilepragma.planner.thread_coarsening import with_measured_points

    measured = tuple(
        with_measured_points(planned, gpu, lambda plan: _registers(plan, gpu)) for planned in state.planned
    )
    return replace(state, planned=measured)


def choose_sizes(state: State) -> State:
    """Choose tile sizes on cores by the model. The processor is the planned one, else this machine
    where it is calibrated; its calibration is then in `measured`. A plan's proof holds for all tile
    sizes.
    """
    if not any(planned.plan.sizes for planned in state.planned):
        return state
    from tilepragma.model.descriptor_files import calibrated_device, calibration_file
    from tilepragma.model.device import Processor

    device = state.request.device
    named = isinstance(device, Processor) and not device.is_opencl
    processor = device if named else calibrated_device()
    if not isinstance(processor, Processor):
        return state
    from tilepragma.sizes.model_pick import with_model_choices

    chosen = tuple(replace(planned, plan=with_model_choices(planned.plan, processor)) for planned in state.planned)
    measured = state.measured if named else (*state.measured, str(calibration_file("threads")))
    return replace(state, planned=chosen, measured=measured)


def verify(state: State) -> State:
    """Check every plan by independent rules before it is emitted. Raises PlanFault, our fault."""
    if not state.planned:
        return state
    from tilepragma.verify.rules import verify as verify_plan

    return replace(state, proven=tuple(verify_plan(each.plan, each.proof, each.scop) for each in state.planned))


def rewrite(state: State) -> State:
    """The user's source with each region replaced by its launch, kernels embedded."""
    request = state.request
    if state.unit is None:
        plain = f"{line_directive(1, request.source)}\n".encode() + state.text if state.plain else None
        return replace(state, output=plain)
    from tilepragma.codegen.manifest import describe
    from tilepragma.host.rewriter import rewrite as rewrite_unit

    manifests = tuple(describe(proven.plan, _targets(request.targets)) for proven in state.proven)
    output = rewrite_unit(state.unit, manifests, request.output_name, state.resident)
    return replace(state, manifests=manifests, output=output)


def write_kernels(state: State) -> State:
    """Write readable kernels if asked: FILE.KERNEL.cl, .cpu.cl and .cu, also those of versions."""
    folder = state.request.kernel_folder
    if folder is None or not state.manifests:
        return state
    folder.mkdir(parents=True, exist_ok=True)
    stem = Path(state.request.source).stem
    for manifest in (*state.manifests, *(version for each in state.manifests for version in each.versions)):
        for program in manifest.programs.values():
            name = f"{stem}.{manifest.plan.kernel.name}.{program.suffix}"
            write_atomically(folder / name, program.text.encode())
    return state


def plan_options(state: State, unit: TranslationUnit) -> PlanOptions:
    """The planner's defaults from the command line and the environment."""
    from tilepragma.plan.command_line import PlanOptions

    return PlanOptions(_targets(state.request.targets), _temporal(state), state.request.device, unit.vectors)


def plan_version(
    unit: TranslationUnit,
    kernel: Kernel,
    usual: KernelPlan,
    defaults: PlanOptions,
    text: str,
    place: SourceRange,
    number: int,
) -> PlanVersion:
    """The version of a kernel that a text at some place names. Raises RefusalError."""
    from tilepragma.frontend.pragma.version_text import parse_version
    from tilepragma.planner import versions

    name, taken = f"{kernel.name}_version{number}", {kernel.name for kernel in unit.kernels}
    while name in taken:
        name += "_"
    return versions.plan_version(usual, kernel, parse_version(text, place), name, unit.floating, defaults)


def _registers(plan: KernelPlan, gpu: Gpu) -> RegisterCounts:
    """NVRTC's registers for a plan's CUDA program, or why it has none."""
    from tilepragma.codegen.device_program import device_program
    from tilepragma.codegen.dialect import CUDA
    from tilepragma.codegen.likely_numbers import likely_definitions
    from tilepragma.driver.compiled_counts import compiler_options
    from tilepragma.plan.kernel_plan import RegisterCounts, RegisterUse
    from tilepragma.pyruntime.nvrtc import NvrtcError, open_nvrtc

    if gpu.compute_capability is None:
        return RegisterCounts(f"estimated: {gpu.name} has no compute capability")
    program = device_program(plan, CUDA)
    options = compiler_options(plan)
    major, minor = gpu.compute_capability
    try:
        compiler = open_nvrtc()
        definitions = likely_definitions(plan, program, gpu.threads_per_block)
        compiled = compiler.compiled(program.text, 10 * major + minor, (*options, *definitions))
    except NvrtcError as error:
        return RegisterCounts(f"estimated: {error}")
    uses = (RegisterUse(name, usage.registers, usage.spilled) for name, usage in compiled.items())
    return RegisterCounts(f"ptxas of NVRTC {compiler.version} for sm_{major}{minor}", tuple(uses))


def _targets(names: tuple[str, ...]) -> tuple[Target, ...]:
    from tilepragma.ir.directives import Target

    return tuple(Target(name) for name in names or TARGET_NAMES)


def _temporal(state: State) -> TemporalTiles:
    """The request's value, else the environment's; an unknown value is ignored with a warning."""
    from tilepragma.ir.directives import TemporalTiles

    value = state.request.temporal or os.environ.get(TEMPORAL_VARIABLE, "")
    names = [mode.value for mode in TemporalTiles]
    if value and value not in names and state.unit is not None:
        place = state.unit.kernels[0].directive.range
        state.diagnostics.warning(place, f"{TEMPORAL_VARIABLE}={value} is ignored: it is none of {', '.join(names)}")
    return TemporalTiles(value) if value in names else TemporalTiles.AUTOMATIC


def unit_text(state: State) -> str:
    """The regions as loop trees."""
    from tilepragma.ir.loop_tree_text import statement_text

    kernels = state.unit.kernels if state.unit is not None else ()
    return "\n".join(f"kernel {kernel.name}\n{statement_text(kernel.body)}" for kernel in kernels)


def plans_text(state: State) -> str:
    """The plans, as far as the passes have made them."""
    from tilepragma.planner.plan_text import plan_text

    return "\n".join(plan_text(plan) for plan in state.plans)
