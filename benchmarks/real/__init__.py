"""Programs of others, from your own copies of Rodinia, NPB in C and TSVC: whether they build, agree,
run in parallel, and how long they take beside gcc with OpenMP.

`python -m benchmarks.real --help`, from the root of the checkout.
"""
