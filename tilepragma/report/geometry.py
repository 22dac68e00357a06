"""Vectors, convex hulls and the projection of three dimensions to the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from tilepragma.base.frozen_values import dataclass

Point = tuple[float, float]
Vector = tuple[float, ...]

_NEARLY = 1e-9


def minus(left: Vector, right: Vector) -> Vector:
    """left - right"""
    return tuple(a - b for a, b in zip(left, right, strict=True))


def plus(left: Vector, right: Vector, factor: float = 1.0) -> Vector:
    """left + factor * right"""
    return tuple(a + factor * b for a, b in zip(left, right, strict=True))


def dot(left: Vector, right: Vector) -> float:
    """The inner product."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def cross(left: Vector, right: Vector) -> Vector:
    """The vector product in three dimensions."""
    (a, b, c), (d, e, f) = left, right
    return (b * f - c * e, c * d - a * f, a * e - b * d)


def length(vector: Vector) -> float:
    """The Euclidean norm."""
    return math.sqrt(dot(vector, vector))


def middle(points: Sequence[Vector]) -> Vector:
    """The mean of the points."""
    return tuple(sum(values) / len(points) for values in zip(*points, strict=True))


def hull(points: Iterable[Point]) -> list[Point]:
    """The corners of the convex hull in the plane, counter-clockwise; one or two for a line."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    corners = lower[:-1] + upper[:-1]
    return corners if len(corners) > 2 else [ordered[0], ordered[-1]]


def _chain(points: Sequence[Point]) -> list[Point]:
    corners: list[Point] = []
    for point in points:
        while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= _NEARLY:
            corners.pop()
        corners.append(point)
    return corners


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@dataclass(frozen=True)
class Face:
    """A face of a polyhedron: its outer `normal` and its `corners`, in order around it."""

    normal: Vector
    corners: tuple[Vector, ...]


def faces(points: Sequence[Vector]) -> list[Face]:
    """The faces of the convex hull of at most some dozens of points; none for points in a plane."""
    corners = _without_middles(points)
    by_plane: dict[tuple[float, ...], Face] = {}
    for a, b, c in itertools.combinations(corners, 3):
        normal = cross(minus(b, a), minus(c, a))
        size = length(normal)
        if size < _NEARLY:
            continue
        normal = tuple(value / size for value in normal)
        sides = [dot(normal, minus(point, a)) for point in corners]
        for sign in (1.0, -1.0):
            if all(sign * side <= _NEARLY for side in sides) and any(abs(side) > _NEARLY for side in sides):
                outer = tuple(sign * value for value in normal)
                on_it = [point for point, side in zip(corners, sides, strict=True) if abs(side) <= _NEARLY]
                key = (*(round(value, 6) for value in outer), round(dot(outer, a), 6))
                by_plane.setdefault(key, Face(outer, tuple(_around(on_it, outer))))
    return list(by_plane.values())


def _without_middles(points: Sequence[Vector]) -> list[Vector]:
    """The points that lie halfway between no two others; corners are among them."""
    there = set(points)
    return [
        point
        for point in there
        if not any(plus(plus(point, point), end, -1.0) in there for end in there if end != point)
    ]


def _around(points: Sequence[Vector], normal: Vector) -> list[Vector]:
    """The corners of the convex polygon of points in one plane, in order."""
    axis = next(unit for unit in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)) if length(cross(normal, unit)) > 0.1)
    across = cross(normal, axis)
    along = cross(across, normal)
    flat = {(round(dot(point, across), 9), round(dot(point, along), 9)): point for point in points}
    return [flat[corner] for corner in hull(flat)]


@dataclass(frozen=True)
class Projection:
    """A parallel projection: the page's x and y (growing downwards) of each axis of space."""

    x: Vector
    y: Vector

    @property
    def towards(self) -> Vector:
        """The direction towards the viewer, of length 1."""
        normal = cross(self.x, self.y)
        return tuple(value / length(normal) for value in normal)

    def __call__(self, point: Vector) -> Point:
        """The page's point for a point of space."""
        return dot(self.x, point), dot(self.y, point)


#: Nearly isometric, turned so that lattice points do not coincide: the first axis recedes to the
#: upper left, the second runs to the right, the third up.
AXONOMETRIC = Projection((-0.74, 0.90, 0.0), (-0.26, -0.08, -1.0))
#: The plane itself, y upwards.
PLANE = Projection((1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
