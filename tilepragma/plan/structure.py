"""S1: the user's own loops. What is independent is launched, sequential loops around it run on the host."""

from __future__ import annotations

from tilepragma.plan.strategy import Automatic, Refusal, Region


def structure(region: Region) -> Automatic | Refusal:
    """Launches of what is independent, host loops around them."""
    return Refusal("not written yet")
