"""Vectors, convex hulls and the projection of three dimensions to the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.svg import Point

Vector = tuple[float, ...]

_NEARLY = 1e-9


def minus(one: Vector, other: Vector) -> Vector:
    """one - other"""
    return tuple(a - b for a, b in zip(one, other, strict=True))


def plus(one: Vector, other: Vector, factor: float = 1.0) -> Vector:
    """one + factor * other"""
    return tuple(a + factor * b for a, b in zip(one, other, strict=True))


def dot(one: Vector, other: Vector) -> float:
    """The inner product."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def cross(one: Vector, other: Vector) -> Vector:
    """The vector product in three dimensions."""
    (a, b, c), (d, e, f) = one, other
    return (b * f - c * e, c * d - a * f, a * e - b * d)


def length(vector: Vector) -> float:
    """The Euclidean norm."""
    return math.sqrt(dot(vector, vector))


def middle(points: Sequence[Vector]) -> Vector:
    """The mean of the points."""
    return tuple(sum(values) / len(points) for values in zip(*points, strict=True))


def hull(points: Iterable[Point]) -> list[Point]:
    """The corners of the convex hull in the plane, counter-clockwise; one or two where all points lie on a line."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    corners = lower[:-1] + upper[:-1]
    return corners if len(corners) > 2 else [ordered[0], ordered[-1]]


def _chain(points: Sequence[Point]) -> list[Point]:
    found: list[Point] = []
    for point in points:
        while len(found) > 1 and _turn(found[-2], found[-1], point) <= _NEARLY:
            found.pop()
        found.append(point)
    return found


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@dataclass(frozen=True)
class Face:
    """A face of a polyhedron: its outer `normal` and its `corners`, in order around it."""

    normal: Vector
    corners: tuple[Vector, ...]


def faces(points: Sequence[Vector]) -> list[Face]:
    """The faces of the convex hull of at most some dozens of points; none where they lie in a plane."""
    corners = _without_middles(points)
    found: dict[tuple[float, ...], Face] = {}
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
                found.setdefault(key, Face(outer, tuple(_around(on_it, outer))))
    return list(found.values())


def _without_middles(points: Sequence[Vector]) -> list[Vector]:
    """The points that lie halfway between no two others: corners are among them."""
    there = set(points)
    return [
        point
        for point in there
        if not any(plus(plus(point, point), other, -1.0) in there for other in there if other != point)
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
        found = cross(self.x, self.y)
        return tuple(value / length(found) for value in found)

    def __call__(self, point: Vector) -> Point:
        """Where a point of space falls on the page."""
        return dot(self.x, point), dot(self.y, point)


#: Nearly isometric, turned so far that points of a lattice do not fall on each other: the first
#: axis recedes to the upper left, the second runs to the right, the third up.
AXONOMETRIC = Projection((-0.74, 0.90, 0.0), (-0.26, -0.08, -1.0))
#: The plane as it is, y upwards.
PLANE = Projection((1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
