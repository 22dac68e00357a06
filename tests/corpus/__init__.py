"""Every program at hand, translated: what a change of the translator changes (`python -m tests.corpus --help`)."""
