"""Names of constants in the exported module: those of the imported module, as far as they still apply."""

import re
from collections.abc import Collection, Sequence
from keyword import iskeyword
from unicodedata import normalize

import torch
from torch import nn

from explorer.tensor.graph.interface import Held
from explorer.tensor.ir.numbers import PythonNumber
from explorer.tensor.ir.variables import Constant

REWRITTEN = "_rewritten"
"""Suffix of the name of a parameter or buffer whose value a rewrite replaced, so that old state dicts do not load."""


def hold(
    root: nn.Module, constants: Sequence[Constant], state: Sequence[Held], taken: Collection[str]
) -> dict[Constant, str]:
    """Register constants on a module; return their names in it.

    A tensor that is unchanged since `state` keeps all its names; so does one that the graph never read, and one that is
    trained although no result depends on it any more: its gradient is zero. `taken` are reserved names.
    """
    holder = _Holder(root, taken)
    present = {id(constant.data) for constant in constants}
    for entry in state:
        if entry.spare or entry.trainable or id(entry.data) in present:
            holder.put(entry.name, entry.data, entry.trainable, entry.saved)
    before = {entry.name for entry in state}
    names: dict[Constant, str] = {}
    for constant in constants:
        wanted = constant.name or f"constant_{len(names)}"
        known = holder.names_of(constant.data)
        if not known:
            wanted += REWRITTEN if wanted in before else ""
            known = [holder.put(wanted, constant.data, constant.trainable)]
        names[constant] = wanted if wanted in known else known[0]
    return names


class _Holder:
    """Registers tensors on a module, in submodules for the parts of their names before the dots."""

    def __init__(self, root: nn.Module, taken: Collection[str]) -> None:
        self._root = root
        self._taken = taken
        self._data: dict[str, torch.Tensor] = {}
        self._by_id: dict[int, torch.Tensor] = {}

    def names_of(self, data: torch.Tensor) -> list[str]:
        """The names under which a tensor is registered."""
        return [name for name, known in self._data.items() if known is data] if id(data) in self._by_id else []

    def put(self, wanted: str, data: torch.Tensor, trainable: bool, saved: bool = True) -> str:
        """Register a tensor under a name, or a similar one if that is taken; return the name."""
        *parents, last = wanted.split(".")
        holder, path = self._root, list[str]()
        for parent in parents:
            part = self._free(holder, parent, reuse=True)
            path.append(part)
            if part not in dict(holder.named_children()):
                holder.add_module(part, nn.Module())
            holder = holder.get_submodule(part)
        last = self._free(holder, last)
        name = ".".join([*path, last])
        self._data[name] = data
        tensor = self._by_id.setdefault(id(data), _to_register(data, trainable))
        if isinstance(tensor, nn.Parameter):
            holder.register_parameter(last, tensor)
        else:
            holder.register_buffer(last, tensor, persistent=saved)
        return name

    def _free(self, holder: nn.Module, part: str, *, reuse: bool = False) -> str:
        """A name that is free in a module; with `reuse` it may be that of a submodule."""
        part = re.sub(r"""["'\\\x00-\x1f]""", "_", normalize("NFKC", part)) or "_"
        part += "_" * iskeyword(part)  # generated code spells the name as an attribute, or between quotes
        children = dict(holder.named_children()) if reuse else {}
        while part not in children and (hasattr(holder, part) or (holder is self._root and part in self._taken)):
            part += "_"
        return part


def _to_register(data: torch.Tensor, trainable: bool) -> torch.Tensor:
    if trainable and isinstance(data, nn.Parameter):
        return data
    return data.plain if isinstance(data, PythonNumber) else data.detach()
