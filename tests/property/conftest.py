"""Property tests run on busy machines: no example has a deadline of its own."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
