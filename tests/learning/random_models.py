"""Random normalized circuits over mixed columns, in every parameterization that has a closed M-step, and their rows."""

import numpy as np
import torch
from hypothesis import strategies as st

from explorer.symbolic import (
    ClampParameter,
    DirichletInitializer,
    ExpParameter,
    KroneckerParameter,
    LogParameter,
    LogSoftmaxParameter,
    NormalInitializer,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    TensorParameter,
    UniformInitializer,
)
from explorer.templates import (
    BinomialInput,
    CategoricalInput,
    GaussianInput,
    build_circuit,
    hmm,
    quad_graph,
    random_binary_tree,
)

ROWS = 40


def leaf(initializer):
    return lambda shape: TensorParameter(shape, initializer=initializer)


normal = leaf(NormalInitializer())
above_zero = leaf(UniformInitializer(0.1, 1.0))

WEIGHTS = {
    "softmax": lambda shape: SoftmaxParameter((normal(shape),)),
    "plain": leaf(DirichletInitializer()),
    "not normalized yet": above_zero,
    "exp": lambda shape: ExpParameter((normal(shape),)),
    "exp of a log-softmax": lambda shape: ExpParameter((LogSoftmaxParameter((normal(shape),)),)),
    "softplus": lambda shape: SoftplusParameter((normal(shape),)),
    "square": lambda shape: SquareParameter((normal(shape),)),
    "clamp": lambda shape: ClampParameter((above_zero(shape),), vmin=1e-18),
}
INPUTS = {
    "softmax": CategoricalInput(3),
    "plain probabilities": CategoricalInput(3, probs=leaf(DirichletInitializer())),
    "log-softmax": CategoricalInput(3, logits=lambda shape: LogSoftmaxParameter((normal(shape),))),
    "log of a softmax": CategoricalInput(3, logits=lambda shape: LogParameter((SoftmaxParameter((normal(shape),)),))),
    "plain logits": CategoricalInput(3, logits=normal),
    "binomial sigmoid": BinomialInput(4),
    "binomial logits": BinomialInput(4, logits=normal),
    "binomial plain": BinomialInput(4, probs=leaf(UniformInitializer(0.1, 0.9))),
    "normal, bounded": GaussianInput(),
    "normal, softplus": GaussianInput(stddev=lambda shape: SoftplusParameter((normal(shape),))),
    "normal, exp": GaussianInput(stddev=lambda shape: ExpParameter((normal(shape),))),
    "normal, plain": GaussianInput(stddev=leaf(UniformInitializer(0.5, 1.5))),
    "normal, sigmoid": GaussianInput(stddev=lambda shape: SigmoidParameter((normal(shape),))),
}


def kronecker(shape):
    """A 4 x 4 weight as the Kronecker product of two."""
    if shape != (4, 4):
        return WEIGHTS["softmax"](shape)
    return KroneckerParameter((WEIGHTS["softmax"]((2, 2)), WEIGHTS["plain"]((2, 2))))


@st.composite
def models(draw):
    """A circuit over four variables and rows (40, 4) for it, in double precision."""
    inputs = [INPUTS[draw(st.sampled_from(sorted(INPUTS)))] for _ in range(4)]
    weight = draw(st.sampled_from([*WEIGHTS.values(), kronecker]))
    rows = random_rows(inputs, draw(st.integers(0, 99)))
    if draw(st.booleans()):
        tucker = draw(st.booleans())
        units = 2 if tucker else 4
        regions = draw(st.sampled_from([quad_graph((1, 2, 2)), random_binary_tree(4)]))
        circuit = build_circuit(
            regions,
            inputs=dict(enumerate(inputs)),
            sum_product_layer="tucker" if tucker else draw(st.sampled_from(["cp", "cp-t"])),
            num_input_units=units,
            num_sum_units=units,
            sum_weight_param=weight,
            use_mixing_weights=draw(st.booleans()),
        )
        return circuit, rows
    if draw(st.booleans()):
        shared = INPUTS[draw(st.sampled_from(sorted(INPUTS)))]
        rows = random_rows([shared] * 4, draw(st.integers(0, 99)))
        return hmm(range(4), shared, num_latent_states=4, homogeneous=True, weight_param=weight), rows
    return hmm(range(4), inputs, num_latent_states=4, weight_param=weight), rows


def random_rows(inputs, seed, count=ROWS):
    """Rows with columns that depend on each other through two clusters."""
    random = np.random.default_rng(seed)
    cluster = random.integers(0, 2, count)
    columns = []
    for spec in inputs:
        if isinstance(spec, GaussianInput):
            columns.append(cluster * 1.5 + random.normal(0, 0.4, count))
        else:
            top = spec.num_categories if isinstance(spec, CategoricalInput) else spec.total_count + 1
            columns.append((cluster + random.integers(0, 2, count)) % top)
    return torch.tensor(np.stack(columns, axis=1))
