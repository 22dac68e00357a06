"""The benchmark suite: what the generated code takes beside the originals, hand-written OpenMP and
its peers.

`python -m benchmarks.suite --help`, from the root of the checkout.
"""
