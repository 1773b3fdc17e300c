"""The hidden Chow-Liu tree: a latent variable for each variable, in a tree of latent variables."""

from collections.abc import Sequence

from explorer.errors import ShapeError, check_type
from explorer.symbolic import Circuit, CircuitBuilder, Parameterization
from explorer.templates.blocks import dense_sum
from explorer.templates.inputs import InputSpec, ParameterFactory
from explorer.templates.regions import tree_order
from explorer.templates.regions.checks import check_at_least_one


def hidden_tree(
    parents: Sequence[int],
    inputs: InputSpec | Sequence[InputSpec],
    *,
    num_latent_states: int,
    weight_param: ParameterFactory | None = None,
) -> Circuit:
    """A latent tree model: m_v = e_v * prod_c A_c m_c over the children c of v, and p = A_root m_root.

    Each variable v has a latent variable with K states, e_v are the K emission values of v, and A_c (K, K) are the
    transitions from the state of the parent of c to that of c; A_root (1, K) is the initial distribution. `parents` has
    the parent of each variable, -1 at the root (`chow_liu_parents` learns it). `inputs` is one input spec for all
    variables or one per variable. Structured decomposable.
    Raises: ShapeError unless there is one root, and one spec per variable; DataTypeError; ValueRangeError; CycleError.
    Source: Liu and Van den Broeck 2021, Tractable Regularization of Probabilistic Circuits, sec. 4 (HCLT).

    >>> from explorer.templates import CategoricalInput
    >>> hidden_tree([-1, 0, 0, 2], CategoricalInput(2), num_latent_states=3)
    <Circuit: 10 layers, 4 variables, 1 output(s)>
    """
    order, children = tree_order(parents)
    roots = [variable for variable in order if parents[variable] == -1]
    if len(roots) != 1:
        raise ShapeError(f"a hidden tree has one root, with the parent -1; found {len(roots)}")
    check_at_least_one(num_latent_states=num_latent_states)
    specs = [inputs] * len(parents) if isinstance(inputs, InputSpec) else inputs
    check_type("inputs", specs, Sequence, "pass an InputSpec, or one for each variable")
    if len(specs) != len(parents):
        raise ShapeError(f"expected one input spec for each of {len(parents)} variables; found {len(specs)}")
    for variable, spec in enumerate(specs):
        check_type(f"the input spec of variable {variable}", spec, InputSpec, "for example CategoricalInput(2)")
    weights = weight_param or Parameterization("softmax")
    builder = CircuitBuilder()
    messages: dict[int, int] = {}
    for variable in reversed(order):
        emission = builder.add(specs[variable](variable, num_latent_states))
        below = [messages[child] for child in children[variable]]
        state = builder.hadamard(emission, *below) if below else emission
        units = 1 if parents[variable] == -1 else num_latent_states
        messages[variable] = dense_sum(builder, state, units, weights)
    return builder.build(messages[roots[0]])
