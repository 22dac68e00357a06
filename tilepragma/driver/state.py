"""What a translation is asked for, what its passes hand on, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostic, Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.languages import C

if TYPE_CHECKING:
    from tilepragma.ir.loop_tree import TranslationUnit
    from tilepragma.model.device import Device
    from tilepragma.plan.defaults import PlanDefaults
    from tilepragma.plan.kernel_plan import HeldRegion, KernelPlan
    from tilepragma.planner.assembly import Planned
    from tilepragma.planner.multi_versions import Candidates
    from tilepragma.sizes.records import TuningRecord
    from tilepragma.verify.rules import Proven

#: What `targets` of a request may name.
TARGET_NAMES = ("serial", "threads", "opencl", "cuda")


@dataclass(frozen=True)
class TranslateRequest:
    """What to translate.

    `source` is the path as the user names it (diagnostics and `#line` use it); `text` its content
    where it is not to be read from there. `output_name` is how the output is named in its own
    `#line`s (empty: its generated lines are the directives'). `language` is the source's: only C
    may hold directives. `options` are the compiler's options, raw; `quote_folders` and `folders`
    those of -iquote and -I among them. `targets` are those to build for (empty: all). `temporal` is
    a value of TemporalTiles (empty: what TILEK_TILES says). `device` is the one to plan for
    (`device_named`). `kernel_folder` receives the readable kernels. `kept`: whether tile sizes that
    are kept beside the source are taken. `last` is the pass after which to stop; `dump` names
    passes whose result is handed to the caller as text.
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
    last: str = "write_kernels"
    dump: frozenset[str] = frozenset()
    language: str = C


@dataclass(frozen=True)
class TranslateResult:
    """What came of it. `output` is None where there are errors, or where the request stopped
    earlier.

    `dependencies` are the files that the output depends on, the source first; `system_dependencies`
    the headers of the system, known where a region was parsed; `inlined` those that compilers of
    the output do not see any more: headers whose text stands in it, and `measured`: tile sizes that
    were kept, and this machine's calibration where it was asked. The output can be made without
    these. `unit` and `plans` are for explaining. `dumps` are (pass, text).
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
    records: tuple[TuningRecord, ...] = ()
    trials: Candidates | None = None
    defaults: PlanDefaults | None = None
    planned: tuple[Planned, ...] = ()
    held: tuple[HeldRegion, ...] = ()
    measured: tuple[str, ...] = ()
    proven: tuple[Proven, ...] = ()
    output: bytes | None = None

    @property
    def plans(self) -> tuple[KernelPlan, ...]:
        """The plans of all regions, proven or not."""
        return tuple(one.plan for one in self.planned)


@dataclass(frozen=True)
class Pass:
    """One step of the pipeline. `show` prints what it made, for `--dump-after`. A pass that
    `collects` errors runs in spite of earlier ones, so that all errors of a file come in one run.
    """

    run: Callable[[State], State]
    show: Callable[[State], str]
    collects: bool = False

    @property
    def name(self) -> str:
        """The function's."""
        return self.run.__name__
