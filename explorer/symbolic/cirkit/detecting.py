"""Recognizes objects of cirkit by the names of their classes, without importing it."""

SYMBOLIC = "cirkit.symbolic.circuit.Circuit"
COMPILED = ("cirkit.backend.torch.circuits.TorchCircuit", "cirkit.backend.torch.circuits.AbstractTorchCircuit")
"""The classes of compiled circuits; in release 0.2, those without variables are a sibling of `TorchCircuit`."""


def is_cirkit(thing: object) -> bool:
    """Whether an object is a circuit of cirkit, symbolic or compiled."""
    return is_symbolic(thing) or is_compiled(thing)


def is_symbolic(thing: object) -> bool:
    """Whether an object is a symbolic circuit of cirkit."""
    return has_class(thing, SYMBOLIC)


def is_compiled(thing: object) -> bool:
    """Whether an object is a circuit that cirkit has compiled."""
    return has_class(thing, *COMPILED)


def has_class(thing: object, *names: str) -> bool:
    """Whether the class of an object, or one of its bases, has one of these full names."""
    return any(full_name(kind) in names for kind in type(thing).__mro__)


def full_name(kind: type) -> str:
    """The name of a class with that of its module."""
    return f"{kind.__module__}.{kind.__qualname__}"
