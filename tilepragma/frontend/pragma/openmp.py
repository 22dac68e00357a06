"""OpenMP lines as tilek directives: `#pragma omp parallel for …` is a kernel over its loop, and so
is `#pragma omp for …` in a region of threads (`frontend/clang/openmp_regions.py`).

What the line promises is the user's word: the iterations of its loop are independent, named
variables are private or sums. A kernel is first planned without the promise of independence, so
that the translator's own order and tiles are free; with it (`independent`) where the analysis alone
does not run the loop in parallel. What neither way takes stays OpenMP's (`left`).

Clauses that speak of threads alone (`schedule`, `num_threads`, `proc_bind`) or of what the analysis
finds by itself (`shared`, `default`, `lastprivate`) are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.grammar import parse_directive
from tilepragma.frontend.pragma.scanner import LocatedDirective, OpenMPText
from tilepragma.frontend.pragma.spliced_source import Token
from tilepragma.frontend.pragma.syntax import RawClause, matched, split_clauses
from tilepragma.ir.directives import KernelDirective, LoopDirective, OpenMPRegion, UntranslatedOpenMP

#: Where a directive begins: its file and the offset there.
Place = tuple[str, int]

_LOOPS = (("parallel", "for", "simd"), ("parallel", "for"), ("for", "simd"), ("for",))
#: Clauses of tilek with the same meaning, those of the loop part last.
_KERNEL_CLAUSES, _LOOP_CLAUSES = ("reduction", "firstprivate", "if"), ("private", "collapse")
_DROPPED = (
    *("shared", "default", "lastprivate", "schedule", "num_threads", "proc_bind", "nowait"),
    *("simdlen", "safelen", "aligned", "nontemporal", "order"),
)
#: Constructs that may follow `parallel` on a line, and that are no loops.
_INNER = ("sections", "loop", "master", "masked")
#: Constructs that distribute work. Others, such as `simd`, say nothing that is lost.
_WORK = ("parallel", "for", "sections", "task", "taskloop", "target", "teams", "distribute")


@dataclass(frozen=True)
class OpenMPInput:
    """How OpenMP lines are read. Those at `independent` places are kernels with their promise of
    independence; those that are `left` stay OpenMP's.
    """

    independent: frozenset[Place] = frozenset()
    left: frozenset[Place] = frozenset()


def place_of(range_: SourceRange) -> Place:
    """Where a directive with this range begins."""
    return range_.file, range_.start.offset


def thread_private_names(files: Iterable[Sequence[OpenMPText]]) -> frozenset[str]:
    """The variables of which each thread has its own (`threadprivate`)."""
    lines = (line.words for lines in files for line in lines)
    return frozenset(name for words in lines if words[:1] == ("threadprivate",) for name in words[1:])


def openmp_directives(
    lines: Iterable[OpenMPText], openmp: OpenMPInput, diagnostics: Diagnostics
) -> tuple[LocatedDirective, ...]:
    """What lines of OpenMP are as directives; errors go to `diagnostics`, about their lines."""
    directives = []
    for line in lines:
        with diagnostics.about(line.range):
            directive = _directive(line.tokens, line.range, openmp, diagnostics)
        if directive is not None:
            directives.append(LocatedDirective(directive, line.range, line.end_offset))
    return tuple(directives)


def _directive(
    tokens: Sequence[Token], place: SourceRange, openmp: OpenMPInput, diagnostics: Diagnostics
) -> tuple[KernelDirective, LoopDirective] | OpenMPRegion | UntranslatedOpenMP | None:
    """The kernel that `tokens`, those behind `omp`, spell, and its loop, or the region; `place` is
    their range.

    The line itself where it stays OpenMP's; None where it distributes nothing. Errors go to
    `diagnostics`.
    """
    if not tokens or tokens[0].text not in _WORK:
        return None
    if place_of(place) in openmp.left:
        return UntranslatedOpenMP(place)
    with diagnostics.reporting():
        construct = next((words for words in _LOOPS if _begins_with(tokens, words)), None)
        if construct is None and (len(tokens) > 1 and tokens[1].text in _INNER or tokens[0].text != "parallel"):
            name = " ".join(token.text for token in tokens[:2] if token.is_identifier)
            raise source_error(place, f"tilepragma does not translate 'omp {name}'")
        clauses = split_clauses(matched(tokens[len(construct or ("parallel",)) :], diagnostics), diagnostics)
        kernel, loop = _kernel(tokens, clauses, place, openmp, diagnostics)
        if construct is None:
            is_usual = not any(clause.name in ("num_threads", "if") for clause in clauses)
            return OpenMPRegion(place, (*kernel.privates, *loop.privates), kernel.reductions, is_usual)
        return replace(kernel, in_openmp_region=construct[0] == "for"), loop
    return UntranslatedOpenMP(place)


def _kernel(
    tokens: Sequence[Token],
    clauses: Sequence[RawClause],
    place: SourceRange,
    openmp: OpenMPInput,
    diagnostics: Diagnostics,
) -> tuple[KernelDirective, LoopDirective]:
    """Raises SourceError for a clause that has no meaning here."""
    for clause in clauses:
        if clause.name not in (*_KERNEL_CLAUSES, *_LOOP_CLAUSES, *_DROPPED):
            raise source_error(clause.range, f"tilepragma does not translate the clause '{clause.name}' of OpenMP")
    is_independent = place_of(place) in openmp.independent

    def tokens_of(names: Sequence[str]) -> list[Token]:
        ranges = [clause.range for clause in clauses if clause.name in names]
        chosen = [
            each for each in tokens if any(range_.holds(place.file, each.range.start.offset) for range_ in ranges)
        ]
        # A difference is a sum: OpenMP adds the copies of `reduction(-: x)`.
        is_sign = ["reduction", "(", "-"]
        texts = [each.text for each in chosen]
        return [
            replace(each, text="+") if texts[max(index - 2, 0) : index + 1] == is_sign else each
            for index, each in enumerate(chosen)
        ]

    def word(text: str) -> Token:
        return Token(text, place, True, True)

    kernel = parse_directive([word("kernel"), *tokens_of(_KERNEL_CLAUSES)], place, diagnostics)
    head = [word("loop"), *([word("independent")] if is_independent else [])]
    loop = parse_directive([*head, *tokens_of(_LOOP_CLAUSES if is_independent else ("private",))], place, diagnostics)
    assert isinstance(kernel, KernelDirective) and isinstance(loop, LoopDirective), "these are their words"
    return replace(kernel, openmp_line=place), loop


def _begins_with(tokens: Sequence[Token], words: Sequence[str]) -> bool:
    return [token.text for token in tokens[: len(words)]] == list(words)
