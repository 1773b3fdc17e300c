"""A plain float64 evaluator of symbolic circuits, for tests of templates; leaves are drawn from a seed."""

import numpy as np

from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    ConstantInitializer,
    EmbeddingLayer,
    HadamardLayer,
    KroneckerLayer,
    KroneckerParameter,
    MixingWeightParameter,
    ParameterNode,
    SigmoidParameter,
    SoftmaxParameter,
    SumLayer,
    TensorParameter,
)


class Evaluator:
    """Values of a circuit of discrete inputs; `value_of(parameter)` returns the number of a parameter."""

    def __init__(self, circuit: Circuit, seed: int = 0) -> None:
        self.circuit = circuit
        self.generator = np.random.default_rng(seed)
        self.known: dict[ParameterNode, np.ndarray] = {}

    def value_of(self, node: ParameterNode) -> np.ndarray:
        if node not in self.known:
            self.known[node] = self._compute(node)
        return self.known[node]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The values (B, O) of the first output at rows (B, D)."""
        y: dict[int, np.ndarray] = {}
        for node, layer in self.circuit.graph.nodes.items():
            inputs = [y[source] for source in self.circuit.graph.inputs[node]]
            y[node] = self._layer(layer, inputs, x)
        return y[self.circuit.outputs[0]]

    def _layer(self, layer, inputs, x):
        match layer:
            case CategoricalLayer():
                assert layer.probs is not None
                return self.value_of(layer.probs)[:, x[:, layer.scope[0]]].T
            case EmbeddingLayer():
                return self.value_of(layer.weight)[:, x[:, layer.scope[0]]].T
            case BinomialLayer(total_count=1):
                assert layer.probs is not None
                p = self.value_of(layer.probs)
                return np.where(x[:, layer.scope] == 1, p, 1 - p)
            case SumLayer():
                return np.concatenate(inputs, axis=1) @ self.value_of(layer.weight).T
            case HadamardLayer():
                return np.prod(inputs, axis=0)
            case KroneckerLayer():
                product = inputs[0]
                for other in inputs[1:]:
                    product = (product[:, :, None] * other[:, None, :]).reshape(len(x), -1)
                return product
        raise AssertionError(layer)

    def _compute(self, node):
        below = [self.value_of(operand) for operand in node.operands]
        match node:
            case TensorParameter(initializer=ConstantInitializer(value=value)):
                return np.broadcast_to(value, node.shape)
            case TensorParameter():
                return self.generator.normal(size=node.shape)
            case SoftmaxParameter():
                exps = np.exp(below[0])
                return exps / exps.sum(axis=node.axis, keepdims=True)
            case SigmoidParameter():
                return 1 / (1 + np.exp(-below[0]))
            case KroneckerParameter():
                return np.kron(below[0], below[1])
            case MixingWeightParameter():
                return np.concatenate([np.diag(column) for column in below[0].T], axis=1)
        raise AssertionError(node)


def all_states(*sizes: int) -> np.ndarray:
    """Every assignment of variables with these numbers of values, one per row."""
    return np.stack(np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij"), axis=-1).reshape(-1, len(sizes))
