"""The pipeline: a C file in, a C file with launches out. `PASSES` lists all passes in order.

Each pass reads the state and adds one part to it (docs/ARCHITECTURE.md); `tilepragma translate
--dump-after NAME` prints that part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilepragma.base.deep_recursion import is_too_deep, on_deep_stack
from tilepragma.base.diagnostics import SourceError
from tilepragma.driver import passes
from tilepragma.driver.state import Pass, State, TranslateRequest, TranslateResult
from tilepragma.driver.texts import too_deep

PASSES = (
    # base/: does the source mention tilek at all?
    Pass(passes.scan, lambda state: "plain\n" if state.plain else "mentions tilek\n"),
    # frontend/: directives and C to loop trees
    Pass(passes.parse, passes.unit_text, collects=True),
    # sizes/: what tuning has measured for this source
    Pass(
        passes.read_records,
        lambda state: "".join(f"{file}\n" for file in state.measured) or "no records\n",
        collects=True,
    ),
    # planner/: normalise/, then the user's tiles (user_tiles/) or the search (schedule/, storage/,
    # verify/), arguments/
    Pass(passes.plan, passes.plans_text, collects=True),
    # planner/: measured versions and sizes
    Pass(passes.apply_records, passes.plans_text, collects=True),
    # pyruntime/: what ptxas says of the emitted CUDA; nothing runs
    Pass(passes.measure_registers, passes.plans_text),
    # sizes/, cost/: the model's tile sizes for cores
    Pass(passes.choose_sizes, passes.plans_text),
    # verify/: every rule, and a proof of each plan that has none yet
    Pass(passes.verify, passes.plans_text),
    # host/, codegen/: programs, manifest, and the user's source with launches
    Pass(passes.rewrite, lambda state: (state.output or b"").decode("utf-8", "replace")),
    # codegen/: the same programs as files for readers
    Pass(passes.write_kernels, lambda state: str(state.request.kernel_folder or "")),
)


def translate(request: TranslateRequest) -> TranslateResult:
    """Run the passes up to `request.last`; after errors, only the passes that collect more. Raises
    OSError where the source cannot be read or a kernel cannot be written. Errors in the source are
    in the result.
    """
    try:
        return _translated(request, PASSES)
    except Exception as error:
        if not is_too_deep(error):
            raise
    # Python 3.12 limits calls through C, and no program can raise the limit.
    return _translated(replace(request, last=""), (PASSES[0], Pass(_too_deep, lambda state: "")))


def _too_deep(state: State) -> State:
    state.diagnostics.add(too_deep(state.request.source, state.text))
    return state


@on_deep_stack
def _translated(request: TranslateRequest, steps: Sequence[Pass]) -> TranslateResult:
    dumps: list[tuple[str, str]] = []

    def run(state: State, after: str, last: str) -> State:
        if not after:
            dumps.clear()
        begin = [step.name for step in steps].index(after) + 1 if after else 0
        return _passed(state, steps[begin:], last, dumps)

    if request.openmp:
        from tilepragma.driver.openmp_rounds import settled

        state = settled(request, run)
    else:
        state = run(State(request), "", request.last)
    failed = state.diagnostics.has_errors
    unit = state.unit
    headers = unit.files[1:] if unit is not None else ()
    return TranslateResult(
        diagnostics=tuple(state.diagnostics),
        output=None if failed else state.output,
        dependencies=_as_make_names((*(unit.dependencies if unit is not None else state.scanned), *state.measured)),
        system_dependencies=unit.system_dependencies if unit is not None else (),
        inlined=_as_make_names((*(file.path for file in headers), *state.measured)),
        measured=_as_make_names(state.measured),
        unit=unit,
        plans=state.plans,
        dumps=tuple(dumps),
        succeeded=not failed,
    )


def _passed(state: State, steps: Sequence[Pass], last: str, dumps: list[tuple[str, str]]) -> State:
    """The state after the passes up to `last`; `dumps` gets what the request wants to see."""
    request = state.request
    for step in steps:
        if state.diagnostics.has_errors and not step.collects:
            break
        try:
            state = step.run(state)
        except SourceError as error:
            state.diagnostics.add(error.diagnostic)
        if step.name in request.dump:
            dumps.append((step.name, step.show(state)))
        if step.name == last:
            break
    return state


def _as_make_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Without a leading `./`, as C compilers print them: make tells `./k.h` from `k.h`."""
    return tuple(path.removeprefix("./") for path in paths)
