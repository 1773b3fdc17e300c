"""How a tensor graph is called: the structure of arguments and results, and the state that a call changes."""

from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

from explorer.errors import OperatorError


@dataclass(frozen=True)
class Interface:
    """Structure of arguments and results; None: tensors in a row, and one tensor or a tuple of them.

    `mutations` names the buffers that a call gives new values; those values are the first outputs of the graph.
    """

    arguments: pytree.TreeSpec | None = None
    results: pytree.TreeSpec | None = None
    mutations: tuple[str, ...] = ()
    taken: tuple[int, ...] | None = None
    """Which of the flat arguments the graph takes (the others are no tensors); None: all."""

    def flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors that the graph takes. Raises: OperatorError for arguments of another structure."""
        if self.arguments is None:
            if kwargs:
                raise OperatorError(f"the graph takes tensors in a row; {', '.join(kwargs)} was given by name")
            return list(args)
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec.num_leaves != self.arguments.num_leaves:
            wanted, found = self.arguments.num_leaves, spec.num_leaves
            raise OperatorError(f"the module takes arguments with {wanted} values in them; {found} were given")
        return flat if self.taken is None else [flat[i] for i in self.taken]

    def structured_results(self, results: list[Any]) -> Any:
        """The results as the module gave them."""
        if self.results is None:
            return results[0] if len(results) == 1 else tuple(results)
        return pytree.tree_unflatten(results, self.results)


PLAIN = Interface()
