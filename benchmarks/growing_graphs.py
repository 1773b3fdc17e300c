"""Graphs of any size in realistic shapes, equal for every library, on which the growth of rewriting is measured."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

TERM = 25
"""Number of operators in an independent expression."""


@dataclass(frozen=True, slots=True)
class Library:
    """How a library creates an input, from its name and number of axes, and applies operators."""

    variable: Callable[[str, int], Any]
    operators: Mapping[str, Callable[..., Any]]

    def apply(self, name: str, *inputs: Any) -> Any:
        """Apply an operator to inputs."""
        return self.operators[name](*inputs)

    def variables(self, count: int, rank: int = 0) -> list[Any]:
        """Create this many inputs."""
        return [self.variable(f"x{i}", rank) for i in range(count)]


Built = tuple[list[Any], list[Any]]
"""The inputs and the outputs of a graph."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of graphs: its description and its builder for a given number of operators.

    With `is_for_passes` it is rewritten by the default passes, otherwise by the rules of the database, which PyTensor
    has too.
    """

    name: str
    doc: str
    build: Callable[[int, Library], Built]
    is_for_passes: bool = False


def independent_expressions(size: int, library: Library) -> Built:
    """Random expressions of `TERM` operators each, which share only their inputs.

    Values without users are outputs, so that every operator is needed.
    """
    source = random.Random(0)
    inputs, outputs = library.variables(6), []
    for _ in range(max(1, size // TERM)):
        pool, read = list(inputs), set[int]()
        for _ in range(TERM):
            chance, one, other = source.random(), source.choice(pool[-6:]), source.choice(pool)
            if chance < 0.8:
                used = (one, other)
                made = library.apply(("add", "mul", "mul", "div", "sub")[int(chance * 6.25)], *used)
            elif chance < 0.94:
                used = (one,)
                made = library.apply("exp" if chance < 0.87 else "log", one)
            else:
                used = (one,)
                made = library.apply("mul", one, source.choice([1.0, 2.0, 0.5]))
            read.update(map(id, used))
            pool.append(made)
        outputs += [value for value in pool[len(inputs) :] if id(value) not in read]
    return inputs, outputs


def mixed_chain(size: int, library: Library) -> Built:
    """((x0 + x1) * x2 - x3) / x4 ...: as deep as it is long."""
    inputs = library.variables(size + 1)
    value = inputs[0]
    for i, other in enumerate(inputs[1:]):
        value = library.apply(("add", "mul", "sub", "div")[i % 4], value, other)
    return inputs, [value]


def left_deep(name: str) -> Callable[[int, Library], Built]:
    """One left-associative operator: ((x0 + x1) + x2) + x3 ..., like Python's `sum`."""

    def build(size: int, library: Library) -> Built:
        inputs = library.variables(size + 1)
        value = inputs[0]
        for other in inputs[1:]:
            value = library.apply(name, value, other)
        return inputs, [value]

    return build


def balanced_sum(size: int, library: Library) -> Built:
    """One sum, of pairs of pairs."""
    inputs = library.variables(size + 1)
    terms = inputs
    while len(terms) > 1:
        pairs = [library.apply("add", *terms[i : i + 2]) for i in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[2 * len(pairs) :]
    return inputs, terms


def one_read_by_all(size: int, library: Library) -> Built:
    """exp(x0), and its product with each other input."""
    inputs = library.variables(size)
    shared = library.apply("exp", inputs[0])
    return inputs, [library.apply("mul", shared, other) for other in inputs[1:]]


def nested_concats(size: int, library: Library) -> Built:
    """Nested concats of matrices along one axis."""
    inputs = library.variables(size + 1, rank=2)
    value = inputs[0]
    for other in inputs[1:]:
        value = library.apply("cat", [value, other])
    return inputs, [value]


def products_of_one_matrix(size: int, library: Library) -> Built:
    """Products of one matrix with each of the others."""
    inputs = library.variables(size + 1, rank=2)
    return inputs, [library.apply("mm", inputs[0], other) for other in inputs[1:]]


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("expressions", f"independent expressions of {TERM} operators", independent_expressions),
        Shape("chain", "one chain of sums, products, differences and quotients", mixed_chain),
        Shape("sum", "one left-deep sum", left_deep("add")),
        Shape("product", "one left-deep product", left_deep("mul")),
        Shape("balanced sum", "one sum of pairs of pairs", balanced_sum),
        Shape("shared", "one operator with all others as users", one_read_by_all),
        Shape("concats", "one chain of concats", nested_concats, is_for_passes=True),
        Shape("matmuls", "products of one matrix with all others", products_of_one_matrix, is_for_passes=True),
    )
}
"""Shapes by name: rewriting may grow faster than most of them; one hides it."""
