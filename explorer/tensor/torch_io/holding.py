"""Where a module holds the constants of a graph: under the names of the module that the graph was made of."""

from collections.abc import Collection, Sequence

import torch
from torch import nn

from explorer.tensor.graph.interface import Held
from explorer.tensor.ir.numbers import PythonNumber
from explorer.tensor.ir.variables import Constant

MODULE_NAMES = frozenset((*dir(nn.Module), "training"))
"""What any module has already: no tensor and no module in it can be called so."""
REWRITTEN = "_rewritten"
"""Behind the name of a parameter or buffer whose value a rewrite replaced: its old values do not belong there."""


def hold(
    root: nn.Module, constants: Sequence[Constant], state: Sequence[Held], taken: Collection[str]
) -> dict[Constant, str]:
    """Register constants on a module; gives their names in it.

    What is still as it was in `state` has its names, all of them if it had several; so has what the graph never read,
    and what is trained although no result depends on it any more: its gradient is zero.
    `taken` are names that the module has for other things.
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
    """Registers tensors on a module, in modules for the parts of their names before the dots."""

    def __init__(self, root: nn.Module, taken: Collection[str]) -> None:
        self._root = root
        self._taken = taken
        self._data: dict[str, torch.Tensor] = {}
        self._made: dict[int, torch.Tensor] = {}

    def names_of(self, data: torch.Tensor) -> list[str]:
        """The names under which a tensor is registered."""
        return [name for name, known in self._data.items() if known is data] if id(data) in self._made else []

    def put(self, wanted: str, data: torch.Tensor, trainable: bool, saved: bool = True) -> str:
        """Register a tensor under a name, or one like it if that is taken; gives the name."""
        parts = [f"{part}_" if part in MODULE_NAMES else part or "_" for part in wanted.split(".")]
        if parts[0] in self._taken:
            parts[0] += "_"
        name = ".".join(parts)
        while name in self._data or any(known.startswith(f"{name}.") for known in self._data):
            parts[-1] += "_"
            name = ".".join(parts)
        if any(".".join(parts[:i]) in self._data for i in range(1, len(parts))):  # a tensor stands on the way
            return self.put("_".join(parts), data, trainable, saved)
        holder = self._root
        for part in parts[:-1]:
            if part not in dict(holder.named_children()):
                holder.add_module(part, nn.Module())
            holder = holder.get_submodule(part)
        self._data[name] = data
        tensor = self._made.setdefault(id(data), _registered(data, trainable))
        if isinstance(tensor, nn.Parameter):
            holder.register_parameter(parts[-1], tensor)
        else:
            holder.register_buffer(parts[-1], tensor, persistent=saved)
        return name


def _registered(data: torch.Tensor, trainable: bool) -> torch.Tensor:
    """What is registered for a tensor: a parameter only if it is trained."""
    if trainable and isinstance(data, nn.Parameter):
        return data
    return data.plain if isinstance(data, PythonNumber) else data.detach()
