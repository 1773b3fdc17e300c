"""Compile rules of parameter nodes: a leaf becomes a tensor or a pointer, an operator its compiled operator."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from explorer.backend import parameters as compiled
from explorer.compiler.registries import CompilerRegistry, CompileRule
from explorer.errors import DataTypeError
from explorer.graph import config_of
from explorer.symbolic import DataType, ParameterOp, TensorParameter


@cache
def operator_rule(op_type: type[compiled.TorchParameterOp]) -> CompileRule:
    """The rule that copies config and shapes to the compiled operator."""

    def compile_operator(compiler: Any, op: ParameterOp) -> compiled.TorchParameterOp:
        in_shapes = tuple([operand.shape for operand in op.operands])
        return op_type(shape=op.shape, in_shapes=in_shapes, **config_of(op))

    return compile_operator


@dataclass(eq=False)
class CompilerParameterRegistry(CompilerRegistry):
    """Compile rules of parameter nodes; an operator that a compiled class declares as `compiles` needs none."""

    what = "parameter node"
    decorator = "parameter_rules"
    rule_for = staticmethod(operator_rule)


parameter_rules = CompilerParameterRegistry()


@parameter_rules.rule(TensorParameter)
def compile_leaf(compiler: Any, leaf: TensorParameter) -> compiled.TorchLeafParameter:
    """The first use of a leaf owns it; later ones, in this circuit or another, point to it."""
    if leaf.dtype is DataType.COMPLEX and not compiler.semiring.accepts_complex:
        raise DataTypeError(
            f"the complex leaf {leaf!r} needs the semiring sum-product or complex-lse-sum, got {compiler.semiring.name}"
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
    if dtype is DataType.REAL:
        return real
    if dtype is DataType.INTEGER:
        return torch.int64
    return torch.complex128 if real == torch.float64 else torch.complex64
