"""`from_cirkit`: a circuit of cirkit as one of this package.

Layers and parameter nodes are converted one by one, and every leaf once, also where other parameters or other
circuits refer to it. Each part is known by the full name of its class: a subclass that somebody else wrote is refused.

A compiled circuit of cirkit does not know what it was compiled from. Its compiler does: it maps the compiled circuit to
the symbolic one, and every symbolic leaf to a slice of a folded tensor, in every mode. So the compiler is looked for in
the given context, in the current context, and among all that are alive.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.errors import CircuitError, ConversionError, DataTypeError
from explorer.graph import Graph, field_names
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.cirkit.classes import (
    INITIALIZERS_MODULE,
    LAYERS,
    LAYERS_MODULE,
    OPERATORS,
    PARAMETERS_MODULE,
    class_name,
    derives_from,
    has_class,
    is_compiled,
    is_symbolic,
)
from explorer.symbolic.derivation import unused_name
from explorer.symbolic.initializers import (
    ConstantInitializer,
    DirichletInitializer,
    Initializer,
    NormalInitializer,
    SoftmaxInitializer,
    UniformInitializer,
)
from explorer.symbolic.layers import InputLayer, Layer
from explorer.symbolic.parameters import DataType, ParameterNode, TensorParameter

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
    """The leaves of a symbolic circuit of cirkit and of other circuits that it refers to, each once."""
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
    """The compilers to ask: the context's compiler if there is a context, otherwise all that are alive."""
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


T = TypeVar("T")


def from_cirkit(circuit: Any, *, context: Any = None) -> Circuit:
    """Convert a circuit of cirkit, symbolic or compiled, to a circuit with equal values.

    Of a symbolic circuit, leaves keep their initializers. Of a compiled one, folded or not, optimized or not, they get
    the values that they have now. These are found through the `PipelineContext` (or compiler) that compiled it:
    `context`, or else one that is still in use.

    Raises: DataTypeError for anything else; ConversionError, which names the type and where it is, for a part that has
    no equal here, and for a compiled circuit if its context is gone or its parameters have been replaced.
    """
    return CirkitReader().read(circuit, context=context)


def circuits_from_cirkit(circuits: Sequence[Any], *, context: Any = None) -> tuple[Circuit, ...]:
    """Convert several circuits, such as a circuit and its square, which share the leaves that their originals share.

    Raises: as `from_cirkit`.
    """
    reader = CirkitReader()
    return tuple(reader.read(circuit, context=context) for circuit in circuits)


class CirkitReader:
    """Converts circuits one after the other, which share the leaves that their originals share.

    A leaf has one name in all of them, and the value of its first conversion; a leaf that two contexts have compiled is
    two leaves. Keep the reader for as long as further circuits may come.
    """

    def __init__(self) -> None:
        self._leaves: dict[tuple[Any, Any], TensorParameter] = {}
        """By the compiler that has their values, None for symbolic circuits, and the leaf there."""

    def read(self, circuit: Any, *, context: Any = None) -> Circuit:
        """Convert a circuit, as `from_cirkit`. Raises: as that; no leaf is kept then."""
        symbolic, values = _symbolic(circuit, context)
        names = {leaf.name for leaf in self._leaves.values() if leaf.name is not None}
        conversion = _Conversion(values, dict(self._leaves), names)
        found = conversion.circuit(symbolic)
        self._leaves = conversion.leaves
        return found


def _symbolic(circuit: Any, context: Any) -> tuple[Any, CompiledValues | None]:
    """The symbolic circuit, and of a compiled one its values."""
    if is_symbolic(circuit):
        return circuit, None
    if is_compiled(circuit):
        values = compiled_values(circuit, context)
        return values.symbolic, values
    raise DataTypeError(f"expected a circuit of cirkit, symbolic or compiled; got {class_name(circuit)}")


