"""How right the model of times is (thesis 5.5): random layouts of tile sizes, predicted against
measured, and what the planner's choice is worth.

`python -m benchmarks.accuracy [POLYBENCH]`.
"""
