"""Compile rules: the function that compiles each type of symbolic object, and the registries of these.

A compiler copies its registries, so rules added to one compiler never leak into another. Layers copy their config and
scope; a leaf becomes a tensor or a pointer, an operator on parameters its compiled operator; an initializer becomes a
function that fills a tensor with a random generator.
"""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from explorer.backend import TorchBinomialLayer, TorchInputLayer, TorchLayer, compiled_class_of, parameters as compiled
from explorer.backend.parameters import InitializerFunction
from explorer.errors import CircuitError, DataTypeError, DuplicateNameError, ShapeError
from explorer.graph import config_of, nested_of, parameters_of
from explorer.symbolic import (
    BinomialLayer,
    ConstantInitializer,
    DataType,
    DirichletInitializer,
    InputLayer,
    Layer,
    LearnedInitializer,
    NormalInitializer,
    ParameterOp,
    SoftmaxInitializer,
    TensorParameter,
    UniformInitializer,
)
from explorer.templates import gallery

CompileRule = Callable[[Any, Any], Any]


@dataclass(eq=False)
class CompilerRegistry(ABC):
    """Type of symbolic object -> function (compiler, object) -> compiled object."""

    what: ClassVar[str]
    decorator: ClassVar[str]
    rule_for: ClassVar[Callable[[Any], CompileRule] | None] = None
    """Returns the rule of a compiled class that declares what it compiles; None: no class can declare it."""

    rules: dict[type, CompileRule] = field(default_factory=dict)

    def rule(self, symbolic_type: type) -> Callable[[CompileRule], CompileRule]:
        """Decorator: register the compile rule of a type. Raises: DuplicateNameError if it has one."""
        if self._rule_of(symbolic_type) is not None:
            raise DuplicateNameError(f"{self.what} {symbolic_type.__name__} has a compile rule already")

        def register(function: CompileRule) -> CompileRule:
            self.rules[symbolic_type] = function
            return function

        return register

    def __getitem__(self, symbolic: object) -> CompileRule:
        """The rule for an object, by its exact type. Raises: CircuitError with the decorator to use."""
        rule = self._rule_of(type(symbolic))
        if rule is None:
            name = type(symbolic).__name__
            declare = "" if self.rule_for is None else f"declare `compiles = {name}` in its compiled class, or "
            raise CircuitError(
                f"no compile rule for {self.what} {name} ({symbolic!r}); "
                f"{declare}register one with @compiler.{self.decorator}.rule({name})"
            )
        return rule

    def copy(self) -> Self:
        """A copy that can be extended without changing this one."""
        return type(self)(dict(self.rules))

    def _rule_of(self, symbolic_type: type) -> CompileRule | None:
        rule = self.rules.get(symbolic_type)
        if rule is not None or self.rule_for is None:
            return rule
        compiled = compiled_class_of(symbolic_type)
        return None if compiled is None else self.rule_for(compiled)


@cache
def layer_rule(layer_type: type[TorchLayer]) -> CompileRule:
    """The rule that copies config and scope, and compiles parameters and inner layers."""
    reads_variables = issubclass(layer_type, TorchInputLayer)

    def compile_layer(compiler: Any, layer: Layer) -> TorchLayer:
        values = config_of(layer)
        for name, parameter in parameters_of(layer).items():
            values[name] = compiler.compile_parameter(parameter)
        for name, inner in nested_of(layer).items():
            values[name] = compiler.compile_layer(inner)
        if reads_variables and isinstance(layer, InputLayer):
            values["scope_idx"] = (layer.scope,)
        return layer_type(**values)

    return compile_layer


@dataclass(eq=False)
class CompilerLayerRegistry(CompilerRegistry):
    """Compile rules of layers; a layer that a compiled class declares as `compiles` needs none."""

    what = "layer"
    decorator = "layer_rules"
    rule_for = staticmethod(layer_rule)


layer_rules = CompilerLayerRegistry()


