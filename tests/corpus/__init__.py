"""Translates every program available and shows what changed (`python -m tests.corpus --help`)."""
