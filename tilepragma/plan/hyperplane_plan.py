"""S2: hyperplanes. Algorithm 4.1's rows for what the user's own loops do not make parallel.

Statements are taken apart where nothing ties them (polyhedral/parallel_parts.py). A part whose rows run at once becomes a
launch over these rows; one whose band must be ordered becomes a host loop over wavefronts of tiles, with a launch for the
tiles of one wavefront (wavefront_plan.py); rows that are stepped through become host loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.ir.looptree import Block
from tilepragma.plan.drafts import Draft, DraftLaunch, DraftLoop, make_automatic
from tilepragma.plan.row_loops import RowLoops
from tilepragma.plan.strategy import Automatic, Refusal, Region
from tilepragma.plan.wavefront_plan import wavefront_draft

if TYPE_CHECKING:
    from tilepragma.ir.expressions import DataObject
    from tilepragma.polyhedral.parallel_parts import Part
    from tilepragma.polyhedral.parallel_parts import RowLoop as SteppedRow


def hyperplanes(region: Region) -> Automatic | Refusal:
    """Drafts of the whole region, or why hyperplanes do not help."""
    from tilepragma.polyhedral.operation_limit import OperationLimitError

    try:
        return _hyperplanes(region)
    except OperationLimitError as limit:
        return Refusal(str(limit))


def _hyperplanes(region: Region) -> Automatic | Refusal:
    from tilepragma.polyhedral.parallel_parts import PartKind, parallel_parts, parts_in
    from tilepragma.polyhedral.part_scan import PartCode
    from tilepragma.polyhedral.program import program_of

    if region.scop.reasons:
        first = region.scop.reasons[0]
        return Refusal(f"line {first.range.start.line} is not affine: {first.reason}")
    program = program_of(region.scop, region.dependences)
    parts = parallel_parts(program.statements, program.dependences)
    if all(each.kind is PartKind.SERIAL for each in parts_in(parts)):
        return Refusal("no hyperplane of Algorithm 4.1 leaves anything to run at once")
    code = PartCode(region.scop, program)
    host, device = RowLoops(region, code, device=False), RowLoops(region, code, device=True)
    drafts = tuple(_Drafts(each).drafts(parts, ()) for each in (host, device))
    if isinstance(drafts[0], Refusal) or isinstance(drafts[1], Refusal):
        return Refusal("a row of the hyperplanes has no bound that is known at launch")
    return make_automatic("hyperplanes", region, drafts[0], drafts[1], tuple(host.sizes.values()))
