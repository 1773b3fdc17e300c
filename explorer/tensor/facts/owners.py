"""Owners and users of variables."""

from explorer.tensor.ir.variables import Apply, Variable


def owned_by(variable: Variable, *targets: object) -> Apply | None:
    """The owner of a variable if its overload is one of these."""
    owner = variable.owner
    return owner if owner is not None and owner.op.target in targets else None


def read_once(variable: Variable) -> bool:
    """Whether it has at most one use, so that it is removed when that use is replaced."""
    return len(variable.clients) < 2


def only_user(variable: Variable) -> Apply | None:
    """The only application that uses a variable; None if there are more uses, or it is an output of the graph."""
    clients = list(variable.clients)
    return clients[0][0] if len(clients) == 1 else None
