"""The request, the state that the passes share, and the result of a translation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostic, Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.languages import C

if TYPE_CHECKING:
    from tilepragma.base.source_ranges import SourceRange
    from tilepragma.codegen.manifest import KernelManifest
    from tilepragma.frontend.pragma.openmp import OpenMPInput
    from tilepragma.frontend.translation_unit import ParsedSource
    from tilepragma.ir.loop_tree import Kernel, TranslationUnit
    from tilepragma.model.device import Device
    from tilepragma.plan.command_line import PlanOptions
    from tilepragma.plan.kernel_plan import KernelPlan, ResidentRegion
    from tilepragma.planner.assembly import Planned
    from tilepragma.planner.candidate_search import Searches
    from tilepragma.planner.region_splitting import PlannedRegion
    from tilepragma.planner.versions import Candidates
    from tilepragma.sizes.records import TuningRecord
    from tilepragma.verify.certificate import Proof

#: What `targets` of a request may name.
TARGET_NAMES = ("serial", "threads", "opencl", "cuda")


@dataclass(frozen=True)
class TranslateRequest:
    """What to translate.

    `source` is the path as the user names it (for diagnostics and `#line`); `text` its content, if
    not to be read from there. `output_name` is the output's name in its `#line`s (empty: generated
    lines get the directives' lines). `language` is the source's: only C may hold directives.
    `options` are the compiler's raw options; `quote_folders` and `folders` those of -iquote and -I
    among them. `targets` are those to build for (empty: all). `temporal` is a value of
    TemporalTiles (empty: TILEK_TILES decides). `device` is the one to plan for (`named_device`).
    `kernel_folder` receives the readable kernels. `use_records`: whether tuning records beside the
    source are used. `openmp`: OpenMP's lines are directives too. `last` is the last pass to run;
    `dump` names passes whose result the caller wants as text.
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
    use_records: bool = True
    openmp: bool = False
    last: str = "write_kernels"
    dump: frozenset[str] = frozenset()
    language: str = C


@dataclass(frozen=True)
class TranslateResult:
    """The result. `output` is None where there are errors, or where the request stopped earlier.

    `dependencies` are the files that the output depends on, the source first. `system_dependencies`
    are system headers, known where a region was parsed. Compilers of the output do not see two
    groups: `inlined` headers, whose text it contains, and `measured` files: tuning records, and
    this machine's calibration. The output can be made without these. `unit` and `plans` are for
    explaining. `dumps` are (pass, text).
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
class RegionPlans:
    """What planning made of a kernel, None if it refused it, and what it said."""

    kernel: Kernel
    region: PlannedRegion | None
    said: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class State:
    """The passes' results so far. Each pass adds one part; only `diagnostics` collects.

    `openmp` is how OpenMP's lines are read, None if they are no input. Later rounds of reading them
    take again the `parsed` source, `region_plans`: by the kernels' ranges, the plans made so far,
    and `searches` for plans.
    """

    request: TranslateRequest
    openmp: OpenMPInput | None = None
    parsed: ParsedSource | None = None
    region_plans: Mapping[SourceRange, RegionPlans] = field(default_factory=dict)
    searches: Searches = field(default_factory=dict)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    text: bytes = b""
    scanned: tuple[str, ...] = ()
    plain: bool = False
    unit: TranslationUnit | None = None
    records: tuple[TuningRecord, ...] = ()
    trials: Candidates | None = None
    defaults: PlanOptions | None = None
    planned: tuple[Planned, ...] = ()
    resident: tuple[ResidentRegion, ...] = ()
    measured: tuple[str, ...] = ()
    proven: tuple[Proof, ...] = ()
    manifests: tuple[KernelManifest, ...] = ()
    output: bytes | None = None

    @property
    def plans(self) -> tuple[KernelPlan, ...]:
        """The plans of all regions, proven or not."""
        return tuple(planned.plan for planned in self.planned)


@dataclass(frozen=True)
class Pass:
    """One step of the pipeline; `show` prints its result, for `--dump-after`. A pass that
    `collects` errors runs despite earlier ones, so that one run gives all errors.
    """

    run: Callable[[State], State]
    show: Callable[[State], str]
    collects: bool = False

    @property
    def name(self) -> str:
        """The function's."""
        return self.run.__name__
