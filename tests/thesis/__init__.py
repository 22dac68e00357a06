"""Algorithms of the thesis, and of ICS'08, that the product does not run: what tests hold its answers and printed figures against."""
