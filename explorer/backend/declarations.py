"""Which class compiles which symbolic class: the compiled class declares it as `compiles`."""

from typing import Any

from explorer.errors import DataTypeError, DuplicateNameError

_compiled_classes: dict[type, type] = {}


def register_compiled_class(compiled: Any, family: type) -> None:
    """Register a class that declares what it compiles itself; an inherited declaration does not count.

    A class that is defined again under its name, as in a notebook, replaces the earlier definition.
    Raises: DataTypeError unless `compiles` is a subclass of `family`; DuplicateNameError if another class compiles it.
    """
    symbolic = compiled.__dict__.get("compiles")
    if symbolic is None:
        return
    if not isinstance(symbolic, type) or not issubclass(symbolic, family):
        raise DataTypeError(f"{compiled.__name__}: compiles must be a subclass of {family.__name__}; got {symbolic!r}")
    known: Any = _compiled_classes.get(symbolic, compiled)
    if (known.__module__, known.__qualname__) != (compiled.__module__, compiled.__qualname__):
        raise DuplicateNameError(f"{compiled.__name__}: {symbolic.__name__} is already compiled by {known.__name__}")
    _compiled_classes[symbolic] = compiled


def compiled_class_of(symbolic: type) -> Any:
    """The class that declares to compile this symbolic class; None if there is none."""
    return _compiled_classes.get(symbolic)
