"""Compile rules of parameter nodes: a leaf becomes a tensor or a pointer, an operator its compiled operator."""

from typing import Any

import torch

from explorer.backend import parameters as compiled
from explorer.compiler.registries import CompilerParameterRegistry, CompileRule
from explorer.errors import DataTypeError
from explorer.graph import config_of
from explorer.symbolic import DataType, ParameterOp, TensorParameter
from explorer.symbolic import parameters as symbolic

parameter_rules = CompilerParameterRegistry()

COMPILED_OPERATORS: dict[type[ParameterOp], type[compiled.TorchParameterOp]] = {
    symbolic.ClampParameter: compiled.TorchClampParameter,
    symbolic.ConjugateParameter: compiled.TorchConjugateParameter,
    symbolic.ExpParameter: compiled.TorchExpParameter,
    symbolic.HadamardParameter: compiled.TorchHadamardParameter,
    symbolic.KroneckerParameter: compiled.TorchKroneckerParameter,
    symbolic.LogParameter: compiled.TorchLogParameter,
    symbolic.LogSoftmaxParameter: compiled.TorchLogSoftmaxParameter,
    symbolic.MixingWeightParameter: compiled.TorchMixingWeightParameter,
    symbolic.OuterProductParameter: compiled.TorchOuterProductParameter,
    symbolic.OuterSumParameter: compiled.TorchOuterSumParameter,
    symbolic.PolynomialDifferentialParameter: compiled.TorchPolynomialDifferentialParameter,
    symbolic.ReduceLSEParameter: compiled.TorchReduceLSEParameter,
    symbolic.ReduceProductParameter: compiled.TorchReduceProductParameter,
    symbolic.ReduceSumParameter: compiled.TorchReduceSumParameter,
    symbolic.ScaledSigmoidParameter: compiled.TorchScaledSigmoidParameter,
    symbolic.SigmoidParameter: compiled.TorchSigmoidParameter,
    symbolic.SoftmaxParameter: compiled.TorchSoftmaxParameter,
    symbolic.SoftplusParameter: compiled.TorchSoftplusParameter,
    symbolic.SquareParameter: compiled.TorchSquareParameter,
    symbolic.SumParameter: compiled.TorchSumParameter,
}


def operator_rule(op_type: type[compiled.TorchParameterOp]) -> CompileRule:
    """The rule that carries config and shapes over to a compiled operator with the same config."""

    def compile_operator(compiler: Any, op: ParameterOp) -> compiled.TorchParameterOp:
        in_shapes = tuple(operand.shape for operand in op.operands)
        return op_type(shape=op.shape, in_shapes=in_shapes, **config_of(op))

    return compile_operator


for _symbolic_type, _op_type in COMPILED_OPERATORS.items():
    parameter_rules.rule(_symbolic_type)(operator_rule(_op_type))


@parameter_rules.rule(TensorParameter)
def compile_leaf(compiler: Any, leaf: TensorParameter) -> compiled.TorchLeafParameter:
    """The first use of a leaf owns it; later ones, in this circuit or another, point to it."""
    if leaf.dtype is DataType.COMPLEX and not compiler.semiring.takes_complex:
        raise DataTypeError(
            f"the complex leaf {leaf!r} needs semiring sum-product or complex-lse-sum; found {compiler.semiring.name}"
        )
    node_type = compiled.TorchTensorParameter if compiler.claim(leaf) else compiled.TorchPointerParameter
    return node_type(
        shape=leaf.size,
        leaves=(leaf,),
        initializers=(compiler.compile_initializer(leaf.initializer),),
        dtype=torch_dtype(leaf.dtype),
        learnable=leaf.learnable,
    )


def torch_dtype(dtype: DataType) -> torch.dtype:
    """The torch type of a leaf: real and complex numbers take their precision from torch's default."""
    real = torch.get_default_dtype()
    match dtype:
        case DataType.INTEGER:
            return torch.int64
        case DataType.REAL:
            return real
        case DataType.COMPLEX:
            return torch.complex128 if real == torch.float64 else torch.complex64
