"""Turns the fields of `CompilerOptions` into options of a command."""

import inspect
from collections.abc import Callable
from dataclasses import Field, fields
from functools import wraps
from typing import Annotated, Any

import typer

from explorer.options import CompilerOptions


def with_compiler_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator: replace the parameter `options: CompilerOptions` of a command by one option per field."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        replacements = map(_parameter, fields(CompilerOptions)) if parameter.name == "options" else [parameter]
        parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in replacements]

    @wraps(command)
    def run(**arguments: Any) -> None:
        given = {f.name: arguments.pop(f.name) for f in fields(CompilerOptions)}
        named = {name: value for name, value in given.items() if value is not None}
        named.setdefault("semiring", _semiring_of(arguments.get("circuit")))
        command(options=CompilerOptions(**named), **arguments)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _semiring_of(circuit: object) -> str:
    """The semiring of a command's circuit unless another one is chosen."""
    from explorer.templates import gallery

    return gallery.default_options(str(circuit)).semiring


def _parameter(option: "Field[Any]") -> inspect.Parameter:
    """Return the command parameter of an option, with its help text; lists may be repeated.

    The default semiring is the one that the circuit needs.
    """
    name = option.name.replace("_", "-")
    flag = f"--{name}/--no-{name}" if option.type is bool else f"--{name}"
    kind: Any = list[str] if option.default == () else option.type
    own: dict[str, Any] = {}
    if option.name == "semiring":
        own["show_default"] = f"{option.default}, or what the circuit needs"
    if option.default in ((), None) or own:
        kind = kind | None
    annotation = Annotated[kind, typer.Option(flag, **option.metadata, **own)]
    default = None if option.default == () or own else option.default
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
