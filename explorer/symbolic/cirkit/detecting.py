"""Recognizes objects of cirkit by the names of their classes, without importing it."""

SYMBOLIC = "cirkit.symbolic.circuit.Circuit"
COMPILED_CLASSES = ("cirkit.backend.torch.circuits.TorchCircuit", "cirkit.backend.torch.circuits.AbstractTorchCircuit")
"""The classes of compiled circuits; in release 0.2, those without variables are a sibling of `TorchCircuit`."""


def is_cirkit(thing: object) -> bool:
    """Whether an object is a circuit of cirkit, symbolic or compiled."""
    return is_symbolic(thing) or is_compiled(thing)


def is_symbolic(thing: object) -> bool:
    """Whether an object is a symbolic circuit of cirkit."""
    return has_class(thing, SYMBOLIC)


def is_compiled(thing: object) -> bool:
    """Whether an object is a circuit that cirkit has compiled."""
    return has_class(thing, *COMPILED_CLASSES)


def has_class(thing: object, *names: str) -> bool:
    """Whether the class of an object, or one of its bases, has one of these full names."""
    return derives_from(type(thing), *names)


def derives_from(kind: type, *names: str) -> bool:
    """Whether a class, or one of its bases, has one of these full names."""
    return any(_full_name(base) in names for base in kind.__mro__)


def class_name(thing: object) -> str:
    """The name of the class of an object, with that of its module."""
    return _full_name(type(thing))


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
