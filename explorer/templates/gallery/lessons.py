"""Small hand-made circuits with named layers; each shows something that the compiler does or does not do."""

from collections.abc import Sequence

from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    KroneckerParameter,
    Parameterization,
    ParameterNode,
    TensorParameter,
)
from explorer.templates.chains import sum_chain
from explorer.templates.gallery.registry import GALLERY
from explorer.templates.graphical_models import hmm
from explorer.templates.inputs import CategoricalInput


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
    """A chain of twelve steps whose emissions and transitions are shared: every layer waits for the one before."""
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
    """Sums whose 256 x 256 weight is a Kronecker product: shattered into small sums, one of them in two steps.

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