@layer_rules.rule(BinomialLayer)
def compile_binomial(compiler: Any, layer: BinomialLayer) -> TorchLayer:
    """Probabilities that are a sigmoid are compiled as their logits, which keep the digits of 1 - p near p = 1."""
    logits = layer.known_logits
    by_logits = layer if logits is None else replace(layer, probs=None, logits=logits)
    return layer_rule(TorchBinomialLayer)(compiler, by_logits)


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


@dataclass(eq=False)
class CompilerInitializerRegistry(CompilerRegistry):
    """Compile rules of initializers."""

    what = "initializer"
    decorator = "initializer_rules"


initializer_rules = CompilerInitializerRegistry()


@initializer_rules.rule(ConstantInitializer)
def compile_constant(compiler: Any, initializer: ConstantInitializer) -> InitializerFunction:
    """Copy the given values."""
    return partial(_copy, value=torch.from_numpy(initializer.value.copy()))


@initializer_rules.rule(LearnedInitializer)
def compile_learned(compiler: Any, initializer: LearnedInitializer) -> InitializerFunction:
    """Copy the values that ship with the gallery."""
    value = gallery.learned_value(initializer.circuit, initializer.epoch, initializer.leaf)
    return partial(_copy_learned, value=torch.from_numpy(value.copy()))


@initializer_rules.rule(NormalInitializer)
def compile_normal(compiler: Any, initializer: NormalInitializer) -> InitializerFunction:
    """Draw from a normal distribution."""
    return partial(_draw_normal, mean=initializer.mean, stddev=initializer.stddev)


@initializer_rules.rule(UniformInitializer)
def compile_uniform(compiler: Any, initializer: UniformInitializer) -> InitializerFunction:
    """Draw from a uniform distribution; for complex leaves both the real and the imaginary part."""
    return partial(_draw_uniform, low=initializer.low, high=initializer.high)


@initializer_rules.rule(DirichletInitializer)
def compile_dirichlet(compiler: Any, initializer: DirichletInitializer) -> InitializerFunction:
    """Draw gamma variables and divide them by their sum along the axis."""
    return partial(_draw_dirichlet, alpha=initializer.alpha, axis=initializer.axis)


@initializer_rules.rule(SoftmaxInitializer)
def compile_softmax(compiler: Any, initializer: SoftmaxInitializer) -> InitializerFunction:
    """Draw by the other initializer, and normalize."""
    draw = compiler.compile_initializer(initializer.initializer)
    return partial(_draw_softmax, draw=draw, axis=initializer.axis)


def _copy(tensor: Tensor, generator: torch.Generator, value: Tensor) -> Tensor:
    return tensor.copy_(value.expand(tensor.shape))


def _copy_learned(tensor: Tensor, generator: torch.Generator, value: Tensor) -> Tensor:
    if value.shape != tensor.shape:
        raise ShapeError(f"learned values of shape {tuple(value.shape)} do not fit a leaf of {tuple(tensor.shape)}")
    return tensor.copy_(value)


def _draw_normal(tensor: Tensor, generator: torch.Generator, mean: float, stddev: float) -> Tensor:
    return tensor.normal_(mean, stddev, generator=generator)


def _draw_uniform(tensor: Tensor, generator: torch.Generator, low: float, high: float) -> Tensor:
    if tensor.is_complex():
        torch.view_as_real(tensor).uniform_(low, high, generator=generator)
        return tensor
    return tensor.uniform_(low, high, generator=generator)


def _draw_softmax(tensor: Tensor, generator: torch.Generator, draw: InitializerFunction, axis: int) -> Tensor:
    return tensor.copy_(torch.softmax(draw(tensor, generator), axis))


def _draw_dirichlet(tensor: Tensor, generator: torch.Generator, alpha: float | tuple[float, ...], axis: int) -> Tensor:
    concentration = torch.tensor(alpha, dtype=tensor.dtype)
    if concentration.dim():
        concentration = concentration.view(-1, *(1 for _ in tensor.shape[axis:][1:]))
    concentration = concentration.expand(tensor.shape).contiguous()
    gammas = torch._standard_gamma(concentration, generator)  # pyright: ignore[reportPrivateImportUsage]
    return tensor.copy_(gammas / gammas.sum(axis, keepdim=True))
