"""Pictures are well formed and complete: markers for instances, arrows for dependences, shapes for tiles."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

from tests.unit.report.pictures import CASES, SVG, TILED, drawn, elements, golden, numbers, space_of
from tilepragma.report.drawing import node, number, time_colour
from tilepragma.report.geometry import AXONOMETRIC, faces, hull
from tilepragma.report.nest_figures import scene_of


@pytest.mark.parametrize("name", CASES)
def test_pictures_are_well_formed(name: str) -> None:
    for figure in drawn(space_of(golden(name))).values():
        root = ElementTree.fromstring(figure.svg)
        assert root.tag == f"{SVG}svg"
        assert root.find(f"{SVG}title") is not None
        assert all(math.isfinite(value) for value in numbers(figure))
        assert "href" not in figure.svg
        assert "url(" not in figure.svg
        assert figure.svg.count("http") == 1  # the name space


@pytest.mark.parametrize("name", CASES)
def test_everything_drawn_lies_on_the_sheet(name: str) -> None:
    for figure in drawn(space_of(golden(name))).values():
        root = ElementTree.fromstring(figure.svg)
        left, top, width, height = (float(word) for word in root.get("viewBox", "").split())
        for circle in root.findall(f"{SVG}circle"):
            assert left <= float(circle.get("cx", "")) <= left + width
            assert top <= float(circle.get("cy", "")) <= top + height


@pytest.mark.parametrize("name", CASES)
def test_a_marker_for_every_instance(name: str) -> None:
    space = space_of(golden(name))
    pictures = drawn(space)
    assert len(elements(pictures["dependences"], "instance")) == len(space.instances)
    if space.depth < 3 and name in TILED:
        assert len(elements(pictures["tiles"], "instance")) == len(space.instances)


@pytest.mark.parametrize("name", TILED)
def test_a_shape_for_every_tile(name: str) -> None:
    space = space_of(golden(name))
    assert len(elements(drawn(space)["tiles"], "tile")) == len({instance.tile for instance in space.instances})


def test_an_arrow_for_every_pair_of_dependent_iterations() -> None:
    space = space_of(golden("smooth"))
    ends = {(pair.source, pair.sink) for pair in space.pairs}
    arrows = elements(drawn(space)["dependences"], "arrow")
    assert len(arrows) == len(ends)
    kinds = [element.get("class", "").split()[1] for element in arrows]
    # (1, 0) is flow, anti and output: drawn as flow. (0, 1) is anti alone.
    assert (kinds.count("flow"), kinds.count("anti"), kinds.count("output")) == (8 * 9 + 8 * 8, 9 * 8, 0)


def test_arrows_of_one_iteration_where_all_would_hide_each_other() -> None:
    space = space_of(golden("gauss_seidel_3d"))
    assert len(elements(drawn(space)["dependences"], "arrow")) == 3


def test_no_arrows_without_dependences() -> None:
    space = space_of(
        "void f(int n, double a[n])\n{\n#pragma tilek kernel\n    for (int i = 0; i < n; i++)\n        a[i] = 1.0;\n}\n"
    )
    pictures = drawn(space)
    assert elements(pictures["dependences"], "arrow") == []
    assert "No iteration depends on another" in pictures["dependences"].caption
    assert list(pictures) == ["dependences"], "the plan has no tiles"


ON_DATA = """void f(int n, double a[n][n], double b[n][n])
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
            a[i][j] = a[i - 1][j] + 1;
            if (a[i][j] > 0)
                b[i][j] = b[i][j - 1] * 2;
        }
}
"""


def test_what_may_be_absent_is_drawn_apart() -> None:
    space = space_of(ON_DATA)
    figure = drawn(space)["dependences"]
    for each in elements(figure, "arrow"):
        shaft, head = list(next(iter(each)))
        assert (
            (shaft.get("stroke-dasharray") == "9 4")
            == (head.get("fill") == "#ffffff")
            == ("perhaps" in each.get("class", ""))
        )
    assert ">perhaps flow (0, 1)<" in figure.svg
    assert ">flow (0, 0), (1, 0)<" in figure.svg
    arrows = {(pair.source, pair.sink) for pair in space.pairs if not pair.certain}
    assert arrows and len(elements(figure, "perhaps")) == len(arrows)


def test_no_tile_in_space_hides_a_number() -> None:
    picture = drawn(space_of(golden("gauss_seidel_3d")))["tiles"]
    words = [place for place, one in enumerate(ElementTree.fromstring(picture.svg)) if one.get("font-weight") == "bold"]
    shapes = [place for place, one in enumerate(ElementTree.fromstring(picture.svg)) if one.get("class") == "tile"]
    assert words and max(shapes) < min(words)
    assert len(words) // 2 <= len(shapes), "a rim and a number each"


def test_distance_vectors_are_written() -> None:
    svg = drawn(space_of(golden("smooth")))["dependences"].svg
    assert ">(1, −1)<" in svg
    assert "flow (1, −1), (1, 0)" in svg
    assert "output (1, 0), along the same arrows" in svg


def test_statements_of_one_iteration_stand_apart() -> None:
    """Jacobi's second nest lies half a time step behind its first."""
    space = space_of(golden("jacobi_1d"))
    placed = scene_of(space, ())
    assert placed.axes == ("t", "i")
    assert len(set(placed.spots)) == len(space.instances)
    for spot, instance in zip(placed.spots, space.instances, strict=True):
        assert spot == (instance.point[0] + 0.5 * instance.statement, instance.point[1])


