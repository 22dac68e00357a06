"""A user's relaxation on a model problem, as a C program that counts sweeps and time.

`explain --measure` compares methods by it.

    u[x] = sum over offsets o of  c_o * u[x + o],    u = 0 around the mesh

At first u is uniformly random in [0, 1). The coefficients, the order of loops, the directions of
sweeps, the type of elements and the mesh's extents are the user's. A right-hand side is an array of
zeros. The solution is u = 0, so the greatest |u| is the error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import SorMethod
from tilepragma.ir.expressions import Access, Binary, Cast, Expression, FloatingLiteral, Unary
from tilepragma.ir.laurent import LaurentPolynomial
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Offset, SorNest, Sweep, Variation
from tilepragma.report.page import template
from tilepragma.report.size_values import Sizes, iterations, value_of


class NoModelError(Exception):
    """Why a relaxation has no model problem, as a clause."""


@dataclass(frozen=True)
class CoefficientValues:
    """Numbers for names in coefficients: integer sizes, and `given`, by the user's expressions."""

    sizes: Sizes
    given: Mapping[str, float]

    def of(self, value: LaurentPolynomial) -> float:
        """The polynomial's value; not finite where it divides by 0. Raises NoModelError."""
        return math.fsum(
            float(factor) * math.prod(_power(self.atom(atom), exponent) for atom, exponent in powers)
            for powers, factor in value.terms
        )

    def atom(self, node: Expression) -> float:
        """An expression's value. Raises NoModelError."""
        text = expression_text(node)
        if text in self.given:
            return self.given[text]
        whole = value_of(node, self.sizes)
        if whole is not None:
            return float(whole)
        if isinstance(node, FloatingLiteral):
            return float(node.value)
        if isinstance(node, Cast):
            return self.atom(node.operand)
        if isinstance(node, Unary) and node.operator in ("+", "-"):
            operand = self.atom(node.operand)
            return operand if node.operator == "+" else -operand
        if isinstance(node, Binary) and node.operator in ("+", "-", "*", "/"):
            left, right = self.atom(node.left), self.atom(node.right)
            if node.operator == "/":
                return left * _power(right, -1)
            return {"+": left + right, "-": left - right, "*": left * right}[node.operator]
        raise NoModelError(f"coefficients depend on {text}: say --value {text}=NUMBER")


def _power(value: float, exponent: int) -> float:
    return math.inf if value == 0 and exponent < 0 else value**exponent


def best_factor(sweep: Sweep, extents: Sequence[int], values: CoefficientValues) -> Mapping[str, float]:
    """{name: number} of the relaxation factor w, if the coefficients name it without a value.

    The name may stand for w or for a multiple of it. The number is the best factor,

        w = 2 / (1 + sqrt(1 - rho^2)),
        rho = sum over o != 0 of  c_o / w * product over dimensions d of cos(pi o_d / (n_d + 1)),

    for stars of equal coefficients and consistently ordered sweeps (Young), and is near it for
    others. Empty elsewhere.
    """
    if sweep.relaxation is None or len(sweep.relaxation.terms) != 1:
        return {}
    ((powers, factor),) = sweep.relaxation.terms
    if len(powers) != 1 or powers[0][1] != 1 or not isinstance(powers[0][0], Access):
        return {}
    name = expression_text(powers[0][0])
    try:
        values.atom(powers[0][0])
    except NoModelError:
        unrelaxed = CoefficientValues(values.sizes, {**values.given, name: float(1 / factor)})
        radius = math.fsum(
            unrelaxed.of(neighbour.coefficient) * _symbol(neighbour.offset, extents)
            for neighbour in sweep.neighbours
            if any(neighbour.offset)
        )
        best = 2 / (1 + math.sqrt(max(1 - radius**2, 0.0)))
        return {name: best / float(factor)}
    return {}


def _symbol(offset: Offset, extents: Sequence[int]) -> float:
    return math.prod(math.cos(math.pi * part / (extent + 1)) for part, extent in zip(offset, extents, strict=True))


# -- model problem


#: Default inner points along each dimension, by the number of dimensions.
DEFAULT_EXTENTS = {1: (512,), 2: (256, 256), 3: (64, 64, 64)}
#: Default number of layers that `sor(multilayer)` computes together.
_LAYERS = 16
_OVER = {Variation.SPACE: "in space", Variation.SWEEP: "from sweep to sweep"}
_CLAUSE = "@clause@"


@dataclass(frozen=True)
class ModelProblem:
    """A program for each method. `kernels` share this relaxation, `line` is its assignment in the
    first. `extents` are the inner points along each dimension, `values` numbers for names in
    coefficients, `chosen` those without a number from the user. `clauses` ask for the methods. The
    program checks the error after `rounds` rounds of the loop around sweeps, each of `sweeps`.
    """

    kernels: tuple[str, ...]
    line: int
    array: str
    element: str
    extents: tuple[int, ...]
    values: Mapping[str, float]
    chosen: frozenset[str]
    clauses: tuple[str, ...]
    rounds: int
    sweeps: int
    text: str

    def program(self, clause: str) -> str:
        """The program that asks for a method; without its pragmas it runs the original loops."""
        return self.text.replace(_CLAUSE, clause)


