"""Who gives a variable, and who reads it."""

from explorer.tensor.ir.variables import Apply, Variable


def owned_by(variable: Variable, *targets: object) -> Apply | None:
    """The application that gives a variable, if its overload is one of these."""
    owner = variable.owner
    return owner if owner is not None and owner.op.target in targets else None


def read_once(variable: Variable) -> bool:
    """Whether at most one input reads it, so that it goes when that one reads something else."""
    return len(variable.clients) < 2


def only_user(variable: Variable) -> Apply | None:
    """The application that reads a variable, if nothing else does and no output of the graph is it."""
    clients = list(variable.clients)
    return clients[0][0] if len(clients) == 1 else None
