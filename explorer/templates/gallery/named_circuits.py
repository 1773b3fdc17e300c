"""The named circuits: small lessons by hand, and circuits that templates, operators, files and data make."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from explorer.errors import CircuitError, DuplicateNameError, look_up
from explorer.options import CompilerOptions
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EmbeddingLayer,
    KroneckerParameter,
    NormalInitializer,
    Parameterization,
    ParameterNode,
    TensorParameter,
    constant,
)
from explorer.symbolic.operators import evidence, integrate, multiply
from explorer.templates.inputs import CategoricalInput
from explorer.templates.known_circuits import hmm, sum_chain
from explorer.templates.logic import build_circuit, read_logic
from explorer.templates.region_circuits import hidden_tree, image_data

CircuitMaker = Callable[[], Circuit]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Named circuits. `add` is a decorator; the first line of the docstring is the description.

    >>> g = Gallery()
    >>> @g.add("coin")
    ... def coin():
    ...     '''One variable.'''
    ...     from explorer.templates import fully_factorized
    ...
    ...     return fully_factorized(1, num_categories=2)
    >>> g.names(), g.describe("coin"), len(g.load_named("coin").layers)
    (('coin',), 'One variable.', 1)
    """

    _makers: dict[str, CircuitMaker] = field(default_factory=dict[str, CircuitMaker])
    _semirings: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, name: str, *, semiring: str | None = None) -> Callable[[CircuitMaker], CircuitMaker]:
        """A decorator that adds a function without arguments under this name.

        `semiring` is the one that its circuit needs, if it is not the default one of the compiler.

        Raises: DuplicateNameError if the name is used already; CircuitError if the function has no docstring.
        """

        def register(make: CircuitMaker) -> CircuitMaker:
            if name in self._makers:
                raise DuplicateNameError(f"the gallery already has a circuit {name!r}; choose a different name")
            if not (make.__doc__ or "").strip():
                raise CircuitError(f"the gallery circuit {name!r} needs a docstring, which describes it")
            self._makers[name] = make
            if semiring is not None:
                self._semirings[name] = semiring
            return make

        return register

    def names(self) -> tuple[str, ...]:
        """The names of all circuits, in the order in which they were added."""
        return tuple(self._makers)

    def describe(self, name: str) -> str:
        """The description of the circuit, in one line. Raises: UnknownNameError."""
        return (self._maker(name).__doc__ or "").strip().splitlines()[0]

    def default_options(self, name: str) -> CompilerOptions:
        """The options to compile a circuit with unless others are chosen; the defaults for names of other circuits."""
        return CompilerOptions(semiring=self._semirings[name]) if name in self._semirings else CompilerOptions()

    def load_named(self, name: str) -> Circuit:
        """A new circuit of this name. Raises: UnknownNameError."""
        return self._maker(name)()

    def _maker(self, name: str) -> CircuitMaker:
        return look_up("gallery circuit", name, self._makers)


GALLERY = Gallery()


@GALLERY.add("digits")
def digits() -> Circuit:
    """The main job: handwritten digits, 8x8 pixels of 17 grey levels; it folds well and trains in seconds."""
    return image_data(
        (1, 8, 8),
        "quad-tree-4",
        input_layer="categorical",
        num_categories=17,
        num_input_units=16,
        sum_product_layer="cp",
        num_sum_units=16,
    )


# fmt: off
DIGITS_TREE = (
    56, 58, 10, 58,  5, 13,  5,  6,
     9, 17,  9, 19, 20, 21,  6, 14,
     8, 18, 26, 10, 21, 29, 30, 22,
     0, 26, 34, 19, 20, 30, 38, 23,
     0, 34, 42, 43, 35, 38, 46,  0,
    41, 42, -1, 42, 36, 46, 44, 46,
    49, 50, 58, 43, 44, 61, 46, 63,
    48,  1,  2,  3, 61, 62, 54, 62,
)
# fmt: on
"""The parent of each pixel in the Chow-Liu tree of the training images of the digits (`chow_liu_parents`)."""


@GALLERY.add("hclt")
def hclt() -> Circuit:
    """A tree of hidden variables, learned from the digits: branches of all lengths, products of two to five inputs."""
    return hidden_tree(DIGITS_TREE, CategoricalInput(17), num_latent_states=16)


