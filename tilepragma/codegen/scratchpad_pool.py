"""The scratchpads of a staged launch (`Launch.staged_scratchpads`): their places in shared memory.

A scratchpad's length is a sum of tile sizes. If the sizes are constants, the compiler sees whether
the scratchpads fit and drops dead code. If they are arguments, the program declares a pool for the
scratchpads, and the kernel tests whether they fit.
"""

from __future__ import annotations

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.shared_memory import StagedMacros
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Scratchpad
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import Launch

_WORD = 8


@dataclass(frozen=True)
class ScratchpadPool:
    """Prints the scratchpads of one staged launch. `printer` prints the launch's arrays."""

    launch: Launch
    dialect: Dialect
    numbers: Numbers
    printer: Printer

    @property
    def macros(self) -> StagedMacros:
        """The macros defined before the entry point."""
        name = self.launch.name.upper()
        value = " + ".join(map(self._words, self.launch.staged_scratchpads))
        return StagedMacros(f"{name}_STAGED_WORDS", value, f"{name}_STAGED", f"{name}_POOL_WORDS")

    def flats(self) -> dict[DataObject, Flat]:
        """The layout of each scratchpad, for accesses by one index."""
        return {
            scratchpad.object: Flat(
                tuple(self._length(scratchpad, place) for place in range(1, scratchpad.object.rank))
            )
            for scratchpad in self.launch.staged_scratchpads
        }

    def declare(self, writer: Writer) -> None:
        """Declare the pool, at the head of the entry point."""
        writer.line(f"{self.dialect.local_space}{self.dialect.wide} {self._pool}[{self.macros.pool}];")

    def start(self, writer: Writer) -> None:
        """Declare the scratchpads' pointers into the pool, and the lengths of their rows."""
        space, place = self.dialect.pointed_local_space, self._pool
        for scratchpad in self.launch.staged_scratchpads:
            object_ = scratchpad.object
            pointer = self.printer.type(object_.element, "*")
            declared = self.printer.type(object_.element, f"*const {self.printer.name(object_)}")
            inner = place if place == self._pool else f"({place})"
            writer.line(f"{space}{declared} = ({space}{pointer}){inner};")
            for dimension in range(1, object_.rank):
                writer.line(f"const int {self._length(scratchpad, dimension)} = {self._text(scratchpad, dimension)};")
            place = f"{place} + {self._words(scratchpad)}"

    @property
    def _pool(self) -> str:
        return self.numbers.fresh("pool")

    def _length(self, scratchpad: Scratchpad, dimension: int) -> str:
        return self.numbers.fresh(f"{scratchpad.object.name}_length{dimension}")

    def _text(self, scratchpad: Scratchpad, dimension: int) -> str:
        length = scratchpad.object.lengths[dimension]
        assert length is not None, "scratchpads have lengths"
        return self.printer.expression(length, 1)

    def _words(self, scratchpad: Scratchpad) -> str:
        """How many words of the pool a scratchpad takes."""
        element = scratchpad.object.element
        assert isinstance(element, ScalarType), "scratchpads are of numbers"
        sides = (self._text(scratchpad, dimension) for dimension in range(scratchpad.object.rank))
        product = " * ".join(f"({side})" if " " in side else side for side in sides)
        size = element.bits // 8
        return product if size == _WORD else f"({product} * {size} + {_WORD - 1}) / {_WORD}"