@dataclass(frozen=True)
class NoModel:
    """Why no method is measured for the likely relaxation at `line`."""

    kernel: str
    line: int
    reason: str


def model_problems(
    kernels: Sequence[Kernel], sizes: Sizes, values: Mapping[str, float]
) -> tuple[ModelProblem | NoModel, ...]:
    """The model problem of each relaxation, shared by equal ones. `values`: coefficients."""
    problems: dict[tuple[str, tuple[str, ...]], ModelProblem] = {}
    others: list[NoModel] = []
    for kernel in kernels:
        for nest in relaxations(kernel):
            try:
                if not isinstance(nest, SorNest):
                    others += [NoModel(kernel.name, nest.range.start.line, nest.reason)] if nest.near else []
                    continue
                made = _problem(nest, kernel, CoefficientValues(sizes, values))
            except NoModelError as error:
                others.append(NoModel(kernel.name, nest.range.start.line, str(error)))
                continue
            problem = problems.setdefault((made.text, made.clauses), made)
            names = tuple(dict.fromkeys((*problem.kernels, kernel.name)))
            problems[made.text, made.clauses] = replace(problem, kernels=names)
    return (*problems.values(), *others)


def names_in_coefficients(kernels: Sequence[Kernel]) -> frozenset[str]:
    """The names in the coefficients of relaxations."""
    nests = (nest for kernel in kernels for nest in relaxations(kernel) if isinstance(nest, SorNest))
    return frozenset(name for nest in nests for name in _names(nest.sweeps[0]))


def _names(sweep: Sweep) -> set[str]:
    atoms = (atom for neighbour in sweep.neighbours for atom in neighbour.coefficient.atoms)
    return {expression_text(node) for atom in atoms for node in walk(atom) if isinstance(node, Access)}


def _problem(nest: SorNest, kernel: Kernel, values: CoefficientValues) -> ModelProblem:
    """Raises NoModelError."""
    for variation in nest.varying:
        how = f"{_OVER[variation.over]} with {expression_text(variation.expression)}"
        line = variation.range.start.line
        raise NoModelError(f"coefficients vary {how} (line {line}), and those of the model problem do not")
    sweep, element = nest.sweeps[0], nest.array.element
    assert isinstance(element, ScalarType)
    extents = _extents(sweep, values.sizes)
    chosen = best_factor(sweep, extents, values)
    values = replace(values, given={**values.given, **chosen})
    coefficients = {neighbour.offset: values.of(neighbour.coefficient) for neighbour in sweep.neighbours}
    if not all(map(math.isfinite, coefficients.values())):
        raise NoModelError("coefficients are divided by 0")
    if coefficients.get((0,) * len(extents)) == 1:
        raise NoModelError("the diagonal is zero: each element keeps all of its old value")
    layers, clauses = _methods(kernel)
    return ModelProblem(
        kernels=(kernel.name,),
        line=sweep.range.start.line,
        array=nest.array.host,
        element=element.spelling,
        extents=extents,
        values={name: values.given[name] for name in sorted(_names(sweep)) if name in values.given},
        chosen=frozenset(chosen),
        clauses=clauses,
        rounds=-(-2 * layers // len(nest.sweeps)),
        sweeps=len(nest.sweeps),
        text=_text(nest, element, len(extents), coefficients),
    )


def _extents(sweep: Sweep, sizes: Sizes) -> tuple[int, ...]:
    """Inner points along each dimension, in the order of subscripts. Raises NoModelError."""
    trips = dict(zip(sweep.order, (iterations(loop, sizes) for loop in sweep.loops), strict=True))
    extents = tuple(count for _, count in sorted(trips.items()) if count is not None)
    if len(extents) < len(trips):
        return DEFAULT_EXTENTS[len(trips)]
    if 0 in extents:
        raise NoModelError("the mesh has no points")
    return extents


def _methods(kernel: Kernel) -> tuple[int, tuple[str, ...]]:
    """The number of layers, and the methods' clauses, with the numbers that the user gave."""
    clause, layers = kernel.directive.sor, _LAYERS
    multilayer = "sor(multilayer)"
    if clause is not None and clause.method is SorMethod.MULTILAYER and clause.layers:
        layers = clause.layers
        multilayer = f"sor(multilayer, layers: {clause.layers}, subdomain: {clause.subdomain})"
    return layers, ("sor(wavefront)", "sor(redblack)", multilayer)


def _text(nest: SorNest, element: ScalarType, dimensions: int, coefficients: Mapping[Offset, float]) -> str:
    groups: dict[float, list[Offset]] = {}
    for offset, value in coefficients.items():
        groups.setdefault(value, []).append(offset)
    right = nest.sweeps[0].right_hand_side
    return template("report/model_problem.c.j2", autoescape=False).render(
        clause=_CLAUSE,
        real=element.spelling,
        suffix="f" if element.bits == 32 else "",
        names=("i", "j", "k")[:dimensions],
        radius=nest.sweeps[0].radius,
        sweeps=[[(place, sweep.steps[place] > 0) for place in sweep.order] for sweep in nest.sweeps],
        terms=[(repr(value), offsets) for value, offsets in groups.items() if value],
        right=any(isinstance(atom, Access) and atom.subscripts for atom in right.atoms),
    )