@GALLERY.add("blackboard")
def blackboard() -> Circuit:
    """Five coins, thirteen layers, every number readable: follow one value from the inputs to the root by hand.

    exp(output) is 0.7626 at (0,0,0,0,0) and 3.2266 at (1,0,1,1,0); its sum over all 32 inputs is 318.
    """
    b = CircuitBuilder()
    rows = (
        ((0.5, 0.5), (0.4, 0.6)),
        ((0.2, 0.8), (0.3, 0.7)),
        ((0.3, 0.7), (0.1, 0.9)),
        ((0.5, 0.5), (0.5, 0.5)),
        ((0.1, 0.9), (0.8, 0.2)),
    )
    x = [
        b.add(CategoricalInput(2, probs=lambda _, probs=probs: _constant(probs))(variable, 2), name=f"x{variable}")
        for variable, probs in enumerate(rows)
    ]
    p02 = b.hadamard(x[0], x[2], name="product-02")
    p13 = b.hadamard(x[1], x[3], name="product-13")
    s02 = b.sum(p02, num_units=2, weight=_constant(((1.0, 1.0), (3.0, 2.0))), name="sum-02")
    s13 = b.sum(p13, num_units=2, weight=_constant(((1.0, 2.0), (2.0, 1.0))), name="sum-13")
    p0123 = b.hadamard(s02, s13, name="product-0123")
    s0123 = b.sum(p0123, num_units=2, weight=_constant(((4.0, 3.0), (1.0, 1.0))), name="sum-0123")
    top = b.hadamard(s0123, x[4], name="product-01234")
    return b.build(b.sum(top, num_units=1, weight=_constant(((4.0, 2.0),)), name="root"))


@GALLERY.add("hmm")
def shared_hmm() -> Circuit:
    """A chain of twelve steps with shared emissions and transitions: every layer waits for the one before."""
    return hmm(range(12), CategoricalInput(4), num_latent_states=4, homogeneous=True)


@GALLERY.add("conflict")
def conflict() -> Circuit:
    """Two rules want one layer: SumCollapse and Candecomp both match the middle sum; one of them wins.

    There are two copies, so that the halves fold; at the root Candecomp has no conflict.
    """
    b = CircuitBuilder()
    x = _coins(b, 4, num_units=4)
    uppers: list[int] = []
    for half, pair in (("left", x[:2]), ("right", x[2:])):
        product = b.hadamard(*pair, name=f"product-{half}")
        middle = b.sum(product, num_units=4, name=f"middle-{half}")
        uppers.append(b.sum(middle, num_units=4, name=f"upper-{half}"))
    return b.build(b.sum(b.hadamard(*uppers, name="product"), num_units=1, name="root"))


@GALLERY.add("near-misses")
def near_misses() -> Circuit:
    """One of every kind of refusal: layers that almost match a rule, each for its own reason.

    - wrong type below: `over-input` reads an input layer, neither a sum nor a product;
    - several inputs, and config differs (arity): `mixture` is a sum of two inputs over sums;
    - several users: `shared-product` is read by `reader-1` and `reader-2`;
    - sub-pattern failed: no sum has a weight that is a Kronecker product;
    - an output inside: `seen-product` is below the sum `root` and is an output itself;
    - lost a conflict: `upper` over `middle` over `lower-product`, as in the circuit `conflict`.
    """
    b = CircuitBuilder()
    x = _coins(b, 4, num_units=2)
    over_input = b.sum(x[0], num_units=2, name="over-input")
    shared = b.hadamard(over_input, x[1], name="shared-product")
    readers = [b.sum(shared, num_units=2, name=f"reader-{k}") for k in (1, 2)]
    mixture = b.sum(*readers, num_units=2, name="mixture")
    middle = b.sum(b.hadamard(x[2], x[3], name="lower-product"), num_units=2, name="middle")
    upper = b.sum(middle, num_units=2, name="upper")
    seen = b.hadamard(mixture, upper, name="seen-product")
    return b.build(b.sum(seen, num_units=2, name="root"), seen)


@GALLERY.add("levels")
def levels() -> Circuit:
    """Layers that could be folded are on different levels: levels by longest distance miss folds that waiting finds.

    Three branches end in the same kind of pair, on top of none, one and two triples. Each pair is computed as early as
    possible, on its own level; the pairs that are ready early could wait for the last one.
    """
    b = CircuitBuilder()
    K, variable = 4, 0

    def coin() -> int:
        nonlocal variable
        variable += 1
        return b.add(CategoricalInput(2)(variable - 1, K), name=f"x{variable - 1}")

    pairs: list[int] = []
    for triples in range(3):
        branch = coin()
        for k in range(triples):
            product = b.hadamard(branch, coin(), coin(), name=f"triple-product-{triples}.{k}")
            branch = b.sum(product, num_units=K, name=f"triple-{triples}.{k}")
        product = b.hadamard(branch, coin(), name=f"pair-product-{triples}")
        pairs.append(b.sum(product, num_units=K, name=f"pair-{triples}"))
    return b.build(b.sum(b.hadamard(*pairs, name="product"), num_units=1, name="root"))


@GALLERY.add("sum-chain")
def forty_sums() -> Circuit:
    """Forty consecutive sums become one, but each round halves the chain: five rounds are not enough, the sixth is."""
    return sum_chain(40, num_units=3)


