"""Results of operators that share memory with inputs, and inputs that operators overwrite.

Schemas declare this for views and in-place operators. A run on fake tensors finds undeclared sharing: dropout in
evaluation returns its input itself.
"""

from collections.abc import Iterator
from functools import cache, lru_cache

import torch
from torch._ops import OpOverload

from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.result_types import DATA_DEPENDENT, depends_on_data, on_fakes
from explorer.tensor.ir.schemas import flat_results
from explorer.tensor.ir.types import TensorType, ValueType
from explorer.tensor.ir.variables import Apply, Variable


@cache
def _written_arguments(target: OpOverload) -> frozenset[str]:
    """Return the arguments of the schema that a call overwrites."""
    marks = {argument.name: argument.alias_info for argument in target._schema.arguments}
    return frozenset(name for name, mark in marks.items() if mark is not None and mark.is_write)


def destroyed_inputs(op: Op) -> tuple[int, ...]:
    """Return the positions of the inputs that an operator overwrites."""
    written = _written_arguments(op.target)
    return tuple(i for i, name in enumerate(op.input_names()) if name in written) if written else ()


def destroys(node: Apply) -> bool:
    """Return whether an application overwrites an input."""
    return bool(_written_arguments(node.op.target)) and bool(destroyed_inputs(node.op))


def shared_inputs(node: Apply) -> tuple[tuple[int, ...], ...]:
    """Return, for each result, the positions of the inputs that may share its memory.

    Raises: OperatorError for an operator that needs the numbers of its inputs.
    """
    return _find_sharing(node.op, tuple(variable.type for variable in node.inputs))


@lru_cache(maxsize=100_000)
def _find_sharing(op: Op, inputs: tuple[ValueType, ...]) -> tuple[tuple[int, ...], ...]:
    declared = _declared_sharing(op)
    if not all(isinstance(kind, TensorType) for kind in inputs):
        return declared
    with on_fakes():
        tensors = [torch.empty(kind.shape, dtype=kind.dtype) for kind in inputs if isinstance(kind, TensorType)]
        memory = [tensor.untyped_storage()._cdata for tensor in tensors]
        try:
            results = flat_results(op.run(tensors))
        except DATA_DEPENDENT as error:
            raise depends_on_data(op, inputs) from error
        found: list[tuple[int, ...]] = []
        for i, result in enumerate(results):
            known = declared[i] if i < len(declared) else ()
            if isinstance(result, torch.Tensor):
                memory_of_result = result.untyped_storage()._cdata
                known += tuple(k for k, other in enumerate(memory) if other == memory_of_result and k not in known)
            found.append(known)
    return tuple(found)


def _declared_sharing(op: Op) -> tuple[tuple[int, ...], ...]:
    """Return the sharing that the schema declares; a list of results may share memory as its elements may."""
    names = op.input_names()
    marks = {argument.name: argument.alias_info for argument in op.target._schema.arguments}
    found: list[tuple[int, ...]] = []
    for result in op.target._schema.returns:
        info = result.alias_info
        if info is None:
            found.append(())
            continue
        letters = set(info.before_set) | set(info.after_set)
        shared = [name for name, mark in marks.items() if mark is not None and letters & set(mark.before_set)]
        found.append(tuple(i for i, name in enumerate(names) if name in shared))
    return tuple(found)


def memory_roots(variable: Variable) -> Iterator[Variable]:
    """Yield the variables that own the memory that a variable may share; possibly the variable itself."""
    seen: set[Variable] = set()
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        sources = _viewed_inputs(current)
        if not sources:
            yield current
        waiting.extend(reversed(sources))


def _viewed_inputs(variable: Variable) -> list[Variable]:
    """Return the inputs of its owner that share its memory; an in-place operator counts as allocating its result."""
    owner = variable.owner
    if owner is None:
        return []
    overwritten = destroyed_inputs(owner.op)
    return [owner.inputs[i] for i in shared_inputs(owner)[variable.index] if i not in overwritten]


def memory_views(root: Variable) -> Iterator[Variable]:
    """Yield a variable and all that may share its memory in its graph, except results of in-place operators."""
    seen = {root: None}
    waiting = [root]
    while waiting:
        current = waiting.pop()
        yield current
        for client, position in current.clients:
            if client is None:
                continue
            overwritten = destroyed_inputs(client.op)
            for output, shared in zip(client.outputs, shared_inputs(client), strict=True):
                if position in shared and position not in overwritten and output not in seen:
                    seen[output] = None
                    waiting.append(output)
