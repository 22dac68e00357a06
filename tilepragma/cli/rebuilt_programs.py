"""A user's program rebuilt by the user's command with trial versions, passed in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilepragma.base.frozen_values import dataclass
from tilepragma.cli.exploration_programs import compiled
from tilepragma.cli.progress import measuring_progress
from tilepragma.driver.texts import trying_environment
from tilepragma.tuning.kernel_tuning import TuningError
from tilepragma.tuning.programs import NotBuiltError


@dataclass
class UserBuild:
    """A shell `command` that builds the program of a source, which is touched before, so that make
    runs. `folder` holds the build's input. `is_tried`: the program has trial versions.
    """

    command: str
    source: Path
    folder: Path
    is_built: bool = False
    is_tried: bool = False

    def once(self) -> None:
        """Build the program if that was not done yet. Raises TuningError."""
        if not self.is_built:
            self._build({}, "building the program")

    def with_versions(self, kernel: str, texts: Sequence[str], on_devices: bool) -> None:
        """Build it with these versions of a kernel. Raises TuningError."""
        environment = trying_environment(self.folder / "candidates.json", str(self.source), kernel, texts, on_devices)
        self.is_tried = True
        self._build(environment, f"building the program with {len(texts)} versions of {kernel}")

    def as_it_stands(self) -> None:
        """Rebuild it without trial versions, if it has any. Raises TuningError."""
        if self.is_tried:
            self._build({}, "building the program again as it stands")
            self.is_tried = False

    def _build(self, environment: Mapping[str, str], what: str) -> None:
        os.utime(self.source)
        with measuring_progress() as progress:
            progress.add_task(f"{what}: {self.command}", total=None)
            try:
                compiled(("sh", "-c", self.command), self.folder, environment)
            except NotBuiltError as error:
                raise TuningError(
                    f"cannot be tried: its program {error}", f"see what it says by itself: {self.command}"
                ) from None
        self.is_built = True