@GALLERY.add("kronecker")
def kronecker() -> Circuit:
    """Sums with a 256 x 256 weight that is a Kronecker product: shattered into small sums, one of them in two steps.

    `two-factors` has A ⊗ B with A, B of 16 x 16; `three-factors` has (A ⊗ B) ⊗ C of 8 x 8, 8 x 8 and 4 x 4.
    """
    b = CircuitBuilder()
    x = _coins(b, 2, num_units=256)
    two = b.sum(x[0], num_units=256, weight=_kronecker_of((16, 16)), name="two-factors")
    three = b.sum(x[1], num_units=256, weight=_kronecker_of((8, 8, 4)), name="three-factors")
    return b.build(b.sum(b.hadamard(two, three, name="product"), num_units=1, name="root"))


def _constant(values: Sequence[Sequence[float]]) -> ParameterNode:
    return TensorParameter((len(values), len(values[0])), initializer=ConstantInitializer(values))


def _coins(builder: CircuitBuilder, count: int, *, num_units: int) -> list[int]:
    return [builder.add(CategoricalInput(2)(variable, num_units), name=f"x{variable}") for variable in range(count)]


def _kronecker_of(sizes: Sequence[int]) -> ParameterNode:
    """The Kronecker product, associated to the left, of square factors with rows that sum to one."""
    first, *others = (Parameterization("softmax")((size, size)) for size in sizes)
    product = first
    for factor in others:
        product = KroneckerParameter((product, factor))
    return product


SEATING = Path(__file__).with_name("seating.nnf")
"""Four guests on four seats as a formula of 16 variables with 24 models, in the format of c2d."""


@GALLERY.add("logic")
def logic() -> Circuit:
    """Four guests, four seats: a formula with 24 models as a circuit, and a learned distribution over exactly those.

    Variable 4g + s is 1 if guest g is on seat s. All other assignments have probability 0, whatever the weights are:
    the literals are fixed tables with a zero. At most one term of each sum is nonzero (the circuit is deterministic),
    so the most probable seating is exact.
    """
    return build_circuit(read_logic(SEATING), sum_param=Parameterization("softmax"))


@GALLERY.add("squared")
def squared() -> Circuit:
    """A circuit times itself: its weights are Kronecker products, shattered for 16 units, but not for 10.

    `wide` is a sum of 16 units: its square has a weight of 256 x 256, which is never built. `narrow` has 10: its square
    has one of 100 x 100, where two small sums would cost more than one.
    """
    b = CircuitBuilder()
    wide = [b.add(CategoricalInput(2)(v, 16), name=f"x{v}") for v in (0, 1)]
    narrow = [b.add(CategoricalInput(2)(v, 10), name=f"x{v}") for v in (2, 3)]
    tops: list[int] = []
    for name, inputs, units in (("wide", wide, 16), ("narrow", narrow, 10)):
        inner = b.sum(b.hadamard(*inputs, name=f"{name}-product"), num_units=units, name=name)
        tops.append(b.sum(inner, num_units=2, name=f"{name}-top"))
    circuit = b.build(b.sum(b.hadamard(*tops, name="product"), num_units=1, name="root"))
    return multiply(circuit, circuit)


@GALLERY.add("sos", semiring="complex-lse-sum")
def sum_of_squares() -> Circuit:
    """A sum of three squares with weights of any sign, in the semiring complex-lse-sum: its value is never negative.

    Three circuits share their inputs; a fourth variable says which of them is meant. The square of all, summed over
    this variable, is the sum of their squares. See Loconte et al. 2025, Sum of Squares Circuits.
    """
    b = CircuitBuilder()
    signed = Parameterization("none", NormalInitializer())
    x = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=4, num_states=3, weight=signed((4, 3))), name=f"x{v}")
        for v in range(3)
    ]
    pair = b.sum(b.hadamard(x[0], x[1], name="pair-product"), num_units=4, weights=signed, name="pair")
    three = b.sum(b.hadamard(pair, x[2], name="product"), num_units=3, weights=signed, name="three")
    which = EmbeddingLayer(scope=(3,), num_output_units=3, num_states=3, weight=constant(np.eye(3)))
    chosen = b.hadamard(three, b.add(which, name="which"), name="chosen")
    circuit = b.build(b.sum(chosen, num_units=1, weight=constant(np.ones((1, 3))), name="root"))
    return integrate(multiply(circuit, circuit), [3])


@GALLERY.add("evidence")
def observed() -> Circuit:
    """The blackboard with two coins seen: their layers are constants now, and three variables are left."""
    return evidence(blackboard(), {1: 0, 4: 1})


@GALLERY.add("mnist")
def mnist() -> Circuit:
    """Folding at the size of real work: 28x28 pixels, split by rows and by columns, 5,725 layers in a few folds."""
    return image_data(
        (1, 28, 28),
        "quad-graph",
        input_layer="categorical",
        num_input_units=32,
        sum_product_layer="cp",
        num_sum_units=32,
    )


@GALLERY.add("poon-domingos")
def poon_domingos_8x8() -> Circuit:
    """All ways to cut 8x8 pixels into rectangles: 19,342 layers, where compile time and mixing sums decide."""
    return image_data(
        (1, 8, 8),
        "poon-domingos",
        input_layer="categorical",
        num_categories=17,
        num_input_units=4,
        sum_product_layer="cp",
        num_sum_units=4,
    )
