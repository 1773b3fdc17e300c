"""The values of a circuit that cirkit has compiled.

A compiled circuit of cirkit does not know what it was compiled from. Its compiler does: it maps the compiled circuit to
the symbolic one, and every symbolic leaf to a slice of a folded tensor, in every mode. So the compiler is looked for:
the one of the given context, of the current context, or any that is alive.
"""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from explorer.errors import ConversionError, DataTypeError
from explorer.symbolic.cirkit.detecting import class_name, derives_from, has_class

COMPILER = "cirkit.backend.compiler.AbstractCompiler"
CONTEXT = "cirkit.pipeline.PipelineContext"
FLOAT_BYTES = 4
EVIDENCE = "cirkit.symbolic.layers.EvidenceLayer"
MODULE_LIST = "torch.nn.modules.container.ModuleList"
REFERENCE = "cirkit.symbolic.parameters.ReferenceParameter"


@dataclass(frozen=True)
class CompiledValues:
    """The symbolic circuit of a compiled one, and the compiler that knows where each leaf is."""

    symbolic: Any
    compiler: Any

    def of(self, leaf: Any, where: str) -> NDArray[Any]:
        """The present value of a leaf. Raises: ConversionError if it has not been compiled."""
        tensor, fold = self._compiled(leaf, where)
        value = tensor().detach()[fold].resolve_conj().cpu()
        if value.is_floating_point() and value.element_size() < FLOAT_BYTES:
            value = value.float()  # NumPy has no bfloat16
        return value.numpy().copy()

    def tensor_of(self, leaf: Any, where: str) -> Any:
        """The module that contains a leaf. Raises: ConversionError if it has not been compiled."""
        return self._compiled(leaf, where)[0]

    def _compiled(self, leaf: Any, where: str) -> tuple[Any, int]:
        try:
            tensor, fold = self.compiler.state.retrieve_compiled_parameter(leaf)
        except KeyError:
            raise ConversionError(
                f"{where}: the compiler of this circuit has no value of this {type(leaf).__name__}{tuple(leaf.shape)}"
            ) from None
        return tensor, fold or 0  # release 0.2 says None for the only fold


def compiled_values(compiled: Any, context: Any) -> CompiledValues:
    """Find the symbolic circuit and the values of a circuit that cirkit has compiled.

    Raises: DataTypeError if `context` is neither a context nor a compiler; ConversionError if the compiler is gone, did
    not compile this circuit, or its parameters have been replaced since.
    """
    for compiler in _compilers(context):
        if compiler.has_symbolic(compiled):
            values = CompiledValues(compiler.get_symbolic_circuit(compiled), compiler)
            _check_parameters(compiled, values)
            return values
    if context is not None:
        raise ConversionError("this circuit was not compiled by the given context; pass the one that compiled it")
    raise ConversionError(
        f"no context of cirkit knows this {type(compiled).__name__}: it has no record of the symbolic circuit, and the "
        "PipelineContext that compiled it no longer exists, or it is a copy. Keep the context and pass it as context=, "
        "or convert the symbolic circuit"
    )


def leaves_of(symbolic: Any) -> dict[Any, None]:
    """The leaves of a symbolic circuit of cirkit, also those of other circuits that it refers to, each once."""
    layers: list[Any] = list(symbolic.layers)
    for layer in layers:
        if class_name(layer) == EVIDENCE:
            layers.append(layer.layer)
    nodes = [node for layer in layers for parameter in layer.params.values() for node in parameter.nodes]
    return dict.fromkeys(dereference(node) for node in nodes if not is_operator(node))


def is_operator(node: Any) -> bool:
    """Whether a node of a parameter graph of cirkit has operands."""
    return hasattr(node, "in_shapes")


def dereference(node: Any) -> Any:
    """The leaf itself, if this is a reference to one."""
    return node.deref() if class_name(node) == REFERENCE else node


def _compilers(context: Any) -> Iterator[Any]:
    """The compilers to ask: that of the context if there is one, otherwise all that are alive."""
    if context is None:
        yield from _alive_compilers()
    elif has_class(context, COMPILER):
        yield context
    elif has_class(context, CONTEXT):
        yield context._compiler
    else:
        raise DataTypeError(f"context must be a PipelineContext of cirkit; found {class_name(context)}")


def _alive_compilers() -> list[object]:
    """All compilers that the garbage collector knows, also those hidden from its collections."""
    hidden = gc.get_freeze_count() > 0
    gc.unfreeze()
    things: list[object] = gc.get_objects()
    if hidden:
        gc.freeze()
    kinds = dict.fromkeys(map(type, things))
    wanted = {kind for kind in kinds if derives_from(kind, COMPILER)}
    return [thing for thing in things if type(thing) in wanted]


def _check_parameters(compiled: Any, values: CompiledValues) -> None:
    """Raises: ConversionError if the compiled circuit no longer computes with the tensors it was compiled to."""
    tensors = {values.tensor_of(leaf, "a parameter") for leaf in leaves_of(values.symbolic)}
    known = {id(tensor()) for tensor in tensors}
    modules = set(compiled.modules())
    for name, parameter in compiled.named_parameters():
        if id(parameter) not in known:
            raise ConversionError(
                f"the compiler of this circuit does not know its parameter {name} ({_owners(compiled, name)}): it was "
                "put into the circuit after cirkit had compiled it, or cirkit's optimization made it; compile the "
                "circuit with optimize=False"
            )
    for tensor in tensors:
        if tensor not in modules:
            raise ConversionError(
                f"a parameter of the shape {(tensor.num_folds, *tensor.shape)} was taken out of this circuit after "
                "cirkit had compiled it"
            )


def _owners(compiled: Any, name: str) -> str:
    """The types of the modules that contain a parameter, from its layer inwards, such as a network of a user."""
    parts = name.split(".")[:-1]
    modules = [compiled.get_submodule(".".join(parts[: i + 1])) for i in range(len(parts))]
    return " > ".join(type(module).__name__ for module in modules if class_name(module) != MODULE_LIST)
