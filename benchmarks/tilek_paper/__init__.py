"""Section 5 of the TileK paper here: its four kernels in its 8 and 40 versions over a space of inputs."""
