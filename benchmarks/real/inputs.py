"""Input data that Rodinia's repository lacks: random, with a fixed seed, as its programs read them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache

import numpy

#: Makes the content of a file, once.
Maker = Callable[[], bytes]


def _random() -> numpy.random.Generator:
    return numpy.random.default_rng(1)


def lines_of_numbers(count: int, least: float, most: float) -> Maker:
    """One number a line."""
    return cache(lambda: "".join(f"{value:.6f}\n" for value in _random().uniform(least, most, count)).encode())


def counted_integers(count: int) -> Maker:
    """How many there are, and then one a line, each different (b+tree)."""
    return cache(lambda: "".join(f"{value}\n" for value in (count, *_random().permutation(count))).encode())


def points(count: int, attributes: int) -> Maker:
    """Lines of a number of the point and its attributes (kmeans); they gather around ten centres."""

    @cache
    def made() -> bytes:
        random = _random()
        centres = random.integers(0, 200, (10, attributes))
        rows = centres[random.integers(0, 10, count)] + random.integers(0, 40, (count, attributes))
        return "".join(f"{k} {' '.join(map(str, row))}\n" for k, row in enumerate(rows.tolist())).encode()

    return made


def hurricanes(count: int) -> Maker:
    """Records of 49 characters with a latitude and a longitude (nn)."""

    @cache
    def made() -> bytes:
        places = _random().uniform((7.0, 0.0), (63.0, 358.0), (count, 2))
        rows = (
            f"1991  6 14 12  7 NAME{k % 10000:<5d} {x:5.1f} {y:5.1f}   55  178\n" for k, (x, y) in enumerate(places)
        )
        return "".join(rows).encode()

    return made


def image(rows: int, columns: int) -> Maker:
    """A grey PGM picture as text, with a header of three lines (srad)."""

    @cache
    def made() -> bytes:
        grey = _random().integers(0, 256, (rows, columns)).tolist()
        return f"P2\n{columns} {rows}\n255\n{''.join(' '.join(map(str, row)) + chr(10) for row in grey)}".encode()

    return made


def video(width: int, height: int, frames: int) -> Maker:
    """An AVI file of uncompressed grey frames: rings that move over a background with noise (heartwall, leukocyte)."""

    @cache
    def made() -> bytes:
        random = _random()
        centres = random.uniform((40, 120), (width - 40, height - 120), (12, 2))
        x, y = numpy.meshgrid(numpy.arange(width), numpy.arange(height))
        chunks = []
        for _ in range(frames):
            grey = random.normal(110, 6, (height, width))
            for across, down in centres:
                distance = numpy.hypot(x - across, y - down)
                grey += 70 * (distance < 9) - 60 * (numpy.abs(distance - 11) < 2)
            centres += random.uniform(-1, 1, centres.shape)
            chunks.append(_chunk(b"00db", grey.clip(0, 255).astype(numpy.uint8).tobytes()))
        stream = struct.pack("<4s4s10I", b"vids", b"DIB ", 0, 0, 0, 1, 25, 0, frames, 0, 0, 0)
        form = struct.pack("<3I2H6I", 40, width, height, 1, 8, 0, width * height, 0, 0, 0, 0)
        header = _list(b"hdrl", [_chunk(b"strh", stream), _chunk(b"strf", form)])
        return _chunk(b"RIFF", b"AVI " + header + _list(b"movi", chunks))

    return made


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _list(name: bytes, chunks: Sequence[bytes]) -> bytes:
    return _chunk(b"LIST", name + b"".join(chunks))
