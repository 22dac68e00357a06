"""tilepragma: C loop nests under `#pragma tilek`, run on GPUs and cores."""

__version__ = "0.1.0"
