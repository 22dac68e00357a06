"""Writes a region's readable kernels: NAME.cl, NAME.cu, and NAME.cpu.cl for processors."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tilepragma.codegen.describe import describe
from tilepragma.ir.directives import Target
from tilepragma.plan.kernel_plan import KernelPlan


def emit_kernels(plan: KernelPlan, folder: Path, targets: Collection[Target]) -> tuple[Path, ...]:
    """Write the region's device programs into `folder`; the files written. Makes the folder if it
    is missing. A region that runs as written has no programs. Raises OSError where a file cannot be
    written.
    """
    manifest = describe(plan, targets)
    written = []
    for text, ending in ((manifest.opencl, "cl"), (manifest.cuda, "cu"), (manifest.processors, "cpu.cl")):
        if text is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{manifest.name}.{ending}"
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return tuple(written)
