"""Parameters made by rules: what is known of them without merging graphs is what the merged graph says."""

import copy

import pytest

from explorer.backend.parameters import (
    TorchKroneckerParameter,
    TorchMatMulParameter,
    TorchParameter,
    TorchSquareParameter,
    apply_op,
    parameter,
)
from explorer.compiler import TorchCompiler
from explorer.symbolic import (
    KroneckerParameter,
    MixingWeightParameter,
    ParameterNode,
    SigmoidParameter,
    SoftmaxParameter,
    TensorParameter,
)
from explorer.templates import sum_chain


def leaf(*shape: int) -> TensorParameter:
    return TensorParameter(shape or (2, 2))


def rows() -> SoftmaxParameter:
    return SoftmaxParameter((leaf(),))


def compiled(node: ParameterNode) -> TorchParameter:
    return TorchCompiler().compile_parameter(node)


@pytest.mark.parametrize(
    ("node", "sums_to_one"),
    [
        (rows(), True),
        (SoftmaxParameter((leaf(),), axis=0), False),
        (leaf(), False),
        (SigmoidParameter((rows(),)), False),
        (KroneckerParameter((rows(), rows())), True),
        (KroneckerParameter((rows(), leaf())), False),
        (MixingWeightParameter((rows(),)), True),
    ],
    ids=repr,
)
def test_operators_tell_whether_rows_sum_to_one(node, sums_to_one):
    assert compiled(node).rows_sum_to_one is sums_to_one


def test_an_applied_operator_is_known_before_and_after_its_graph_is_merged():
    for one, other in ((rows(), rows()), (rows(), leaf())):
        product = apply_op(TorchMatMulParameter, compiled(one), compiled(other), shape=(2, 2))
        square = apply_op(TorchSquareParameter, product, shape=(2, 2))
        for made in (product, square, apply_op(TorchKroneckerParameter, product, compiled(rows()), shape=(4, 4))):
            known = (made.shape, made.is_complex, made.flops, made.rows_sum_to_one)
            merged = TorchParameter(copy.deepcopy(made).graph)
            assert (merged.shape, merged.is_complex, merged.flops, merged.rows_sum_to_one) == known
            assert len(made.nodes) == len(merged.nodes)
            assert (made.flops, made.rows_sum_to_one) == known[2:]


def test_only_products_that_are_applied_are_merged(monkeypatch):
    """Each pair of neighbours is asked what its product costs; about half of the pairs of a round are replaced."""
    merged = []
    merge = parameter._Application.merge
    monkeypatch.setattr(parameter._Application, "merge", lambda self: merged.append(self) or merge(self))
    made = []
    init = parameter._Application.__init__
    monkeypatch.setattr(
        parameter._Application, "__init__", lambda self, *given: made.append(self) or init(self, *given)
    )
    TorchCompiler(max_rounds=20).compile(sum_chain(64, num_units=3))
    products = [sum(isinstance(x.op, TorchMatMulParameter) for x in given) for given in (merged, made)]
    assert products[0] == 63, "one for each sum that is gone"
    assert products[1] == 63 + 31 + 15 + 7 + 3 + 1, "one for each pair of a round, for the guard and the rewriting"
