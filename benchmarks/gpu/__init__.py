"""The GPU's benchmark: `python -m benchmarks.gpu --help`, from the root of the checkout."""