def test_a_statement_outside_the_innermost_loop_stands_before_it() -> None:
    space = space_of(golden("product"))
    placed = scene_of(space, ())
    first = {spot[2] for spot, one in zip(placed.spots, space.instances, strict=True) if one.statement == 0}
    assert first == {-1.0}


@pytest.mark.parametrize("name", CASES)
def test_no_two_instances_in_one_place(name: str) -> None:
    spots = scene_of(space_of(golden(name)), ()).spots
    assert len(set(spots)) == len(spots)


def test_lattice_points_do_not_fall_on_each_other() -> None:
    vectors = [(a, b, c) for a in range(-5, 6) for b in range(-5, 6) for c in range(-5, 6) if (a, b, c) > (0, 0, 0)]
    assert min(math.hypot(*AXONOMETRIC((float(a), float(b), float(c)))) for a, b, c in vectors) > 0.33


def test_hull_and_faces_of_a_cube() -> None:
    points = [(float(a), float(b), float(c)) for a in range(3) for b in range(3) for c in range(3)]
    result = faces(points)
    assert len(result) == 6
    assert all(len(face.corners) == 4 for face in result)
    assert faces(points[:9]) == []  # a square has none
    assert hull([(0, 0), (1, 0), (2, 0)]) == [(0, 0), (2, 0)]
    assert hull([(0, 0), (2, 0), (1, 1), (1, 0.2)]) == [(0, 0), (2, 0), (1, 1)]


def test_colours_darken_with_time() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    shades = [lightness(time_colour(place, 12)) for place in range(12)]
    assert shades == sorted(shades, reverse=True)


def test_numbers_that_are_none_never_reach_a_picture() -> None:
    with pytest.raises(ValueError, match="nan"):
        number(math.nan)
    with pytest.raises(ValueError, match="inf"):
        node("circle", r=math.inf)
    assert [number(value) for value in (1.0, -0.001, 2.344, 0.1)] == ["1", "0", "2.34", "0.1"]


def test_arrows_bend_around_what_stands_between() -> None:
    """A dependence over eleven iterations of the inner loop is no straight line through them."""
    space = space_of(
        "void f(int n, double x[n])\n{\n#pragma tilek kernel\n    for (int i = 0; i < 3; i++) {\n        x[i] = 1.0;\n"
        "        for (int j = 0; j < 9; j++)\n            x[20 + 10 * i + j] = 2.0;\n        x[i] = x[i] + 3.0;\n    }\n}\n"
    )
    arrows = elements(drawn(space)["dependences"], "arrow")
    assert len(arrows) == 3
    assert all("Q" in element[0][0].get("d", "") for element in arrows)