@dataclass
class _Conversion:
    """The conversion of one circuit; `where` is what is being converted, for messages."""

    values: CompiledValues | None
    leaves: dict[tuple[Any, Any], TensorParameter]
    names: set[str]
    where: str = ""

    def circuit(self, symbolic: Any) -> Circuit:
        ids: dict[Any, int] = {}
        nodes: dict[int, Layer] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        for node, theirs in enumerate(symbolic.topological_ordering()):
            nodes[node] = self.layer(theirs, str(node))
            inputs[node] = tuple(ids[source] for source in symbolic.layer_inputs(theirs))
            ids[theirs] = node
        return Circuit(Graph(nodes, inputs, tuple(ids[output] for output in symbolic.outputs)))

    def layer(self, theirs: Any, path: str) -> Layer:
        kind = _look_up(theirs, LAYERS_MODULE, LAYERS)
        here = f"layer {path} ({type(theirs).__name__}{_scope_text(theirs)})"
        if kind is None:
            raise _unknown("layer", theirs, here, LAYERS_MODULE, LAYERS)
        values: dict[str, Any] = {
            name: self.layer(theirs.layer, f"{path}.layer") for name in field_names(kind, "nested")
        }
        for name in field_names(kind, "parameter"):
            parameter = getattr(theirs, name)
            if parameter is not None:
                self.where = f"{here}: {name}"
                values[name] = self.parameter(parameter, f"{path}.{name}")
        values |= {name: getattr(theirs, name) for name in field_names(kind, "config")}
        if issubclass(kind, InputLayer):
            values["scope"] = tuple(theirs.scope)
        return _checked(here, lambda: kind(**values))

    def parameter(self, graph: Any, path: str) -> ParameterNode:
        """The expression of a parameter graph; operators belong to one graph, leaves to all."""
        nodes: dict[Any, ParameterNode] = {}
        for theirs in graph.topological_ordering():
            operands = tuple(nodes[operand] for operand in graph.node_inputs(theirs))
            nodes[theirs] = self.operator(theirs, operands) if is_operator(theirs) else self.leaf(theirs, path)
            if nodes[theirs].shape != tuple(theirs.shape):
                raise ConversionError(
                    f"{self.where}: {type(theirs).__name__} has the shape {tuple(theirs.shape)}, but its definition "
                    f"gives {nodes[theirs].shape}"
                )
        return nodes[graph.output]

    def operator(self, theirs: Any, operands: tuple[ParameterNode, ...]) -> ParameterNode:
        kind = _look_up(theirs, PARAMETERS_MODULE, OPERATORS)
        if kind is None:
            raise _unknown("parameter", theirs, self.where, PARAMETERS_MODULE, OPERATORS)
        config = {name: getattr(theirs, name) for name in field_names(kind, "config")}
        return _checked(f"{self.where}: {type(theirs).__name__}", lambda: kind(operands, **config))

    def leaf(self, theirs: Any, path: str) -> TensorParameter:
        theirs = dereference(theirs)
        key = (None if self.values is None else self.values.compiler, theirs)
        if key not in self.leaves:
            if class_name(theirs) not in (
                f"{PARAMETERS_MODULE}.TensorParameter",
                f"{PARAMETERS_MODULE}.ConstantParameter",
            ):
                raise _unknown("parameter", theirs, self.where, PARAMETERS_MODULE, ("TensorParameter", *OPERATORS))
            name = unused_name(path, self.names)
            self.names.add(name)
            self.leaves[key] = _checked(self.where, lambda: self._make_leaf(theirs, name))
        return self.leaves[key]

    def _make_leaf(self, theirs: Any, name: str) -> TensorParameter:
        shape, learnable = tuple(theirs.shape), bool(theirs.learnable)
        if self.values is None:
            return TensorParameter(shape, DataType[theirs.dtype.name], learnable, self._initializer(theirs), name)
        value = self.values.of(theirs, self.where)  # release 0.2 compiles integers to real numbers
        dtype = _DTYPES[value.dtype.kind]
        return TensorParameter(shape, dtype, learnable, ConstantInitializer(value), name)

    def _initializer(self, leaf: Any) -> Initializer:
        theirs = leaf.initializer
        convert = _look_up(theirs, INITIALIZERS_MODULE, _INITIALIZERS)
        if convert is None:
            raise _unknown("initializer", theirs, self.where, INITIALIZERS_MODULE, _INITIALIZERS)
        return convert(theirs, tuple(leaf.shape))


def _constant(theirs: Any, shape: tuple[int, ...]) -> Initializer:
    return ConstantInitializer(theirs.value if np.ndim(theirs.value) == 0 else np.broadcast_to(theirs.value, shape))


def _uniform(theirs: Any, shape: tuple[int, ...]) -> Initializer:
    return _convex(theirs, UniformInitializer(theirs.a, theirs.b))


def _normal(theirs: Any, shape: tuple[int, ...]) -> Initializer:
    return _convex(theirs, NormalInitializer(theirs.mean, theirs.stddev))


def _dirichlet(theirs: Any, shape: tuple[int, ...]) -> Initializer:
    alpha = theirs.alpha
    return DirichletInitializer(alpha if isinstance(alpha, float) else tuple(alpha), theirs.axis)


def _convex(theirs: Any, drawn: Initializer) -> Initializer:
    """Release 0.2 has no `convex`."""
    return SoftmaxInitializer(drawn) if getattr(theirs, "convex", False) else drawn


_INITIALIZERS: Mapping[str, Callable[[Any, tuple[int, ...]], Initializer]] = {
    "ConstantTensorInitializer": _constant,
    "DirichletInitializer": _dirichlet,
    "NormalInitializer": _normal,
    "UniformInitializer": _uniform,
}


_DTYPES: Mapping[str, DataType] = {"i": DataType.INTEGER, "f": DataType.REAL, "c": DataType.COMPLEX}


def _look_up(theirs: object, module: str, known: Mapping[str, T]) -> T | None:
    """Return the class here for a class of cirkit with this name in this module; None for any other class."""
    home, _, name = class_name(theirs).rpartition(".")
    return known.get(name) if home == module else None


def _unknown(what: str, theirs: object, where: str, module: str, known: Iterable[str]) -> ConversionError:
    return ConversionError(
        f"{where}: cannot convert the {what} {class_name(theirs)}; known are those of {module}: {', '.join(known)}"
    )


def _scope_text(theirs: Any) -> str:
    scope = getattr(theirs, "scope", None)
    return f" of variables {sorted(scope)}" if scope else ""


def _checked(where: str, make: Callable[[], T]) -> T:
    """Call `make`. Raises: ConversionError with the reason and the location, if it does not fit together here."""
    try:
        return make()
    except ConversionError:
        raise
    except (CircuitError, ValueError) as error:
        raise ConversionError(f"{where}: {error}") from error
